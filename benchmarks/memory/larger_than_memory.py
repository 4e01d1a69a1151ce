"""Time and memory of training on data larger than memory: a code store is made, and forests are fitted to it.

    python -m benchmarks.memory.larger_than_memory [--rows 100000000] [--trees 4] [--leaf 100] [--target classes]
                                            [--bins 255] [--oob] [--folder F] [--write]
                                            [--block "larger than memory"]

Each step runs in its own process. The rows are generated chunk by chunk with a seed: 20 columns of noise, and two
classes or a numeric target. Codes have one byte with `--bins 255`, two with `--bins 65535`. Resident memory is VmHWM,
the peak that the system reports for the process: its own memory (RssAnon) and the pages of the mapped store that it has
read (RssFile), which the system reclaims when memory is needed. These two are sampled twenty times a second. With
`--oob` the store also keeps values, and another fit computes out-of-bag estimates. The store is deleted at the end.
"""

import shutil
import tempfile
import threading
from pathlib import Path

import numpy as np

from benchmarks import measure

N_FEATURES = 20
CHUNK = 500_000


def signal_of(X):
    """The signal: a nonlinear function of five columns."""
    return X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) - X[:, 4] ** 2 / 2


def chunks(n_rows, target, seed=0):
    """Make rows of noise; the target is the signal plus noise, or its sign."""
    for number, begin in enumerate(range(0, n_rows, CHUNK)):
        rng = np.random.default_rng([seed, number])
        X = rng.standard_normal((min(CHUNK, n_rows - begin), N_FEATURES), dtype=np.float32)
        numbers = signal_of(X) + rng.standard_normal(len(X), dtype=np.float32)
        yield X, (numbers > 0).astype(np.int8) if target == "classes" else numbers


class Resident:
    """Peak megabytes of this process, in total and for the two parts."""

    def __enter__(self):
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        self.own = self.mapped = 0.0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self):
        while not self._is_over.wait(0.05):
            self.own = max(self.own, measure.MemoryWatch.read("RssAnon"))
            self.mapped = max(self.mapped, measure.MemoryWatch.read("RssFile"))

    def __exit__(self, *_):
        self._is_over.set()
        self._thread.join()
        self.all = measure.MemoryWatch.read("VmHWM")


def make(folder, n_rows, target, n_jobs, how):
    """Make the store; return seconds, resident megabytes, and bytes of its file."""
    from weald import codes

    def build():
        nonlocal store
        store = codes.from_chunks(
            lambda: chunks(n_rows, target), folder=folder, n_rows=n_rows, n_jobs=n_jobs, verbose=1, **how
        )

    store = None
    with Resident() as memory:
        seconds = measure.clock(build)
    return seconds, (memory.all, memory.own, memory.mapped), store.n_bytes


def fit(folder, target, max_bins, n_jobs, parameters):
    """Fit a forest to the store, and test it on new rows; return seconds, resident megabytes, nodes, and error."""
    import weald

    kind = weald.RandomForestClassifier if target == "classes" else weald.RandomForestRegressor
    model = kind(max_bins=max_bins, n_jobs=n_jobs, random_state=0, verbose=1, **parameters)
    with Resident() as memory:
        seconds = measure.clock(lambda: model.fit(weald.codes.load(folder)))
    new = list(chunks(2 * CHUNK, target, seed=1))
    predictions = model.predict_chunks((X for X, _ in new), method="predict")
    y, predicted = (np.concatenate(list(pieces)) for pieces in ((y for _, y in new), predictions))
    kind_of_error = "classes" if target == "classes" else "values"
    error = measure.error_of(kind_of_error, y, predicted)
    return seconds, (memory.all, memory.own, memory.mapped), model.forest_.n_nodes, error


