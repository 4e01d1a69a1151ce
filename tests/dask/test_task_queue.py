"""Faster workers get more tasks, and all finish at about the same time."""

import contextvars
import heapq
from collections import Counter

import pytest

from weald.dask import task_queue
from weald.dask.task_queue import TaskQueue


class Task:
    """A task that the test completes explicitly."""

    status = "pending"

    def __init__(self, slot):
        self.slot, self.callbacks = slot, []

    def add_done_callback(self, callback):
        self.callbacks.append(callback)

    def finish(self):
        self.status = "finished"
        for callback in self.callbacks:
            callback(self)


class Clock:
    """Workers of one thread with different speeds that run submitted tasks one after the other."""

    now = 0.0

    def __init__(self, seconds):
        self.seconds, self.free_at, self.running, self.n_given = dict(seconds), Counter(), [], Counter()
        self.n_there = []  # at each submission: the number of tasks that the worker had before

    def job(self, i):
        def hand_in(slot):
            began = max(self.now, self.free_at[slot])
            self.free_at[slot] = began + self.seconds[slot]
            self.n_there.append(sum(one.slot == slot for _, _, one in self.running))
            task = Task(slot)
            heapq.heappush(self.running, (self.free_at[slot], i, task))
            self.n_given[slot] += 1
            return task

        return hand_in

    def run(self, jobs_done):
        while self.running:
            self.now, i, task = heapq.heappop(self.running)
            jobs_done.append(i)
            task.finish()


def fail(error):
    raise error


def simulate(seconds, n_jobs):
    clock, done = Clock(seconds), []
    tasks = TaskQueue(list(seconds), [clock.job(i) for i in range(n_jobs)], fail)
    tasks.begin()
    tasks.fill()
    clock.run(done)
    return clock, done


def test_all_are_done_at_the_same_time():
    seconds = {"quick": 0.5, "slow": 1.0, "slower": 2.0}
    clock, done = simulate(seconds, 70)
    assert sorted(done) == list(range(70))
    assert clock.n_given == {"quick": 40, "slow": 20, "slower": 10}
    assert max(clock.free_at.values()) - min(clock.free_at.values()) <= max(seconds.values())


def test_fewer_wait_the_less_is_left_and_none_in_the_end():
    clock, _ = simulate({"a": 1.0, "b": 1.0}, 50)
    assert max(clock.n_there[:14]) == 5
    assert max(clock.n_there[36:]) == 1  # a worker must not wait for its next task
    assert max(clock.n_there[-4:]) == 0
    clock, _ = simulate({"a": 1.0, "b": 1.0}, 4)
    assert max(clock.n_there) == 0


def test_threads_of_one_worker_are_seats_of_their_own():
    given = []
    tasks = TaskQueue(["a", "b", "a"], [lambda slot: given.append(slot) or Task(slot)] * 50, fail)
    tasks.begin()
    assert Counter(given) == {"a": 2, "b": 1}
    tasks.begin()
    assert Counter(given) == {"a": 2, "b": 1}
    tasks.fill()
    assert Counter(given) == {"a": 8, "b": 4}


def test_where_nobody_is_there_all_is_handed_in():
    given = []
    TaskQueue([], [lambda slot: given.append(slot) or Task(slot)] * 5, fail).begin()
    assert given == [None] * 5


def test_workers_that_come_later_take_part_and_those_that_go_do_not(monkeypatch):
    monkeypatch.setattr(task_queue, "LOOK_EVERY", 0.0)
    given = []
    tasks = TaskQueue(["a"], [lambda slot: given.append(Task(slot)) or given[-1]] * 30, fail)
    tasks.begin()
    tasks.poll(lambda: ["a", "b", "b"])
    assert Counter(task.slot for task in given) == {"a": 2, "b": 4}
    tasks.poll(lambda: ["b", "b"])
    given[0].finish()  # b has finished it
    assert Counter(task.slot for task in given)["a"] == 2
    tasks.poll(list)  # no workers: new workers get the submitted tasks
    tasks.poll(lambda: ["a", "b", "b"])
    for task in given:  # workers join while tasks finish
        task.finish()
    assert len(given) == 30


def test_things_go_on_where_nobody_calls():
    given = []
    tasks = TaskQueue(["a"], [lambda slot: given.append(Task(slot)) or given[-1]] * 3, fail)
    tasks.begin()
    given[0].status = "finished"  # and the callback thread is busy
    tasks.poll(lambda: ["a"])
    assert len(given) == 2
    given[0].finish()  # the callback arrives late, and counts once
    assert len(given) == 2


def test_what_is_said_of_a_fit_is_said_of_all_its_tasks():
    output = contextvars.ContextVar("output", default=None)
    heard, given = [], []
    job = lambda slot: heard.append(output.get()) or given.append(Task(slot)) or given[-1]  # noqa: E731
    reset = output.set("this")
    tasks = TaskQueue(["a"], [job, job], fail)
    output.reset(reset)
    tasks.begin()
    given[0].finish()
    assert heard == ["this", "this"]


def test_they_are_not_looked_for_all_the_time():
    tasks = TaskQueue(["a"], [Task] * 50, fail)
    tasks.poll(lambda: pytest.fail("too early"))


def test_nothing_is_handed_in_any_more():
    given = []
    tasks = TaskQueue(["a"], [lambda slot: given.append(Task(slot)) or given[-1]] * 5, fail)
    tasks.begin()
    tasks.close()
    given[0].finish()
    assert len(given) == 1


def test_who_waits_hears_of_what_went_wrong():
    told = []

    def broken(_):
        raise OSError("no scheduler")

    first = Task("a")
    tasks = TaskQueue(["a"], [lambda _: first, broken], told.append)
    tasks.begin()
    first.finish()
    assert [str(error) for error in told] == ["no scheduler"]
