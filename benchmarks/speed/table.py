"""Training time of weald and other libraries: the table of the README.

    python -m benchmarks.speed.table [--data NAMES] [--libraries NAMES] [--repeats 3] [--jobs N] [--limit 300]
        [--runs FILE] [--write]

Every library grows the same forest (features per node, number of trees, pure leaves) on the same data with the same
number of threads. Each measurement runs in its own process, libraries alternate, and the best of the repeats counts,
because other load can only make times longer. Errors are means. A process that takes more than `--limit` seconds is
ended, and the library is skipped on that data. `--runs` keeps each measurement in a file and does not repeat those
that the file has, so that a table can be measured in several steps on one machine. `--write` puts the table into
README.md; table.jsonl beside this file has the runs of the table that is there.

Libraries that are not installed are left out. LightGBM, XGBoost and YDF come from the package index, ranger as
`Rscript` finds it, and cuML needs a GPU; boosters.py and peer_forests.py have their parameters.
"""

import json
import math
import statistics
import subprocess
from pathlib import Path
from typing import NamedTuple

from benchmarks import data, measure

README = measure.ROOT / "README.md"
SPACE = "\N{NO-BREAK SPACE}"  # keeps numbers and units on one line
SHOWN = ("clusters", "cover", "collisions", "wide", "small", "friedman", "friedman-small")


class Run(NamedTuple):
    """A fitted and tested forest."""

    seconds: float
    megabytes: float | None  # peak, above the memory in use before; None is unknown
    error: float


