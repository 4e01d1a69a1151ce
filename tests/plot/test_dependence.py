"""Displays of partial dependence, individual curves, accumulated local effects and pairs."""

import numpy as np
import pandas as pd
import pytest

import weald
from weald.errors import ParameterError
from weald.plot import DependenceDisplay

RNG = np.random.default_rng(2)
N = 120
X = pd.DataFrame({"a": RNG.normal(size=N), "color": RNG.choice(["red", "green", "blue"], N)})
X["size"] = pd.Categorical(RNG.choice(["s", "m"], N), categories=["s", "m"], ordered=True)
X["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D")
X.loc[:9, "a"] = np.nan
X.loc[:4, "color"] = None
Y = X["a"].fillna(0) + (X["color"] == "red")
REGRESSOR = weald.RandomForestRegressor(10, min_samples_leaf=3, random_state=0).fit(X, Y)
CLASSIFIER = weald.RandomForestClassifier(10, min_samples_leaf=3, random_state=0).fit(
    X, pd.cut(Y, 3, labels=list("xyz"))
)


def texts(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_a_line_is_the_exact_step_function_between_the_extremes_of_the_data():
    found = weald.dependence(REGRESSOR, X, ["a"])
    display = DependenceDisplay(found).plot()
    x, y = display.ax_.lines[0].get_data()
    known = X["a"].dropna()
    assert (x[0], x[-1]) == (known.min(), known.max())
    inner = np.unique(x)[1:-1]
    np.testing.assert_array_equal(y[np.searchsorted(x, inner, side="left")], found[0].at(inner))
    np.testing.assert_array_equal(y[np.searchsorted(x, inner, side="right")], found[0].at(np.nextafter(inner, np.inf)))


def test_categories_are_complete_with_missing_values_and_frequencies():
    display = DependenceDisplay.from_estimator(REGRESSOR, X, ["color"])
    assert texts(display.ax_) == ["blue", "green", "red", "(missing)"]
    np.testing.assert_array_equal(display.ax_.lines[0].get_xdata()[:3], display.curves[0].average)
    widths = [bar.get_width() for bar in display.ax_.patches]
    frequencies = [*display.curves[0].axes[0].frequencies, display.curves[0].axes[0].missing]
    np.testing.assert_allclose(np.array(widths) / max(widths), np.array(frequencies) / max(frequencies))


def test_all_curves_have_one_scale():
    display = DependenceDisplay.from_estimator(REGRESSOR, X)
    assert len(display.axes_) == 4
    assert display.axes_[0].get_ylim() == display.axes_[3].get_ylim() == display.axes_[1].get_xlim()


@pytest.mark.parametrize("features", [("a", "when"), ("color", "a"), ("color", "size")])
def test_two_features_are_a_heat_map(features):
    display = DependenceDisplay.from_estimator(CLASSIFIER, X, [features], output="x")
    (mesh,) = display.ax_.collections[:1]
    curve = display.curves[0]
    assert mesh.get_array().max() <= curve.average[..., 0].max()
    assert display.ax_.get_xlabel() == features[0]


@pytest.mark.parametrize("kind", ["partial", "individual"])
@pytest.mark.parametrize("feature", ["a", "color"])
def test_classes_have_a_line_each_or_the_one_that_is_chosen(kind, feature):
    display = DependenceDisplay.from_estimator(CLASSIFIER, X, [feature], kind=kind)
    assert (display.ax_.get_legend() is not None) == (kind == "partial")
    one = DependenceDisplay(display.curves).plot(output="y")
    assert "y" in one.ax_.get_ylabel() + one.ax_.get_xlabel()


def test_local_effects_and_dates_are_drawn():
    display = DependenceDisplay.from_estimator(REGRESSOR, X, ["when", "size"], kind="ale")
    assert display.ax_.get_ylabel() == "accumulated local effect"
    assert texts(display.axes_[1]) == ["s", "m"]


REFUSED = {
    "nothing": (lambda: DependenceDisplay([]), "no curve"),
    "one axes": (
        lambda: DependenceDisplay.from_estimator(REGRESSOR, X, ax=object()),
        "there are 4 curves",
    ),
    "an unknown class": (lambda: DependenceDisplay.from_estimator(CLASSIFIER, X, ["a"], output="w"), "output='w'"),
    "a class of numbers": (
        lambda: DependenceDisplay.from_estimator(REGRESSOR, X, ["a"], output="x"),
        "predicts numbers",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_words(case):
    ask, words = REFUSED[case]
    with pytest.raises(ParameterError, match=words):
        ask()
