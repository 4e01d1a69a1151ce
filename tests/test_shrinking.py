"""Smaller forests: the same predictions with fewer nodes, or fewer trees at a price that is said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris

import weald
from tests.laws.cases import CRITERIA, ENGINES, REFERENCE, cases
from weald.errors import DataError, ParameterError
from weald.shrinking import compact_forest


def spoken(forest, node, root):
    """All that the leaves below a node say, as exact fractions."""
    if forest.feature[node] >= 0:
        return spoken(forest, node + 1, root) | spoken(forest, root + forest.right[node], root)
    if len(forest.value):
        return {forest.value[node]}
    leaf = forest.leaf_index()[node]
    entries = slice(forest.leaf_start[leaf], forest.leaf_start[leaf + 1])
    weights = forest.leaf_weight[entries]
    return {tuple(zip(forest.leaf_class[entries].tolist(), (weights / weights.sum()).tolist(), strict=True))}


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=15)
def test_a_compact_forest_says_the_same_and_no_split_is_for_nothing(criterion, data):
    case = data.draw(cases(criterion, max_rows=40))
    forest = REFERENCE.grow(REFERENCE.code(case.table, case.max_bins), case.growth, case.seed, 0, case.n_trees)
    smaller = compact_forest(forest)
    assert smaller.n_nodes <= forest.n_nodes
    for engine in ENGINES.values():
        before = engine.sum_votes(forest, case.table.X, "soft", 1, None)
        assert engine.sum_votes(smaller, case.table.X, "soft", 1, None).tobytes() == before.tobytes()
    roots = np.repeat(smaller.tree_start[:-1], np.diff(smaller.tree_start))
    for node in np.flatnonzero(smaller.feature >= 0):
        assert len(spoken(smaller, node, roots[node])) > 1


def test_splits_for_nothing_are_found():
    """Rounded targets of many copies: extremely random cuts divide nodes whose sides say the same."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (300, 3)).astype(float)
    y = (X[:, 0] > 1).astype(int)
    model = weald.DecisionTreeClassifier(criterion="misclassification", max_features=1, random_state=0).fit(X, y)
    forest = model.forest_
    noisy = weald.RandomForestClassifier(10, random_state=0).fit(X, rng.integers(0, 2, 300))
    for one in (model, noisy):
        assert one.compact().predict_proba(X).tobytes() == one.predict_proba(X).tobytes()
    assert compact_forest(compact_forest(forest)).fingerprint() == compact_forest(forest).fingerprint()


def test_a_branch_that_says_one_thing_becomes_a_leaf():
    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    weights = [1, 1, 1, 1]
    model = weald.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, weights)
    assert model.forest_.n_nodes == 3  # a cut without gain, both sides half and half
    compact = model.compact()
    assert compact.forest_.n_nodes == 1
    assert compact.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert compact.forest_.leaf_weight.tolist() == [2.0, 2.0]


# ------------------------------------------------------------------------------------------------------------- thin


def forest(**parameters):
    X, y = load_iris(return_X_y=True)
    return weald.RandomForestClassifier(60, oob_score=True, random_state=0, **parameters).fit(X, y), X, y


def test_the_cost_of_thinning_is_the_error_of_the_trees_that_are_left():
    model, X, y = forest()
    small = model.thin(n_trees=12)
    assert small.forest_.fingerprint() == model[:12].forest_.fingerprint()
    assert small.thinning_.error == pytest.approx(small.out_of_bag(X, y).error)
    assert small.thinning_.error_before == pytest.approx(model.oob_error_)
    assert (small.thinning_.n_trees_before, small.thinning_.n_trees) == (60, 12)
    assert "12 of 60 trees" in str(small.thinning_)


def test_bytes_are_those_of_the_arrays():
    model, _, _ = forest()
    most = model.forest_.n_bytes // 3
    small = model.thin(max_bytes=most)
    assert small.thinning_.bytes <= most
    assert model.thin(n_trees=small.thinning_.n_trees + 1).thinning_.bytes > most
    assert abs(small.forest_.n_bytes - small.thinning_.bytes) <= 24 * 60  # each tree alone has starts of its own


def test_a_tolerance_keeps_as_few_trees_as_it_allows():
    X, y = load_diabetes(return_X_y=True)
    model = weald.RandomForestRegressor(80, oob_score=True, random_state=0).fit(X, y)
    small = model.thin(tolerance=0.05)
    errors, n = model.oob_.curve.error, small.thinning_.n_trees
    assert 1 < n < 80
    assert (errors[n - 1 :] <= errors[-1] * 1.05).all()
    assert errors[n - 2] > errors[-1] * 1.05
    assert model.thin(tolerance=1e9).thinning_.n_trees < n
    assert model.thin(tolerance=0.0).thinning_.n_trees <= 80


def test_thinning_without_out_of_bag_errors_says_so():
    X, y = load_iris(return_X_y=True)
    model = weald.RandomForestClassifier(5, random_state=0).fit(X, y)
    assert "not known" in str(model.thin(n_trees=2).thinning_)
    with pytest.raises(DataError, match="oob_score"):
        model.thin(tolerance=0.01)


@pytest.mark.parametrize("wrong", [{}, {"n_trees": 3, "tolerance": 0.1}, {"n_trees": 61}, {"max_bytes": 10}])
def test_thinning_wants_one_limit_that_can_be_kept(wrong):
    with pytest.raises(ParameterError):
        forest()[0].thin(**wrong)
