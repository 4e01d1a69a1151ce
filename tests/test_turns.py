"""Whoever is quick gets more to do, and all are done at about the same time."""

import heapq
from collections import Counter

import pytest

from weald import turns
from weald.turns import Turns


class Task:
    """A task that is done when it is said to be."""

    def __init__(self, seat):
        self.seat, self.callbacks = seat, []

    def add_done_callback(self, callback):
        self.callbacks.append(callback)

    def finish(self):
        for callback in self.callbacks:
            callback(self)


class Clock:
    """Workers of one thread that take different times, and do what is handed in, one after the other."""

    def __init__(self, seconds):
        self.seconds, self.free_at, self.running, self.n_given = dict(seconds), Counter(), [], Counter()
        self.most = Counter()  # that was ever there at once

    def job(self, i):
        def hand_in(seat):
            began = max(self.now, self.free_at[seat])
            self.free_at[seat] = began + self.seconds[seat]
            task = Task(seat)
            heapq.heappush(self.running, (self.free_at[seat], i, task))
            self.n_given[seat] += 1
            self.most[seat] = max(self.most[seat], sum(one.seat == seat for _, _, one in self.running))
            return task

        return hand_in

    def run(self, jobs_done):
        while self.running:
            self.now, i, task = heapq.heappop(self.running)
            jobs_done.append(i)
            task.finish()

    now = 0.0


def fail(error):
    raise error


def simulate(seconds, n_jobs):
    clock, done = Clock(seconds), []
    tasks = Turns(list(seconds), [clock.job(i) for i in range(n_jobs)], fail)
    tasks.begin()
    tasks.begin()
    clock.run(done)
    return clock, done


def test_all_are_done_at_the_same_time():
    seconds = {"quick": 0.5, "slow": 1.0, "slower": 2.0}
    clock, done = simulate(seconds, 70)
    assert sorted(done) == list(range(70))
    assert clock.n_given == {"quick": 40, "slow": 20, "slower": 10}
    assert max(clock.free_at.values()) - min(clock.free_at.values()) <= max(seconds.values())


def test_a_seat_has_a_task_that_waits_but_not_in_the_end():
    clock, _ = simulate({"a": 1.0, "b": 1.0}, 50)
    assert clock.most == {"a": 2, "b": 2}
    clock, _ = simulate({"a": 1.0, "b": 1.0}, 4)
    assert clock.most == {"a": 1, "b": 1}


def test_threads_of_one_worker_are_seats_of_their_own():
    given = []
    tasks = Turns(["a", "b", "a"], [lambda seat: given.append(seat) or Task(seat)] * 50, fail)
    tasks.begin()
    assert Counter(given) == {"a": 2, "b": 1}
    tasks.begin()
    tasks.begin()
    assert Counter(given) == {"a": 4, "b": 2}


def test_where_nobody_is_there_all_is_handed_in():
    given = []
    Turns([], [lambda seat: given.append(seat) or Task(seat)] * 5, fail).begin()
    assert given == [None] * 5


def test_workers_that_come_later_take_part(monkeypatch):
    monkeypatch.setattr(turns, "LOOK_EVERY", 0.0)
    given = []
    tasks = Turns(["a"], [lambda seat: given.append(seat) or Task(seat)] * 50, fail)
    tasks.begin()
    tasks.look(lambda: ["a", "b", "b"])
    tasks.look(lambda: ["b", "b"])  # a has gone: what it had is done by others
    assert given == ["a", "b", "b"]


def test_they_are_not_looked_for_all_the_time():
    tasks = Turns(["a"], [Task] * 50, fail)
    tasks.look(lambda: pytest.fail("too early"))


def test_nothing_is_handed_in_any_more():
    given = []
    tasks = Turns(["a"], [lambda seat: given.append(Task(seat)) or given[-1]] * 5, fail)
    tasks.begin()
    tasks.close()
    given[0].finish()
    assert len(given) == 1


def test_who_waits_hears_of_what_went_wrong():
    told = []

    def broken(_):
        raise OSError("no scheduler")

    first = Task("a")
    tasks = Turns(["a"], [lambda _: first, broken], told.append)
    tasks.begin()
    first.finish()
    assert [str(error) for error in told] == ["no scheduler"]
