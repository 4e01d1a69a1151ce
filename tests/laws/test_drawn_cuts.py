"""Laws of random cuts and of feature weights."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weald
from tests.laws.cases import (
    CORES,
    CRITERIA,
    ENGINES,
    Case,
    cases,
    fingerprint,
    grow,
    is_of_classes,
    make_growth,
    make_table,
)
from tests.laws.test_large_nodes import COLUMNS, FAMILIES, hold_against_definition

pytestmark = pytest.mark.sanitize

each = pytest.mark.parametrize("criterion", CRITERIA)
both = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
some_data = given(data=st.data())


@both
@each
@some_data
def test_doubling_a_column_leaves_the_shape_and_doubles_the_cuts(criterion, engine, data):
    """Random cuts depend on values, so not every increasing map preserves the structure, but a power of two does."""
    case = data.draw(cases(criterion))
    case = replace(case.on(replace(case.table, categorical=frozenset())), growth=replace(case.growth, random_cuts=True))
    X = np.where(np.abs(case.table.X) < 2.0**900, case.table.X, 1.0)
    X[np.abs(X) < 2.0**-900] = 0.0  # the smallest numbers cannot be halved
    one, other = (grow(engine, case.on(replace(case.table, X=table))) for table in (X, X * 2.0**60))
    for name, array in one.arrays().items():
        expected = array * 2.0**60 if name == "threshold" else array
        assert np.array_equal(getattr(other, name), expected), name


@both
@each
@some_data
def test_rows_reach_the_leaves_that_they_were_counted_in(criterion, engine, data):
    case = data.draw(cases(criterion, weights=["none"]))
    case = case.on(replace(case.table, categorical=frozenset()))
    case = replace(case, growth=replace(case.growth, random_cuts=True, bootstrap=False, n_draws=case.table.size))
    forest = grow(engine, case)
    weights = np.array(case.growth.class_weights or [1.0] * max(1, case.table.n_classes))
    counted = weights[case.table.target if case.table.n_classes else np.zeros(case.table.n_rows, dtype=int)] > 0
    leaves = engine.leaves(forest, case.table.X[counted], 1, None)
    for tree in range(forest.n_trees):
        nodes = slice(*forest.tree_start[tree : tree + 2])
        is_leaf = forest.feature[nodes] < 0
        counts = np.bincount(leaves[:, tree], minlength=len(is_leaf))
        assert np.array_equal(counts[is_leaf], forest.size[nodes][is_leaf])


def test_cuts_are_uniform_between_the_extremes():
    """Values in between do not matter: 4000 cuts of 0 ... 10 are uniformly distributed."""
    X = np.array([[0.0], [0.5], [9.0], [9.5], [10.0]])
    model = weald.ExtraTreesRegressor(4000, max_depth=1, random_state=3).fit(X, X[:, 0])
    cuts = np.sort(model.forest_.threshold[model.forest_.feature == 0])
    assert len(cuts) == 4000
    distance = np.abs(cuts / 10 - (np.arange(4000) + 0.5) / 4000).max()
    assert distance < 1.63 / np.sqrt(4000)  # Kolmogorov and Smirnov, one in a hundred


def test_missing_values_go_left_as_often_as_right():
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan]])
    model = weald.ExtraTreesRegressor(2000, max_depth=1, random_state=1).fit(X, [1.0, 2.0, 3.0, 4.0, 5.0])
    roots = model.forest_.feature == 0
    assert abs(model.forest_.flags[roots].mean() - 0.5) < 0.03


@both
def test_a_cut_depends_on_node_and_feature_alone(engine):
    """Other features do not change it."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=40), rng.normal(size=40)
    tables = (x[:, np.newaxis], np.column_stack([x, np.zeros((40, 3))]))
    trees = [
        weald.DecisionTreeRegressor(splitter="random", random_state=5, engine=engine.name).fit(X, y) for X in tables
    ]
    assert np.array_equal(trees[0].tree_.threshold, trees[1].tree_.threshold)


@pytest.mark.parametrize("random_cuts", [False, True])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_ruled_cuts_of_large_nodes_are_those_of_the_definition(criterion, n_classes, random_cuts):
    table = make_table(1200, COLUMNS, n_classes, missing=0.1, seed=9)
    signs = (1, -1, 0, 1) if n_classes in {0, 2} else ()
    growth = make_growth(table, criterion, max_features=3, max_depth=5, random_cuts=random_cuts, monotonic=signs)
    hold_against_definition(Case(table, growth, max_bins=500, n_trees=1))


@each
@some_data
def test_equal_weights_of_features_are_no_weights(criterion, data):
    case = data.draw(cases(criterion))
    plain = replace(case, growth=replace(case.growth, feature_weights=()))
    weight = data.draw(st.floats(1e-300, 1e300))
    weighed = replace(case, growth=replace(case.growth, feature_weights=(weight,) * case.table.n_features))
    for engine in ENGINES.values():
        assert fingerprint(engine, weighed) == fingerprint(engine, plain)


@pytest.mark.parametrize("simd", CORES)
@each
def test_wide_tables_are_drawn_by_weight_as_in_the_definition(criterion, simd):
    table = make_table(60, ("many", "few", "binary") * 30, 2 if is_of_classes(criterion) else 0, seed=4)
    weights = tuple(float(f % 7) for f in range(90))
    growth = make_growth(table, criterion, max_features=5, feature_weights=weights, max_interacting=3)
    case = Case(table, growth, n_trees=2)
    assert fingerprint(CORES[simd], case) == fingerprint(ENGINES["reference"], case)
