"""Constraints on single features are converted to numbers, and models satisfy them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

import weald
from weald.engines.constraints import FeatureNames, bind_features, group_features, weigh_features
from weald.errors import ParameterError

FOUR = FeatureNames(4, ["a", "b", "c", "d"])
UNNAMED = FeatureNames(4)

# ------------------------------------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ()),
        ([0, 0, 0, 0], ()),
        ([1, 0, -1, 0], (1, 0, -1, 0)),
        (np.array([1, 0, -1, 0], dtype=np.int8), (1, 0, -1, 0)),
        ((1.0, 0.0, -1.0, 0.0), (1, 0, -1, 0)),
        (pd.Series([1, 0, -1, 0]), (1, 0, -1, 0)),
        ({"c": -1, "a": 1}, (1, 0, -1, 0)),
        ({}, ()),
    ],
)
def test_monotonic_constraints_are_numbers_by_feature(given, expected):
    assert bind_features(given, FOUR, 0) == expected
    assert bind_features(given, FOUR, 2) == expected
    assert bind_features(given, FOUR, 1) == ()  # with one class the probability is constant


@pytest.mark.parametrize(
    ("given", "features", "n_classes", "words"),
    [
        ([1, 0], FOUR, 0, r"shape 2 but the input data X has 4 features"),
        ([[1, 0, 0, 0]], FOUR, 0, r"shape \(1, 4\)"),
        ([1, 0, 2, 0], FOUR, 0, r"entries \[2\]"),
        ([1, 0, 0.5, 0], FOUR, 0, r"entries \[0.5\]"),
        ({"a": "up"}, FOUR, 0, r"entries \['up'\]"),
        ({"z": 1}, FOUR, 0, "'z', which X does not have: its features are 'a', 'b', 'c', 'd'"),
        ({"a": 1}, UNNAMED, 0, "X has no names"),
        ({7: 1}, FOUR, 0, "Give a number from 0 to 3, or a name"),
        ([1, 0, 0, 0], FOUR, 3, "y has 3 classes"),
    ],
)
def test_bad_monotonic_constraints_are_refused(given, features, n_classes, words):
    with pytest.raises(ParameterError, match=words):
        bind_features(given, features, n_classes)


def test_categories_have_no_order_to_keep():
    homes = pd.DataFrame({"area": [30.0, 50.0, 70.0, 90.0], "town": ["a", "b", "a", "b"]})
    price = [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ParameterError, match="constrains the feature 'town', whose categories have no order"):
        weald.RandomForestRegressor(monotonic_cst={"town": 1}).fit(homes, price)
    given = {"monotonic_cst": {"area": 1}, "interaction_cst": [{"area"}, {"town"}]}
    assert len(weald.RandomForestRegressor(5, **given).fit(homes, price).predict(homes)) == 4


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ((), 0)),
        ("pairwise", ((), 2)),
        ("no_interactions", ((), 1)),
        ([{0, 1}], (((0, 1), (2, 3)), 0)),
        ([{0, 1}, {1, 2, 3}], (((0, 1), (1, 2, 3)), 0)),
        ([("d", "a"), ["b"]], (((0, 3), (1,), (2,)), 0)),
        ([], (((0, 1, 2, 3),), 0)),
        (np.array([[0, 1], [2, 3]]), (((0, 1), (2, 3)), 0)),
    ],
)
def test_interactions_are_groups_or_a_number(given, expected):
    assert group_features(given, FOUR) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0, 1], "entry 0, which is not a group"),
        (["ab"], "entry 'ab', which is not a group"),
        ([{0, 4}], "names the feature 4"),
        ([{-1}], "names the feature -1"),
        ([{True}], "names the feature True"),
        ([{1.0}], "names the feature 1.0"),
        ([{"z"}], "names the feature 'z'"),
    ],
)
def test_bad_interactions_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        group_features(given, FOUR)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ()),
        ([2, 2, 2, 2], ()),
        ([0, 1, 2, 0.5], (0.0, 1.0, 2.0, 0.5)),
        ({"b": 3}, (1.0, 3.0, 1.0, 1.0)),
    ],
)
def test_feature_weights_are_numbers_by_feature(given, expected):
    assert weigh_features(given, FOUR) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, 2], "shape"),
        ([1, 2, -1, 0], "entry -1"),
        ([1, 2, np.nan, 0], "entry nan"),
        ([1, 2, np.inf, 0], "entry inf"),
        ([1, 2, 10**400, 0], "entry 1000"),
        ({"a": "1"}, "entry '1'"),
        ({"a": True}, "entry True"),
        ([0, 0, 0, 0], "0 for every feature"),
    ],
)
def test_bad_feature_weights_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        weigh_features(given, FOUR)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_only_ratios_of_feature_weights_count(engine):
    X = np.random.default_rng(0).normal(size=(60, 4))
    given = {"max_features": 1, "random_state": 0, "engine": engine}
    plain, huge = (
        weald.RandomForestRegressor(5, feature_weights=np.array([1, 0.5, 0, 0.25]) * scale, **given).fit(
            X, X.sum(axis=1)
        )
        for scale in (1.0, 2.0**1020)
    )
    assert huge.forest_.fingerprint() == plain.forest_.fingerprint()


# ------------------------------------------------------------------------------------------------------ monotonic

KINDS = [
    weald.DecisionTreeRegressor,
    weald.DecisionTreeClassifier,
    weald.RandomForestRegressor,
    weald.RandomForestClassifier,
    weald.ExtraTreesRegressor,
    weald.ExtraTreesClassifier,
]


def make_model(kind, **given):
    return kind(**({"n_estimators": 8} if hasattr(kind, "estimators_") else {}), **given)


def says(model, X):
    """The constrained prediction: a number, or the probability of the second class."""
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)


def sweep(model, X, feature, values):
    """Set one feature to each of the values, all else as in the rows of X: (rows x values)."""
    predicted = []
    for value in values:
        moved = X.copy()
        moved[:, feature] = value
        predicted.append(says(model, moved))
    return np.array(predicted).T


def make_rows(rng, n, missing):
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 5, n), np.round(rng.normal(size=n), 1)])
    signal = X[:, 0] * np.sign(X[:, 2]) + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=n)  # rises and falls
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@given(data=st.data())
@settings(max_examples=15)
def test_what_must_rise_never_falls(kind, missing, data):
    """Vary every feature over all thresholds of the model and adjacent doubles, without a tolerance."""
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X, y = make_rows(rng, int(rng.integers(4, 120)), missing)
    y = y > np.median(y) if "Classifier" in kind.__name__ else y
    if len(np.unique(y)) == 1:
        return
    signs = rng.integers(-1, 2, 3)
    given = {"min_samples_leaf": int(rng.integers(1, 6)), "max_leaf_nodes": [None, 9][rng.integers(2)]}
    if rng.random() < 0.3:
        given["max_features"] = 1
    model = make_model(kind, monotonic_cst=signs, random_state=seed, **given)
    model.fit(X, y, sample_weight=[None, rng.random(len(X)), rng.integers(1, 4, len(X))][rng.integers(3)])
    rows = X[:20]
    for feature, sign in enumerate(signs):
        cuts = model.forest_.threshold[model.forest_.feature == feature]
        values = np.unique(np.concatenate([cuts, np.nextafter(cuts, np.inf), [-1e9, 1e9]]))
        steps = np.diff(sweep(model, rows, feature, values), axis=1)
        assert sign == 0 or (steps * sign >= 0).all()


def test_without_the_constraint_it_does_fall():
    """The test above can fail: without the constraint, the same data violates the order."""
    X, y = make_rows(np.random.default_rng(0), 100, 0.0)
    model = weald.RandomForestRegressor(n_estimators=8, random_state=0).fit(X, y)
    assert (np.diff(sweep(model, X, 0, np.linspace(-2, 2, 30)), axis=1) < 0).any()


def test_hard_votes_keep_the_order_too():
    X, y = make_rows(np.random.default_rng(3), 200, 0.0)
    model = weald.RandomForestClassifier(n_estimators=9, voting="hard", monotonic_cst=[1, -1, 0], random_state=0)
    model.fit(X, y > 0)
    for feature, sign in ((0, 1), (1, -1)):
        assert (np.diff(sweep(model, X, feature, np.linspace(-2, 5, 40)), axis=1) * sign >= 0).all()


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_a_single_tree_is_that_of_scikit_learn(kind):
    """On distinct values, both libraries find the same constrained tree."""
    import sklearn.tree

    rng = np.random.default_rng(5)
    X = rng.permuted(np.arange(3 * 150.0).reshape(3, 150), axis=1).T
    y = X[:, 0] / 150 - (X[:, 1] / 150) ** 2 + rng.normal(size=150)
    y = (y > np.median(y)).astype(int) if kind == "Classifier" else y
    given = {"monotonic_cst": [1, -1, 0], "min_samples_leaf": 5, "max_depth": 4}
    ours = getattr(weald, f"DecisionTree{kind}")(**given).fit(X, y)
    theirs = getattr(sklearn.tree, f"DecisionTree{kind}")(random_state=0, **given).fit(X, y)
    assert np.allclose(says(ours, X), says(theirs, X), rtol=1e-12, atol=1e-12)
    assert ours.tree_.node_count == theirs.tree_.node_count
    assert np.allclose(np.sort(ours.tree_.value.ravel()), np.sort(theirs.tree_.value.ravel()))


def test_constraints_by_name_are_those_by_number():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = weald.RandomForestRegressor(n_estimators=3, random_state=0)
    by_name = forest.set_params(monotonic_cst={"bmi": 1, "s3": -1}).fit(X, y).forest_.fingerprint()
    signs = [{"bmi": 1, "s3": -1}.get(name, 0) for name in X.columns]
    assert forest.set_params(monotonic_cst=signs).fit(X, y).forest_.fingerprint() == by_name
    assert forest.set_params(monotonic_cst=None).fit(X, y).forest_.fingerprint() != by_name


def test_constraints_that_bind_nothing_change_nothing():
    X, y = load_diabetes(return_X_y=True)
    plain = weald.RandomForestRegressor(n_estimators=3, random_state=0).fit(X, y).forest_.fingerprint()
    given = {"monotonic_cst": [0] * 10, "interaction_cst": [set(range(10))], "feature_weights": [3.0] * 10}
    for name, value in given.items():
        model = weald.RandomForestRegressor(n_estimators=3, random_state=0, **{name: value})
        assert model.fit(X, y).forest_.fingerprint() == plain


def test_more_than_two_classes_are_refused():
    with pytest.raises(ParameterError, match="y has 3 classes"):
        weald.DecisionTreeClassifier(monotonic_cst=[1]).fit([[1.0], [2.0], [3.0]], ["a", "b", "c"])


def test_a_bound_forest_is_taken_apart_and_put_together():
    X, y = make_rows(np.random.default_rng(1), 80, 0.0)
    model = weald.RandomForestClassifier(n_estimators=4, monotonic_cst=[1, 0, 0], random_state=0).fit(X, y > 0)
    forest = model.forest_
    assert forest.take([0, 1]).join(forest.take([2, 3])).fingerprint() == forest.fingerprint()
    free = weald.RandomForestClassifier(n_estimators=2, random_state=1).fit(X, y > 0)
    mixed = model + free
    assert np.array_equal(mixed.predict_votes(X), model.predict_votes(X) + free.predict_votes(X))
    trees = [tree.predict_proba(X) for tree in model.estimators_]
    assert np.array_equal(model.predict_proba(X), (trees[0] + trees[1] + trees[2] + trees[3]) / 4)
    tree = model.estimators_[1]
    assert np.array_equal(tree.tree_.value[tree.apply(X), 0], tree.predict_proba(X))


@pytest.mark.parametrize("kind", [weald.DecisionTreeClassifier, weald.DecisionTreeRegressor])
def test_a_pruned_tree_still_obeys(kind):
    X, y = make_rows(np.random.default_rng(4), 150, 0.0)
    y = y > 0 if "Classifier" in kind.__name__ else y
    full = kind(monotonic_cst=[1, -1, 0]).fit(X, y)
    pruned = kind(monotonic_cst=[1, -1, 0], ccp_alpha=0.01).fit(X, y)
    assert 2 < pruned.get_n_leaves() < full.get_n_leaves()
    for feature, sign in ((0, 1), (1, -1)):
        assert (np.diff(sweep(pruned, X, feature, np.linspace(-2, 5, 40)), axis=1) * sign >= 0).all()


def test_the_training_error_of_a_bound_tree_is_what_it_does():
    X, y = make_rows(np.random.default_rng(4), 150, 0.0)
    tree = weald.DecisionTreeClassifier(monotonic_cst=[1, -1, 0], min_samples_leaf=3).fit(X, y > 0)
    assert np.isclose(tree.training_error(), 1 - tree.score(X, y > 0))


def test_a_bound_regression_tree_does_not_know_its_training_error():
    X, y = make_rows(np.random.default_rng(4), 150, 0.0)
    tree = weald.DecisionTreeRegressor(monotonic_cst=[1, -1, 0], min_samples_leaf=3).fit(X, y)
    assert not np.isclose(tree.total_impurity(), np.mean((tree.predict(X) - y) ** 2))
    with pytest.raises(ParameterError, match="predictions of its leaves may differ"):
        tree.training_error()
    assert np.isnan(tree.nodes(frame="dict")["error"]).all()
    assert np.isnan(tree.pruning_path(frame="dict")["error"]).all()
    free = weald.DecisionTreeRegressor(monotonic_cst=[0, 0, 0], min_samples_leaf=3).fit(X, y)
    assert np.isclose(free.training_error(), np.mean((free.predict(X) - y) ** 2))


def test_a_warm_start_keeps_to_the_constraints_of_its_trees():
    X, y = make_rows(np.random.default_rng(1), 80, 0.0)
    model = weald.RandomForestRegressor(n_estimators=2, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="do not obey it"):
        model.set_params(n_estimators=3, monotonic_cst=[1, 0, 0]).fit(X, y)


# --------------------------------------------------------------------------------------------------- interactions


def features_on_paths(forest):
    """For each leaf the set of features that split the nodes above it."""
    paths, found = {}, []
    for tree in range(forest.n_trees):
        begin, end = forest.tree_start[tree : tree + 2]
        paths[begin] = frozenset()
        for i in range(begin, end):
            if forest.feature[i] < 0:
                found.append(paths[i])
                continue
            paths[i + 1] = paths[begin + forest.right[i]] = paths[i] | {int(forest.feature[i])}
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_leaf_nodes", [None, 30])
@pytest.mark.parametrize("cst", ["pairwise", "no_interactions", [{0, 1}, {1, 2, 3}], [{0}, {"bmi", "bp"}]])
def test_only_features_that_may_meet_do(kind, cst, max_leaf_nodes):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    y = y > 140 if "Classifier" in kind.__name__ else y
    model = make_model(kind, interaction_cst=cst, random_state=0, max_leaf_nodes=max_leaf_nodes).fit(X, y)
    n_most = {"pairwise": 2, "no_interactions": 1}.get(cst) if isinstance(cst, str) else 10
    groups, _ = group_features(cst, FeatureNames(10, list(X.columns)))
    paths = features_on_paths(model.forest_)
    assert max(map(len, paths)) <= n_most
    assert not groups or all(any(path <= set(group) for group in groups) for path in paths)
    assert len(paths) > 10


def test_interactions_need_more_words_than_one():
    """More than 64 features: sets of several words."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 150))
    y = X @ rng.normal(size=150)
    groups = [set(range(70)), set(range(65, 140))]
    model = weald.RandomForestRegressor(n_estimators=5, interaction_cst=groups, random_state=0).fit(X, y)
    all_groups = [*groups, set(range(140, 150))]
    assert all(any(path <= group for group in all_groups) for path in features_on_paths(model.forest_))


