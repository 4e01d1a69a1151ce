"""How much faster is a forest on more workers, and what does the cluster itself cost? On 1,000,000 x 28.

    python benchmarks/dask_scaling.py [--workers 1,2] [--rows 1000000] [--trees 20] [--peers] [--write]

Each number of workers has a `LocalCluster` of its own: processes of one thread each. The same forest is grown by the
local engine on as many threads. The overhead is what the cluster takes longer, less the time in which codes travel (the
longest of any worker). Bytes are counted where they are written: between workers, and to and from this process, in
which client and scheduler live. `--peers` measures others on the same cluster, those that are installed.

It needs no network. Beside weald: dask, distributed, cloudpickle, click, fsspec, locket, msgpack, packaging, partd,
psutil, pyyaml, sortedcontainers, tblib, toolz, tornado, urllib3, zict; and joblib, numpy, scipy, scikit-learn,
threadpoolctl, narwhals.
"""

import contextlib
import importlib
import logging
import sys
import time
from pathlib import Path

FOLDER = str(Path(__file__).parent)
sys.path.insert(0, FOLDER)
import boosters  # noqa: E402
import data  # noqa: E402
import measure  # noqa: E402

sys.path[:] = [path for path in sys.path if path != FOLDER]  # or Dask would take sparse.py for a package that it knows
import dask.array as da  # noqa: E402
import distributed  # noqa: E402
import joblib  # noqa: E402
from distributed.comm.tcp import TCP  # noqa: E402

PAGE = measure.ROOT / "docs" / "clusters.md"


def count_what_is_written():
    """Count the bytes that this process writes to others, from now on.

    The count is kept by Dask's own class: this function arrives at a worker as a copy, with globals of its own.
    """
    if not hasattr(TCP, "n_written"):
        write = TCP.write

        async def counted(self, *args, **how):
            n_bytes = await write(self, *args, **how)
            TCP.n_written += n_bytes or 0
            return n_bytes

        TCP.write = counted
    TCP.n_written = 0


def tell_what_was_written(dask_worker):
    """Bytes that a worker wrote, those to other workers, and the seconds in which it received some from them."""
    sent = sum(entry["total"] for entry in dask_worker.transfer_outgoing_log)
    waited = sum(entry["duration"] for entry in dask_worker.transfer_incoming_log)
    return TCP.n_written, sent, waited


class Cluster:
    """A cluster of so many processes, and the data on it."""

    def __init__(self, n_workers, X, y):
        self.stack = contextlib.ExitStack()
        self.local = self.stack.enter_context(
            distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
        )  # fmt: skip
        self.client = self.stack.enter_context(distributed.Client(self.local))
        size = -(-len(y) // (2 * n_workers))
        lazy = da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)
        self.X, self.y = self.client.persist(lazy)
        distributed.wait([self.X, self.y])
        self.small = self.X[:2000].persist(), self.y[:2000].persist()

    def close(self):
        """Let the processes end."""
        self.stack.close()


def fit_weald(cluster, n_trees):
    import weald

    how = {"random_state": 0, "engine": "dask"}
    weald.RandomForestClassifier(n_estimators=4, **how).fit(*cluster.small)  # the first sets things up
    cluster.client.run(count_what_is_written)
    before = cluster.client.run(tell_what_was_written)
    count_what_is_written()
    forest = weald.RandomForestClassifier(n_estimators=n_trees, **how)
    seconds = measure.clock(lambda: forest.fit(cluster.X, cluster.y))
    out = TCP.n_written
    told = {
        name: [now - then for now, then in zip(counts, before[name], strict=True)]
        for name, counts in cluster.client.run(tell_what_was_written).items()
    }
    between = sum(sent for _, sent, _ in told.values())
    to_here = sum(everything for everything, _, _ in told.values()) - between
    moving = max(waited for _, _, waited in told.values())
    size = sum(array.nbytes for array in vars(forest.forest_).values() if hasattr(array, "nbytes"))
    return {
        "seconds": seconds, "moving": moving, "between": between, "out": out, "in": to_here, "forest": size,
        "print": forest.forest_.fingerprint(),
    }  # fmt: skip


def fit_local(X, y, n_threads, n_trees):
    import weald

    forest = weald.RandomForestClassifier(n_estimators=n_trees, random_state=0, n_jobs=n_threads)
    seconds = measure.time_fit("weald", forest, X, y)
    return {"seconds": seconds, "print": forest.forest_.fingerprint()}


# ------------------------------------------------------------------------------------------------------------- peers


def fit_scikit_learn(cluster, X, y, n_trees):
    """scikit-learn, its trees dealt out by joblib."""
    forest = importlib.import_module("sklearn.ensemble").RandomForestClassifier(n_trees, n_jobs=-1, random_state=0)
    with joblib.parallel_config("dask", scatter=[X, y]):
        return measure.clock(lambda: forest.fit(X, y))


