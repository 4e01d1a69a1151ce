"""Trees are dealt out so that everybody has as much to do."""

import pytest

from weald.dealing import _divide, _portion


@pytest.mark.parametrize(("n_things", "n_pieces"), [(20, 8), (20, 20), (7, 3), (100, 64), (3, 8), (40, 1)])
def test_pieces_are_neighbours_and_hold_everything(n_things, n_pieces):
    pieces = _divide(range(n_things), n_pieces)
    assert [thing for piece in pieces for thing in piece] == list(range(n_things))
    assert len(pieces) == min(n_things, n_pieces)


@pytest.mark.parametrize("n_rows", [1, 1000, 100_000, 1_000_000, 100_000_000])
@pytest.mark.parametrize(("n_trees", "n_tasks"), [(20, 8), (100, 64), (3, 8), (500, 4), (7, 1)])
def test_tasks_hold_all_trees_in_their_order(n_rows, n_trees, n_tasks):
    portions = _portion(range(5, 5 + n_trees), n_rows, n_tasks)
    assert [tree for portion in portions for tree in portion] == list(range(5, 5 + n_trees))
    assert len(portions) >= min(n_trees, n_tasks)


def test_tasks_are_smaller_towards_the_end():
    sizes = [len(portion) for portion in _portion(range(100), 1_000_000, 8)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1
    assert sizes[-8:] == [1] * 8


def test_trees_of_long_tables_have_tasks_of_their_own():
    assert all(len(portion) == 1 for portion in _portion(range(100), 10_000_000, 8))


def test_trees_of_short_tables_are_not_a_task_each():
    assert len(_portion(range(1000), 100, 8)) <= 9


def lag(n_trees, n_workers):
    """Let whoever is free take the next task: how many trees the last has grown while others had nothing to do."""
    done = [0] * n_workers
    for portion in _portion(range(n_trees), 1_000_000, 4 * n_workers):
        done[done.index(min(done))] += len(portion)
    return max(done) - min(done)


@pytest.mark.parametrize(("n_trees", "n_workers"), [(20, 2), (20, 4), (100, 16), (100, 2), (500, 3)])
def test_nobody_waits_for_longer_than_a_tree_takes(n_trees, n_workers):
    assert lag(n_trees, n_workers) <= 1
