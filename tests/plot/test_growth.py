"""The out-of-bag curve is the one stored by the forest."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.plot import OutOfBagDisplay

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return weald.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X[::2], Y[::2])


def test_the_curve_ends_at_the_error_of_the_forest(forest):
    display = OutOfBagDisplay.from_estimator(forest)
    assert display.n_trees.tolist() == list(range(1, 41))
    assert display.error[-1] == forest.oob_error_
    assert display.interval[0] < forest.oob_error_ < display.interval[1]


def test_the_error_on_new_rows_is_that_of_the_first_trees(forest):
    display = OutOfBagDisplay.from_estimator(forest, X[1::2], Y[1::2])
    for n_trees, error in zip(display.sizes, display.new_error, strict=True):
        smaller = weald.RandomForestClassifier(n_trees, random_state=0).fit(X[::2], Y[::2])
        assert 1 - smaller.score(X[1::2], Y[1::2]) == pytest.approx(error)


def test_regression_forests_are_judged_by_squared_errors():
    A, b = load_diabetes(return_X_y=True)
    forest = weald.RandomForestRegressor(30, oob_score=True, random_state=0).fit(A[::2], b[::2])
    display = OutOfBagDisplay.from_estimator(forest, A[1::2], b[1::2])
    assert display.new_error[-1] == pytest.approx(np.mean((forest.predict(A[1::2]) - b[1::2]) ** 2))
    assert display.ax_.get_ylabel() == "mean squared error"


def test_a_forest_that_did_not_look_is_refused():
    with pytest.raises(weald.ParameterError, match="oob_score=True"):
        OutOfBagDisplay.from_estimator(weald.RandomForestClassifier(2).fit(X, Y))


def test_new_rows_need_their_targets(forest):
    with pytest.raises(weald.DataError, match="both X and y"):
        OutOfBagDisplay.from_estimator(forest, X)
