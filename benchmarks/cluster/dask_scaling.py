"""Speedup by workers of a Dask cluster, and the overhead of the cluster, on 1,000,000 x 28.

    python -m benchmarks.cluster.dask_scaling [--workers 1,2,4x4] [--rows 1000000] [--trees 100] [--calm] [--peers]
        [--write] [--block scaling]

Each number of workers has its own `LocalCluster`: processes of one thread each, or of several (4x4: four of four
threads), with the partitions of the table in their memory. The same forest is grown by the local engine on as many
threads, from an array; both alternate while the cluster is running, and the best of each counts. The overhead is the
additional time of the cluster, without the time in which a worker only waits for codes (the longest of any worker).
Whole trees are assigned to workers, so at the end some workers wait; with few trees this would dominate, so the default
is a larger number. Stages are distinguished by their tasks: each ends with its last task, unless an earlier stage ends
later. Bytes are counted as they are written, between workers, and to and from this process, which runs client and
scheduler. `--calm` adds a cluster, with the most workers, without Dask's profiler, which is part of the overhead.
`--peers` measures other installed libraries on the last of the ordinary clusters, with trees of limited depth.

It needs no network. Dependencies besides weald: dask, distributed, cloudpickle, click, fsspec, locket, msgpack,
packaging, partd, psutil, pyyaml, sortedcontainers, tblib, toolz, tornado, urllib3, zict; and joblib, numpy, scipy,
scikit-learn, threadpoolctl, narwhals.
"""

import contextlib
import importlib
import logging
import time
from typing import NamedTuple

import dask
import dask.array as da
import distributed
import joblib
from distributed.comm.tcp import TCP

from benchmarks import boosters, data, measure

PAGE = measure.ROOT / "docs" / "how-it-works" / "dask.md"
CALM = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "500ms"}
IDLE = 2.0  # seconds without work
LONG = 30.0  # fits that take longer are measured once


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


def tell_cpu_seconds():
    """CPU seconds of a process so far, with what the system did for it."""
    return time.process_time()


def tell_what_was_written(dask_worker):
    """Bytes that a worker wrote, and those to other workers (who name themselves, as the client does not)."""
    return TCP.n_written, sum(entry["total"] for entry in dask_worker.transfer_outgoing_log if entry["who"])


# Stage -> its tasks, by their names in Dask: without a leading underscore.
STAGES = {
    "read labels and values": ("read_labels", "merge_part_labels", "read_parts", "kept"),
    "choose a sample": ("survey_part", "find_highest_hash", "join_rows", "sample_values"),
    "bin columns": ("cut_columns", "join_cuts", "outline", "find_distinct", "join_distinct", "resolve_cuts"),
    "code": ("code_part", "find_code_maxima", "join_code_maxima", "join_chunks"),
    "rank rows": ("rank_here",),
    "grow trees": ("grow_trees", "grow_piece", "join_pieces"),
}
NEED_CODES = ("rank_here", "grow_trees", "grow_piece")
TRAVEL, BRING = "send codes", "collect the forest"


class Stages:
    """Seconds and bytes of each stage of a fit, from Dask's records of its tasks."""

    def __init__(self, noted, began, ended):
        self.seconds, self.bytes, last = {}, {}, began
        for stage, names in STAGES.items():
            tasks = [task for task in noted if distributed.utils.key_split(task["key"]) in names]
            end = max((stop for task in tasks for _, stop in spans(task, "compute")), default=last)
            self.seconds[stage], last = max(0.0, end - last), max(last, end)
            self.bytes[stage] = sum(task["nbytes"] for task in tasks)
        self.moving = max(wait_for_codes(noted, worker) for worker in {task["worker"] for task in noted})
        self.seconds["rank rows"] = max(0.0, self.seconds["rank rows"] - self.moving)
        self.seconds[TRAVEL], self.seconds[BRING] = self.moving, ended - last


def wait_for_codes(noted, worker):
    """Return the time during which idle workers wait for codes."""
    tasks = [task for task in noted if task["worker"] == worker]
    need = [task for task in tasks if distributed.utils.key_split(task["key"]) in NEED_CODES]
    busy = [span for task in tasks for span in spans(task, "compute")]
    return union([*busy, *(span for task in need for span in spans(task, "transfer"))]) - union(busy)


