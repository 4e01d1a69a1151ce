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
    """Jobs, the first of which are done first, and seats of which each does one after the other."""

    def __init__(self, seats: Sequence[str], jobs: Sequence[Job], fail: Callable[[Exception], None]) -> None:
        """Take all there is to do. What goes wrong while others wait is told to `fail`."""
        self._jobs, self._fail = deque(jobs), fail
        # Where nobody is there yet, all are handed in: who comes divides them.
        self._seats = [WorkerSlot(name) for name in seats] or [WorkerSlot(None) for _ in jobs]
        self._lock, self._is_open, self._last_look = threading.Lock(), True, time.monotonic()
        self._context = contextvars.copy_context()  # what the user has said of tasks of this fit

    def begin(self) -> None:
        """Give each seat a task that has none."""
        for seat in self._seats:
            if not seat.tasks:
                self._hand_in(seat)

    def fill(self) -> None:
        """Give seats all that they may have."""
        for _ in range(len(self._jobs)):  # in turns
            if not sum(self._hand_in(seat) for seat in self._seats):
                return

    def look(self, find_seats: Callable[[], Sequence[str]]) -> None:
        """See to it that things go on. Dask has one thread for all that wait for tasks, and it may be busy."""
        for seat in self._seats:
            for task in list(seat.tasks):
                if task.status != "pending":
                    self._next(seat, task)
        if self._jobs and time.monotonic() - self._last_look >= LOOK_EVERY:
            self._last_look = time.monotonic()
            self._seat(find_seats())
            self.fill()

    def close(self) -> None:
        """Hand in no more."""
        self._is_open = False
        with self._lock:  # nothing is being handed in
            pass

    def _seat(self, names: Sequence[str]) -> None:
        """Let workers take part that have come. What those had that are gone is done by others."""
        left = Counter(names)
        if not left:
            return  # all are gone: who comes will have to do with what was handed in
        for seat in self._seats:
            seat.is_there = seat.worker is not None and left[seat.worker] > 0
            left[seat.worker or ""] -= seat.is_there
        with self._lock:
            self._seats += map(WorkerSlot, left.elements())

    def _hand_in(self, seat: WorkerSlot) -> bool:
        with self._lock:
            if not (self._is_open and self._jobs and seat.is_there and len(seat.tasks) < self._most()):
                return False
            task = self._context.copy().run(self._jobs.popleft(), seat.worker)
            seat.tasks.append(task)
        task.add_done_callback(lambda _: self._next(seat, task))
        return True

    def _next(self, seat: WorkerSlot, task: Future) -> None:
        """Hand in what follows a task, once. This may run in a thread of Dask's."""
        with self._lock:
            if task not in seat.tasks:
                return
            seat.tasks.remove(task)
        try:
            self._hand_in(seat)
        except Exception as error:  # noqa: BLE001  (whoever waits is to hear of it)
            self._fail(error)

    def _most(self) -> int:
        """How many tasks a seat may have."""
        n_left, n_seats = len(self._jobs), sum(seat.is_there for seat in self._seats)
        return 1 if n_left <= LAST_ROUNDS * n_seats else max(LEAST, n_left // (WAITING * n_seats))
