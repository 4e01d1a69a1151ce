"""A Dask cluster, asked with patience: a fit that cannot go on says so, and never waits for ever.

    Cluster          the client in scope: hands tasks in, waits for results
    partitions       Dask collections X, y and others -> what each partition has of them
    Coding           partitions are coded where they lie
    send_table       a table that is here is coded here, and its codes are sent
    CodedOnCluster   a table as codes on the workers

A task is a pure function of codes, parameters and seed, and is bound to no worker. A worker that dies costs time,
and nothing else. Nothing large passes through the client or the scheduler: codes travel from worker to worker.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from weald import coded_parts, cutting, parts
from weald.coded_parts import Chunk, Highs, bytes_on_a_worker, pack
from weald.cutting import Cuts, Outline, light
from weald.errors import ClusterError, DataError
from weald.estimator import unfitted_copy
from weald.parts import Labels, Part, Rows
from weald.steadily import Steady
from weald.table import Reading, Table

PATIENCE = 60.0  # seconds that a fit waits for a worker or the scheduler when there is none
LOOK_EVERY = 0.5  # seconds between two looks at the cluster
AT_ONCE = 4  # answers of partitions that are put together by one task
COLUMNS_TO_CUT = 8  # that one task takes, at least
MOST_CHUNKS = 64  # in which codes travel
ROWS_SENT = 1 << 18  # of a chunk, where the table is here
SHARE_OF_MEMORY = 0.7  # of a worker, that a fit may take: above it Dask begins to write to disk, or to wait


def import_dask(name: str) -> Any:
    """Import a part of Dask, which weald needs for nothing else."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ClusterError("A cluster needs Dask. Install it: pip install 'weald[dask]'.") from error


def n_threads_here() -> int:
    """Threads of the worker at which a task runs."""
    return int(import_dask("distributed").get_worker().state.nthreads)


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

    def seats(self) -> list[str]:
        """Name a worker for each of its threads, in turns: first all for their first thread."""
        threads = {name: int(worker["nthreads"]) for name, worker in self.workers().items()}
        return [name for i in range(max(threads.values(), default=0)) for name in threads if i < threads[name]]

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
        return self.client.submit(Steady(function), *args, pure=False)

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
        left, done = dict(enumerate(futures)), _note_when_done(futures)
        alone, last_look = 0.0, time.monotonic()
        try:
            while left:
                ready = _take(done, left)
                yield from zip(ready, self._results([left.pop(i) for i in ready]), strict=True)
                if ready:
                    alone, last_look = 0.0, time.monotonic()
                    continue
                now = time.monotonic()
                # A process that was stopped meanwhile, or a computer that slept, has not waited.
                alone = 0.0 if self._are_at_work() else alone + min(now - last_look, 10 * LOOK_EVERY)
                last_look = now
                if alone > PATIENCE:
                    raise ClusterError(
                        f"The cluster has had no workers for {PATIENCE:g} seconds, or all of them are paused for lack "
                        f"of memory, and {len(left)} tasks are left (known: {self._words()}). Start workers, or give "
                        "them more memory, and fit again: it will be the same forest."
                    )
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

    def _results(self, futures: Sequence[Any]) -> Any:
        try:
            return self._fetch(futures)
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

    def _fetch(self, futures: Sequence[Any]) -> Any:
        """Bring results here, from the workers themselves: nothing large passes the scheduler.

        They may have been lost since: then they are worked out again, if anybody is there.
        """
        if not futures:
            return []
        wanted = self.client.gather(list(futures), direct=True, asynchronous=True)
        coming = asyncio.run_coroutine_threadsafe(wanted, self.client.loop.asyncio_loop)
        while True:
            try:
                return coming.result(timeout=PATIENCE)
            except TimeoutError:
                if coming.done() or not self._are_at_work():
                    raise


def _note_when_done(futures: Sequence[Any]) -> SimpleQueue[int]:
    """Give a queue where each future notes its number when it is done.

    To wait for the first of all that are left, again and again, would take the longer the more there are.
    """
    done: SimpleQueue[int] = SimpleQueue()
    for i, future in enumerate(futures):
        future.add_done_callback(lambda _, i=i: done.put(i))
    return done


