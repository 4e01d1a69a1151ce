"""What happens when workers die? Worker processes are killed, and the forest is compared with that of one machine.

    python -m benchmarks.cluster.faults [--runs 50] [--rows 5000] [--trees 40] [--write]

In each run, one of two workers is killed (SIGKILL) at a random moment of the fit, seeded with the number of the run; a
nanny restarts it, as on most clusters. Then all workers are killed at once and one is added, a worker is restarted, a
worker has too little memory for the codes, the scheduler dies, and a fit is interrupted. Every forest must equal that
of one machine; a fit that cannot continue must raise a `ClusterError` in time.
"""

import _thread
import contextlib
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import dask.array as da
import distributed
import numpy as np

import weald
from benchmarks import measure
from weald import ClusterError
from weald.dask import cluster

PAGE = measure.ROOT / "docs" / "guides" / "dask.md"
BINS = (65_535, 64)  # with 64, a code represents several values, and out-of-bag estimates need the values, too


def table(n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 8)).round(3)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)
    return X, y


def lazy(X, y, n_parts=7):
    size = -(-len(y) // n_parts)
    return da.from_array(X, chunks=(size, X.shape[1])), da.from_array(y, chunks=size)


def start(n_workers, **how):
    how = {"memory_limit": "2GiB", "processes": True, "silence_logs": logging.CRITICAL} | how
    return distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, **how)


def later(seconds, function):
    timer = threading.Timer(seconds, function)
    timer.start()
    return timer


def kill(local, which=None):
    """Kill the processes of some workers, or of all."""
    workers = list(local.workers.values())
    for worker in workers if which is None else [workers[which % len(workers)]]:
        with contextlib.suppress(ProcessLookupError, TypeError):
            os.kill(worker.pid, signal.SIGKILL)