def fit_xgboost(cluster, X, y, n_trees):
    made = boosters.make_xgboost("Classifier", n_estimators=n_trees, max_features=int(28**0.5) / 28, random_state=0)
    kind = importlib.import_module("xgboost.dask").DaskXGBRFClassifier
    forest = kind(
        **{name: value for name, value in made.get_params().items() if value is not None and name != "n_jobs"}
    )
    return measure.clock(lambda: forest.fit(cluster.X, cluster.y))


def fit_lightgbm(cluster, X, y, n_trees):
    made = boosters.make_lightgbm("Classifier", n_estimators=n_trees, max_features=int(28**0.5) / 28, random_state=0)
    kind = importlib.import_module("lightgbm").DaskLGBMClassifier
    forest = kind(**{name: value for name, value in made.get_params().items() if name != "n_jobs"})
    return measure.clock(lambda: forest.fit(cluster.X, cluster.y))


PEERS = {
    "scikit-learn": ("scikit-learn + joblib's Dask backend", fit_scikit_learn),
    "xgboost": ("XGBoost-Dask, random forest", fit_xgboost),
    "lightgbm": ("LightGBM-Dask, random forest", fit_lightgbm),
}


def measure_peers(cluster, X, y, n_trees):
    """Seconds of each peer that is installed; None: it failed."""
    found = {}
    for package, (title, fit) in PEERS.items():
        if not measure.version_of(package) and not measure.version_of(f"{package}-cpu"):
            continue
        try:
            found[title] = fit(cluster, X, y, n_trees)
        except Exception as error:  # noqa: BLE001  (one library must not stop the others)
            measure.say(f"{title} failed: {error!r}")
            found[title] = None
        measure.say(title, found[title])
    return found


# -------------------------------------------------------------------------------------------------------------- show

TEXT = """\
{table}

Seconds to grow {trees} trees from {rows:,} rows of {columns} columns; a worker is a process with one thread, and the
local engine has as many threads. Codes travel while nothing else happens on a worker, so that time is left out of the
overhead. All forests have the same fingerprint. {peers}Measured {repeats} with `benchmarks/dask_scaling.py` on
{machine}."""


def megabytes(n_bytes):
    return f"{n_bytes / 1e6:,.1f} MB"


def measure_workers(n_workers, X, y, given):
    """Return the best local fit, the best one on a cluster, and what peers take."""
    local = [fit_local(X, y, n_workers, given.trees) for _ in range(given.repeats)]
    cluster = Cluster(n_workers, X, y)
    there = [fit_weald(cluster, given.trees) for _ in range(given.repeats)]
    peers = measure_peers(cluster, X, y, given.trees) if given.peers else {}
    cluster.close()
    if len({run["print"] for run in (*local, *there)}) > 1:
        raise SystemExit("the cluster grew another forest")
    best = [min(runs, key=lambda run: run["seconds"]) for runs in (local, there)]
    measure.say(n_workers, "workers:", *best)
    return *best, peers


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--workers", default="1,2", help="numbers with commas")
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", default="collisions")
    parser.add_argument("--peers", action="store_true")
    parser.set_defaults(repeats=1)
    given = parser.parse_args()
    if given.quick:
        given.trees, given.rows, given.data = 4, 500, "small"
    X, y, _, _ = data.load(given.data, given.rows)
    header = ["workers", "local engine", "cluster", "codes travel", "overhead", "between workers", "to the client"]
    rows, names = [], []
    for n_workers in map(int, given.workers.split(",")):
        began = time.perf_counter()
        local, there, peers = measure_workers(n_workers, X, y, given)
        overhead = (there["seconds"] - there["moving"]) / local["seconds"] - 1
        names = list(peers)
        rows.append(
            [
                n_workers, measure.digits(local["seconds"]), measure.digits(there["seconds"]),
                measure.digits(there["moving"]), f"{overhead:+.0%}", megabytes(there["between"]),
                f"{megabytes(there['in'])} (forest {megabytes(there['forest'])})",
                *("failed" if seconds is None else measure.digits(seconds) for seconds in peers.values()),
            ]
        )  # fmt: skip
        measure.say(f"{n_workers} workers took {time.perf_counter() - began:.0f} s; written from here: {there['out']}")
    text = TEXT.format(
        table=measure.markdown([*header, *names], rows),
        trees=given.trees,
        rows=len(y),
        columns=X.shape[1],
        peers="Others on the same cluster; those of trees of their own share, or with 256 thresholds, are not the same "
        "forest. " if names else "",
        repeats="once" if given.repeats == 1 else f"{given.repeats} times, the best counts,",
        machine=measure.describe_machine("weald", "dask", "distributed", "scikit-learn", "xgboost", "lightgbm"),
    )  # fmt: skip
    measure.publish(given, "scaling", text)


if __name__ == "__main__":
    main()
