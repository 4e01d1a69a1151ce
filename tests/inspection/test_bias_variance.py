"""Bias and variance add up to the error, and agree with counting by hand."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import weald
from weald.errors import DataError, ParameterError
from weald.inspection import bias_variance

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:150] for part in load_diabetes(return_X_y=True))


def test_numbers_are_taken_apart_row_by_row():
    predicted, rows = np.array([1.0, 3.0, 4.0, 7.0]), np.array([0, 0, 2, 0])
    found = bias_variance._of_numbers(predicted, rows, np.array([2.0, 9.0, 5.0]))
    main = (1 + 3 + 7) / 3
    assert found.main[[0, 2]].tolist() == [main, 4.0]
    assert np.isnan(found.main[1])
    assert found.counts.tolist() == [3, 0, 1]
    assert found.bias == pytest.approx(((main - 2) ** 2 + 1) / 2)
    assert found.variance == pytest.approx(np.var([1, 3, 7]) / 2)
    assert found.error == pytest.approx((np.mean([1, 1, 25]) + 1) / 2)


def test_classes_are_taken_apart_row_by_row():
    """Row 0: main class right, one vote of four against it. Row 1: main class wrong, one of three is right."""
    predicted = np.array(["a", "a", "b", "a", "b", "b", "c"])
    found = bias_variance._of_classes(predicted, np.array([0, 0, 0, 0, 1, 1, 1]), np.array(["a", "c"]))
    assert found.main.tolist() == ["a", "b"]
    assert found.bias == 1 / 2
    assert found.unbiased_variance == pytest.approx(1 / 4 / 2)
    assert found.biased_variance == pytest.approx(1 / 3 / 2)
    assert found.error == pytest.approx((1 / 4 + 2 / 3) / 2)


@pytest.mark.parametrize("with_test_rows", [False, True])
@pytest.mark.parametrize("classify", [False, True])
def test_bias_and_variance_add_up_to_the_error(classify, with_test_rows):
    x, y = (X, Y) if classify else (XR, YR)
    model = weald.DecisionTreeClassifier(max_depth=2) if classify else weald.DecisionTreeRegressor()
    test = {"X_test": x[::3], "y_test": y[::3]} if with_test_rows else {}
    found = weald.bias_variance(model, x, y, n_repeats=12, **test)
    assert found.error == pytest.approx(found.bias + found.variance)
    assert found.variance == pytest.approx(found.unbiased_variance - found.biased_variance)
    assert len(found.main) == len(y[::3] if with_test_rows else y)
    assert (found.counts == 12).all() == with_test_rows


def test_a_forest_has_less_variance_than_a_tree_and_about_its_bias():
    tree = weald.bias_variance(weald.DecisionTreeRegressor(), XR, YR, n_repeats=20)
    forest = weald.bias_variance(weald.RandomForestRegressor(30), XR, YR, n_repeats=20)
    assert forest.variance < tree.variance / 3
    assert forest.bias == pytest.approx(tree.bias, rel=0.1)


def test_any_estimator_can_be_taken_apart():
    near, far = (weald.bias_variance(KNeighborsRegressor(k), XR, YR, n_repeats=10) for k in (1, 40))
    assert near.variance > far.variance
    found = weald.bias_variance(KNeighborsClassifier(3), X, Y, n_repeats=10)
    assert found.error == pytest.approx(found.bias + found.variance)
    assert repr(found).startswith("<error 0.0")


def test_the_same_random_state_gives_the_same_numbers():
    first, again, other = (
        weald.bias_variance(weald.RandomForestRegressor(3), XR, YR, n_repeats=4, random_state=seed)
        for seed in (1, 1, 2)
    )
    assert first.error == again.error != other.error


def test_frames_are_sampled_too():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(XR)
    found = weald.bias_variance(weald.DecisionTreeRegressor(), frame.rename(columns=str), YR, n_repeats=3)
    assert found.error == weald.bias_variance(weald.DecisionTreeRegressor(), XR, YR, n_repeats=3).error


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"n_repeats": 1}, ParameterError, "n_repeats=1"),
        ({"random_state": None}, ParameterError, "random_state=None"),
        ({"X_test": X}, DataError, "X_test and y_test together"),
        ({"y": Y[:-1]}, DataError, "149"),
    ],
)
def test_what_cannot_be_done_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        weald.bias_variance(weald.DecisionTreeClassifier(), X, **{"y": Y, **given})
