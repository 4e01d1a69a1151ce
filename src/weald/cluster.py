"""A Dask cluster, asked with patience: a fit that cannot go on says so, and never waits for ever.

    Cluster          the client in scope: hands tasks in, waits for results
    partitions       Dask collections X, y and others -> parts, one for each partition
    CodedOnCluster   a table as codes on the workers, from partitions or from a table that is here

A task is a pure function of codes, parameters and seed, and is bound to no worker. A worker that dies costs time,
and nothing else. Nothing large passes through the client or the scheduler: codes travel from worker to worker.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from weald import coded_parts, parts
from weald.coded_parts import Chunk, CodeValues, Rows, bytes_on_a_worker, pack
from weald.errors import ClusterError, DataError
from weald.estimator import unfitted_copy
from weald.parts import Labels, Part
from weald.table import Reading

PATIENCE = 60.0  # seconds that a fit waits for a worker or the scheduler when there is none
LOOK_EVERY = 0.5  # seconds between two looks at the cluster
AT_ONCE = 8  # answers of partitions that are put together by one task
MOST_CHUNKS = 64  # in which codes travel
ROWS_SENT = 1 << 18  # of a chunk, where the table is here
SHARE_OF_MEMORY = 0.7  # of a worker, that a fit may take: above it Dask begins to write to disk, or to wait


def import_dask(name: str) -> Any:
    """Import a part of Dask, which weald needs for nothing else."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ClusterError("A cluster needs Dask. Install it: pip install 'weald[dask]'.") from error


class LostCodesError(ClusterError):
    """What was sent to workers is lost with them: it must be sent again."""


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

    def workers(self) -> dict[str, Any]:
        """Say what the scheduler knows of the workers: their threads and memory."""
        try:
            told = self.client.sync(self.client.scheduler.identity, callback_timeout=PATIENCE)
        except Exception as error:
            raise ClusterError(
                f"The scheduler does not answer: {error!r}. Start a cluster and fit again: it will be the same forest."
            ) from error
        found: dict[str, Any] = told["workers"]
        return found

    @property
    def n_threads(self) -> int:
        """Threads of all workers."""
        return max(1, sum(int(worker["nthreads"]) for worker in self.workers().values()))

    def require_memory(self, n_rows: int, widths: Sequence[int]) -> None:
        """Refuse a table whose codes would not fit each worker."""
        for name, worker in self.workers().items():
            limit = worker.get("memory_limit")
            need = bytes_on_a_worker(n_rows, widths, worker["nthreads"])
            if limit and need > SHARE_OF_MEMORY * limit:
                raise ClusterError(
                    f"The codes of {n_rows} rows and {len(widths)} features need about {_gib(need)} on each worker, "
                    f"but {name} may use {_gib(SHARE_OF_MEMORY * limit)} of its {_gib(limit)} for it. Give workers "
                    "more memory or fewer threads, or set max_bins=255 for codes of one byte."
                )

    def submit(self, function: Any, *args: Any) -> Any:
        """Hand a task in."""
        return self.client.submit(function, *args)

    def submit_in_rounds(self, join: Callable[..., Any], found: Sequence[Any], *args: Any) -> Any:
        """Put answers together, a few at a time."""
        left = list(found)
        while len(left) > 1:
            left = [
                self.submit(join, left[i : i + AT_ONCE], *args) if i + 1 < len(left) else left[i]
                for i in range(0, len(left), AT_ONCE)
            ]
        return left[0]

    def send(self, thing: Any) -> Any:
        """Send something from here to all workers, which pass it on among themselves."""
        try:
            return self.client.scatter(thing, broadcast=True, direct=True, hash=False, timeout=PATIENCE)
        except Exception as error:
            raise LostCodesError(f"Codes could not be sent to the workers: {error!r}. Fit again.") from error

    def gather(self, future: Any) -> Any:
        """Wait for one result."""
        return dict(self.each([future]))[0]

    def gather_all(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for several results."""
        found = dict(self.each(futures))
        return [found[i] for i in range(len(futures))]

    def each(self, futures: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield results with their numbers, as they come. If this is left early, what is under way is cancelled."""
        left = dict(enumerate(futures))
        alone, last_look = 0.0, time.monotonic()
        try:
            while left:
                ready = [i for i, future in left.items() if future.status != "pending"]
                for i in ready:
                    yield i, self._result(left.pop(i))
                now = time.monotonic()
                # A process that was stopped meanwhile, or a computer that slept, has not waited.
                alone = 0.0 if ready or self._are_at_work() else alone + min(now - last_look, 10 * LOOK_EVERY)
                last_look = now
                if alone > PATIENCE:
                    raise ClusterError(
                        f"The cluster has had no workers for {PATIENCE:g} seconds, or all of them are paused for lack "
                        f"of memory, and {len(left)} tasks are left (known: {self._words()}). Start workers, or give "
                        "them more memory, and fit again: it will be the same forest."
                    )
                if left:
                    with contextlib.suppress(TimeoutError):
                        self._distributed.wait(list(left.values()), timeout=LOOK_EVERY, return_when="FIRST_COMPLETED")
        finally:
            if left:
                with contextlib.suppress(Exception):  # the cluster may be gone: what is under way is gone with it
                    self.client.cancel(list(left.values()), force=True)

    def _words(self) -> str:
        """Name the workers and what they are doing."""
        words = [f"{name} {worker.get('status')}" for name, worker in self.workers().items()]
        return ", ".join(words) or "none"

    def _are_at_work(self) -> bool:
        """Say whether any worker takes tasks: one whose memory is nearly full does not."""
        return any(worker.get("status", "running") == "running" for worker in self.workers().values())

    def _result(self, future: Any) -> Any:
        try:
            return self._fetch(future)
        except (self._distributed.CancelledError, OSError) as error:
            raise LostCodesError(
                f"The scheduler was lost, a task was cancelled, or what was sent is gone: {error!r}. Fit again: it "
                "will be the same forest."
            ) from error
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                f"Workers died again and again at the same task: {error}. If they lack memory, give them more, or "
                "fewer threads."
            ) from error

    def _fetch(self, future: Any) -> Any:
        """Bring a result here. It may have been lost since: then it is worked out again, if anybody is there."""
        coming = asyncio.run_coroutine_threadsafe(future._result(), self.client.loop.asyncio_loop)  # noqa: SLF001
        while True:
            try:
                return coming.result(timeout=PATIENCE)
            except TimeoutError:
                if coming.done() or not self._are_at_work():
                    raise


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB"


