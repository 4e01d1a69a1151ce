"""Stability is the disagreement of models that were fitted to different samples."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression

import weald
from weald.inspection.resample import fit_repeatedly

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:120] for part in load_diabetes(return_X_y=True))


def test_changes_are_counted_pair_by_pair():
    tree = weald.DecisionTreeClassifier()
    models = [model for model, _ in fit_repeatedly(tree, X, Y, 5, 3)]
    differ = [np.mean(a.predict(X) != b.predict(X)) for a, b in combinations(models, 2)]
    found = weald.stability(tree, X, Y, n_repeats=5, random_state=3)
    assert found.change == pytest.approx(np.mean(differ))
    assert found.changes.mean() == pytest.approx(found.change)


def test_changes_of_numbers_are_in_units_of_the_target():
    tree = weald.DecisionTreeRegressor()
    models = [model for model, _ in fit_repeatedly(tree, XR, YR, 4, 0)]
    squares = [np.mean((a.predict(XR) - b.predict(XR)) ** 2) for a, b in combinations(models, 2)]
    found = weald.stability(tree, XR, YR, n_repeats=4)
    assert found.change == pytest.approx(np.sqrt(np.mean(squares)) / YR.std())
    assert weald.stability(tree, XR, 10 * YR + 3, n_repeats=4).change == pytest.approx(found.change)


def test_the_structure_is_who_shares_a_leaf_with_whom():
    tree = weald.DecisionTreeClassifier(max_depth=2)
    models = [model for model, _ in fit_repeatedly(tree, X, Y, 3, 0)]
    distances = []
    for a, b in combinations(models, 2):
        one, two = a.apply(X), b.apply(X)
        apart = together = 0
        for i, j in combinations(range(len(X)), 2):
            apart += (one[i] == one[j]) != (two[i] == two[j])
            together += int(one[i] == one[j]) + int(two[i] == two[j])
        distances.append(apart / together)
    assert weald.stability(tree, X, Y, n_repeats=3).structure == pytest.approx(np.mean(distances))


def test_a_forest_is_more_stable_than_a_tree():
    for tree, forest, x, y in (
        (weald.DecisionTreeClassifier(), weald.RandomForestClassifier(30), X, Y),
        (weald.DecisionTreeRegressor(), weald.RandomForestRegressor(30), XR, YR),
    ):
        alone, many = weald.stability(tree, x, y, n_repeats=8), weald.stability(forest, x, y, n_repeats=8)
        assert many.change < alone.change
        assert many.structure < alone.structure


def test_other_rows_may_be_compared():
    tree = weald.DecisionTreeClassifier()
    models = [model for model, _ in fit_repeatedly(tree, X[::2], Y[::2], 4, 0)]
    differ = [np.mean(a.predict(X[1::2]) != b.predict(X[1::2])) for a, b in combinations(models, 2)]
    found = weald.stability(tree, X[::2], Y[::2], X_test=X[1::2], n_repeats=4)
    assert found.change == pytest.approx(np.mean(differ))
    assert len(found.changes) == 75


def test_a_model_that_never_changes_is_stable():
    constant = weald.stability(weald.DecisionTreeClassifier(), np.ones((20, 1)), np.arange(20) % 2 * 0, n_repeats=3)
    assert (constant.change, constant.structure) == (0, 0)


def test_a_model_without_leaves_has_no_structure():
    found = weald.stability(LinearRegression(), XR, YR, n_repeats=3)
    assert np.isnan(found.structure)
    assert found.change > 0
