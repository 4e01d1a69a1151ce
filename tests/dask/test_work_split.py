"""Trees are assigned so that all workers have the same amount of work and enough memory."""

import os
import subprocess
import sys

import pytest

from weald.dask.work_split import (
    RANKED,
    bytes_on_a_worker,
    count_pieces,
    divide,
    divide_rows,
    first_helped,
    group_neighbors,
    share_threads,
    split_trees,
)
from weald.data.task import Task


@pytest.mark.parametrize(("n_things", "n_pieces"), [(20, 8), (20, 20), (7, 3), (100, 64), (3, 8), (40, 1)])
def test_pieces_are_neighbors_and_hold_everything(n_things, n_pieces):
    pieces = divide(range(n_things), n_pieces)
    assert [thing for piece in pieces for thing in piece] == list(range(n_things))
    assert len(pieces) == min(n_things, n_pieces)


@pytest.mark.parametrize("n_rows", [1, 1000, 100_000, 1_000_000, 100_000_000])
@pytest.mark.parametrize(("n_trees", "n_tasks"), [(20, 8), (100, 64), (3, 8), (500, 4), (7, 1)])
def test_tasks_hold_all_trees_in_their_order(n_rows, n_trees, n_tasks):
    tree_ranges = split_trees(range(5, 5 + n_trees), n_rows, n_tasks)
    assert [tree for trees in tree_ranges for tree in trees] == list(range(5, 5 + n_trees))
    assert len(tree_ranges) >= min(n_trees, n_tasks)


