"""Impurities by the textbook formulas, compared with the exact ones of trees."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weald
from weald import impurity
from weald.engines import criteria

OF_CLASSES = {"gini": impurity.gini, "entropy": impurity.entropy, "misclassification": impurity.misclassification}
each = pytest.mark.parametrize("name", OF_CLASSES)
counts_of_classes = st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any)


def test_every_impurity_has_its_criterion():
    assert {*OF_CLASSES, "squared_error"} <= set(criteria.tasks())


@each
@given(counts=counts_of_classes)
def test_the_formula_agrees_with_the_term_that_trees_are_grown_by(name, counts):
    exact = criteria.class_impurities(name, np.array([counts], dtype=float))[0]
    assert OF_CLASSES[name](counts) == pytest.approx(exact, abs=1e-12)


@each
@given(counts=counts_of_classes)
def test_labels_say_the_same_as_counts(name, counts):
    labels = np.repeat(np.arange(len(counts)), counts)
    assert OF_CLASSES[name](labels=labels) == pytest.approx(OF_CLASSES[name](counts))


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10])
def test_equal_classes_are_the_most_impure(n_classes):
    equal, pure = [5] * n_classes, [5] + [0] * (n_classes - 1)
    assert impurity.entropy(equal) == pytest.approx(math.log2(n_classes))
    assert impurity.gini(equal) == pytest.approx(1 - 1 / n_classes)
    assert impurity.misclassification(equal) == pytest.approx(1 - 1 / n_classes)
    for of in OF_CLASSES.values():
        assert of(pure) == 0
        assert of([6, *equal[1:]]) < of(equal)


def test_gini_of_two_classes_is_twice_the_variance_of_one():
    y = np.array([0, 0, 1, 1, 1, 0, 0])
    assert impurity.gini(labels=y) == pytest.approx(2 * impurity.squared_error(y))


@each
def test_many_sets_at_once(name):
    sets = np.array([[3, 1, 0], [0, 0, 2], [1, 1, 1]])
    found = OF_CLASSES[name](sets)
    assert found.tolist() == [OF_CLASSES[name](row) for row in sets]


def test_squared_error_is_the_least_mean_square():
    y, w = np.array([1.0, 4.0, 4.0]), np.array([2.0, 1.0, 1.0])
    assert impurity.squared_error(y) == pytest.approx(y.var())
    assert impurity.squared_error(y, w) == pytest.approx(np.array([1.0, 1.0, 4.0, 4.0]).var())


@each
@given(left=st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any), right=st.permutations([0, 4, 9]))
def test_a_cut_never_loses(name, left, right):
    whole = np.add(left, right)
    n, n_left, n_right = whole.sum(), sum(left), sum(right)
    of = OF_CLASSES[name]
    expected = of(whole) - n_left / n * of(left) - n_right / n * of(right)
    assert impurity.gain(left, right, of) == pytest.approx(expected, abs=1e-12)
    assert impurity.gain(left, right, of) > -1e-12


def test_the_gain_of_a_split_is_what_the_tree_says():
    x, y = [[1.0], [2.0], [3.0], [4.0], [5.0]], [1.0, 2.0, 2.5, 8.0, 9.0]
    nodes = weald.DecisionTreeRegressor(max_depth=1).fit(x, y).nodes(frame="dict")
    assert nodes["gain"][0] == pytest.approx(impurity.gain(y[:3], y[3:], impurity.squared_error))


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (impurity.gini, "either counts"),
        (lambda: impurity.gini([1], labels=["a"]), "either counts"),
        (lambda: impurity.gini([-1, 2]), "not counts"),
        (lambda: impurity.gini([np.nan, 2]), "not counts"),
        (lambda: impurity.gini(3), "not counts"),
        (lambda: impurity.gini([0, 0]), "without rows"),
        (lambda: impurity.entropy([]), "without rows"),
        (lambda: impurity.squared_error([]), "finite numbers"),
        (lambda: impurity.squared_error([1.0, np.inf]), "finite numbers"),
        (lambda: impurity.squared_error([1.0, 2.0], [1.0]), "one weight for each row"),
    ],
)
def test_what_has_no_impurity_is_refused(ask, match):
    with pytest.raises(weald.DataError, match=match):
        ask()
