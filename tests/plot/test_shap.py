"""SHAP values are plotted as computed."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.plot import BeeswarmDisplay, ShapBarDisplay, WaterfallDisplay
from weald.plot.shap import spread

X, Y = load_diabetes(return_X_y=True, as_frame=True)
EXPLANATION = weald.explain(weald.RandomForestRegressor(10, random_state=0).fit(X, Y), X)
IRIS = load_iris(as_frame=True)
OF_CLASSES = weald.explain(weald.RandomForestClassifier(9, random_state=0).fit(IRIS.data, IRIS.target), IRIS.data)


def names_of(ax):
    return [label.get_text() for label in ax.get_yticklabels()][::-1]


def test_bars_are_mean_magnitudes_in_order():
    ax = EXPLANATION.bar(most=4)
    means = np.abs(EXPLANATION.values).mean(axis=0)
    order = np.argsort(-means)[:4]
    assert names_of(ax) == list(X.columns[order])
    assert [bar.get_width() for bar in ax.patches][::-1] == pytest.approx(means[order])
    assert [text.get_text() for text in ax.texts] == ["4 of 10 features"]


def test_bars_of_classes_are_stacked():
    display = ShapBarDisplay.from_explanation(OF_CLASSES)
    means = np.abs(OF_CLASSES.values).mean(axis=0)
    assert len(display.ax_.patches) == 12
    assert max(bar.get_x() + bar.get_width() for bar in display.ax_.patches) == pytest.approx(means.sum(axis=1).max())
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1", "2"]


def test_each_row_is_a_point_at_its_value():
    display = BeeswarmDisplay.from_explanation(EXPLANATION, most=3)
    points = np.concatenate([np.asarray(part.get_offsets())[:, 0] for part in display.ax_.collections])
    points = points[~np.isnan(points)]  # without legend entries
    top = np.argsort(-np.abs(EXPLANATION.values).mean(axis=0))[:3]
    assert np.sort(points) == pytest.approx(np.sort(EXPLANATION.values[:, top].ravel()))
    display.figure_.canvas.draw()


def test_points_of_similar_value_are_side_by_side():
    assert spread(np.zeros(3), 1.0).tolist() == [0.0, 0.25, -0.25]
    assert np.abs(spread(np.random.default_rng(0).normal(size=999), 6.0)).max() <= 1


def test_a_waterfall_leads_from_the_base_value_to_the_prediction():
    display = WaterfallDisplay.from_explanation(EXPLANATION, 7, most=4)
    bars = display.ax_.patches
    assert bars[0].get_x() == pytest.approx(EXPLANATION.base_values[7])
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(EXPLANATION.predictions[7])
    assert names_of(display.ax_)[-1] == "6 other features"
    display.figure_.canvas.draw()


def test_a_waterfall_of_a_model_without_splits():
    X = np.zeros((4, 2))
    explanation = weald.explain(weald.DecisionTreeRegressor().fit(X, np.arange(4.0)), X)
    explanation.waterfall().figure.canvas.draw()
    explanation.beeswarm().figure.canvas.draw()


def test_odd_names_are_written_as_they_are():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = weald.RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    explanation = weald.explain(model, X, feature_names=["$a", "b$"])
    for ax in (explanation.bar(), explanation.beeswarm(), explanation.waterfall()):
        ax.figure.canvas.draw()
        assert any("$a" in name for name in names_of(ax))
