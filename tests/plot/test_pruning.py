"""The pruning curve consists of trees that `prune` returns."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import weald
from weald.errors import DataError
from weald.plot import PruningDisplay

X, Y = load_breast_cancer(return_X_y=True)


def test_errors_are_those_of_the_pruned_trees():
    tree = weald.DecisionTreeClassifier().fit(X[::2], Y[::2])
    display = PruningDisplay.from_estimator(tree, X[1::2], Y[1::2])
    for alpha, leaves, own, new in zip(
        display.alpha, display.leaves, display.training_error, display.new_error, strict=True
    ):
        pruned = tree.prune(float(alpha))
        assert pruned.get_n_leaves() == leaves
        assert 1 - pruned.score(X[::2], Y[::2]) == pytest.approx(own)
        assert 1 - pruned.score(X[1::2], Y[1::2]) == pytest.approx(new)


def test_the_marked_trees_are_the_best_and_the_smallest_that_is_as_good():
    tree = weald.DecisionTreeClassifier().fit(X[::2], Y[::2])
    display = PruningDisplay.from_estimator(tree, X[1::2], Y[1::2])
    least = display.new_error.min()
    assert display.new_error[display.best_] == least
    assert (display.new_error[display.best_ + 1 :] > least).all()
    within = least + np.sqrt(least * (1 - least) / len(Y[1::2]))
    assert display.new_error[display.smallest_] <= within
    assert (display.new_error[display.smallest_ + 1 :] > within).all()
    assert f"lowest error: {display.leaves[display.best_]} leaves" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]


def test_regression_trees_are_judged_by_squared_errors():
    A, b = load_diabetes(return_X_y=True)
    tree = weald.DecisionTreeRegressor(min_samples_leaf=20).fit(A[::2], b[::2])
    display = PruningDisplay.from_estimator(tree, A[1::2], b[1::2])
    assert display.new_error[-1] == pytest.approx(np.mean((b[1::2] - b[::2].mean()) ** 2))
    assert display.training_error[-1] == pytest.approx(b[::2].var())


def test_every_tree_of_a_long_path_is_judged():
    rng = np.random.default_rng(0)
    noise, numbers = rng.normal(size=(600, 3)), rng.normal(size=600)
    tree = weald.DecisionTreeRegressor().fit(noise, numbers)
    display = PruningDisplay.from_estimator(tree, noise[::2], numbers[::2])
    assert len(display.leaves) == len(tree.pruning_path(frame="dict")["leaves"]) > 100
    assert (np.diff(display.leaves) < 0).all()


def test_without_new_rows_the_training_error_stands_alone():
    display = PruningDisplay.from_estimator(weald.DecisionTreeClassifier().fit(X, Y))
    assert display.new_error is None
    assert len(display.ax_.lines) == 1


def test_a_tree_of_a_forest_can_be_pruned_and_a_forest_cannot():
    forest = weald.RandomForestClassifier(2, random_state=0).fit(X, Y)
    assert PruningDisplay.from_estimator(forest.estimators_[1], X[::2], Y[::2]).leaves[-1] == 1
    with pytest.raises(weald.DataTypeError, match="only single trees can"):
        PruningDisplay.from_estimator(forest)
    with pytest.raises(weald.DataError, match="both X and y"):
        PruningDisplay.from_estimator(forest.estimators_[0], X)


def test_a_tree_of_a_forest_is_judged_by_labels():
    labels = np.array(["no", "yes"])[Y]
    tree = weald.RandomForestClassifier(2, random_state=0).fit(X[::2], labels[::2])[0]
    named = PruningDisplay.from_estimator(tree, X[1::2], labels[1::2])
    assert named.new_error.min() < 0.1
    with pytest.raises(DataError, match=r"y has none of the classes of the tree, .*'yes'"):
        PruningDisplay.from_estimator(tree, X[1::2], Y[1::2])


def test_the_training_rows_are_no_new_rows():
    X, y = load_breast_cancer(return_X_y=True)
    for kind, target in ((weald.DecisionTreeClassifier, y), (weald.DecisionTreeRegressor, X[:, 3])):
        tree = kind(max_leaf_nodes=20).fit(X, target)
        for rows in (np.arange(len(X)), np.random.default_rng(0).permutation(len(X))):
            with pytest.raises(DataError, match="the training rows of the tree"):
                PruningDisplay.from_estimator(tree, X[rows], target[rows])
        assert PruningDisplay.from_estimator(tree, X[:-1], target[:-1]).new_error is not None
