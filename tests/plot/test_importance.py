"""Importances are plotted as computed, the largest at the top."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.plot import ImportanceDisplay

IRIS = load_iris(as_frame=True)


def bars(display):
    """Read names and lengths of the bars from the figure, from top to bottom."""
    names = [label.get_text() for label in display.ax_.get_yticklabels()][::-1]
    return names, [bar.get_width() for bar in display.ax_.patches][::-1]


def test_bars_are_the_importances_of_the_forest_in_order():
    forest = weald.RandomForestClassifier(20, random_state=0).fit(IRIS.data, IRIS.target)
    names, lengths = bars(ImportanceDisplay.from_estimator(forest))
    order = np.argsort(-forest.feature_importances_)
    assert names == list(IRIS.data.columns[order])
    assert lengths == pytest.approx(forest.feature_importances_[order])


def test_standard_errors_are_those_of_a_mean_over_trees():
    X, y = load_diabetes(return_X_y=True)
    forest = weald.RandomForestRegressor(15, random_state=0).fit(X, y)
    display = ImportanceDisplay.from_estimator(forest)
    of_trees = np.array([tree.feature_importances_ for tree in forest.estimators_])
    assert display.std_error == pytest.approx(of_trees.std(axis=0, ddof=1) / np.sqrt(15))


def test_a_single_tree_has_no_standard_errors_and_a_leaf_no_importances():
    tree = weald.DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    display = ImportanceDisplay.from_estimator(tree)
    assert display.std_error is None
    assert display.values == pytest.approx(tree.feature_importances_)
    leaf = weald.RandomForestClassifier(2).fit(IRIS.data, np.zeros(150))
    assert (ImportanceDisplay.from_estimator(leaf).values == 0).all()


def test_the_most_important_are_drawn_and_the_others_counted():
    forest = weald.RandomForestClassifier(5, random_state=0).fit(IRIS.data, IRIS.target)
    display = ImportanceDisplay.from_estimator(forest, feature_names=["$a", "b$", "c", "d"], most=2)
    assert len(bars(display)[0]) == 2
    assert [text.get_text() for text in display.ax_.texts] == ["2 of 4 features"]
    display.figure_.canvas.draw()


def test_any_answer_can_be_drawn():
    answer = SimpleNamespace(names=("a", "b"), values=[-0.1, 0.3], std_error=np.array([0.1, 0.2]), unit="points")
    display = ImportanceDisplay.from_importance(answer)
    assert bars(display) == (["b", "a"], pytest.approx([0.3, -0.1]))
    assert display.ax_.get_xlabel() == "points"
