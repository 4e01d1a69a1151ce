"""Importances are the normalized decreases of impurity by feature."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import weald
from weald.forest.impurity_decrease import mean_decrease

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def forest():
    return weald.RandomForestClassifier(7, random_state=2).fit(X, Y).forest_


def test_importances_are_shares(forest):
    importances = mean_decrease(forest)
    assert importances.shape == (4,)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1)


def test_a_forest_is_the_mean_of_its_trees(forest):
    of_trees = [mean_decrease(forest.take([t])) for t in range(forest.n_trees)]
    np.testing.assert_allclose(mean_decrease(forest), np.mean(of_trees, axis=0))


def test_the_only_feature_that_matters_has_all_the_importance():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    model = weald.DecisionTreeClassifier().fit(x, x[:, 1] > 0)
    assert model.feature_importances_.tolist() == [0, 1, 0]


def test_one_tree_agrees_with_scikit_learn_where_no_scores_tie():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 3))
    y = (x[:, 0] + 0.5 * x[:, 2] > 0.2).astype(int)
    ours = weald.DecisionTreeClassifier(max_depth=3).fit(x, y)
    theirs = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)


def test_leaves_alone_have_no_importance():
    model = weald.RandomForestClassifier(2).fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    assert model.feature_importances_.tolist() == [0, 0]


def test_a_tree_of_one_leaf_does_not_dilute_the_others(forest):
    leaf = weald.DecisionTreeClassifier(min_samples_split=1000).fit(X, Y).forest_
    np.testing.assert_allclose(mean_decrease(forest.join(leaf)), mean_decrease(forest))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_regression_importances_do_not_depend_on_the_unit_of_the_target(scale):
    x, y = X[::3, :3], X[::3, 3]
    plain = weald.DecisionTreeRegressor(max_depth=3).fit(x, y)
    scaled = weald.DecisionTreeRegressor(max_depth=3).fit(x, y * scale)
    np.testing.assert_allclose(scaled.feature_importances_, plain.feature_importances_, rtol=1e-9)