def _take(done: SimpleQueue[int], left: dict[int, Any]) -> list[int]:
    """Wait a while for futures that are left to be done: the numbers of those that are."""
    noted = []
    with contextlib.suppress(Empty):
        noted.append(done.get(timeout=LOOK_EVERY))
        while True:
            noted.append(done.get_nowait())
    if not noted:  # a client that is being closed notes nothing any more
        return [i for i, future in left.items() if future.status != "pending"]
    return [i for i in noted if i in left]


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB"


# -------------------------------------------------------------------------------------------------------- partitions


Cells = list[tuple[Any, ...]]  # of each partition: X, y and whatever else is given


def partitions(cluster: Cluster, **given: Any) -> tuple[list[str], Cells]:
    """Let the workers compute the partitions of X, y and whatever else is given: names, and what will be there."""
    columns = {name: _delayed(name, column) for name, column in given.items() if column is not None}
    if len({len(column) for column in columns.values()}) > 1:
        found = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        raise DataError(
            f"The partitions differ in number: {found}. Take y from the frame that X comes from, or give all the same "
            "chunks."
        )
    cells = cluster.client.compute([cell for column in columns.values() for cell in column])
    n = len(columns["X"])
    return list(columns), list(zip(*(cells[i : i + n] for i in range(0, len(cells), n)), strict=True))


def make_part(names: Sequence[str], cells: Sequence[Any]) -> Part:
    """Put together what a partition has."""
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

    def __init__(self, cluster: Cluster, labels: Labels, outline: Outline, codes: tuple[Any, ...]) -> None:
        self.cluster, self.labels, self.n_cut = cluster, labels, outline.n_cut
        self._codes = codes  # chunks, cuts, highs, rows, labels
        self.rows, self.labels_there = codes[3:]
        self.kept: list[Any] = []  # of each partition, where rows may weigh nothing: which ones count

    def submit(self, function: Any, *args: Any, priority: float = 0, wish: str | None = None) -> Any:
        """Hand in a task that needs the table. `wish` names the worker that it suits; any other may take it."""
        place = {} if wish is None else {"workers": [wish], "allow_other_workers": True}
        return self.cluster.client.submit(Steady(function), self._codes, *args, priority=priority, pure=False, **place)


