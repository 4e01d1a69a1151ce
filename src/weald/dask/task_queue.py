"""A queue of tasks: a task is submitted when a worker has finished another.

    TaskQueue    assigns the next task to a worker

Dask chooses the worker of a task when it is submitted, and looks only once a second for idle workers. If all tasks were
submitted at once, a slow worker would get as many as a fast one, and its last trees would delay the fit. So each thread
of a worker has one running task and some waiting tasks: a fraction of the remaining ones, so that an adaptive cluster
sees many tasks, and none towards the end.
"""

import contextvars
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from weald.dask.cluster import Future

Job = Callable[[str | None], Any]  # submits a task to a preferred worker

WAITING = 3  # limits waiting tasks to this fraction of the remaining ones
LEAST = 2  # minimum per thread: one task running, one waiting
LAST_ROUNDS = 2  # tasks per thread at the end, without waiting ones
LOOK_EVERY = 1.0  # seconds between checks for workers that have joined or left


@dataclass(eq=False)
class WorkerSlot:
    """A thread of a worker."""

    worker: str | None
    tasks: list[Future] = field(default_factory=list)  # not done yet
    is_there: bool = True


class TaskQueue:
    """Jobs in order, and slots that each run one after the other."""

    def __init__(self, slots: Sequence[str], jobs: Sequence[Job], fail: Callable[[Exception], None]) -> None:
        """Prepare the jobs. Errors in callbacks are passed to `fail`."""
        self._jobs, self._fail = deque(jobs), fail
        # Without workers, all jobs are submitted: workers that join divide them.
        self._slots = [WorkerSlot(name) for name in slots] or [WorkerSlot(None) for _ in jobs]
        self._lock, self._is_open, self._last_look = threading.Lock(), True, time.monotonic()
        self._context = contextvars.copy_context()  # Dask settings of the user for tasks of this fit

    def begin(self) -> None:
        """Assign a task to each empty slot."""
        for slot in self._slots:
            if not slot.tasks:
                self._submit(slot)

    def fill(self) -> None:
        """Fill all slots up to their limits."""
        for _ in range(len(self._jobs)):  # round-robin
            if not sum(self._submit(slot) for slot in self._slots):
                return

    def poll(self, find_slots: Callable[[], Sequence[str]]) -> None:
        """Fill slots regularly: Dask's only callback thread may be busy."""
        for slot in self._slots:
            for task in list(slot.tasks):
                if task.status != "pending":
                    self._next(slot, task)
        if self._jobs and time.monotonic() - self._last_look >= LOOK_EVERY:
            self._last_look = time.monotonic()
            self._renew_slots(find_slots())
            self.fill()

    def close(self) -> None:
        """Submit no more tasks."""
        self._is_open = False
        with self._lock:  # wait for a submission in progress
            pass

    def _renew_slots(self, names: Sequence[str]) -> None:
        """Add slots for workers that have joined. Tasks of lost workers go to others."""
        left = Counter(names)
        if not left:
            return  # no workers: new workers run the submitted tasks
        for slot in self._slots:
            slot.is_there = slot.worker is not None and left[slot.worker] > 0
            left[slot.worker or ""] -= slot.is_there
        with self._lock:
            self._slots += map(WorkerSlot, left.elements())

    def _submit(self, slot: WorkerSlot) -> bool:
        with self._lock:
            if not (self._is_open and self._jobs and slot.is_there and len(slot.tasks) < self._most()):
                return False
            task = self._context.copy().run(self._jobs.popleft(), slot.worker)
            slot.tasks.append(task)
        task.add_done_callback(lambda _: self._next(slot, task))
        return True

    def _next(self, slot: WorkerSlot, task: Future) -> None:
        """Submit the task that follows a finished one, once. This may run in a thread of Dask."""
        with self._lock:
            if task not in slot.tasks:
                return
            slot.tasks.remove(task)
        try:
            self._submit(slot)
        except Exception as error:  # noqa: BLE001  (passed to the waiting thread)
            self._fail(error)

    def _most(self) -> int:
        """Return the maximum number of tasks of a slot."""
        n_left, n_slots = len(self._jobs), sum(slot.is_there for slot in self._slots)
        return 1 if n_left <= LAST_ROUNDS * n_slots else max(LEAST, n_left // (WAITING * n_slots))
