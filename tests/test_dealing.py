"""Trees are dealt out so that everybody has as much to do."""

import pytest

from weald.dealing import _divide


@pytest.mark.parametrize(("n_things", "n_pieces"), [(20, 8), (20, 20), (7, 3), (100, 64), (3, 8), (40, 1)])
def test_pieces_are_neighbours_and_hold_everything(n_things, n_pieces):
    pieces = _divide(range(n_things), n_pieces)
    assert [thing for piece in pieces for thing in piece] == list(range(n_things))
    assert len(pieces) == min(n_things, n_pieces)


@pytest.mark.parametrize(("n_trees", "n_tasks", "n_workers"), [(20, 8, 2), (20, 16, 4), (100, 64, 16), (20, 20, 4)])
def test_workers_that_take_pieces_in_turns_have_as_many_trees(n_trees, n_tasks, n_workers):
    pieces = _divide(range(n_trees), n_tasks)
    loads = [sum(map(len, pieces[worker::n_workers])) for worker in range(n_workers)]
    assert max(loads) - min(loads) <= n_trees % n_workers
