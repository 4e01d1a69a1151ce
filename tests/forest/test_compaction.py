"""Smaller forests: the same predictions with fewer nodes, or fewer trees with a reported loss."""

import dataclasses
import hashlib
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier

import weald
from tests.laws.cases import CRITERIA, ENGINES, REFERENCE, cases
from weald.errors import DataError, ParameterError
from weald.forest.compaction import compact_forest
from weald.forest.forest import CATEGORICAL


def spoken(forest, node, root):
    """The predictions of all leaves below a node, as exact fractions."""
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
    """Rounded targets with many copies: random splits divide nodes whose sides predict the same."""
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
    assert model.forest_.n_nodes == 3  # a cut without gain: both sides have half of each class
    compact = model.compact()
    assert compact.forest_.n_nodes == 1
    assert compact.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert compact.forest_.leaf_weight.tolist() == [2.0, 2.0]


def branch(forest, node, root):
    """A branch as text: its conditions and predictions, independent of its position and its sizes."""
    if forest.feature[node] < 0:
        return repr(sorted(spoken(forest, node, root)))
    cut = forest.category_set(node).tolist() if forest.flags[node] & CATEGORICAL else forest.threshold[node].hex()
    sides = [branch(forest, child, root) for child in (node + 1, root + forest.right[node])]
    return hashlib.sha256(repr((forest.feature[node], cut, forest.flags[node], sides)).encode()).hexdigest()


def branch_twice(forest, feature, threshold):
    """Put each tree below a new root on both sides."""
    trees = []
    for t in range(forest.n_trees):
        tree = forest.take([t])
        twice = {name: np.tile(getattr(tree, name), 2) for name in ("value", "impurity", "leaf_class", "leaf_weight")}
        ends = {name: getattr(tree, name) for name in ("leaf_start", "category_start")}
        twice |= {name: np.append(start, start[1:] + start[-1]) for name, start in ends.items()}
        twice["category_sets"] = np.tile(tree.category_sets, 2)
        right, n = np.where(tree.feature >= 0, tree.right, 0), tree.n_nodes
        rights = [np.where(right > 0, right + shift, 0) for shift in (1, n + 1)]
        twice["right"] = np.concatenate([[n + 1], *rights]).astype(np.int32)
        by_set = tree.flags & CATEGORICAL != 0
        second = np.where(by_set, tree.threshold + by_set.sum(), tree.threshold)
        twice["threshold"] = np.concatenate([[threshold], tree.threshold, second])
        new = {"feature": feature, "flags": 0, "decrease": 0.125}
        for name in ("feature", "flags", "decrease", "size", "weight"):
            old = getattr(tree, name)
            twice[name] = np.concatenate([[new.get(name, 2 * old[0])], old, old]).astype(old.dtype)
        twice["tree_start"] = np.array([0, 2 * n + 1])
        if len(tree.value):
            twice |= {name: np.append(getattr(tree, name)[0], twice[name]) for name in ("value", "impurity")
                      if len(getattr(tree, name))}  # fmt: skip
        trees.append(dataclasses.replace(tree, **twice))
    return trees[0].join(*trees[1:])


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=15)
def test_of_equal_branches_side_by_side_one_is_left(criterion, data):
    """Equal branches with splits are merged at any nesting; the remaining branch has the rows of both."""
    case = data.draw(cases(criterion, max_rows=30, weights=("none", "whole")))  # the sums of all copies are exact
    forest = REFERENCE.grow(REFERENCE.code(case.table, case.max_bins), case.growth, case.seed, 0, case.n_trees)
    plain = compact_forest(forest)
    doubled = forest
    for threshold in (0.5, -1.0):
        doubled = branch_twice(doubled, data.draw(st.integers(0, forest.n_features - 1)), threshold)
    smaller = compact_forest(doubled)
    assert smaller.n_nodes == plain.n_nodes
    assert smaller.size.tolist() == (4 * plain.size).tolist()
    assert smaller.weight.tolist() == (4 * plain.weight).tolist()
    assert smaller.leaf_weight.tolist() == (4 * plain.leaf_weight).tolist()
    assert np.allclose(smaller.impurity, plain.impurity)
    for name in ("feature", "threshold", "flags", "right", "tree_start", "leaf_class", "category_sets"):
        assert np.array_equal(getattr(smaller, name), getattr(plain, name))
    for engine in ENGINES.values():
        before = engine.sum_votes(doubled, case.table.X, "soft", 1, None)
        assert engine.sum_votes(smaller, case.table.X, "soft", 1, None).tobytes() == before.tobytes()
    roots = np.repeat(smaller.tree_start[:-1], np.diff(smaller.tree_start))
    for node in np.flatnonzero(smaller.feature >= 0):
        sides = (node + 1, roots[node] + smaller.right[node])
        assert len({branch(smaller, side, roots[node]) for side in sides}) == 2


