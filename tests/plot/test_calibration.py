"""The reliability diagram shows observed frequencies of predicted probabilities."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import brier_score_loss

import weald
from weald.errors import DataError, ParameterError
from weald.plot import CalibrationDisplay

X, Y = load_breast_cancer(return_X_y=True)
FOREST = weald.RandomForestClassifier(60, oob_score=True, random_state=0).fit(X[::2], Y[::2])


def test_curves_are_those_of_the_out_of_bag_results():
    display = CalibrationDisplay.from_out_of_bag(FOREST, methods=["sigmoid", "beta"], n_bins=5)
    assert list(display.curves) == ["trees", "sigmoid", "beta"]
    expected = FOREST.oob_.calibration(n_bins=5)
    np.testing.assert_array_equal(display.curves["trees"].observed, expected.observed)
    lines = {line.get_label().split(":")[0]: line for line in display.ax_.get_lines()}
    np.testing.assert_array_equal(lines["trees"].get_xdata(), expected.predicted)
    np.testing.assert_array_equal(lines["beta"].get_ydata(), display.curves["beta"].observed)
    assert display.ax_.get_xlabel() == "predicted probability of class 1"
    predicted = FOREST.oob_.calibrated_probabilities("beta")[:, 1]
    assert display.curves["beta"].brier == pytest.approx(brier_score_loss(Y[::2], predicted))


def test_a_calibrated_forest_shows_both():
    calibrated = FOREST.calibrated("isotonic", X[::2], Y[::2])
    assert list(CalibrationDisplay.from_out_of_bag(calibrated).curves) == ["trees", "isotonic"]
    display = CalibrationDisplay.from_estimator(calibrated, X[1::2], Y[1::2])
    assert list(display.curves) == ["trees", "isotonic"]
    for name, model in (("trees", FOREST), ("isotonic", calibrated)):
        brier = brier_score_loss(Y[1::2], model.predict_proba(X[1::2])[:, 1])
        assert display.curves[name].brier == pytest.approx(brier)


def test_of_many_classes_one_is_chosen_or_the_predicted():
    rows, names = load_iris(return_X_y=True)
    forest = weald.RandomForestClassifier(40, random_state=0).fit(rows[::2], names[::2])
    display = CalibrationDisplay.from_estimator(forest, rows[1::2], names[1::2])
    assert display.ax_.get_xlabel() == "predicted probability of the predicted class"
    assert CalibrationDisplay.from_estimator(forest, rows[1::2], names[1::2], label=2).class_name == "class 2"
    out = forest.out_of_bag(rows[::2], names[::2])
    assert CalibrationDisplay.from_out_of_bag(out, label=1).class_name == "class 1"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: CalibrationDisplay.from_out_of_bag(FOREST, methods=["platt"]), "method='platt'"),
        (lambda: CalibrationDisplay.from_out_of_bag(FOREST, label=7), "label=7 is not a class"),
        (lambda: CalibrationDisplay.from_out_of_bag(FOREST, n_bins=0), "n_bins=0"),
        (lambda: CalibrationDisplay.from_estimator(FOREST, X, Y, label=7), "label=7 is not a class"),
        (lambda: CalibrationDisplay.from_estimator(FOREST, X, Y + 1), "classes that the model does not know"),
        (lambda: CalibrationDisplay.from_estimator(FOREST, X, Y[:9]), "y has 9 values"),
        (
            lambda: CalibrationDisplay.from_estimator(weald.DecisionTreeRegressor().fit(X, Y), X, Y),
            "predicts numbers, not classes",
        ),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises((DataError, ParameterError), match=words):
        call()


def test_axes_can_be_given():
    from matplotlib import pyplot as plt

    ax = plt.subplots()[1]
    assert CalibrationDisplay.from_estimator(FOREST, X, Y, ax=ax).ax_ is ax
