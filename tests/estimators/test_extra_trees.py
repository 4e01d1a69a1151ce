"""Extra-trees: weald's forests and trees with random thresholds and other defaults."""

import inspect

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import weald

PAIRS = [
    name
    for name in weald.__all__
    if (hasattr(sklearn.ensemble, name) or hasattr(sklearn.tree, name)) and hasattr(getattr(weald, name), "predict")
]


@pytest.mark.parametrize("name", PAIRS)
def test_parameters_of_scikit_learn_are_parameters_of_weald(name):
    """scikit-learn can clone the estimator from its parameters, and the clone can be fitted."""
    theirs = getattr(sklearn.ensemble, name, None) or getattr(sklearn.tree, name)
    given = theirs().get_params()
    model = getattr(weald, name)(**given)
    assert {key: model.get_params()[key] for key in given} == given
    model.fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
    assert model.predict([[1.0]])[0] < 0.5


@pytest.mark.parametrize("name", [name for name in PAIRS if "Extra" in name])
def test_extra_trees_have_the_defaults_of_scikit_learn(name):
    theirs = (getattr(sklearn.ensemble, name, None) or getattr(sklearn.tree, name))().get_params()
    ours = getattr(weald, name)().get_params()
    assert {key: ours[key] for key in theirs} == theirs


@pytest.mark.parametrize(
    ("kind", "above"),
    [
        (weald.ExtraTreesClassifier, weald.RandomForestClassifier),
        (weald.ExtraTreesRegressor, weald.RandomForestRegressor),
        (weald.ExtraTreeClassifier, weald.DecisionTreeClassifier),
        (weald.ExtraTreeRegressor, weald.DecisionTreeRegressor),
    ],
)
def test_their_parameters_are_those_of_what_they_are_made_from(kind, above):
    assert list(inspect.signature(kind).parameters) == list(inspect.signature(above).parameters)
    model = kind(criterion="spy", max_depth=3)
    assert clone(model).get_params() == model.get_params()
    assert kind().get_params() != above().get_params()


def test_a_word_that_is_no_parameter_is_refused():
    with pytest.raises(TypeError, match="no_such_word"):
        weald.ExtraTreesClassifier(no_such_word=1)


def test_they_are_as_good_as_those_of_scikit_learn():
    """Mean over seeds, within the variation of seeds."""
    for name, load in (("ExtraTreesClassifier", load_iris), ("ExtraTreesRegressor", load_diabetes)):
        X, y = load(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))
        train, test = order[::2], order[1::2]
        scores = {
            library: [
                getattr(library, name)(100, random_state=seed).fit(X[train], y[train]).score(X[test], y[test])
                for seed in range(3)
            ]
            for library in (weald, sklearn.ensemble)
        }
        ours, theirs = (np.mean(found) for found in scores.values())
        assert abs(ours - theirs) < 0.02


@pytest.mark.parametrize("kind", [weald.ExtraTreesClassifier, weald.ExtraTreesRegressor])
def test_their_trees_are_extra_trees(kind):
    X, y = load_iris(return_X_y=True)
    model = kind(3, random_state=0).fit(X, y)
    tree = model.estimators_[1]
    assert type(tree).__name__ == kind.__name__.replace("Trees", "Tree")
    assert tree.splitter == "random"
    assert np.array_equal(tree.tree_.threshold[[0]], model.forest_.threshold[model.forest_.tree_start[[1]]])


def test_a_single_tree_of_a_seed_is_the_first_of_the_forest():
    X, y = load_diabetes(return_X_y=True)
    forest = weald.ExtraTreesRegressor(2, random_state=7).fit(X, y)
    tree = weald.DecisionTreeRegressor(splitter="random", random_state=7).fit(X, y)
    assert tree.forest_.fingerprint() == forest.forest_.take([0]).fingerprint()


def test_random_cuts_are_not_the_best_ones():
    X, y = load_diabetes(return_X_y=True)
    best = weald.DecisionTreeRegressor(max_depth=1).fit(X, y)
    drawn = weald.DecisionTreeRegressor(max_depth=1, splitter="random", random_state=0).fit(X, y)
    assert drawn.tree_.threshold[0] not in X
    assert drawn.tree_.compute_feature_importances(normalize=False).max() < (
        best.tree_.compute_feature_importances(normalize=False).max()
    )


def test_out_of_bag_needs_bags():
    X, y = load_diabetes(return_X_y=True)
    model = weald.ExtraTreesRegressor(100, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert 0.3 < model.oob_score_ < 0.6


def test_a_random_set_of_categories_depends_on_nothing_but_the_draw():
    """Every set of the categories with some on each side occurs, and all sizes about equally often."""
    n_categories, n_trees = 5, 2000
    X = pd.DataFrame({"kind": list("abcde") * 4})
    y = np.arange(20) % 2
    model = weald.ExtraTreesClassifier(n_trees, max_depth=1, random_state=0).fit(X, y)
    forest = model.forest_
    roots = forest.tree_start[:-1]
    left = [set(range(n_categories)) - set(forest.category_set(root)) for root in roots if forest.flags[root] & 4]
    left += [set(forest.category_set(root)) for root in roots if not forest.flags[root] & 4]
    assert len({frozenset(some) for some in left}) == 2**n_categories - 2
    sizes = np.bincount([len(some) for some in left], minlength=n_categories)[1:]
    assert (np.abs(sizes - n_trees / (n_categories - 1)) < 4 * np.sqrt(n_trees / (n_categories - 1))).all()


def test_extra_trees_learn_from_categories():
    rng = np.random.default_rng(0)
    kinds = rng.choice(list("abcdefghij"), 600)
    X = pd.DataFrame({"kind": kinds, "noise": rng.normal(size=600)})
    y = np.isin(kinds, list("adgi"))
    native = weald.ExtraTreesClassifier(20, random_state=0).fit(X[:300], y[:300])
    assert native.score(X[300:], y[300:]) == 1.0
    reference = weald.ExtraTreesClassifier(2, random_state=0, engine="reference").fit(X[:300], y[:300])
    assert native[:2].forest_.fingerprint() == reference.forest_.fingerprint()