def spans(task, action):
    return [(entry["start"], entry["stop"]) for entry in task["startstops"] if entry["action"] == action]


def union(intervals):
    """The length of the union of time intervals."""
    total, reached = 0.0, 0.0
    for start, stop in sorted(intervals):
        total, reached = total + max(0.0, stop - max(start, reached)), max(stop, reached)
    return total


class Shape(NamedTuple):
    """The number of workers, and their kind."""

    n_workers: int
    n_threads: int  # of each
    calm: bool = False

    @classmethod
    def read(cls, text):
        """Read 4, or 4x2."""
        n_workers, _, n_threads = text.partition("x")
        return cls(int(n_workers), int(n_threads or 1))

    def words(self):
        """Name it."""
        of = f" of {self.n_threads} threads" if self.n_threads > 1 else ""
        return f"{self.n_workers}{of}{', calm' if self.calm else ''}"

    def workers(self):
        """Describe it in words."""
        calm, of = "calm " if self.calm else "", f" of {self.n_threads} threads" if self.n_threads > 1 else ""
        return f"{self.n_workers} {calm}worker{'s' if self.n_workers > 1 else ''}{of}"


class Cluster:
    """A cluster of processes, and the data on it."""

    def __init__(self, shape, X, y):
        n_workers, n_threads, calm = shape
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(dask.config.set(CALM if calm else {}))
        self.local = self.stack.enter_context(
            distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=n_threads, processes=True, dashboard_address=None,
                memory_limit=0, silence_logs=logging.CRITICAL,
            )
        )  # fmt: skip
        self.client = self.stack.enter_context(distributed.Client(self.local))
        size = -(-len(y) // (2 * n_workers * n_threads))
        lazy = da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)
        self.X, self.y = self.client.persist(lazy)
        distributed.wait([self.X, self.y])
        self.small = self.X[:2000].persist(), self.y[:2000].persist()

    def cpu_seconds(self):
        """CPU seconds of all workers so far."""
        return sum(self.client.run(tell_cpu_seconds).values())

    def idle_share(self):
        """The fraction of a core that an idle worker uses."""
        began = self.cpu_seconds()
        time.sleep(IDLE)
        return (self.cpu_seconds() - began) / IDLE / len(self.local.workers)

    def close(self):
        """Stop the processes."""
        self.stack.close()


def fit_weald(cluster, n_trees):
    import weald

    how = {"random_state": 0, "engine": "dask"}
    weald.RandomForestClassifier(n_estimators=4, **how).fit(*cluster.small)  # the first includes setup
    cluster.client.run(count_what_is_written)
    before = cluster.client.run(tell_what_was_written)
    count_what_is_written()
    forest = weald.RandomForestClassifier(n_estimators=n_trees, **how)
    idle = cluster.idle_share()
    cpu, cpu_here = cluster.cpu_seconds(), tell_cpu_seconds()
    with distributed.get_task_stream(cluster.client) as noted:
        began = time.time()  # Dask notes this clock
        seconds = measure.clock(lambda: forest.fit(cluster.X, cluster.y))
        stages = (began, time.time())
    cpu_here = tell_cpu_seconds() - cpu_here
    cpu = cluster.cpu_seconds() - cpu
    out = TCP.n_written
    told = {
        name: [now - then for now, then in zip(counts, before[name], strict=True)]
        for name, counts in cluster.client.run(tell_what_was_written).items()
    }
    between = sum(sent for _, sent in told.values())
    to_here = sum(everything for everything, _ in told.values()) - between
    stages = Stages(noted.data, *stages)
    return {
        "seconds": seconds, "moving": stages.moving, "between": between, "out": out, "in": to_here,
        "forest": forest.forest_.n_bytes, "stages": stages, "print": forest.forest_.fingerprint(),
        "cpu": {"workers": cpu, "client and scheduler": cpu_here}, "idle": idle,
    }  # fmt: skip


def fit_local(X, y, n_threads, n_trees):
    import weald

    forest = weald.RandomForestClassifier(n_estimators=n_trees, random_state=0, n_jobs=n_threads)
    began = tell_cpu_seconds()
    seconds = measure.time_fit("weald", forest, X, y)
    return {"seconds": seconds, "print": forest.forest_.fingerprint(), "cpu": tell_cpu_seconds() - began}


# ------------------------------------------------------------------------------------------------------------- peers


