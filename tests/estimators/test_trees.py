"""Single trees: scikit-learn's names for weald's nodes, and their predictions."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier as SklearnClassifier
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

import weald
from weald.data.task import Task
from weald.engines import criteria
from weald.estimators.fit import LEARNED

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:80] for part in load_diabetes(return_X_y=True))


def classifier(**given):
    return weald.DecisionTreeClassifier(**given)


def regressor(**given):
    return weald.DecisionTreeRegressor(**given)


@pytest.fixture(scope="module")
def tree():
    return classifier().fit(X, Y)


# ------------------------------------------------------------------------------------------------------ as sklearn


@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_where_no_scores_tie_the_tree_is_that_of_scikit_learn(criterion):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0.1).astype(int) + (x[:, 2] > 1)
    ours = classifier(criterion=criterion, max_depth=2).fit(x, y).tree_
    theirs = SklearnClassifier(criterion=criterion, max_depth=2, random_state=0).fit(x, y).tree_
    names = ["children_left", "children_right", "feature", "n_node_samples"]
    for name in names:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ["threshold", "impurity", "weighted_n_node_samples", "value"]:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)
    for name in ["node_count", "max_depth", "n_leaves", "n_features", "n_outputs", "max_n_classes", "capacity"]:
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.n_classes.tolist() == theirs.n_classes.tolist()
    np.testing.assert_allclose(ours.compute_feature_importances(), theirs.compute_feature_importances())
    np.testing.assert_allclose(
        ours.compute_feature_importances(normalize=False), theirs.compute_feature_importances(normalize=False)
    )


def test_a_regression_tree_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3)).astype(np.float32)
    y = x[:, 0] * 3 + np.sin(x[:, 1]) + rng.normal(size=100)
    ours = regressor(max_depth=3).fit(x, y).tree_
    theirs = SklearnRegressor(max_depth=3, random_state=0).fit(x, y).tree_
    np.testing.assert_array_equal(ours.feature, theirs.feature)
    for name in ["threshold", "impurity", "value", "n_node_samples"]:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12)
    assert ours.n_classes.tolist() == theirs.n_classes.tolist()
    np.testing.assert_allclose(
        ours.compute_feature_importances(normalize=False), theirs.compute_feature_importances(normalize=False)
    )


@pytest.mark.parametrize("criterion", criteria.names(Task.CLASSIFICATION))
def test_a_pure_node_has_no_impurity_and_a_mixed_one_has_some(criterion):
    nodes = classifier(criterion=criterion).fit(X, Y).tree_
    shares = nodes.value[:, 0, :]
    pure = shares.max(axis=1) == 1
    assert (nodes.impurity[pure] == 0).all()
    assert (nodes.impurity[~pure] > 0).all()
    assert (pure == (nodes.children_left == -1)).all()


def test_misclassification_impurity_is_the_share_of_errors():
    nodes = classifier(criterion="misclassification", max_depth=2).fit(X, Y).tree_
    np.testing.assert_allclose(nodes.impurity, 1 - nodes.value[:, 0, :].max(axis=1), atol=1e-15)


def test_missing_values_go_where_the_tree_says():
    x = np.array([[1.0], [2.0], [np.nan], [np.nan]])
    model = classifier().fit(x, [0, 0, 1, 1])
    assert model.predict(x).tolist() == [0, 0, 1, 1]
    assert model.tree_.missing_go_to_left.tolist() == [0, 0, 0]
    assert model.tree_.threshold[0] == np.inf


# -------------------------------------------------------------------------------------------------------- says


def test_a_full_tree_knows_its_rows(tree):
    assert (tree.predict(X) == Y).all()
    assert tree.score(X, Y) == 1
    assert tree.get_depth() == tree.tree_.max_depth
    assert tree.get_n_leaves() == tree.tree_.n_leaves


def test_shares_votes_and_logarithms_agree():
    model = classifier(max_depth=2).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_votes(X), proba)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)
    np.testing.assert_array_equal(proba, model.tree_.value[model.apply(X), 0])


def test_a_tie_goes_to_the_first_class():
    assert classifier().fit([[1.0], [1.0]], ["b", "a"]).predict([[1.0]]) == ["a"]


def test_a_regression_leaf_says_its_mean():
    model = regressor(min_samples_leaf=5).fit(XR, YR)
    leaves = model.apply(XR)
    for leaf in np.unique(leaves):
        assert model.predict(XR[leaves == leaf])[0] == pytest.approx(YR[leaves == leaf].mean())


def test_a_path_leads_from_the_root_to_the_leaf(tree):
    paths = tree.decision_path(X)
    assert paths.shape == (len(X), tree.tree_.node_count)
    leaves = tree.apply(X)
    parents = {
        child: i
        for name in ("children_left", "children_right")
        for i, child in enumerate(getattr(tree.tree_, name))
        if child >= 0
    }
    for row in range(0, len(X), 7):
        node, expected = leaves[row], [leaves[row]]
        while node:
            node = parents[node]
            expected.append(node)
        assert sorted(expected) == paths[[row]].indices.tolist()


def test_a_path_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + x[:, 2]
    ours, theirs = regressor(max_depth=3).fit(x, y), SklearnRegressor(max_depth=3, random_state=0).fit(x, y)
    assert (ours.decision_path(x) != theirs.decision_path(x)).nnz == 0
    np.testing.assert_array_equal(ours.apply(x), theirs.apply(x))


# ----------------------------------------------------------------------------------------------------- behaves


def test_a_tree_that_sees_all_features_needs_no_seed():
    prints = {classifier().fit(X, Y).forest_.fingerprint() for _ in range(3)}
    assert len(prints) == 1


def test_a_seed_is_kept():
    model = classifier(random_state=np.random.default_rng(1), max_features=1).fit(X, Y)
    again = classifier(random_state=model.seed_, max_features=1).fit(X, Y)
    assert model.forest_.fingerprint() == again.forest_.fingerprint()


def test_a_pickled_tree_says_the_same(tree):
    tree.tree_.impurity  # noqa: B018  (what was made on demand is not pickled)
    twin = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(twin.predict_proba(X), tree.predict_proba(X))
    np.testing.assert_array_equal(twin.tree_.impurity, tree.tree_.impurity)
    assert twin.forest_.fingerprint() == tree.forest_.fingerprint()
    assert not twin.forest_.threshold.flags.writeable


def test_a_clone_knows_nothing(tree):
    twin = clone(tree)
    assert twin.get_params() == tree.get_params()
    for ask in (twin.predict, twin.predict_proba, twin.predict_votes, twin.apply, twin.decision_path):
        with pytest.raises(NotFittedError):
            ask(X)
    for ask in (twin.get_depth, twin.get_n_leaves):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(twin, "feature_importances_")


@pytest.mark.parametrize(
    "given",
    [
        {"max_depth": 2},
        {"max_leaf_nodes": 4},
        {"min_samples_leaf": 20},
        {"min_samples_split": 60},
        {"min_impurity_decrease": 0.1},
        {"min_weight_fraction_leaf": 0.2},
        {"max_depth": "sqrt"},
    ],
)
def test_limits_make_smaller_trees(tree, given):
    small = classifier(**given).fit(X, Y)
    assert 1 < small.get_n_leaves() < tree.get_n_leaves()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighboring_floats_are_told_apart(dtype):
    one = dtype(1)
    x = np.array([[one], [np.nextafter(one, dtype(2))]])
    model = classifier().fit(x, [0, 1])
    assert model.predict(x).tolist() == [0, 1]


def test_a_split_by_categories_has_no_threshold():
    X = pd.DataFrame({"kind": list("abab"), "x": [1.0, 2.0, 3.0, 4.0]})
    tree = weald.DecisionTreeRegressor().fit(X, [1.0, 10.0, 2.0, 12.0]).tree_
    assert np.isnan(tree.threshold[0])
    assert tree.threshold[tree.feature == 1].tolist() == [2.0, 3.0]
    assert (tree.threshold[tree.feature < 0] == -2).all()


# ------------------------------------------------------------------------------------------------------ subclasses


class Counting(weald.DecisionTreeClassifier):
    """An estimator that sets its own attributes before a fit, like samplers of other libraries."""

    def fit(self, X, y):
        self.n_seen_ = len(X)
        self._state_ = "sampled"
        return super().fit(X, y)


def test_a_fit_keeps_what_a_subclass_has_set():
    model = Counting().fit([[1.0], [2.0]], [0, 1])
    assert (model.n_seen_, model._state_) == (2, "sampled")
    assert model.fit([[1.0], [2.0], [3.0]], [0, 1, 1]).n_seen_ == 3


def test_a_fit_forgets_what_the_last_one_has_set():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3)
    named, several = pd.DataFrame(X, columns=["a", "b"]), np.c_[y, y]
    tree = weald.DecisionTreeClassifier().fit(named, several).fit(X, y)
    assert not hasattr(tree, "feature_names_in_")
    assert not hasattr(tree, "forests_")
    forest = weald.RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    assert not [name for name in vars(forest.set_params(oob_score=False).fit(X, y)) if name.startswith("oob_e")]


@pytest.mark.parametrize(
    "model",
    [
        weald.DecisionTreeRegressor(),
        weald.RandomForestClassifier(20, oob_score=True),
        weald.RandomForestRegressor(20, oob_score=True),
        weald.RandomForestClassifier(2, resampling="boosting"),
        weald.KernelForestClassifier(2, mix="auto"),
        weald.KernelForestRegressor(20, kernel="auto"),
    ],
    ids=str,
)
def test_every_attribute_that_a_fit_sets_is_listed(model):
    X = np.random.default_rng(0).normal(size=(40, 2))
    given = set(vars(model))
    model.fit(pd.DataFrame(X, columns=["a", "b"]), (X[:, 0] > 0).astype(int))
    assert set(vars(model)) - given <= LEARNED


# ------------------------------------------------------------------------------------- functions of scikit-learn


@pytest.mark.parametrize("kind", ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_scikit_learn_draws_trees_as_its_own(kind, n_targets):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(120, 3)).astype(np.float32).astype(float)
    y = np.round(table[:, :n_targets] * 2) if kind.endswith("Regressor") else (table[:, :n_targets] > 0.5).astype(int)
    model = getattr(weald, kind)(max_depth=3, random_state=0).fit(table, y if n_targets > 1 else y.ravel())
    assert isinstance(model, getattr(sklearn.tree, kind))
    theirs = model.to_sklearn().model if n_targets == 1 else None
    for draw in (sklearn.tree.export_text, sklearn.tree.export_graphviz, texts_of_plot):
        if draw is sklearn.tree.export_text and n_targets > 1:
            continue  # for classes it supports a single target only
        drawn = draw(model)
        assert "x[" in drawn or "feature_" in drawn
        assert theirs is None or drawn == draw(theirs)


def texts_of_plot(model):
    figure, axes = plt.subplots()
    texts = [note.get_text() for note in sklearn.tree.plot_tree(model, ax=axes)]
    plt.close(figure)
    return "\n".join(texts)


def test_trees_of_other_kinds_do_not_count_as_scikit_learns():
    assert not issubclass(weald.DecisionTreeClassifier, sklearn.tree.DecisionTreeRegressor)
    assert not issubclass(weald.DecisionTreeRegressor, sklearn.tree.ExtraTreeRegressor)
    assert not issubclass(weald.RandomForestClassifier, sklearn.tree.DecisionTreeClassifier)