def test_tasks_are_smaller_towards_the_end():
    sizes = [len(trees) for trees in split_trees(range(100), 1_000_000, 8)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1
    assert sizes[-8:] == [1] * 8


@pytest.mark.parametrize(
    ("n_tasks", "n_threads", "n_helped"),
    [
        (100, 16, 20),  # the last task of each thread, and the remaining four
        (96, 16, 16),
        (7, 4, 7),
        (3, 4, 3),  # fewer tasks than threads
        (5, 1, 1),
        (4, 0, 4),  # no workers yet
    ],
)
def test_the_last_tasks_are_helped_by_threads_that_have_nothing_to_do(n_tasks, n_threads, n_helped):
    assert n_tasks - first_helped(n_tasks, n_threads) == n_helped


@pytest.mark.parametrize(
    ("n_trees", "n_workers", "n_rows", "found"),
    [
        (100, 16, 1_000_000, (4, 4)),
        (96, 16, 1_000_000, (0, 1)),  # the trees divide evenly
        (3, 16, 1_000_000, (3, 5)),
        (1, 16, 1_000_000, (1, 15)),
        (1, 16, 100_000, (0, 1)),  # all workers would share most of the work
        (108, 16, 1_000_000, (0, 1)),  # twelve trees remain, so most workers have one
        (25, 2, 1_000_000, (1, 2)),
        (1000, 16, 1000, (0, 1)),  # many trees per task
        (5, 0, 1_000_000, (0, 1)),  # no workers yet
    ],
)
def test_trees_that_do_not_come_out_even_are_grown_in_pieces(n_trees, n_workers, n_rows, found):
    tree_ranges = split_trees(range(n_trees), n_rows, max(1, 4 * n_workers))
    assert count_pieces(tree_ranges, n_rows, [str(i) for i in range(n_workers)]) == found


def test_threads_of_one_worker_need_no_pieces():
    tree_ranges = split_trees(range(100), 1_000_000, 64)
    assert count_pieces(tree_ranges, 1_000_000, ["a", "b", "c", "d"] * 4) == (0, 1)


def test_trees_of_long_tables_have_tasks_of_their_own():
    assert all(len(trees) == 1 for trees in split_trees(range(100), 10_000_000, 8))


def test_trees_of_short_tables_are_not_a_task_each():
    assert len(split_trees(range(1000), 100, 8)) <= 9


def lag(n_trees, n_workers):
    """Assign the next task to idle workers; return how many trees the last one grew while others were idle."""
    done = [0] * n_workers
    for trees in split_trees(range(n_trees), 1_000_000, 4 * n_workers):
        done[done.index(min(done))] += len(trees)
    return max(done) - min(done)


@pytest.mark.parametrize(("n_trees", "n_workers"), [(20, 2), (20, 4), (100, 16), (100, 2), (500, 3)])
def test_nobody_waits_for_longer_than_a_tree_takes(n_trees, n_workers):
    assert lag(n_trees, n_workers) <= 1


def test_more_rows_wider_codes_and_more_threads_need_more_memory():
    def need(*of, task=Task.CLASSIFICATION):
        return bytes_on_a_worker(*of, task)

    assert need(1000, [1] * 8, 1) < need(1000, [2] * 8, 1) < need(2000, [2] * 8, 1) < need(2000, [2] * 8, 4)
    assert need(2**24, [2] * 28, 2) == 2**24 * (2 * 56 + 64 + 50 + 2 * (56 + 14)) + 2 * 2**27
    assert need(2**24, [2] * 28, 2) < need(2**24, [2] * 28, 2, task=Task.REGRESSION)


@pytest.mark.parametrize(
    ("widths", "of_a_row"),
    [
        ([2] * 28, {True: 296, False: 447}),  # these and the next as in docs/guides/dask.md
        ([1] * 28, {True: 208, False: 359}),
        ([1] * 27 + [2], {True: 242, False: 393}),  # row by row, all codes have the width of the widest column
        ([1] * 27 + [4], {True: 182, False: 333}),  # columns of four bytes prevent row-by-row storage
    ],
)
@pytest.mark.parametrize("task", [Task.CLASSIFICATION, Task.REGRESSION])  # others do not grow on clusters
def test_a_row_needs_what_the_guide_says(widths, of_a_row, task):
    n_rows = 2**24
    assert bytes_on_a_worker(n_rows, widths, 1, task) == n_rows * of_a_row[task is Task.CLASSIFICATION] + 2**27


def test_a_task_of_several_trees_needs_memory_for_all_of_them():
    n_rows, n_trees = 2**17, 8
    assert len(split_trees(range(1000), n_rows, 1)[0]) == n_trees
    expected = n_rows * (2 * 8 + 16 + 50 + 150 + 71 * (n_trees + 4))
    assert bytes_on_a_worker(n_rows, [1] * 8, 1, Task.REGRESSION) == expected


# Measures the increase in memory while a worker codes a table, without the table itself.
CODE = """
import sys
import numpy as np
from weald.engines.native import NativeEngine
from weald.data.table import Table

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) << 10

n_rows, rng = 1 << 20, np.random.default_rng(0)
X, y = rng.random((n_rows, 28), dtype=np.float32), rng.integers(0, 2, n_rows).astype(np.int32)
NativeEngine().code(Table(X[:99], y[:99], 2, None, True, 99), 255)
before = resident()
coded = NativeEngine().code(Table(X, y, 2, None, True, n_rows), int(sys.argv[1]))
print((resident() - before) / n_rows)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(("max_bins", "codes", "by_row"), [(255, 28, 32), (65_535, 56, 64)])
def test_codes_take_what_was_estimated(max_bins, codes, by_row):
    done = subprocess.run([sys.executable, "-c", CODE, str(max_bins)], capture_output=True, text=True, check=True)
    assert codes + by_row < float(done.stdout) < codes + by_row + RANKED


# Measures the increase in memory while a worker grows the trees of a task, above that of the codes.
GROW = """
import sys
import numpy as np
import weald
from tests import training_tables
from weald.engines.native import NativeEngine
from weald.dask.joining import TreeArrays

def peak(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) << 10

n_rows, n_trees, rng = 1 << 17, 8, np.random.default_rng(0)
X, y = rng.normal(size=(n_rows, 8)), rng.normal(size=n_rows)
kind, y = {"classes": (weald.RandomForestClassifier, y > 0), "numbers": (weald.RandomForestRegressor, y)}[sys.argv[1]]
model = kind(1, random_state=0, max_features=3, n_jobs=1).fit(X, y)
bagged, _ = training_tables.bags_of(model, X, y, None)
before = peak("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # forgets the peak
trees = TreeArrays.of(NativeEngine().grow(bagged.codes, model.growth_, 0, 0, n_trees, 1, None))
print((peak("VmHWM") - before) / n_rows)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks of memory are read from /proc")
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_trees_of_a_task_take_what_was_estimated_or_down_to_half_of_it(kind):
    done = subprocess.run([sys.executable, "-c", GROW, kind], capture_output=True, text=True, check=True)
    without_trees = 2 * 32 + 50  # codes of four bytes, as received and ranked; remaining memory of ranking
    task = Task.CLASSIFICATION if kind == "classes" else Task.REGRESSION
    estimate = bytes_on_a_worker(1 << 17, [4] * 8, 1, task) / (1 << 17) - without_trees
    assert estimate / 2 < float(done.stdout) < 1.15 * estimate  # memory kept by the allocator is not measured


@pytest.mark.parametrize(
    ("places", "slots", "groups"),
    [
        ("aaaa", "aa", ["01", "23"]),  # as many as threads
        ("aabb", "ab", ["01", "23"]),
        ("abab", "ab", ["0", "1", "2", "3"]),  # the order of rows is kept
        ("aaab", "aabb", ["01", "2", "3"]),
        ("aaa?", "a", ["012", "3"]),  # the location of the last one is unknown
        ("aa", "b", ["01"]),  # the worker no longer exists
    ],
)
def test_neighbors_in_one_place_are_taken_together(places, slots, groups):
    known = [None if place == "?" else place for place in places]
    found = group_neighbors(known, [10] * len(places), list(slots), 1, 1000)
    assert found == [[int(i) for i in group] for group in groups]


@pytest.mark.parametrize(
    ("n_features", "groups"),
    [(1, ["01", "23", "4"]), (5, ["012", "34"]), (6, ["01234"]), (100, ["01234"])],
)
def test_threads_of_a_worker_share_tables_of_many_columns(n_features, groups):
    found = group_neighbors(["a"] * 5, [10] * 5, ["a"] * 3, n_features, 1000)
    assert found == [[int(i) for i in group] for group in groups]


def test_of_many_rows_each_thread_takes_its_own():
    where, slots = ["a"] * 8, ["a"] * 4
    assert group_neighbors(where, [10] * 8, slots, 100, 20) == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert group_neighbors(where, [11] * 8, slots, 100, 20) == [[i] for i in range(8)]
    assert group_neighbors(where, [11] * 8, slots, 100, 22) == [[0, 1, 2, 3, 4, 5, 6, 7]]


def test_threads_are_shared_among_tables():
    many = 10**6
    assert share_threads("aab", [many] * 3, "aaaabbb") == [2, 2, 3]
    assert share_threads("aaab", [many] * 4, "aab") == [1, 1, 1, 1]
    assert share_threads("aab", [many, 10, 1 << 18], "aaaabbb") == [2, 1, 2]  # not worthwhile for small partitions
    assert share_threads([None, "gone"], [many] * 2, "aa") == [1, 1]
    assert share_threads([], [], "") == []


def test_groups_have_rows_and_not_too_many():
    assert group_neighbors(["a"] * 6, [10, 0, 15, 90, 0, 5], ["a"], 9, 30) == [[0, 2], [3], [5]]
    assert group_neighbors([], [], [], 9, 30) == []


@pytest.mark.parametrize(
    ("places", "n_rows", "slots", "blocks"),
    [
        ("ab", [10, 10], "ab", ["a 0:0-10", "b 1:10-20"]),
        ("abab", [5, 5, 5, 5], "ab", ["a 0:0-5 2:10-15", "b 1:5-10 3:15-20"]),  # each worker gets its own rows
        ("a", [10], "aa", ["a 0:0-5", "a 0:5-10"]),  # one part for two threads
        ("aaa", [100, 1, 1], "aa", ["a 0:0-51", "a 0:51-100 1:100-101 2:101-102"]),  # equal numbers of rows, not parts
        ("aab", [2, 2, 8], "ab", ["a 0:0-2 1:2-4", "b 2:4-8", "b 2:8-12"]),  # so much that other workers may help
        ("?", [4], "", ["? 0:0-4"]),  # unknown location, and no workers
        ("ab", [1, 1], "aabb", ["a 0:0-1", "b 1:1-2"]),  # fewer rows than threads
    ],
)
def test_rows_are_divided_among_threads_where_they_lie(places, n_rows, slots, blocks):
    known = [None if place == "?" else place for place in places]
    found = divide_rows(known, n_rows, list(slots))
    words = [(place or "?", *(f"{part}:{begin}-{end}" for part, begin, end in pieces)) for place, pieces in found]
    assert [" ".join(block) for block in words] == blocks
