"""The interface to a Dask cluster. A fit that cannot continue raises an error and never waits forever.

    Cluster          the current client: submits tasks, waits for results
    PendingTasks     results of tasks that were or will be submitted
    import_dask      imports a part of Dask, which only weald.dask needs
    n_threads_here   number of threads of the worker that runs a task

A task is a pure function of codes, parameters and seed, and can run on any worker. If a worker dies, only time is lost.
No large data pass through the client or the scheduler: workers send codes to each other.
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

PATIENCE = 60.0  # seconds that a fit waits when no worker, or no scheduler, is available
LOOK_EVERY = 0.5  # seconds between two checks of the cluster
TO_ONE = 5.0  # seconds that a fit waits for one worker if another can do the task
AT_ONCE = 8  # results that one task joins
SHARE_OF_MEMORY = 0.7  # fraction of a worker's memory for a fit: above it Dask begins to spill or pause

Future: TypeAlias = Any  # a result on the cluster
WorkerInfo: TypeAlias = Any  # the scheduler's information about a worker: a dict


def import_dask(name: str) -> Any:
    """Import a part of Dask, which only weald.dask needs."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ClusterError(
            "A cluster needs Dask. Install it: pip install 'dask[array,dataframe]' distributed."
        ) from error


def n_threads_here() -> int:
    """Return the number of threads of the worker that runs this task."""
    return int(import_dask("distributed").get_worker().state.nthreads)


class LostCodesError(ClusterError):
    """Raised if data sent to workers were lost and must be sent again."""


