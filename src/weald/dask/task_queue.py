"""Tasks that are handed in one after the other, as workers have done those before.

    TaskQueue    who is next

Dask decides where a task runs when it is handed in, and looks once a second whether others have nothing to do. Were all
tasks handed in at once, a worker on a slow processor would have as many of them as one on a quick processor, and its
last trees would be waited for. So each thread of a worker has a task and a few that wait: a part of what is left, so
that a cluster which grows with its tasks sees many, and towards the end none.
"""

import contextvars
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from weald.dask.cluster import Future

Job = Callable[[str | None], Any]  # hands in a task that suits a worker

WAITING = 3  # a thread has at most one of so many tasks that are left for it
LEAST = 2  # but that many: one that runs, and one that waits
LAST_ROUNDS = 2  # tasks a thread, in which none waits
LOOK_EVERY = 1.0  # seconds between two looks for workers that have come or gone


@dataclass(eq=False)
class WorkerSlot:
    """A thread of a worker."""

    worker: str | None
    tasks: list[Future] = field(default_factory=list)  # that it has not done yet
    is_there: bool = True


class TaskQueue:
    """Jobs, the first of which are done first, and slots of which each does one after the other."""

    def __init__(self, slots: Sequence[str], jobs: Sequence[Job], fail: Callable[[Exception], None]) -> None:
        """Take all there is to do. What goes wrong while others wait is told to `fail`."""
        self._jobs, self._fail = deque(jobs), fail
        # Where nobody is there yet, all are handed in: who comes divides them.
        self._slots = [WorkerSlot(name) for name in slots] or [WorkerSlot(None) for _ in jobs]
        self._lock, self._is_open, self._last_look = threading.Lock(), True, time.monotonic()
        self._context = contextvars.copy_context()  # what the user has said of tasks of this fit

    def begin(self) -> None:
        """Give each slot a task that has none."""
        for slot in self._slots:
            if not slot.tasks:
                self._submit(slot)

    def fill(self) -> None:
        """Give slots all that they may have."""
        for _ in range(len(self._jobs)):  # in turns
            if not sum(self._submit(slot) for slot in self._slots):
                return

    def poll(self, find_slots: Callable[[], Sequence[str]]) -> None:
        """See to it that things go on. Dask has one thread for all that wait for tasks, and it may be busy."""
        for slot in self._slots:
            for task in list(slot.tasks):
                if task.status != "pending":
                    self._next(slot, task)
        if self._jobs and time.monotonic() - self._last_look >= LOOK_EVERY:
            self._last_look = time.monotonic()
            self._renew_slots(find_slots())
            self.fill()

    def close(self) -> None:
        """Hand in no more."""
        self._is_open = False
        with self._lock:  # nothing is being handed in
            pass

    def _renew_slots(self, names: Sequence[str]) -> None:
        """Let workers take part that have come. What those had that are gone is done by others."""
        left = Counter(names)
        if not left:
            return  # all are gone: who comes will have to do with what was handed in
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
        """Hand in what follows a task, once. This may run in a thread of Dask's."""
        with self._lock:
            if task not in slot.tasks:
                return
            slot.tasks.remove(task)
        try:
            self._submit(slot)
        except Exception as error:  # noqa: BLE001  (whoever waits is to hear of it)
            self._fail(error)

    def _most(self) -> int:
        """How many tasks a slot may have."""
        n_left, n_slots = len(self._jobs), sum(slot.is_there for slot in self._slots)
        return 1 if n_left <= LAST_ROUNDS * n_slots else max(LEAST, n_left // (WAITING * n_slots))