class Faults:
    """Return the forest that all fits must give, and the time of a fit without failures."""

    def __init__(self, n_rows, n_trees):
        self.X, self.y = table(n_rows)
        self.how = {"n_estimators": n_trees, "random_state": 0, "oob_score": True}
        self.expected = {
            bins: weald.RandomForestClassifier(**self.how, max_bins=bins).fit(self.X, self.y) for bins in BINS
        }
        with start(2) as local, distributed.Client(local):
            self.fit()  # the first fit of a process includes setup
            self.seconds = measure.clock(self.fit)

    def fit(self, **other):
        """Fit partitions; return whether the forest equals that of one machine."""
        model = weald.RandomForestClassifier(**self.how | other).fit(*lazy(self.X, self.y))
        return self.same(model)

    def fit_for_long(self):
        """A fit that is still far from finished when the failure happens."""
        return self.fit(n_estimators=500 * self.how["n_estimators"])

    def same(self, model):
        """Compare with the forest of one machine."""
        expected = self.expected[model.max_bins]
        return model.forest_.fingerprint() == expected.forest_.fingerprint() and model.oob_error_ == expected.oob_error_

    # --------------------------------------------------------------------------------------------------- what happens

    def one_dies(self, n_runs):
        """Count the runs that give the same forest although a worker was killed."""
        n_same = 0
        for run in range(n_runs):  # a new cluster for each run: Dask may not replace a worker that is killed twice
            with start(2) as local, distributed.Client(local):
                moment = np.random.default_rng(run).random()
                timer = later(moment * self.seconds, lambda local=local, run=run: kill(local, run))
                same = self.fit(max_bins=BINS[run % 2])
                timer.join()
            n_same += same
            measure.say(f"run {run}: killed at {moment:.2f} of the time, {'the same' if same else 'ANOTHER'}")
        return n_same

    def table_from_here(self):
        """The table is sent from the client, and is lost with all workers."""
        with start(2) as local, distributed.Client(local):
            timer = later(0.4 * self.seconds, lambda: kill(local))
            model = weald.RandomForestClassifier(**self.how, max_bins=BINS[1], engine="dask")
            same = self.same(model.fit(self.X, self.y))
            timer.cancel()
        return "the same forest" if same else "ANOTHER FOREST"

    def all_die_and_one_comes(self):
        """Kill all workers; nannies restart them, and one more is added."""
        with start(2) as local, distributed.Client(local):
            timer = later(0.5 * self.seconds, lambda: (kill(local), local.scale(3)))
            same = self.fit()
            timer.cancel()
        return "the same forest" if same else "ANOTHER FOREST"

    def one_is_restarted(self):
        """Restart a worker, as a user would."""
        with start(2) as local, distributed.Client(local) as client:
            address = next(iter(client.scheduler_info()["workers"]))
            timer = later(0.3 * self.seconds, lambda: client.restart_workers([address], raise_for_error=False))
            same = self.fit()
            timer.join()
        return "the same forest" if same else "ANOTHER FOREST"

    def too_little_memory(self):
        """Workers with too little memory for the codes."""
        with start(2, memory_limit="700MiB") as local, distributed.Client(local):
            X = da.random.default_rng(0).random((4_000_000, 8), chunks=(500_000, 8))
            return finished_in_time(lambda: weald.RandomForestRegressor(5).fit(X, X[:, 0]))

    def scheduler_dies(self):
        """Start a scheduler and a worker in separate processes, since those of a local cluster run in this process."""
        with tempfile.TemporaryDirectory() as folder:
            file = ["--scheduler-file", f"{folder}/scheduler.json", "--no-dashboard"]
            run = partial(subprocess.Popen, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            cli = [sys.executable, "-m", "distributed.cli"]
            scheduler = run([*cli[:2], f"{cli[2]}.dask_scheduler", "--port", "0", *file])
            worker = run([*cli[:2], f"{cli[2]}.dask_worker", "--nthreads", "1", *file])
            try:
                while not Path(file[1]).exists():
                    time.sleep(0.1)
                with distributed.Client(scheduler_file=file[1], timeout=60) as client:
                    client.wait_for_workers(1)
                    timer = later(0.5 * self.seconds, scheduler.kill)
                    outcome = finished_in_time(self.fit_for_long)
                    timer.join()
            finally:
                for process in (scheduler, worker):
                    process.kill()
                    process.wait()
        return outcome

    def interrupted(self):
        """Ctrl-C: the exception is raised, and nothing of the fit stays on the workers."""
        with start(2) as local, distributed.Client(local) as client:
            timer = later(0.6 * self.seconds, _thread.interrupt_main)
            try:
                self.fit_for_long()
            except KeyboardInterrupt:
                began = time.perf_counter()
            else:
                timer.cancel()
                return "TOO LATE: the fit had ended"
            timer.join()
            while any(client.processing().values()) or any(client.has_what().values()):
                time.sleep(0.1)
            return f"the workers are free after {time.perf_counter() - began:.1f} s"


def finished_in_time(fit):
    """Describe how a fit that cannot succeed ended."""
    began = time.perf_counter()
    try:
        fit()
    except ClusterError as error:
        return f"`ClusterError` after {time.perf_counter() - began:.1f} s: {str(error)[:90]} ..."
    return "NO ERROR"


TEXT = """\
| Failure | Result |
|---|---|
{rows}

Forests of {n_trees} trees from {n_rows:,} rows in 7 partitions, on two worker processes, with
`weald.dask.cluster.PATIENCE = {limit:g}`; "the same forest" is the fingerprint and the out-of-bag error of one machine.
In every second run, and where the table was sent, `max_bins={few}`, so that workers hold values, too.
Shown by `benchmarks/cluster/faults.py` on {machine}."""


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--trees", type=int, default=40)
    given = parser.parse_args()
    if given.quick:
        given.runs, given.rows, given.trees = 1, 2000, 10
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes of a shell ignore Ctrl-C
    faults = Faults(given.rows, given.trees)
    n_same = faults.one_dies(given.runs)
    found = [("a worker is killed at a random moment", f"the same forest in {n_same} of {given.runs} runs")]
    for title, happen in {
        "all workers are killed at once, and one is added": faults.all_die_and_one_comes,
        "the same, and the table was sent from the client": faults.table_from_here,
        "a worker is restarted": faults.one_is_restarted,
        "a worker has too little memory for the codes": faults.too_little_memory,
        "the scheduler dies": faults.scheduler_dies,
        "Ctrl-C": faults.interrupted,
    }.items():
        found.append((title, happen()))
        measure.say(*found[-1])
    text = TEXT.format(
        rows="\n".join(f"| {title} | {end} |" for title, end in found),
        n_trees=given.trees,
        n_rows=given.rows,
        limit=cluster.PATIENCE,
        few=BINS[1],
        machine=measure.describe_machine("weald", "dask", "distributed"),
    )
    measure.publish(given, "faults", text)


if __name__ == "__main__":
    main()
