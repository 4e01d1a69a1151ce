"""Tasks that are handed in one after the other, as workers have done those before.

    Turns    who is next

Dask decides where a task runs when it is handed in, and looks once a second whether others have nothing to do. Were all
tasks handed in at once, a worker on a slow processor would have as many of them as one on a quick processor, and its
last trees would be waited for. So each thread of a worker has a task, and one that waits; towards the end, none waits.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

Job = Callable[[str | None], Any]  # hands in a task that suits a worker

AT_A_TIME = 2  # tasks of a thread: one that runs, and one that waits
LAST_ROUNDS = 2  # tasks a thread, in which none waits
LOOK_EVERY = 1.0  # seconds between two looks for workers that have come


class Turns:
    """Jobs, the first of which are done first, and seats of which each does one after the other."""

    def __init__(self, seats: Sequence[str], jobs: Sequence[Job], fail: Callable[[Exception], None]) -> None:
        """Take all there is to do. What goes wrong while others wait is told to `fail`."""
        self._jobs, self._fail = deque(jobs), fail
        # Where nobody is there yet, all are handed in: who comes divides them.
        self._seats: list[str | None] = [*seats] or [None] * len(jobs)
        self._n_there = [0] * len(self._seats)
        self._lock, self._is_open, self._last_look = threading.Lock(), True, time.monotonic()

    def begin(self) -> None:
        """Give each seat a task, or one more."""
        for seat in range(len(self._seats)):
            self._hand_in(seat)

    def look(self, find_seats: Callable[[], Sequence[str]]) -> None:
        """Let workers take part that have come meanwhile."""
        if not self._jobs or time.monotonic() - self._last_look < LOOK_EVERY:
            return
        self._last_look = time.monotonic()
        found: Counter[str | None] = Counter(find_seats())
        for seat in (found - Counter(self._seats)).elements():
            self._seats.append(seat)
            self._n_there.append(0)
            self._hand_in(len(self._seats) - 1)

    def close(self) -> None:
        """Hand in no more."""
        with self._lock:
            self._is_open = False

    def _hand_in(self, seat: int, n_done: int = 0) -> None:
        with self._lock:
            self._n_there[seat] -= n_done
            if not self._is_open or not self._jobs or self._n_there[seat] >= self._most():
                return
            task = self._jobs.popleft()(self._seats[seat])
            self._n_there[seat] += 1
        task.add_done_callback(lambda _: self._next(seat))

    def _next(self, seat: int) -> None:
        """Hand in what follows. This runs in a thread of Dask's."""
        try:
            self._hand_in(seat, n_done=1)
        except Exception as error:  # noqa: BLE001  (whoever waits is to hear of it)
            self._fail(error)

    def _most(self) -> int:
        return 1 if len(self._jobs) <= LAST_ROUNDS * len(self._seats) else AT_A_TIME