# ----------------------------------------------------------------------------------------------- feature weights


def first_cuts(weights, n_trees=3000):
    """How often each feature splits the root, when each node considers one feature."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    model = weald.RandomForestRegressor(
        n_estimators=n_trees, max_features=1, max_depth=1, feature_weights=weights, random_state=0
    ).fit(X, y)
    roots = model.forest_.feature[model.forest_.tree_start[:-1]]
    return np.bincount(roots, minlength=4) / n_trees


def test_features_are_drawn_in_proportion_to_their_weights():
    weights = np.array([1.0, 2.0, 0.0, 5.0])
    found = first_cuts(weights)
    assert found[2] == 0
    assert np.abs(found - weights / 8).max() < 0.03


def test_a_feature_of_weight_0_is_never_looked_at():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for kind in (weald.RandomForestRegressor, weald.ExtraTreesRegressor):
        model = kind(n_estimators=5, feature_weights={"bmi": 0, "age": 0}, random_state=0).fit(X, y)
        used = set(model.forest_.feature) - {-1}
        assert used == set(range(10)) - {0, 2}


def test_where_all_features_are_looked_at_weights_say_only_which():
    X, y = load_diabetes(return_X_y=True)
    plain = weald.DecisionTreeRegressor(random_state=0).fit(X, y).forest_.fingerprint()
    weighed = weald.DecisionTreeRegressor(random_state=0, feature_weights=np.arange(1, 11)).fit(X, y)
    assert weighed.forest_.fingerprint() == plain
