"""A Dask cluster, asked with patience: a fit that cannot go on says so, and never waits for ever.

    Cluster          the client in scope: hands tasks in, waits for results
    PendingTasks     results that are to come, of tasks that are handed in or will be
    import_dask      a part of Dask, which is needed for nothing else
    n_threads_here   threads of the worker at which a task runs

A task is a pure function of codes, parameters and seed, and is bound to no worker. A worker that dies costs time,
and nothing else. Nothing large passes through the client or the scheduler: codes travel from worker to worker.
"""

import asyncio
import contextlib
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from weald.codes.partitioned_table import Labels
from weald.dask.malloc_tuning import RetainedMemory
from weald.dask.work_split import bytes_on_a_worker
from weald.errors import ClusterError

PATIENCE = 60.0  # seconds that a fit waits for a worker or the scheduler when there is none
LOOK_EVERY = 0.5  # seconds between two looks at the cluster
TO_ONE = 5.0  # seconds that a fit waits for one worker where another would do
AT_ONCE = 8  # answers of partitions that are put together by one task
SHARE_OF_MEMORY = 0.7  # of a worker, that a fit may take: above it Dask begins to write to disk, or to wait

Future: TypeAlias = Any  # a result on the cluster, of any type
WorkerInfo: TypeAlias = Any  # what the scheduler knows of a worker: a dict


def import_dask(name: str) -> Any:
    """Import a part of Dask, which weald needs for nothing else."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ClusterError(
            "A cluster needs Dask. Install it: pip install 'dask[array,dataframe]' distributed."
        ) from error


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
        self._handed_in: list[weakref.ref[Any]] = []  # all futures of a fit

    def workers(self) -> dict[str, WorkerInfo]:
        """Say what the scheduler knows of the workers: their threads and memory."""
        try:
            told = self.client.sync(self.client.scheduler.identity, callback_timeout=PATIENCE)
        except Exception as error:
            raise ClusterError(
                f"The scheduler does not answer: {error!r}. Start a cluster and fit again: it will be the same forest."
            ) from error
        found: dict[str, WorkerInfo] = told["workers"]
        return found

    @property
    def n_threads(self) -> int:
        """Threads of all workers."""
        return max(1, sum(int(worker["nthreads"]) for worker in self.workers().values()))

    def slots(self) -> list[str]:
        """Name a worker for each of its threads, in turns: first all for their first thread."""
        threads = {name: int(worker["nthreads"]) for name, worker in self.workers().items() if _is_running(worker)}
        return [name for i in range(max(threads.values(), default=0)) for name in threads if i < threads[name]]

    def places_of(self, futures: Sequence[Future]) -> list[str | None]:
        """Name a worker that has each result; None: it is not there yet, or lost."""
        try:
            keys = [future.key for future in futures]
            has = self.client.sync(self.client.scheduler.who_has, keys=keys, callback_timeout=PATIENCE)
        except Exception as error:
            raise LostCodesError(f"The scheduler does not answer: {error!r}. Fit again.") from error
        return [next(iter(has.get(future.key, ())), None) for future in futures]

    def require_memory(
        self, workers: Mapping[str, WorkerInfo], labels: Labels, widths: Sequence[int], kept: Mapping[str | None, int]
    ) -> None:
        """Refuse a table whose codes would not fit each worker, or whose trees would not, or values that are kept.

        `kept` has the bytes of these by worker.
        """
        for name, worker in workers.items():
            limit = worker.get("memory_limit")
            need = bytes_on_a_worker(labels.n_rows, widths, worker["nthreads"], labels.task)
            of_values = kept.get(name, 0)
            need += of_values
            if limit and need > SHARE_OF_MEMORY * limit:
                values = f"and {_gib(of_values)} of values for out-of-bag estimates, " if of_values else ""
                instead = "oob_score=False" if of_values else "max_bins=255 for codes of one byte"
                raise ClusterError(
                    f"The codes of {labels.n_rows} rows and {len(widths)} features, and trees that grow, {values}need "
                    f"about {_gib(need)} on each worker, but {name} may use {_gib(SHARE_OF_MEMORY * limit)} of its "
                    f"{_gib(limit)} for it. Give workers more memory or fewer threads, or set {instead}."
                )

    def submit(
        self, function: Callable[..., object], *args: object, priority: float = 0, wish: str | None = None
    ) -> Future:
        """Hand a task in. `wish` names the worker that it suits; any other may take it."""
        place = {} if wish is None else {"workers": [wish], "allow_other_workers": True}
        with self._translate_errors():
            return self._note(
                self.client.submit(RetainedMemory(function), *args, priority=priority, pure=False, **place)
            )

    def submit_each(
        self, function: Callable[..., object], arguments: Sequence[tuple[object, ...]], priority: float = 0
    ) -> list[Future]:
        """Hand in a task for each set of arguments: all at once, which takes a third of the time."""
        columns = map(list, zip(*arguments, strict=True))
        with self._translate_errors():
            return [
                *map(self._note, self.client.map(RetainedMemory(function), *columns, priority=priority, pure=False))
            ]

    def compute(self, delayed: Sequence[Future]) -> list[Future]:
        """Let the workers compute what the user has not computed yet."""
        with self._translate_errors():
            return [*map(self._note, self.client.compute(delayed))]

    def submit_in_rounds(
        self,
        join: Callable[..., object],
        found: Sequence[Future],
        *args: object,
        priority: float = 0,
        wish: str | None = None,
    ) -> Future:
        """Put answers together, a few at a time; where it is wished, unless they are too many for one."""
        left = list(found)
        while len(left) > 1:
            place = wish if len(left) <= AT_ONCE * AT_ONCE else None
            left = [
                self.submit(join, left[i : i + AT_ONCE], *args, priority=priority, wish=place)
                if i + 1 < len(left)
                else left[i]
                for i in range(0, len(left), AT_ONCE)
            ]
        return left[0]

    def send(self, thing: object) -> Future:
        """Send something from here to all workers, which pass it on among themselves."""
        return self._scatter(thing, broadcast=True)

    def send_to(self, worker: str | None, thing: object) -> Future:
        """Send something from here to one worker; to any, if that is gone."""
        with contextlib.suppress(LostCodesError):
            if worker is not None:
                return self._scatter(thing, workers=[worker], timeout=min(PATIENCE, TO_ONE))
        return self._scatter(thing)

    def _scatter(self, thing: object, **how: object) -> Future:
        try:
            return self._note(self.client.scatter(thing, **{"direct": True, "hash": False, "timeout": PATIENCE, **how}))
        except Exception as error:
            raise LostCodesError(f"Codes could not be sent to the workers: {error!r}. Fit again.") from error

    def gather(self, future: Future) -> Any:
        """Wait for one result."""
        return dict(self.each([future]))[0]

    def gather_all(self, futures: Sequence[Future]) -> list[Future]:
        """Wait for several results."""
        found = dict(self.each(futures))
        return [found[i] for i in range(len(futures))]

    def each(self, futures: Sequence[Future]) -> Iterator[tuple[int, Any]]:
        """Yield results with their numbers, as they come. If this is left early, what is under way is cancelled."""
        awaited = PendingTasks(len(futures))
        for i, future in enumerate(futures):
            awaited.add(i, future)
        return self.results(awaited)

    def results(
        self, awaited: "PendingTasks", meanwhile: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, Any]]:
        """Do the same of futures some of which may be handed in while others are waited for."""
        alone, last_look = 0.0, time.monotonic()
        try:
            while awaited.n_left:
                ready = awaited.take()
                with self._translate_errors():
                    found = self._fetch([awaited.handed_in[i] for i in ready])
                awaited.drop(ready)
                yield from zip(ready, found, strict=True)
                meanwhile()
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
                        f"of memory, and {awaited.n_left} tasks are left (known: {self._words()}). Start workers, or "
                        "give them more memory, and fit again: it will be the same forest."
                    )
        finally:
            self.cancel(list(awaited.handed_in.copy().values()))

    def cancel(self, futures: Sequence[Future]) -> None:
        """Let go of what is under way: nobody waits for it any more.

        Dask drops tasks that nobody wants. To cancel them by name may fail inside the scheduler where others need them,
        and it then forgets all that this client has, what the user keeps there too.
        """
        with contextlib.suppress(Exception):  # the cluster may be gone: what is under way is gone with it
            for future in futures:
                future.release()

    def release_memory(self) -> None:
        """Let go of all that a fit has handed in. The traceback of an error keeps it alive, and notebooks keep that."""
        alive = [future for future in (reference() for reference in self._handed_in) if future is not None]
        self.cancel(alive)
        self._handed_in = []

    def _note(self, future: Future) -> Future:
        self._handed_in.append(weakref.ref(future))
        return future

    def _words(self) -> str:
        """Name the workers and what they are doing."""
        words = [f"{name} {worker.get('status')}" for name, worker in self.workers().items()]
        return ", ".join(words) or "none"

    def _are_at_work(self) -> bool:
        """Say whether any worker takes tasks."""
        return any(map(_is_running, self.workers().values()))

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Say in our words what Dask says where the client, the scheduler or workers are gone."""
        try:
            yield
        except (self._distributed.CancelledError, self._distributed.client.ClosedClientError, OSError) as error:
            raise LostCodesError(
                f"The client or the scheduler was lost, a task was cancelled, or what was sent is gone: {error!r}. Fit "
                "again: it will be the same forest."
            ) from error
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                f"Workers died again and again at the same task: {error}. If they lack memory, give them more, or "
                "fewer threads."
            ) from error

    def _fetch(self, futures: Sequence[Future]) -> Any:
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