TEXT = """\
{table}

{rows:,} rows of {columns} columns, {kind}, `max_bins={bins}`: a file of {gigabytes} GB{kept} (the values would be
{values} GB as float32). {jobs} threads. Resident memory is VmHWM; "own" and "mapped" are the peaks of RssAnon and
RssFile, which may occur at different times. The {error} on a million new rows is {errors}; that of the true signal is
{best:.3f}. Measured once, with
`benchmarks/memory/larger_than_memory.py --rows {rows} --trees {trees} --leaf {leaf} --target {target}
--bins {bins}{oob}`
on {machine}."""


def best_error(target):
    """Return the error of the true signal, or of its sign."""
    new = list(chunks(2 * CHUNK, target, seed=1))
    signal, y = np.concatenate([signal_of(X) for X, _ in new]), np.concatenate([y for _, y in new])
    if target == "classes":
        return measure.error_of("classes", y, signal > 0)
    return measure.error_of("values", y, signal)


def row_of(words, seconds, memory):
    return [words, measure.digits(seconds), *(f"{megabytes / 1024:.2f}" for megabytes in memory)]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "how-it-works" / "code-stores.md")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--trees", type=int, default=4)
    parser.add_argument("--leaf", type=int, default=100, help="min_samples_leaf")
    parser.add_argument("--oob", action="store_true", help="also with out-of-bag estimates, from values that are kept")
    parser.add_argument("--pure", type=int, default=0, help="also fit this many trees with pure leaves")
    parser.add_argument("--bins", type=int, default=255, help="max_bins")
    parser.add_argument("--target", choices=["classes", "numbers"], default="classes")
    parser.add_argument("--block", default="larger than memory", help="mark in the page, for --write")
    parser.add_argument("--folder", help="folder of the store; default: the system's temporary folder")
    given = parser.parse_args()
    n_rows = 20_000 if given.quick else given.rows
    folder = tempfile.mkdtemp(dir=given.folder)
    try:
        how = {"max_bins": given.bins, "keep_values": given.oob}
        seconds, memory, n_bytes = measure.afresh(make, folder, n_rows, given.target, given.jobs, how)
        measure.say(f"store: {seconds:.1f} s, {memory} MB, {n_bytes:,} bytes")
        rows, errors = [row_of("make the store", seconds, memory)], []
        words = f"{given.trees} trees, leaves of {given.leaf} rows"
        fits = {words: {"n_estimators": given.trees, "min_samples_leaf": given.leaf}}
        if given.oob:
            fits[f"{words}, out-of-bag estimates"] = {**fits[words], "oob_score": True}
        if given.pure:
            fits[f"{given.pure} trees, pure leaves"] = {"n_estimators": given.pure}
        for words, parameters in fits.items():
            seconds, memory, n_nodes, error = measure.afresh(
                fit, folder, given.target, given.bins, given.jobs, parameters
            )
            measure.say(f"{words}: {seconds:.1f} s, {memory} MB, {n_nodes:,} nodes, error {error:.4f}")
            rows.append(row_of(f"fit {words}", seconds, memory))
            errors.append(f"{error:.3f} ({words})")
    finally:
        shutil.rmtree(folder)
    header = ["", "seconds", "resident, GiB", "own", "mapped"]
    text = TEXT.format(
        table=measure.markdown(header, rows), rows=n_rows, columns=N_FEATURES, bins=given.bins,
        gigabytes=measure.digits(n_bytes / 1e9), values=measure.digits(n_rows * N_FEATURES * 4 / 1e9), jobs=given.jobs,
        kept=" with values" * given.oob, errors=", ".join(errors), best=best_error(given.target), trees=given.trees,
        leaf=given.leaf, target=given.target, oob=" --oob" * given.oob,
        kind="two classes" if given.target == "classes" else "regression",
        error="error" if given.target == "classes" else "root mean squared error",
        machine=measure.describe_machine("weald", "numpy"),
    )  # fmt: skip
    measure.publish(given, given.block, text)


if __name__ == "__main__":
    main()
