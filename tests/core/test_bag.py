"""core/draw/bag.h against the definition: how often each row counts in a tree."""

import numpy as np
import pytest

from tests.laws.cases import CORES, REFERENCE, make_growth, make_table
from weald.forest.forest import Origin

pytestmark = pytest.mark.sanitize

engines = pytest.mark.parametrize("engine", CORES.values(), ids=CORES.keys())


def bags(engine, table, growth, seed=3, first_tree=0, n_trees=2):
    coded = engine.code(table, 0, 1, None)
    return engine.bags(coded, growth, [Origin(seed, first_tree, n_trees, coded.fingerprint, growth.bags())], 1)


# Draws come in blocks; the remaining draws come one by one.
@pytest.mark.parametrize("n_draws", [1, 2, 15, 16, 17, 31, 32, 33, 500])
@pytest.mark.parametrize("weights", ["none", "whole", "fractional", "wide"])
@engines
def test_bags_are_those_of_the_definition(engine, weights, n_draws):
    table = make_table(70, ("many", "few"), 3, weights=weights, n_distinct=50)
    growth = make_growth(table, "gini", n_draws=n_draws)
    found = bags(engine, table, growth)
    assert np.array_equal(found, bags(REFERENCE, table, growth))
    assert (found.sum(axis=1) == n_draws).all()


@pytest.mark.parametrize(("seed", "tree"), [(0, 0), (2**64 - 1, 0), (5, 2**32 - 1), (2**32, 7)])
@engines
def test_bags_of_any_seed_and_tree_are_those_of_the_definition(engine, seed, tree):
    table = make_table(40, ("many",), 2)
    growth = make_growth(table, "gini")
    expected = bags(REFERENCE, table, growth, seed, tree, 1)
    assert np.array_equal(bags(engine, table, growth, seed, tree, 1), expected)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@engines
def test_without_a_bag_rows_count_as_often_as_they_weigh(engine, weights):
    table = make_table(40, ("many",), 2, weights=weights)
    expected = table.weight if weights == "whole" else np.ones(40)
    assert (bags(engine, table, make_growth(table, "gini", bootstrap=False)) == expected).all()


@engines
def test_one_row_is_drawn_every_time(engine):
    table = make_table(1, ("many",), 2)
    assert bags(engine, table, make_growth(table, "gini", n_draws=1000)).tolist() == [[1000], [1000]]


@engines
def test_what_bags_are_drawn_from_has_no_numbers_to_compare_with(engine):
    table = make_table(40, ("many",), 0)
    growth = make_growth(table, "squared_error")
    coded = engine.code(table, 0, 1, None)
    forest = engine.grow(coded, growth, 0, 0, 2, 1, None)
    with pytest.raises(ValueError, match="no targets"):
        engine.sum_votes_out_of_bag(engine.bag_source(coded), growth, forest, table.X, "soft")