class Cluster:
    """The cluster of the current Dask client."""

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
        """Return the scheduler's information about the workers: threads and memory."""
        try:
            told = self.client.sync(self.client.scheduler.identity, callback_timeout=PATIENCE)
        except Exception as error:
            raise ClusterError(
                f"The scheduler does not answer: {error!r}. Start a cluster and fit again; the forest will be the same."
            ) from error
        found: dict[str, WorkerInfo] = told["workers"]
        return found

    @property
    def n_threads(self) -> int:
        """Number of threads of all workers."""
        return max(1, sum(int(worker["nthreads"]) for worker in self.workers().values()))

    def slots(self) -> list[str]:
        """List a worker for each of its threads: first all workers for their first thread, and so on."""
        threads = {name: int(worker["nthreads"]) for name, worker in self.workers().items() if _is_running(worker)}
        return [name for i in range(max(threads.values(), default=0)) for name in threads if i < threads[name]]

    def places_of(self, futures: Sequence[Future]) -> list[str | None]:
        """Return a worker that holds each result; None: not computed yet, or lost."""
        try:
            keys = [future.key for future in futures]
            has = self.client.sync(self.client.scheduler.who_has, keys=keys, callback_timeout=PATIENCE)
        except Exception as error:
            raise LostCodesError(f"The scheduler does not answer: {error!r}. Fit again.") from error
        return [next(iter(has.get(future.key, ())), None) for future in futures]

    def require_memory(
        self, workers: Mapping[str, WorkerInfo], labels: Labels, widths: Sequence[int], kept: Mapping[str | None, int]
    ) -> None:
        """Raise an error if codes, trees or kept values would not fit into the memory of each worker.

        `kept` has the bytes of the kept values by worker.
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
                    f"{_gib(limit)}. Give workers more memory or fewer threads, or set {instead}."
                )

    def submit(
        self, function: Callable[..., object], *args: object, priority: float = 0, wish: str | None = None
    ) -> Future:
        """Submit a task. `wish` names the preferred worker; any other may run it."""
        place = {} if wish is None else {"workers": [wish], "allow_other_workers": True}
        with self._translate_errors():
            return self._note(
                self.client.submit(RetainedMemory(function), *args, priority=priority, pure=False, **place)
            )

    def submit_each(
        self, function: Callable[..., object], arguments: Sequence[tuple[object, ...]], priority: float = 0
    ) -> list[Future]:
        """Submit a task for each set of arguments. A single request takes a third of the time."""
        columns = map(list, zip(*arguments, strict=True))
        with self._translate_errors():
            return [
                *map(self._note, self.client.map(RetainedMemory(function), *columns, priority=priority, pure=False))
            ]

    def compute(self, delayed: Sequence[Future]) -> list[Future]:
        """Compute the user's lazy collections on the workers."""
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
        """Join results a few at a time, on the preferred worker unless they are too many for one task."""
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
        """Send a local object to all workers, which pass it on to each other."""
        return self._scatter(thing, broadcast=True)

    def send_to(self, worker: str | None, thing: object) -> Future:
        """Send a local object to one worker, or to any if that worker is gone."""
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
        """Yield numbered results as they arrive. When the caller stops early, pending tasks are canceled."""
        awaited = PendingTasks(len(futures))
        for i, future in enumerate(futures):
            awaited.add(i, future)
        return self.results(awaited)

    def results(
        self, awaited: "PendingTasks", meanwhile: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, Any]]:
        """Yield the results of pending tasks, some of which may be submitted while others are awaited."""
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
                # Time during which the process or the computer was suspended does not count.
                alone = 0.0 if self._are_at_work() else alone + min(now - last_look, 10 * LOOK_EVERY)
                last_look = now
                if alone > PATIENCE:
                    raise ClusterError(
                        f"The cluster has had no workers for {PATIENCE:g} seconds, or all of them are paused for lack "
                        f"of memory, and {awaited.n_left} tasks are left (known: {self._words()}). Start workers, or "
                        "give them more memory, and fit again; the forest will be the same."
                    )
        finally:
            self.cancel(list(awaited.handed_in.copy().values()))

    def cancel(self, futures: Sequence[Future]) -> None:
        """Release pending tasks that are no longer needed.

        Dask drops tasks without references. Canceling them by name can fail inside the scheduler if other tasks need
        them, and the scheduler then forgets all futures of this client, including those of the user.
        """
        with contextlib.suppress(Exception):  # the cluster may no longer exist
            for future in futures:
                future.release()

    def release_memory(self) -> None:
        """Release all futures of a fit. Tracebacks keep them alive, and notebooks keep tracebacks."""
        alive = [future for future in (reference() for reference in self._handed_in) if future is not None]
        self.cancel(alive)
        self._handed_in = []

    def _note(self, future: Future) -> Future:
        self._handed_in.append(weakref.ref(future))
        return future

    def _words(self) -> str:
        """List the workers and their status."""
        words = [f"{name} {worker.get('status')}" for name, worker in self.workers().items()]
        return ", ".join(words) or "none"

    def _are_at_work(self) -> bool:
        """Return whether any worker accepts tasks."""
        return any(map(_is_running, self.workers().values()))

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Replace Dask's errors about lost clients, schedulers and workers by weald's."""
        try:
            yield
        except (self._distributed.CancelledError, self._distributed.client.ClosedClientError, OSError) as error:
            raise LostCodesError(
                "The client or the scheduler was lost, a task was canceled, or data on the workers was lost: "
                f"{error!r}. Fit again; the forest will be the same."
            ) from error
        except self._distributed.KilledWorker as error:
            raise ClusterError(
                f"Workers died repeatedly during the same task: {error}. If they run out of memory, give them more "
                "memory or fewer threads."
            ) from error

    def _fetch(self, futures: Sequence[Future]) -> Any:
        """Fetch results directly from the workers: large data do not pass through the scheduler.

        Results that were lost meanwhile are computed again, if there are workers.
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
    """Awaited results by number. Some tasks may be submitted later, by any thread.

    Each future records its number when it is done. Waiting for the first of all remaining futures would take longer
    the more there are.
    """

    def __init__(self, n_left: int) -> None:
        """Expect `n_left` results."""
        self.n_left = n_left
        self.handed_in: dict[int, Any] = {}
        self._done: SimpleQueue[int | None] = SimpleQueue()
        self._error: Exception | None = None

    def add(self, number: int, future: Future) -> None:
        """Expect the result of a submitted task."""
        self.handed_in[number] = future
        future.add_done_callback(lambda _: self._done.put(number))

    def fail(self, error: Exception) -> None:
        """Make waiting threads raise an error: no more tasks will be submitted."""
        self._error = error
        self._done.put(None)

    def take(self) -> list[int]:
        """Wait a short time for results; return the numbers of those that are done."""
        noted = []
        with contextlib.suppress(Empty):
            noted.append(self._done.get(timeout=LOOK_EVERY))
            while True:
                noted.append(self._done.get_nowait())
        if self._error is not None:
            raise self._error
        if not noted:  # a closing client no longer records results
            return [i for i, future in self.handed_in.copy().items() if future.status != "pending"]
        return [i for i in noted if i in self.handed_in]

    def drop(self, numbers: Sequence[int]) -> None:
        """Forget results that have been returned."""
        for i in numbers:
            del self.handed_in[i]
        self.n_left -= len(numbers)


def _is_running(worker: WorkerInfo) -> bool:
    """Return whether a worker accepts tasks: one whose memory is nearly full does not."""
    return bool(worker.get("status", "running") == "running")


def _gib(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:.3g} GiB"