class Coding:
    """A table that is coded where its partitions lie, step by step."""

    def __init__(self, cluster: Cluster, model: Any, names: Sequence[str], cells: Cells, max_bins: int) -> None:
        self._cluster, self._max_bins = cluster, max_bins
        plain = unfitted_copy(model)
        own = [cluster.submit(_read_labels, plain, names, of_part) for of_part in cells]
        self._labels_there = cluster.submit(parts.settle_labels, own)
        self.labels: Labels = cluster.gather(self._labels_there)
        self._tables = [
            cluster.submit(_read_part, plain, names, of_part, self._labels_there)
            for of_part, n_rows in zip(cells, self.labels.by_part, strict=True)
            if n_rows
        ]
        self._kept = [cluster.submit(_kept, names, of_part) for of_part in cells] if self.labels.is_weighted else []

    def code(self, also: Callable[[Any, Any], Any]) -> tuple[CodedOnCluster, Any]:
        """Code the table. What `also` is to be found from its rows and labels is found meanwhile."""
        cluster, labels = self._cluster, self._labels_there
        rows, cuts, outline, told = self._survey(also)
        cluster.require_memory(self.labels.n_rows, outline.widths)
        chunks = [cluster.submit(coded_parts.code_part, table, cuts) for table in self._tables]
        highs = cluster.submit_in_rounds(
            coded_parts.join_highs,
            [
                cluster.submit(coded_parts.find_highs, table, chunk, cuts)
                for table, chunk in zip(self._tables, chunks, strict=True)
            ],
        )
        if len(chunks) > MOST_CHUNKS:
            n = -(-len(chunks) // MOST_CHUNKS)
            chunks = [cluster.submit(coded_parts.join_chunks, chunks[i : i + n]) for i in range(0, len(chunks), n)]
        table = CodedOnCluster(cluster, self.labels, outline, (chunks, cuts, highs, rows, labels))
        table.kept = self._kept
        return table, told

    def _survey(self, also: Callable[[Any, Any], Any]) -> tuple[Any, Any, Outline, Any]:
        """Find out how values become codes; also give what is beside the features."""
        cluster, labels, max_bins = self._cluster, self._labels_there, self._max_bins
        rows, highest = self._settle_sample()
        told = also(rows, labels)
        sampled, blocks = [], []
        if max_bins or not cutting.is_sampled(self.labels, 1):
            sampled = [cluster.submit(cutting.sample_values, table, labels, highest) for table in self._tables]
            blocks = _blocks(self.labels.n_features, cluster.n_threads)
        columns = [cluster.submit(cutting.cut_columns, sampled, block, labels, max_bins) for block in blocks]
        cuts = cluster.submit(cutting.join_cuts, columns, labels)
        outline, told = cluster.gather_all([cluster.submit(cutting.Cuts.outline, cuts), told])
        if outline.doubtful:
            found = [cluster.submit(cutting.find_distinct, table, outline.doubtful, max_bins) for table in self._tables]
            joined = cluster.submit_in_rounds(cutting.join_distinct, found, max_bins)
            cuts = cluster.submit(cutting.settle_cuts, cuts, joined)
            outline = cluster.gather(cluster.submit(cutting.Cuts.outline, cuts))
        return rows, cuts, outline, told

    def _settle_sample(self) -> tuple[Any, int]:
        """Find the highest hash of the sample. Where many rows are alike, more of them have to be looked at."""
        cluster, labels, max_bins = self._cluster, self._labels_there, self._max_bins
        for times in (1, 16, cutting.NO_LIMIT):
            limit = cutting.limit_hashes(self.labels, times)
            found = [cluster.submit(cutting.survey_part, table, labels, max_bins, limit) for table in self._tables]
            settled = cluster.submit(cutting.settle_survey, found, labels, max_bins, limit)
            highest = cluster.gather(cluster.submit(_highest_of, settled))
            if highest is not None:
                break
        return cluster.submit(_rows_of, settled), highest


def _read_labels(model: Any, names: Sequence[str], cells: Sequence[Any]) -> Labels | None:
    return parts.read_labels(model, make_part(names, cells))


def _read_part(model: Any, names: Sequence[str], cells: Sequence[Any], labels: Labels) -> Table:
    return parts.read_part(model, make_part(names, cells), labels)


def _kept(names: Sequence[str], cells: Sequence[Any]) -> Any:
    return make_part(names, cells).kept()


def _highest_of(settled: cutting.Settled) -> int | None:
    return settled.highest


def _rows_of(settled: cutting.Settled) -> Rows:
    return settled.rows


def _blocks(n_features: int, n_threads: int) -> list[list[int]]:
    """Divide the columns among the threads: some to each, or it would not pay."""
    n_blocks = max(1, min(n_threads, n_features // COLUMNS_TO_CUT))
    return [block.tolist() for block in np.array_split(np.arange(n_features), n_blocks)]


def send_table(cluster: Cluster, model: Any, reading: Reading, engine: Any, coded: Any) -> CodedOnCluster:
    """Send a table that was read and coded here."""
    table = reading.table
    columns = [engine.column(coded, f) for f in range(table.n_features)]
    many = frozenset(f for f, (_, lows, highs) in enumerate(columns) if not np.array_equal(lows, highs))
    cuts = Cuts([light(lows) for _, lows, _ in columns], many)
    outline = cuts.outline()
    cluster.require_memory(table.n_rows, outline.widths)
    narrow = [codes.astype(f"u{width}") for (codes, _, _), width in zip(columns, outline.widths, strict=True)]
    chunks = [
        Chunk(min(ROWS_SENT, table.n_rows - i), [pack(codes[i : i + ROWS_SENT]) for codes in narrow])
        for i in range(0, table.n_rows, ROWS_SENT)
    ]
    highs = Highs({f: light(columns[f][2]) for f in many}, {f: float(columns[f][1][0]) for f in many})
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
    others = [cluster.send(thing) for thing in (cuts, highs, rows, labels)]
    return CodedOnCluster(cluster, labels, outline, (sent, *others))
