"""A Dask cluster, asked with patience: a fit that cannot go on says so, and never waits for ever.

    Cluster          the client in scope: hands tasks in, waits for results
    partitions       Dask collections X, y, sample_weight -> parts, one for each partition
    CodedOnCluster   a table coded where its partitions lie
    deal_trees       grow trees as tasks, in the order of their numbers

A task is a pure function of codes, parameters and seed, and is bound to no worker. A worker that dies costs time,
and nothing else. Nothing large passes through the client or the scheduler: codes travel from worker to worker.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from weald import parts, progress
from weald.engines.native import NativeEngine
from weald.errors import ClusterError, DataError
from weald.estimator import unfitted_copy
from weald.model import Forest
from weald.params import Growth
from weald.parts import CodedTable, Labels, Part
from weald.prune import prune_forest

PATIENCE = 60.0  # seconds that a fit waits for a worker when there is none
LOOK_EVERY = 0.5  # seconds between two looks at the cluster
TASKS_PER_THREAD = 4  # the more, the less is lost with a worker


def import_dask(name: str) -> Any:
    """Import a part of Dask, which weald needs for nothing else."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ClusterError("weald.dask needs Dask. Install it: pip install 'weald[dask]'.") from error


class Cluster:
    """The client in scope."""

    def __init__(self) -> None:
        self._distributed = import_dask("distributed")
        try:
            self.client = self._distributed.get_client()
        except ValueError as error:
            raise ClusterError(
                "There is no Dask client. Start one before you fit: client = dask.distributed.Client()."
            ) from error

    @property
    def n_threads(self) -> int:
        """Threads of all workers."""
        return max(1, sum(self._threads_of_workers().values()))

    def submit(self, function: Any, *args: Any) -> Any:
        """Hand a task in."""
        return self.client.submit(function, *args)

    def gather(self, future: Any) -> Any:
        """Wait for one result."""
        return dict(self.each([future]))[0]

    def each(self, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results with their numbers, as they come. If this is left early, what is under way is cancelled."""
        left = dict(enumerate(futures))
        lonely_since = time.monotonic()
        try:
            while left:
                ready = [i for i, future in left.items() if future.status != "pending"]
                for i in ready:
                    yield i, self._result(left.pop(i))
                if ready or self._threads_of_workers():
                    lonely_since = time.monotonic()
                elif time.monotonic() - lonely_since > PATIENCE:
                    raise ClusterError(
                        f"The cluster has had no workers for {PATIENCE:g} seconds, and {len(left)} tasks are left. "
                        "Start workers and fit again: it will be the same forest."
                    )
                if left:
                    with contextlib.suppress(TimeoutError):
                        self._distributed.wait(list(left.values()), timeout=LOOK_EVERY, return_when="FIRST_COMPLETED")
        finally:
            if left:
                with contextlib.suppress(Exception):  # the cluster may be gone: what is under way is gone with it
                    self.client.cancel(list(left.values()), force=True)

    def _threads_of_workers(self) -> dict[str, int]:
        try:
            found: dict[str, int] = self.client.nthreads()
        except Exception as error:
            raise ClusterError(f"The scheduler does not answer: {error!r}. Start a cluster and fit again.") from error
        return found

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._distributed.CancelledError as error:
            raise ClusterError(f"The scheduler was lost, or a task was cancelled: {error}. Fit again.") from error
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                f"Workers died again and again at the same task: {error}. If they lack memory, give them more, or "
                "fewer threads."
            ) from error


# -------------------------------------------------------------------------------------------------------- partitions


def is_collection(X: Any) -> bool:
    """Say whether X is a Dask data frame, series or array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def partitions(X: Any, y: Any, weight: Any) -> list[Any]:
    """List the partitions as parts that are still to be computed."""
    given = {"X": X, "y": y} | ({} if weight is None else {"sample_weight": weight})
    columns = {name: _delayed(name, column) for name, column in given.items()}
    if len({len(column) for column in columns.values()}) > 1:
        found = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise DataError(
            f"The partitions differ in number: {found}. Take y from the frame that X comes from, or give all the same "
            "chunks."
        )
    part = import_dask("dask").delayed(Part, pure=True)
    return [part(*cells) for cells in zip(*columns.values(), strict=True)]


def _delayed(name: str, column: Any) -> list[Any]:
    if not is_collection(column):
        raise DataError(f"X is a Dask collection, but {name} is not. Give {name} in the same partitions as X.")
    if hasattr(column, "rechunk") and column.ndim == 2:
        column = column.rechunk({1: -1})
    found: list[Any] = np.ravel(column.to_delayed()).tolist()
    return found


# ------------------------------------------------------------------------------------------------------------- codes


class CodedOnCluster:
    """A table coded where its partitions lie: `labels` are here, `table` stays on the cluster."""

    def __init__(self, cluster: Cluster, model: Any, given: Sequence[Any], max_bins: int) -> None:
        submit, plain = cluster.submit, unfitted_copy(model)
        raw = cluster.client.compute(list(given))
        own = [submit(parts.read_labels, plain, part) for part in raw]
        labels = submit(parts.settle_labels, own)
        self.labels: Labels = cluster.gather(labels)
        has_rows = dict(cluster.each([submit(_has_rows, one) for one in own]))
        tables = [submit(parts.read_part, plain, part, labels) for i, part in enumerate(raw) if has_rows[i]]
        values = [submit(parts.survey_values, table, labels, max_bins) for table in tables]
        survey = submit(parts.settle_values, values, labels, max_bins)
        sampled = [submit(parts.sample_values, table, labels, survey) for table in tables]
        cuts = submit(parts.settle_cuts, sampled, survey, max_bins)
        coded = [submit(parts.code_part, table, cuts) for table in tables]
        self.table = submit(parts.join_parts, coded, cuts, labels)


def _has_rows(labels: Labels | None) -> bool:
    return labels is not None


# ------------------------------------------------------------------------------------------------------------- trees


def grow_trees(coded: CodedTable, growth: Growth, seed: int, first: int, n_trees: int, ccp_alpha: float) -> Forest:
    """Grow some trees on one thread: the other threads of a worker have tasks of their own."""
    forest = NativeEngine().grow(coded.ranked(), growth, seed, first, n_trees, 1, None)
    return prune_forest(forest, ccp_alpha) if ccp_alpha > 0 else forest


def deal_trees(cluster: Cluster, coded: CodedOnCluster, model: Any, first: int, n_trees: int) -> list[Forest]:
    """Grow trees `first`, `first + 1` ... all over the cluster."""
    n_tasks = min(n_trees, cluster.n_threads * TASKS_PER_THREAD)
    ends = [first + n_trees * i // n_tasks for i in range(n_tasks + 1)]
    tasks = [
        cluster.submit(grow_trees, coded.table, model.growth_, model.seed_, begin, end - begin, model.ccp_alpha)
        for begin, end in pairwise(ends)
    ]
    watch = progress.watch_fit(model.verbose, n_trees)
    grown: dict[int, Forest] = {}
    try:
        for i, forest in cluster.each(tasks):
            grown[i] = forest
            if watch:
                watch(sum(forest.n_trees for forest in grown.values()) / n_trees)
    finally:
        if watch:
            watch.stop()
    return [grown[i] for i in range(n_tasks)]