# ------------------------------------------------------------------------------------------------------- predictions


def draw_rows(seed):
    """Few rows with ties, and numbers of very different sizes."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 60))
    X = np.round(rng.normal(size=(n_rows, 2)), int(rng.integers(0, 2)))
    widest = int(rng.choice([0, 40, 500, 1000]))
    numbers = rng.normal(size=(n_rows, 2)) * np.exp2(rng.integers(-widest, widest + 1, (n_rows, 2)).astype(float))
    offset = rng.choice([0.0, 0.1, 1e6])
    return X, np.round(numbers, 1) + offset if widest == 0 else numbers, rng.integers(0, 3, (n_rows, 2)), rng


def assert_compact_predicts_the_same(model, X):
    before, after = model, model.compact()
    assert after.forest_.n_nodes <= before.forest_.n_nodes
    assert after.predict_votes(X).tobytes() == before.predict_votes(X).tobytes()
    assert after.predict(X).tobytes() == before.predict(X).tobytes()
    assert pickle.loads(pickle.dumps(after)).predict(X).tobytes() == before.predict(X).tobytes()  # it can be read


@pytest.mark.filterwarnings("ignore:.* is rounded to multiples:UserWarning")
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_compact_keeps_predictions_of_numbers_to_the_last_bit(seed):
    X, numbers, _, rng = draw_rows(seed)
    weight = rng.choice([1.0, 2.0, 0.3], len(X)) if seed % 2 else None
    given = {"min_samples_leaf": int(rng.integers(1, 5)), "random_state": seed % 1000}
    assert_compact_predicts_the_same(weald.DecisionTreeRegressor(**given).fit(X, numbers[:, 0], weight), X)
    assert_compact_predicts_the_same(weald.ExtraTreesRegressor(3, **given).fit(X, numbers[:, 0], weight), X)
    several = weald.RandomForestRegressor(3, **given).fit(X, numbers, weight)
    for target in (0, 1):
        assert_compact_predicts_the_same(several.of_target(target), X)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_compact_keeps_votes_for_classes_to_the_last_bit(seed):
    X, _, classes, rng = draw_rows(seed)
    weight = rng.choice([1.0, 2.0, 0.3], len(X)) if seed % 2 else None
    given = {"min_samples_leaf": int(rng.integers(1, 5)), "random_state": seed % 1000}
    given["voting"] = rng.choice(["soft", "hard"])
    for boosted in ({}, {"resampling": "boosting"}):
        model = weald.RandomForestClassifier(4, **given, **boosted).fit(X, classes[:, 0], weight)
        assert_compact_predicts_the_same(model, X)
    bound = weald.RandomForestClassifier(3, monotonic_cst=[1, 0], **given).fit(X, classes[:, 0] > 0, weight)
    assert_compact_predicts_the_same(bound, X)
    several = weald.ExtraTreesClassifier(3, **given).fit(X, classes, weight)
    for target in (0, 1):
        assert_compact_predicts_the_same(several.of_target(target), X)


@pytest.mark.parametrize("unit", [1.0, 1.7, 0.3, 1e-3, 2.0**60])
def test_compact_keeps_probabilities_of_imported_trees(unit):
    """Class weights below 1 and between whole numbers are not truncated."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (80, 3)).astype(float), rng.integers(0, 3, 80)
    weight = unit * rng.integers(1, 4, 80)
    theirs = DecisionTreeClassifier(random_state=0, max_features=1).fit(X, y, sample_weight=weight)
    assert_compact_predicts_the_same(weald.from_sklearn(theirs), X)


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
    assert abs(small.forest_.n_bytes - small.thinning_.bytes) <= 24 * 60  # in a single tree, starts begin at 0


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
    assert "unknown" in str(model.thin(n_trees=2).thinning_)
    with pytest.raises(DataError, match="oob_score"):
        model.thin(tolerance=0.01)


@pytest.mark.parametrize("wrong", [{}, {"n_trees": 3, "tolerance": 0.1}, {"n_trees": 61}, {"max_bytes": 10}])
def test_thinning_wants_one_limit_that_can_be_kept(wrong):
    with pytest.raises(ParameterError):
        forest()[0].thin(**wrong)
