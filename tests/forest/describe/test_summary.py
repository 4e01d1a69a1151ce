"""Summaries of a tree's nodes agree with its arrays."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

import weald
from weald.forest.describe.conditions import format_number
from weald.forest.describe.summary import sketch_tree

IRIS = load_iris(as_frame=True)


@pytest.fixture(scope="module")
def iris_tree():
    return weald.DecisionTreeClassifier().fit(IRIS.data, IRIS.target)


def test_every_node_is_there_and_linked_as_in_the_tree(iris_tree):
    sketch, tree = sketch_tree(iris_tree), iris_tree.tree_
    assert sketch.node.tolist() == list(range(tree.node_count))
    assert (sketch.left == tree.children_left).all()
    assert (sketch.right == tree.children_right).all()
    assert (sketch.size == tree.n_node_samples).all()
    assert (sketch.n_nodes, sketch.n_leaves, sketch.max_depth) == (tree.node_count, tree.n_leaves, tree.max_depth)
    assert not sketch.hidden.any()


def test_errors_of_all_are_counted_from_the_rows(iris_tree):
    sketch = sketch_tree(iris_tree, class_names=IRIS.target_names)
    passed = iris_tree.decision_path(IRIS.data).toarray().astype(bool)
    for i, node in enumerate(sketch.node):
        counts = np.bincount(IRIS.target[passed[:, node]], minlength=3)
        assert sketch.tally[i] == f"{counts.sum() - counts.max()}/{counts.sum()}"
        assert sketch.answer[i] == IRIS.target_names[counts.argmax()]
        assert np.allclose(sketch.probabilities[i], counts / counts.sum())
        assert sketch.error[i] == pytest.approx(1 - counts.max() / counts.sum())


def test_questions_name_the_feature_and_the_threshold(iris_tree):
    sketch, tree = sketch_tree(iris_tree), iris_tree.tree_
    for i in range(len(sketch.node)):
        if tree.feature[i] < 0:
            assert sketch.question[i] == sketch.otherwise[i] == ""
        else:
            name, number = IRIS.data.columns[tree.feature[i]], format_number(tree.threshold[i])
            assert sketch.question[i] == f"{name} ≤ {number}"
            assert sketch.otherwise[i] == f"{name} > {number}"


def test_means_and_deviations_are_those_of_the_rows():
    X, y = load_diabetes(return_X_y=True)
    model = weald.DecisionTreeRegressor(max_leaf_nodes=9).fit(X, y)
    sketch = sketch_tree(model)
    passed = model.decision_path(X).toarray().astype(bool)
    for i, node in enumerate(sketch.node):
        rows = y[passed[:, node]]
        assert sketch.mean[i] == pytest.approx(rows.mean())
        assert sketch.deviation[i] == pytest.approx(rows.std())
        assert sketch.answer[i] == format_number(sketch.mean[i])
        assert sketch.tally[i] == f"± {format_number(sketch.deviation[i])}, {len(rows)} rows"


def test_weights_that_are_no_counts_give_shares_of_errors():
    X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "a", "b"]
    half = sketch_tree(weald.DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=[0.5, 0.5, 0.5, 1.5]))
    assert half.tally[0] == "50% of 4"
    balanced = sketch_tree(weald.DecisionTreeClassifier(class_weight="balanced").fit(X, y))
    assert balanced.tally[0] == "50% of 4"
    whole = sketch_tree(weald.DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=[2, 1, 1, 1]))
    assert whole.tally[0] == "1/5"


def test_a_cut_between_present_and_missing_is_said_so():
    X, y = [[1.0], [1.0], [np.nan], [np.nan]], [0, 0, 1, 1]
    sketch = sketch_tree(weald.DecisionTreeClassifier().fit(X, y))
    assert (sketch.question[0], sketch.otherwise[0]) == ("x0 is present", "x0 is missing")


@pytest.mark.parametrize("max_nodes", [1, 2, 3, 8, 9, 1000])
def test_a_limit_of_nodes_keeps_the_largest_and_counts_the_others(iris_tree, max_nodes):
    sketch = sketch_tree(iris_tree, max_nodes=max_nodes)
    assert len(sketch.node) <= max_nodes
    assert len(sketch.node) + sketch.hidden.sum() == iris_tree.tree_.node_count
    closed = ~sketch.is_open & ~sketch.is_leaf
    assert (sketch.hidden > 0).tolist() == closed.tolist()
    if closed.any() and sketch.is_open.any():
        assert sketch.size[closed].max() <= sketch.size[sketch.is_open].min()


def test_a_limit_of_depth_counts_what_is_deeper(iris_tree):
    sketch = sketch_tree(iris_tree, max_depth=2)
    assert sketch.depth.max() == 2
    assert len(sketch.node) + sketch.hidden.sum() == iris_tree.tree_.node_count


def test_auto_draws_small_trees_whole_and_large_ones_down_to_an_overview(iris_tree):
    assert len(sketch_tree(iris_tree, max_depth="auto", max_nodes=511).node) == iris_tree.tree_.node_count
    rng = np.random.default_rng(0)
    large = weald.DecisionTreeClassifier().fit(rng.normal(size=(2000, 3)), rng.integers(0, 2, 2000))
    assert sketch_tree(large, max_depth="auto", max_nodes=201).depth.max() == 6


def test_any_tree_of_a_forest_can_be_sketched():
    forest = weald.RandomForestClassifier(3, random_state=0).fit(IRIS.data, IRIS.target)
    for number, tree in enumerate(forest.estimators_):
        ours, its = sketch_tree(forest, tree=number), sketch_tree(tree)
        assert (ours.question, ours.tally) == (its.question, its.tally)
    with pytest.raises(weald.ParameterError, match="tree=3 does not exist: the forest has trees 0 to 2"):
        sketch_tree(forest, tree=3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feature_names": ["a"]}, "feature_names has 1 names for 4 features"),
        ({"class_names": ["a"]}, "class_names has 1 names for 3 classes"),
        ({"max_nodes": -1}, "max_nodes=-1 is not allowed"),
        ({"max_depth": 1.5}, "max_depth=1.5 is not allowed"),
    ],
)
def test_what_does_not_suit_the_tree_is_refused(iris_tree, given, message):
    with pytest.raises(weald.WealdError, match=message):
        sketch_tree(iris_tree, **given)


def test_a_tree_that_is_not_fitted_cannot_be_sketched():
    with pytest.raises(NotFittedError):
        sketch_tree(weald.DecisionTreeClassifier())


def test_a_single_leaf_is_a_tree():
    sketch = sketch_tree(weald.DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"]))
    assert (sketch.question, sketch.answer, sketch.tally) == ([""], ["a"], ["0/2"])
