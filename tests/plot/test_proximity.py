"""Rows that share leaves are close in the map."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import weald
from weald.plot import ProximityDisplay
from weald.plot.proximity import scale_classically

X, labels = load_iris(return_X_y=True)


def test_distances_on_the_map_are_those_of_the_forests_proximities():
    rows = X[[0, 1, 60, 120]]
    forest = weald.RandomForestClassifier(7, random_state=0).fit(X, labels)
    points, _ = scale_classically(1 - forest.proximity(rows).toarray())
    np.testing.assert_array_equal(ProximityDisplay.from_estimator(forest, rows).points, points)


def test_points_of_the_plane_are_found_again():
    points = np.random.default_rng(0).normal(size=(30, 2))
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    placed, kept = scale_classically(squares)
    assert np.allclose(((placed[:, None] - placed[None]) ** 2).sum(axis=2), squares)
    assert kept == pytest.approx(1)


def test_classes_stand_apart_on_the_map():
    forest = weald.RandomForestClassifier(50, random_state=0).fit(X, labels)
    display = ProximityDisplay.from_estimator(forest, X, labels)
    centers = np.array([display.points[labels == k].mean(axis=0) for k in range(3)])
    nearest = ((display.points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.9
    assert 0 < display.kept <= 1


def test_maps_of_regressors_single_trees_and_unlabeled_rows_are_drawn():
    forest = weald.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0])
    assert ProximityDisplay.from_estimator(forest, X, X[:, 0]).labels is None
    assert ProximityDisplay.from_estimator(forest, X).y is None
    assert ProximityDisplay.from_estimator(weald.DecisionTreeClassifier().fit(X, labels), X, labels).ax_.get_legend()


def test_all_rows_in_one_leaf_are_one_point():
    stump = weald.RandomForestClassifier(3).fit(X, np.zeros(150))
    assert np.allclose(ProximityDisplay.from_estimator(stump, X).points, 0)


def test_too_many_rows_are_refused():
    forest = weald.RandomForestClassifier(2).fit(X, labels)
    with pytest.raises(weald.DataError, match="X has 2250 rows; a map takes at most 2000"):
        ProximityDisplay.from_estimator(forest, np.tile(X, (15, 1)))