class PendingTasks:
    """Results that are waited for, by their numbers. Some may still have to be handed in, by any thread.

    Each future notes its number when it is done. To wait for the first of all that are left, again and again, would
    take the longer the more there are.
    """

    def __init__(self, n_left: int) -> None:
        """Expect so many."""
        self.n_left = n_left
        self.handed_in: dict[int, Any] = {}
        self._done: SimpleQueue[int | None] = SimpleQueue()
        self._error: Exception | None = None

    def add(self, number: int, future: Future) -> None:
        """Expect a result from a task that was handed in."""
        self.handed_in[number] = future
        future.add_done_callback(lambda _: self._done.put(number))

    def fail(self, error: Exception) -> None:
        """Tell whoever waits that no more will be handed in."""
        self._error = error
        self._done.put(None)

    def take(self) -> list[int]:
        """Wait a while for results: the numbers of those that are there."""
        noted = []
        with contextlib.suppress(Empty):
            noted.append(self._done.get(timeout=LOOK_EVERY))
            while True:
                noted.append(self._done.get_nowait())
        if self._error is not None:
            raise self._error
        if not noted:  # a client that is being closed notes nothing any more
            return [i for i, future in self.handed_in.copy().items() if future.status != "pending"]
        return [i for i in noted if i in self.handed_in]

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget results that have been taken."""
        for i in numbers:
            del self.handed_in[i]
        self.n_left -= len(numbers)


def _is_running(worker: WorkerInfo) -> bool:
    """Say whether a worker takes tasks: one whose memory is nearly full does not."""
    return bool(worker.get("status", "running") == "running")


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB"