def run(library, name, n_train, n_jobs, seed, parameters):
    """Fit a forest and test it."""
    task = data.DATA_SETS[name].task
    X, y, X_test, y_test = data.load(name, n_train)
    n_features = X.shape[1]
    max_features = max(1, int(n_features**0.5) if task == "classes" else n_features // 3)
    if measure.EVERY[library][1] == "boosters":
        max_features /= n_features  # these libraries accept fractions only
    forest = measure.make_forest(
        library, task, **{"max_features": max_features, "n_jobs": n_jobs, "random_state": seed} | parameters
    )
    watch = measure.MemoryWatch()
    seconds = measure.time_fit(library, forest, X, y, watch)
    megabytes = None if library in measure.OUTSIDE else watch.megabytes
    return Run(seconds, megabytes, measure.error_of(task, y_test, forest.predict(X_test)))


TOO_LONG = Run(math.inf, None, math.nan)


def measure_in_turns(name, libraries, given, kept):
    """Return the task, what was fitted, and the best run by library; None is a library that failed."""
    data_set = data.DATA_SETS[name]
    n_train = min(data_set.n_train, given.rows or data_set.n_train)
    n_trees = given.trees or data_set.n_trees
    n_features = data.load(name).X_train.shape[1]  # created before the measurements begin
    parameters = {"n_estimators": n_trees, **given.parameters}
    runs, unknown = {library: [] for library in libraries}, set()
    for seed in range(given.repeats):
        for library in libraries:
            if TOO_LONG in runs[library]:
                continue
            key = (name, library, seed)
            if key in kept.runs:
                runs[library].append(kept.runs[key])
                continue
            if kept.is_of_another_machine():
                unknown.add(library)
                continue
            try:
                done = Run(
                    *measure.afresh(run, library, name, n_train, given.jobs, seed, parameters, limit=given.limit)
                )
            except subprocess.TimeoutExpired:
                done = TOO_LONG
            except Exception as error:  # noqa: BLE001  (one library must not stop the others)
                measure.say(f"{name}: {library} failed: {error}")
                continue
            measure.say(f"{name}, {library}, seed {seed}: {done}")
            kept.add(given.runs, key, done)
            runs[library].append(done)
    best = {library: best_run(of) if of else None for library, of in runs.items() if of or library not in unknown}
    shape = f"{n_train:,} × {n_features:,}"
    return data_set.task, [data_set.title, shape, parameters["n_estimators"]], best


class Kept(NamedTuple):
    """The file of `--runs`: where and how it was measured, and data, library and seed -> measurement."""

    machine: str
    processor: str
    threads: int
    runs: dict

    @classmethod
    def read(cls, path):
        """Read a file that an earlier run has begun."""
        head, *lines = map(json.loads, path.read_text().splitlines())
        return cls(**head, runs={tuple(key): TOO_LONG if run is None else Run(*run) for key, run in lines})

    @classmethod
    def begin(cls, path, machine, threads):
        """Start a file; without a path, nothing is kept."""
        kept = cls(machine, measure.processor(), threads, {})
        if path:
            head = {name: value for name, value in kept._asdict().items() if name != "runs"}
            path.write_text(json.dumps(head) + "\n")
        return kept

    def add(self, path, key, run):
        """Append a measurement; null is one that was ended."""
        if path:
            with path.open("a") as file:
                file.write(json.dumps([key, None if run is TOO_LONG else run]) + "\n")

    def is_of_another_machine(self):
        """Return whether measurements of this machine must not be mixed in."""
        return self.processor != measure.processor()


def best_run(runs):
    """The best time, the most memory and the mean error."""
    if TOO_LONG in runs:
        return TOO_LONG
    megabytes = None if runs[0].megabytes is None else max(r.megabytes for r in runs)
    return Run(min(r.seconds for r in runs), megabytes, statistics.mean(r.error for r in runs))


# --------------------------------------------------------------------------------------------------------------- show


def speed_cell(best, library, own, peers, limit):
    """Seconds; for another library also how many times weald is as fast, in bold for the fastest of them."""
    if not best.get(library):
        return "failed" if library in best else "–"
    if best[library] is TOO_LONG:
        return f"> {limit:g}"
    seconds = measure.digits(best[library].seconds, 3)
    if library not in peers or not best.get(own):
        return seconds
    ratio = f"{best[library].seconds / best[own].seconds:.1f}×"
    fastest = min(best[peer].seconds for peer in peers if best.get(peer))
    return f"{seconds} (**{ratio}**)" if best[library].seconds == fastest else f"{seconds} ({ratio})"


def error_cell(best, library, task):
    if not best.get(library):
        return "failed" if library in best else "–"
    if best[library] is TOO_LONG:
        return "–"
    error, megabytes = best[library].error, best[library].megabytes
    shown = f"{100 * error:.2f}{SPACE}%" if task == "classes" else measure.digits(error, 4)
    return shown if megabytes is None else f"{shown} · {megabytes:,.0f}{SPACE}MB"


TEXT = """\
Seconds to fit, {repeats}, {jobs} threads{parameters}; in brackets, weald's speedup; bold: the fastest of the other
libraries.

{speed}

Error on test data (error rate; regression: root mean squared error), and memory that the fit takes in addition
to the data.

{errors}

Measured with `benchmarks/speed/table.py` on {machine}. scikit-learn-intelex and
`max_bins=255` evaluate at most 256 thresholds of a column, LightGBM and XGBoost at most 255, cuML 128; the others
evaluate all, weald by default up to 65,535. LightGBM and XGBoost draw 63.2 % of the rows without replacement instead of
a bag, and grow one tree per class if there are more than two. "–" was not measured."""


def sorted_libraries(libraries):
    """Return weald and its variants, then the others: on a narrow page the end of a table is out of sight."""
    return sorted(libraries, key=lambda library: not library.startswith("weald"))


def show_speed(found, libraries, limit):
    """Return the rows of seconds."""
    libraries = sorted_libraries(libraries)
    own = libraries[0]
    peers = [library for library in libraries if not library.startswith("weald")]
    rows = [
        [
            f"{title}, {shape}, {n_trees:,} trees",
            *(speed_cell(best, library, own, peers, limit) for library in libraries),
        ]
        for _, (title, shape, n_trees), best in found
    ]
    return measure.markdown(["data", *libraries], rows)


def show_errors(found, libraries):
    """Errors and memory."""
    libraries = sorted_libraries(libraries)
    rows = [[what[0], *(error_cell(best, x, task) for x in libraries)] for task, what, best in found]
    return measure.markdown(["data", *libraries], rows)


def show(found, libraries, given, kept):
    """The README's tables: seconds, then errors and memory."""
    return TEXT.format(
        repeats=measure.best_of(given).lower() + " runs at most" * (given.repeats > 1),
        jobs=kept.threads,
        parameters="".join(f", {name}={value}" for name, value in given.parameters.items()),
        speed=show_speed(found, libraries, given.limit),
        errors=show_errors(found, libraries),
        machine=kept.machine,
    )


def main():
    parser = measure.options(__doc__, README)
    parser.add_argument("--data", default=",".join(SHOWN), help=f"names with commas, of: {', '.join(data.DATA_SETS)}")
    parser.add_argument(
        "--libraries",
        default=",".join(measure.installed(boosters=True, optional=True)),
        help=f"names with commas, of: {', '.join(measure.EVERY)}",
    )
    parser.add_argument("--trees", type=int, help="instead of each data set's own number")
    parser.add_argument("--parameters", type=json.loads, default={}, help='of the forests, as {"max_depth": 12}')
    parser.add_argument("--limit", type=float, default=300, help="seconds a process may take")
    parser.add_argument("--rows", type=int, help="use no more for training")
    parser.add_argument("--runs", type=Path, help="a file that keeps each measurement")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows = 1, 3, 200
    libraries = given.libraries.split(",")
    if given.runs and given.runs.exists():
        kept = Kept.read(given.runs)
    else:
        machine = measure.describe_machine(*(measure.EVERY[library][0] for library in libraries))
        kept = Kept.begin(given.runs, machine, given.jobs)
    found = [measure_in_turns(name, libraries, given, kept) for name in given.data.split(",")]
    measure.publish(given, "benchmarks", show(found, libraries, given, kept))


if __name__ == "__main__":
    main()
