"""The picture of an error surface shows its numbers, from the strictest to the loosest setting."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import weald
from weald.errors import ParameterError
from weald.plot import SurfaceDisplay

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return weald.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, Y)


@pytest.mark.parametrize("values", [[20, 2, 5], [2, 5, 20]])
def test_the_curve_runs_from_the_strictest_value_to_the_loosest(forest, values):
    display = SurfaceDisplay.from_estimator(forest, values={"min_samples_split": values})
    (curve, *marks) = display.ax_.lines
    errors = dict(zip(values, display.surface.errors, strict=True))
    assert curve.get_ydata().tolist() == [errors[20], errors[5], errors[2]]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["20", "5", "2"]
    chosen = display.surface.choose()["min_samples_split"]
    assert marks[0].get_ydata()[0] == errors[chosen] == min(errors.values())


def test_no_limit_is_the_loosest(forest):
    display = SurfaceDisplay.from_estimator(forest, values={"max_depth": [None, 1, 3]})
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["1", "3", "None"]


def test_the_map_shows_the_numbers(forest):
    display = SurfaceDisplay.from_estimator(forest, "max_depth", "n_estimators")
    mesh = display.ax_.collections[0]
    np.testing.assert_array_equal(np.ma.filled(mesh.get_array(), np.nan), display.surface.errors)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    best = display.surface.choose()
    assert words[0] == f"lowest error: max_depth={best['max_depth']}, n_estimators={best['n_estimators']}"
    assert (display.ax_.get_ylabel(), display.ax_.get_xlabel()) == ("max_depth", "n_estimators")


def test_other_scores_have_no_standard_errors(forest):
    display = SurfaceDisplay.from_estimator(forest, "max_depth", scoring="neg_log_loss")
    assert len(display.ax_.get_legend().get_texts()) == 1
    assert display.ax_.get_ylabel() == "minus neg_log_loss"


def test_new_data_are_drawn_too(forest):
    display = SurfaceDisplay(weald.surface(forest, X, Y, "max_depth")).plot()
    assert len(display.ax_.lines[0].get_ydata()) == len(display.surface.errors)


def test_what_cannot_be_drawn_is_refused(forest):
    with pytest.raises(ParameterError, match="3 parameters cannot be drawn"):
        SurfaceDisplay.from_estimator(forest, values={"max_depth": [1], "ccp_alpha": [0.0], "n_estimators": [40]})
    with pytest.raises(ParameterError, match="oob_score=True"):
        SurfaceDisplay.from_estimator(weald.RandomForestClassifier(3, random_state=0).fit(X, Y), "max_depth")