def fit_scikit_learn(cluster, X, y, how):
    """scikit-learn, with trees distributed by joblib."""
    forest = importlib.import_module("sklearn.ensemble").RandomForestClassifier(**how, n_jobs=-1)
    with joblib.parallel_config("dask", scatter=[X, y]):
        return measure.clock(lambda: forest.fit(X, y))


def fit_xgboost(cluster, X, y, how):
    made = boosters.make_xgboost("Classifier", max_features=int(X.shape[1] ** 0.5) / X.shape[1], **how)
    kind = importlib.import_module("xgboost.dask").DaskXGBRFClassifier
    forest = kind(
        **{name: value for name, value in made.get_params().items() if value is not None and name != "n_jobs"}
    )
    return measure.clock(lambda: forest.fit(cluster.X, cluster.y))


def fit_lightgbm(cluster, X, y, how):
    made = boosters.make_lightgbm("Classifier", max_features=int(X.shape[1] ** 0.5) / X.shape[1], **how)
    kind = importlib.import_module("lightgbm").DaskLGBMClassifier
    forest = kind(**{name: value for name, value in made.get_params().items() if name != "n_jobs"})
    return measure.clock(lambda: forest.fit(cluster.X, cluster.y))


def fit_weald_too(cluster, X, y, how):
    forest = importlib.import_module("weald").RandomForestClassifier(**how, engine="dask")
    return measure.clock(lambda: forest.fit(cluster.X, cluster.y))


PEERS = {
    "weald": ("weald", fit_weald_too),
    "scikit-learn": ("scikit-learn + joblib's Dask backend", fit_scikit_learn),
    "xgboost": ("XGBoost-Dask, random forest", fit_xgboost),
    "lightgbm": ("LightGBM-Dask, random forest", fit_lightgbm),
}


def measure_peers(cluster, X, y, given):
    """Seconds of each peer that is installed; None: it failed."""
    found, how = {}, {"n_estimators": given.peer_trees, "max_depth": given.peer_depth, "random_state": 0}
    for package, (title, fit) in PEERS.items():
        if not measure.version_of(package) and not measure.version_of(f"{package}-cpu"):
            continue
        try:
            found[title] = fit(cluster, X, y, how)
        except Exception as error:  # noqa: BLE001  (one library must not stop the others)
            measure.say(f"{title} failed: {error!r}")
            found[title] = None
        measure.say(title, found[title])
    return found


# -------------------------------------------------------------------------------------------------------------- show

TEXT = """\
{table}

Seconds to grow {trees} trees from {rows:,} rows of {columns} columns; a worker is a process with one thread, unless
stated otherwise, and the local engine has as many threads as all workers together. The time in which a worker only
waits for codes is not included in the overhead. All forests have the same fingerprint. The stages of a fit, and the
bytes that their tasks store or send (for the last cluster of the table):

{stages}

CPU seconds, including system time for new memory pages and for sending and receiving:

{cpu}

An idle worker uses {idle} of a core. {calm}

{peers}Measured {repeats} with `benchmarks/cluster/dask_scaling.py` on
{machine}."""

CALM_TEXT = """\
Calm workers have no profiler, and use {idle} of a core
(`distributed.worker.profile.enabled: false`, `distributed.admin.tick.interval: 500ms`)."""

PEERS_TEXT = """\
Other libraries on the same cluster of {workers}, {trees} trees of depth {depth} from the same table. Libraries that
partition the rows among the workers, or use 256 thresholds, do not grow the same forest:

{table}

"""


def megabytes(n_bytes):
    return f"{n_bytes / 1e6:,.1f} MB"


def measure_workers(shape, X, y, given, *, peers=False):
    """Return the best local fit, the best one on a cluster, and the seconds of peers."""
    cluster = Cluster(shape, X, y)
    pairs, left = [], given.repeats
    while left > 0:
        local = fit_local(X, y, shape.n_workers * shape.n_threads, given.trees)
        pairs.append((local, fit_weald(cluster, given.trees)))
        left = left - 1 if local["seconds"] < LONG else 0
    found = measure_peers(cluster, X, y, given) if peers else {}
    cluster.close()
    if len({run["print"] for pair in pairs for run in pair}) > 1:
        raise SystemExit("the cluster grew another forest")
    best = [min(runs, key=lambda run: run["seconds"]) for runs in zip(*pairs, strict=True)]
    measure.say(shape, *([(local["seconds"], there["seconds"], there["moving"]) for local, there in pairs]), *best)
    return *best, found