# -------------------------------------------------------------------------------------------------------- partitions


def partitions(**given: Any) -> list[Any]:
    """List the partitions of X, y and whatever else is given as parts that are still to be computed."""
    columns = {name: _delayed(name, column) for name, column in given.items() if column is not None}
    if len({len(column) for column in columns.values()}) > 1:
        found = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise DataError(
            f"The partitions differ in number: {found}. Take y from the frame that X comes from, or give all the same "
            "chunks."
        )
    part = import_dask("dask").delayed(_make_part, pure=True)
    return [part(list(columns), *cells) for cells in zip(*columns.values(), strict=True)]


def _make_part(names: Sequence[str], *cells: Any) -> Part:
    given = dict(zip(names, cells, strict=True))
    given["weight"] = given.pop("sample_weight", None)
    return Part(**given)


def is_collection(X: Any) -> bool:
    """Say whether X is a Dask data frame, series or array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def _delayed(name: str, column: Any) -> list[Any]:
    if not is_collection(column):
        raise DataError(f"X is a Dask collection, but {name} is not. Give {name} in the same partitions as X.")
    if hasattr(column, "rechunk") and column.ndim == 2:
        column = column.rechunk({1: -1})
    found: list[Any] = np.ravel(column.to_delayed()).tolist()
    return found


# ------------------------------------------------------------------------------------------------------------- codes


class CodedOnCluster:
    """A table as codes: `labels` are here, the codes stay on the workers."""

    def __init__(
        self, cluster: Cluster, labels: Labels, chunks: list[Any], values: Any, rows: Any, labels_there: Any
    ) -> None:
        self.cluster, self.labels, self.labels_there = cluster, labels, labels_there
        self._codes = (chunks, values, rows, labels_there)
        self.rows, self.values = rows, values
        self.kept: list[Any] = []  # of each partition, where rows may weigh nothing: which ones count

    def submit(self, function: Any, *args: Any, priority: int = 0) -> Any:
        """Hand in a task that needs the table."""
        return self.cluster.client.submit(function, *self._codes, *args, priority=priority)


def code_partitions(cluster: Cluster, model: Any, given: Sequence[Any], max_bins: int) -> CodedOnCluster:
    """Code a table where its partitions lie."""
    submit, plain = cluster.submit, unfitted_copy(model)
    raw = cluster.client.compute(list(given))
    own = [submit(parts.read_labels, plain, part) for part in raw]
    settled = submit(parts.settle_labels, own)
    labels: Labels = cluster.gather(settled)
    has_rows = cluster.gather_all([submit(_has_rows, one) for one in own])
    tables = [submit(parts.read_part, plain, part, settled) for i, part in enumerate(raw) if has_rows[i]]
    found = [submit(parts.survey_values, table, settled, max_bins) for table in tables]
    joined = cluster.submit_in_rounds(parts.join_values, found, settled, max_bins)
    survey = submit(parts.settle_values, joined, settled)
    sampled = [submit(parts.sample_values, table, settled, survey) for table in tables]
    cuts = submit(parts.settle_cuts, sampled, survey, max_bins)
    cluster.require_memory(labels.n_rows, cluster.gather(submit(parts.Cuts.widths, cuts)))
    coded = [submit(coded_parts.code_part, table, cuts) for table in tables]
    highs = cluster.submit_in_rounds(coded_parts.join_highs, [submit(coded_parts.highs_of, part) for part in coded])
    chunks = [submit(coded_parts.chunk_of, part) for part in coded]
    if len(chunks) > MOST_CHUNKS:
        n = -(-len(chunks) // MOST_CHUNKS)
        chunks = [submit(coded_parts.join_chunks, chunks[i : i + n]) for i in range(0, len(chunks), n)]
    rows = submit(coded_parts.join_rows, [submit(coded_parts.rows_of, part) for part in coded])
    values = submit(coded_parts.settle_values, cuts, highs, settled)
    table = CodedOnCluster(cluster, labels, chunks, values, rows, settled)
    if labels.is_weighted:
        table.kept = [submit(Part.kept, part) for part in raw]
    return table


def _has_rows(labels: Labels | None) -> bool:
    return labels is not None


def send_table(cluster: Cluster, model: Any, reading: Reading, engine: Any, coded: Any) -> CodedOnCluster:
    """Send a table that was read and coded here."""
    table = reading.table
    columns = [engine.column(coded, f) for f in range(table.n_features)]
    starts = [lows for _, lows, _ in columns]
    widths = parts.Cuts(starts, frozenset()).widths()
    cluster.require_memory(table.n_rows, widths)
    narrow = [codes.astype(f"u{width}") for (codes, _, _), width in zip(columns, widths, strict=True)]
    chunks = [
        Chunk(min(ROWS_SENT, table.n_rows - i), [pack(codes[i : i + ROWS_SENT]) for codes in narrow])
        for i in range(0, table.n_rows, ROWS_SENT)
    ]
    highs = [None if np.array_equal(low, high) else pack(parts.light(high)) for _, low, high in columns]
    values = CodeValues([pack(parts.light(low)) for low in starts], highs, table.categorical)
    labels = Labels(
        schema=model.schema_,
        n_features=table.n_features,
        classes=reading.classes,
        n_rows=table.n_rows,
        is_weighted=table.weight is not None,
        whole=table.weights_whole,
        total=table.size if table.weights_whole else 0,
        largest=1.0 if table.weight is None else float(table.weight.max()),
    )
    rows = Rows(table.target, table.weight, table.groups, table.strata)
    sent = [cluster.send(chunk) for chunk in chunks]
    return CodedOnCluster(cluster, labels, sent, cluster.send(values), cluster.send(rows), cluster.send(labels))
