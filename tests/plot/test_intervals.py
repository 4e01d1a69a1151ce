"""Displays of intervals and fans draw what the model predicts."""

import numpy as np
import pytest

from weald import RandomForestClassifier, RandomForestRegressor
from weald.errors import DataError, ParameterError
from weald.plot import FanDisplay, IntervalDisplay

RNG = np.random.default_rng(3)
X = RNG.uniform(0, 10, size=(260, 2))
Y = X[:, 0] + RNG.normal(size=260) * (0.3 + X[:, 0] / 6)
MODEL = RandomForestRegressor(40, min_samples_leaf=5, keep_errors=True, keep_targets=True, random_state=0)
MODEL.fit(X[:180], Y[:180])
NEW, NEW_Y = X[180:], Y[180:]


def test_intervals_are_drawn_by_prediction():
    display = IntervalDisplay.from_estimator(MODEL, NEW, NEW_Y, coverage=0.8, method="cqr", n_rows=30)
    expected = MODEL.predict_interval(NEW, 0.8, method="cqr")
    np.testing.assert_array_equal(display.intervals, expected)
    assert display.covered == ((expected[:, 0] <= NEW_Y) & (expected[:, 1] >= NEW_Y)).mean()
    (bars,) = display.ax_.collections
    drawn = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert len(drawn) == 30
    order = np.argsort(MODEL.predict(NEW), kind="stable")
    np.testing.assert_array_equal(drawn[[0, -1]], expected[order[[0, -1]]])
    line, inside, outside = display.ax_.lines
    assert (np.diff(line.get_ydata()) >= 0).all()
    assert len(inside.get_xdata()) + len(outside.get_xdata()) == 30
    assert f"{100 * display.covered:.1f} % of 80 targets" in display.ax_.get_title()


def test_intervals_need_no_targets():
    display = IntervalDisplay.from_estimator(MODEL, NEW)
    assert display.covered is None
    assert len(display.ax_.lines) == 1
    assert display.plot(n_rows=5) is display
    assert len(display.ax_.lines[0].get_xdata()) == 5


def test_a_fan_has_a_band_for_each_probability():
    display = FanDisplay.from_estimator(MODEL, NEW, NEW_Y, x=NEW[:, 0], bands=[0.5, 0.9])
    np.testing.assert_array_equal(display.quantiles, MODEL.predict_quantiles(NEW, [0.05, 0.25, 0.5, 0.75, 0.95]))
    assert display.bands == (0.9, 0.5)
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["90 %", "50 %", "median", "target"]
    median, points = display.ax_.lines
    order = np.argsort(NEW[:, 0])
    np.testing.assert_array_equal(median.get_ydata(), display.quantiles[order, 2])
    np.testing.assert_array_equal(points.get_xdata(), NEW[order, 0])
    widest = display.ax_.collections[0].get_paths()[0].vertices
    assert widest[:, 1].min() == display.quantiles[:, 0].min()
    assert widest[:, 1].max() == display.quantiles[:, -1].max()
    assert len(FanDisplay.from_estimator(MODEL, NEW).x) == 80


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: IntervalDisplay.from_estimator(MODEL, NEW, NEW_Y[:5]), DataError, "y has shape"),
        (lambda: IntervalDisplay.from_estimator(MODEL, NEW, ["high"] * 80), DataError, "not numbers"),
        (lambda: IntervalDisplay.from_estimator(MODEL, NEW, coverage=90), ParameterError, "coverage=90"),
        (lambda: IntervalDisplay.from_estimator(MODEL, NEW, coverage=0.999), DataError, "infinite"),
        (lambda: IntervalDisplay.from_estimator(MODEL, NEW, method="best"), ParameterError, "method='best'"),
        (lambda: IntervalDisplay.from_estimator(MODEL, NEW, n_rows=0), ParameterError, "n_rows=0"),
        (lambda: IntervalDisplay.from_estimator(object(), NEW), ParameterError, "not a regressor"),
        (lambda: FanDisplay.from_estimator(MODEL, NEW, bands=0.5), ParameterError, "bands=0.5"),
        (lambda: FanDisplay.from_estimator(MODEL, NEW, bands=[]), ParameterError, r"bands=\[\]"),
        (lambda: FanDisplay.from_estimator(MODEL, NEW, bands=[0.5, 1.5]), ParameterError, "fractions between"),
        (lambda: FanDisplay.from_estimator(MODEL, NEW, x=[1.0, 2.0]), DataError, "x has shape"),
        (
            lambda: FanDisplay.from_estimator(RandomForestClassifier(5).fit(X, X[:, 0] > 5), NEW),
            ParameterError,
            "not a regressor",
        ),
        (lambda: FanDisplay.from_estimator(RandomForestRegressor(5).fit(X, Y), NEW), ParameterError, "keep_targets"),
    ],
)
def test_what_cannot_be_drawn_says_so(call, error, words):
    with pytest.raises(error, match=words):
        call()