def table_of_runs(shapes, runs):
    """Return the table of seconds and bytes of each kind of cluster and the local engine."""
    header = [
        "workers", "local engine", "cluster", "sending codes", "other overhead", "between workers", "to the client"
    ]  # fmt: skip
    rows = [
        [
            shape.words(), measure.digits(local["seconds"]), measure.digits(there["seconds"]),
            measure.digits(there["moving"], 2),
            f"{(there['seconds'] - there['moving']) / local['seconds'] - 1:+.0%}", megabytes(there["between"]),
            f"{megabytes(there['in'])} (forest {megabytes(there['forest'])})",
        ]
        for shape, (local, there) in zip(shapes, runs, strict=True)
    ]  # fmt: skip
    return measure.markdown(header, rows)


def table_of_stages(shapes, runs):
    """Return the table of seconds by stage for each kind of cluster, and bytes for the last."""
    order = [*list(STAGES)[:-2], TRAVEL, "rank rows", "grow trees", BRING]
    last = runs[-1]
    size = last["stages"].bytes | {TRAVEL: last["between"], BRING: last["in"]}
    rows = [
        [stage, *(measure.digits(run["stages"].seconds[stage], 2) for run in runs), megabytes(size[stage])]
        for stage in order
    ]
    return measure.markdown(["stage", *(f"seconds, {shape.workers()}" for shape in shapes), "bytes"], rows)


def table_of_cpu(shapes, runs):
    """Return the table of CPU seconds of the local engine, the workers and the client."""
    rows = [["local engine", *(measure.digits(local["cpu"]) for local, _ in runs)]]
    rows += [[who, *(measure.digits(there["cpu"][who]) for _, there in runs)] for who in runs[0][1]["cpu"]]
    return measure.markdown(["CPU seconds", *(shape.workers() for shape in shapes)], rows)


def table_of_peers(given, workers, found):
    rows = [[title, "failed" if seconds is None else measure.digits(seconds)] for title, seconds in found.items()]
    return PEERS_TEXT.format(
        workers=workers,
        trees=given.peer_trees,
        depth=given.peer_depth,
        table=measure.markdown(["library", "seconds"], rows),
    )


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--workers", default="1,2", help="numbers with commas; 4x2: four of two threads")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--data", default="collisions")
    parser.add_argument("--calm", action="store_true", help="the last of them also with workers without profiler")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--block", default="scaling", help="mark in the page, for --write: scaling or scaling-peers")
    parser.add_argument("--peer-trees", type=int, default=10)
    parser.add_argument("--peer-depth", type=int, default=12)
    parser.set_defaults(repeats=1)
    given = parser.parse_args()
    if given.quick:
        given.trees, given.rows, given.data = 4, 500, "small"
    X, y, _, _ = data.load(given.data, given.rows)
    shapes = [Shape.read(text) for text in given.workers.split(",")]
    with_peers = shapes[-1] if given.peers else None
    shapes += [shapes[-1]._replace(calm=True)] if given.calm else []
    runs, peers = [], {}
    for shape in shapes:
        local, there, found = measure_workers(shape, X, y, given, peers=shape is with_peers)
        runs.append((local, there))
        peers |= found
    idle = [f"{there['idle']:.1%}" for _, there in runs]
    text = TEXT.format(
        table=table_of_runs(shapes, runs),
        stages=table_of_stages(shapes, [there for _, there in runs]),
        cpu=table_of_cpu(shapes, runs),
        idle=idle[-1 - given.calm],
        calm=CALM_TEXT.format(idle=idle[-1]) if given.calm else "",
        trees=given.trees,
        rows=len(y),
        columns=X.shape[1],
        peers=table_of_peers(given, with_peers.workers(), peers) if peers else "",
        repeats="once"
        if given.repeats == 1
        else f"{given.repeats} times (fits of {LONG:.0f} seconds and more once), the best counts,",
        machine=measure.describe_machine(
            "weald", "dask", "distributed", "scikit-learn", "xgboost", "xgboost-cpu", "lightgbm"
        ),
    )
    measure.publish(given, given.block, text)


if __name__ == "__main__":
    main()
