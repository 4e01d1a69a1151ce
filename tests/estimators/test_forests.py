"""Forests: many trees as one model, and adding trees."""

import copy
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import weald
from weald.engines import progress
from weald.errors import DataError, ParameterError

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:80] for part in load_diabetes(return_X_y=True))


def classifier(n_estimators=5, **given):
    return weald.RandomForestClassifier(n_estimators, **{"random_state": 0, **given})


def regressor(n_estimators=5, **given):
    return weald.RandomForestRegressor(n_estimators, **{"random_state": 0, **given})


@pytest.fixture(scope="module")
def forest():
    return classifier().fit(X, Y)


# ------------------------------------------------------------------------------------------------------- says


def test_a_forest_is_the_sum_of_its_trees(forest):
    predicted = np.zeros((len(X), 3))
    for tree in forest.estimators_:
        predicted += tree.predict_proba(X)
    np.testing.assert_array_equal(forest.predict_votes(X), predicted)
    np.testing.assert_array_equal(forest.predict_proba(X), predicted / 5)
    np.testing.assert_array_equal(forest.predict(X), predicted.argmax(axis=1))


def test_a_regression_forest_is_the_mean_of_its_trees():
    model = regressor().fit(XR, YR)
    predicted = sum(tree.predict(XR) for tree in model.estimators_)
    np.testing.assert_array_equal(model.predict_votes(XR), predicted)
    np.testing.assert_array_equal(model.predict(XR), predicted / 5)


def test_hard_votes_are_whole():
    model = classifier(voting="hard", max_depth=1).fit(X, Y)
    votes = model.predict_votes(X)
    assert (votes == np.floor(votes)).all()
    assert (votes.sum(axis=1) == 5).all()
    np.testing.assert_array_equal(votes[:, 1], sum(tree.predict(X) == 1 for tree in model.estimators_))


def test_labels_are_the_users():
    labels = np.array(["setosa", "versicolor", "virginica"])[Y]
    model = classifier().fit(X, labels)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert (model.n_classes_, model.n_outputs_, model.n_features_in_) == (3, 1, 4)
    assert set(model.predict(X)) == set(labels)


def test_a_tree_that_is_not_there_is_named(forest):
    with pytest.raises(IndexError, match="There is no tree 5: the forest has 5, counted from 0"):
        forest.estimators_[5]


def test_leaves_and_paths_are_those_of_the_trees(forest):
    leaves = forest.apply(X)
    paths, starts = forest.decision_path(X)
    assert leaves.shape == (len(X), 5)
    assert paths.shape == (len(X), starts[-1])
    for t, tree in enumerate(forest.estimators_):
        np.testing.assert_array_equal(leaves[:, t], tree.apply(X))
        assert (paths[:, starts[t] : starts[t + 1]] != tree.decision_path(X)).nnz == 0


def test_depths_and_leaves_are_those_of_the_trees(forest):
    assert forest.get_depth().tolist() == [tree.get_depth() for tree in forest.estimators_]
    assert forest.get_n_leaves().tolist() == [tree.get_n_leaves() for tree in forest.estimators_]


# ---------------------------------------------------------------------------------------------------- estimators_


def test_trees_of_a_classifier_predict_codes_and_are_described_by_labels():
    labels = np.array(["setosa", "versicolor", "virginica"])[Y]
    model = classifier().fit(X, labels)
    tree = model.estimators_[0]
    predicted = tree.predict(X)
    assert predicted.dtype == np.float64
    assert tree.classes_.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_array_equal(predicted, tree.predict_proba(X).argmax(axis=1))
    assert "versicolor" in tree.export_text()
    assert set(tree.nodes(frame="dict")["prediction"]) <= set(labels)
    assert tree.explain_split(0, X, labels)


def test_each_tree_has_a_random_state_of_its_own(forest):
    states = [tree.random_state for tree in forest.estimators_]
    assert len(set(states)) == 5
    assert states == [tree.random_state for tree in classifier(7).fit(X, Y)[:5].estimators_]
    assert [tree.random_state for tree in forest[3:].estimators_] == states[3:]


def test_a_forest_has_the_length_the_items_and_the_order_of_its_trees(forest):
    prints = [tree.forest_.fingerprint() for tree in forest.estimators_]
    assert len(forest) == 5
    assert [tree.forest_.fingerprint() for tree in forest] == prints
    assert [forest[np.int64(t)].forest_.fingerprint() for t in (0, 3, -1)] == [prints[0], prints[3], prints[4]]
    assert isinstance(forest[3:], weald.RandomForestClassifier)
    with pytest.raises(IndexError, match="There is no tree 5"):
        forest[5]
    with pytest.raises(TypeError, match="neither a number nor a slice"):
        forest["a"]


def test_a_forest_is_true_before_it_is_fitted():
    assert weald.RandomForestClassifier()
    with pytest.raises(NotFittedError):
        len(weald.RandomForestClassifier())


@pytest.mark.parametrize(
    "change",
    [
        lambda trees: trees.append(trees[0]),
        lambda trees: trees.pop(),
        lambda trees: trees.reverse(),
        lambda trees: trees.__setitem__(0, trees[1]),
        lambda trees: trees.__delitem__(slice(1, 3)),
        lambda trees: trees.clear(),
        lambda trees: trees.sort(key=lambda tree: tree.get_depth()),
        lambda trees: trees.__iadd__([trees[0]]),
    ],
)
def test_to_change_the_list_of_trees_does_not_change_the_forest(forest, change):
    before = forest.forest_.fingerprint()
    trees = forest.estimators_
    change(trees)
    assert None not in list(trees)
    assert len(forest) == len(forest.estimators_) == 5
    assert forest.forest_.fingerprint() == before


def test_the_trees_are_a_list_like_any_other(forest):
    trees = forest.estimators_
    assert isinstance(trees, list)
    assert all(isinstance(tree, weald.DecisionTreeClassifier) for tree in trees + forest.estimators_)
    assert all(isinstance(tree, weald.DecisionTreeClassifier) for tree in [*[], *trees] + [trees[0]])  # noqa: RUF005
    assert all(isinstance(tree, weald.DecisionTreeClassifier) for tree in [trees[0]] + trees)  # noqa: RUF005
    assert all(isinstance(tree, weald.DecisionTreeClassifier) for tree in 2 * forest.estimators_)
    assert [tree is trees[t] for t, tree in enumerate(tuple(trees))] == [True] * 5
    assert trees.index(trees[2]) == 2
    assert trees[2] in trees
    assert next(reversed(trees)) is trees[4]
    assert trees == trees.copy()
    assert len(np.array(trees, dtype=object)) == 5


def test_the_template_of_the_trees_has_their_parameters():
    template = classifier(2, max_depth=2, class_weight="balanced_subsample").fit(X, Y).estimator_
    assert isinstance(template, weald.DecisionTreeClassifier)
    assert (template.max_depth, template.max_features, template.class_weight) == (2, "sqrt", "balanced")
    with pytest.raises(NotFittedError):
        check_is_fitted(template)


@pytest.mark.parametrize("name", ["feature_importances_", "estimators_", "estimator_", "estimators_samples_"])
def test_what_is_learned_is_not_there_before_a_fit(name):
    with pytest.raises(NotFittedError):
        getattr(weald.RandomForestClassifier(), name)
    assert not hasattr(weald.RandomForestClassifier(), name)


@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, Y > 0])])
def test_bags_are_those_of_the_fit(targets):
    weight = np.where(np.arange(150) % 7, 1, 0)
    model = classifier(40).fit(X, targets, weight)
    bags = model.bags(X, targets, weight)
    assert bags.shape == (40, 150)
    assert bags.sum(axis=1).tolist() == [weight.sum()] * 40
    assert not bags[:, weight == 0].any()
    if targets.ndim == 1:
        outside = (bags == 0) & (weight > 0)
        sums = sum(tree.predict_proba(X) * out[:, np.newaxis] for tree, out in zip(model, outside, strict=True))
        shares = model.out_of_bag(X, Y, weight).probabilities
        np.testing.assert_array_equal(
            sums[weight > 0] / outside.sum(axis=0)[weight > 0, np.newaxis], shares[weight > 0]
        )


PURE = "every leaf has rows of one class"


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (weald.RandomForestClassifier, {"n_estimators": 3}),
        (weald.ExtraTreesClassifier, {"n_estimators": 3}),
        (weald.DecisionTreeClassifier, {}),
    ],
)
@pytest.mark.parametrize("class_weight", ["balanced", {0: 7}])
def test_class_weights_that_change_no_leaf_are_named(kind, given, class_weight, engine):
    model = kind(**given, class_weight=class_weight, random_state=0, engine=engine)
    with pytest.warns(UserWarning, match=PURE) as predicted:
        model.fit(X[::3], Y[::3] if class_weight != "balanced" else np.minimum(Y[::3], 1))
    assert ("bootstrap=" in str(predicted[0].message)) == (kind is weald.RandomForestClassifier)
    for tree in model.estimators_ if given else [model]:
        assert (tree.tree_.value.max(axis=2)[tree.tree_.feature < 0] == 1).all()


@pytest.mark.parametrize(
    "given",
    [{"class_weight": "balanced", "max_depth": 2}, {"class_weight": {0: 2, 1: 2, 2: 2}}, {"class_weight": None}],
)
def test_class_weights_that_matter_or_are_none_are_not_named(given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(3, **given).fit(X, Y)


DESIGNS = [
    ({}, {}),
    ({"max_samples": 0.5}, {"sample_weight": np.arange(150) % 3}),
    ({}, {"sample_weight": np.linspace(0.1, 2, 150)}),
    ({"bootstrap": "balanced"}, {}),
    ({}, {"groups": np.arange(150) // 3}),
    ({}, {"stratify": np.arange(150) % 4}),
]


@pytest.mark.parametrize(("given", "design"), DESIGNS)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_the_samples_of_trees_are_the_rows_of_their_bags(given, design, engine):
    model = classifier(6, engine=engine, **given).fit(X, Y, **design)
    bags = model.bags(X, Y, **design)
    for trees, found in ((model, bags), (model[2:5], bags[2:5])):
        rows = trees.estimators_samples_
        assert all(np.array_equal(np.bincount(one, minlength=150), bag) for one, bag in zip(rows, found, strict=True))
        assert {one.dtype for one in rows} == {np.dtype(np.int32)}
    model.set_params(warm_start=True, n_estimators=8).fit(X, Y, **design)
    assert [len(one) for one in model.estimators_samples_] == model.bags(X, Y, **design).sum(axis=1).tolist()


def test_without_bootstrap_every_tree_has_all_rows():
    for targets in (Y, np.column_stack([Y, Y > 0])):
        rows = classifier(2, bootstrap=False).fit(X, targets).estimators_samples_
        assert [one.tolist() for one in rows] == [list(range(150))] * 2


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.ExtraTreesClassifier])
@pytest.mark.parametrize("seed", [None, 3])
def test_the_first_tree_grows_again_from_its_rows(kind, seed):
    model = kind(3, bootstrap=True, max_features=0.5, random_state=seed).fit(X, Y)
    rows, tree = model.estimators_samples_[0], model[0]
    again = clone(tree).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(again.tree_.value, tree.tree_.value)
    np.testing.assert_array_equal(again.tree_.threshold, tree.tree_.threshold)


@pytest.mark.parametrize("how", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, lambda m: m + m[:0:-1]])
def test_where_the_rows_of_bags_are_is_said(how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # trees that occur twice
        model = how(classifier(3).fit(X, Y))
    with pytest.raises(AttributeError, match=r"forest.bags\(X, y\)"):
        _ = model.estimators_samples_
    assert not hasattr(model, "estimators_samples_")


def test_trees_are_a_sequence(forest):
    trees = forest.estimators_
    assert len(trees) == len(list(trees)) == 5
    assert isinstance(trees[0], weald.DecisionTreeClassifier)
    assert trees[-1].forest_.fingerprint() == trees[4].forest_.fingerprint()
    assert [tree.get_depth() for tree in trees[1:3]] == [trees[1].get_depth(), trees[2].get_depth()]
    with pytest.raises(IndexError):
        trees[5]
    assert repr(trees).startswith("[DecisionTreeClassifier(max_features='sqrt', random_state=")


def test_trees_know_the_names_of_the_features():
    frame = pd.DataFrame(X, columns=list("abcd"))
    tree = classifier(2).fit(frame, Y).estimators_[0]
    assert tree.predict(frame).shape == (150,)
    assert tree.feature_names_in_.tolist() == list("abcd")


def test_the_sequence_of_trees_can_be_pickled(forest):
    again = pickle.loads(pickle.dumps(forest.estimators_))
    assert [tree.forest_.fingerprint() for tree in again] == [tree.forest_.fingerprint() for tree in forest.estimators_]


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample", {0: 2.0}])
def test_a_tree_of_a_forest_can_be_fitted_on_its_own(class_weight):
    tree = classifier(2, class_weight=class_weight).fit(X, Y).estimators_[0]
    assert clone(tree).fit(X, Y).score(X, Y) == 1


# ----------------------------------------------------------------------------------------------------- warm start


@pytest.mark.parametrize(("make", "x", "y"), [(classifier, X, Y), (regressor, XR, YR)])
def test_growing_on_gives_the_forest_grown_at_once(make, x, y):
    whole = make(6, random_state=None).set_params(random_state=5).fit(x, y)
    parts = make(2, random_state=5, warm_start=True).fit(x, y)
    for n in (3, 6):
        parts.set_params(n_estimators=n).fit(x, y)
    assert parts.forest_.fingerprint() == whole.forest_.fingerprint()
    assert len(parts.forest_.origins) == 1


def test_a_drawn_seed_is_continued():
    model = classifier(2, random_state=None, warm_start=True).fit(X, Y)
    seed = model.seed_
    model.set_params(n_estimators=4).fit(X, Y)
    assert model.seed_ == seed
    again = classifier(4, random_state=seed).fit(X, Y)
    assert model.forest_.fingerprint() == again.forest_.fingerprint()


def test_fewer_trees_are_refused(forest):
    model = pickle.loads(pickle.dumps(forest)).set_params(n_estimators=3, warm_start=True)
    with pytest.raises(ParameterError, match="n_estimators=3 is less than the 5 trees"):
        model.fit(X, Y)


def test_no_more_trees_warn_and_change_nothing(forest):
    model = pickle.loads(pickle.dumps(forest)).set_params(warm_start=True)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        model.fit(X, Y)
    assert model.forest_.fingerprint() == forest.forest_.fingerprint()


def test_an_estimate_can_be_asked_for_later(forest):
    model = pickle.loads(pickle.dumps(forest)).set_params(warm_start=True, oob_score=True)
    with pytest.warns(UserWarning, match="new trees|every tree"):
        model.fit(X, Y)
    with pytest.warns(UserWarning, match="every tree"):
        assert model.oob_error_ == classifier(oob_score=True).fit(X, Y).oob_error_


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [(X[:, :2], Y, "X has 2 features, but .* trees with 4"), (X[:100], Y[:100], r"y has the classes \[0, 1\]")],
)
def test_growing_on_with_another_kind_of_table_is_refused(forest, x, y, words):
    model = pickle.loads(pickle.dumps(forest)).set_params(n_estimators=6, warm_start=True)
    with pytest.raises(DataError, match=words):
        model.fit(x, y)
    assert model.forest_.n_trees == 5
    assert model.n_features_in_ == 4


def test_growing_on_with_other_rows_is_possible_in_classification(forest):
    model = pickle.loads(pickle.dumps(forest)).set_params(n_estimators=6, warm_start=True)
    assert model.fit(X[::2], Y[::2]).forest_.n_trees == 6
    assert len(model.forest_.origins) == 2


def test_growing_on_with_other_targets_is_possible_in_regression():
    model = regressor(warm_start=True).fit(XR, YR).set_params(n_estimators=6).fit(XR, YR * 1000)
    alone = regressor(6).fit(XR, YR * 1000)
    np.testing.assert_array_equal(model.estimators_[5].predict(XR), alone.estimators_[5].predict(XR))
    shares = [tree.feature_importances_ for tree in model.estimators_]
    np.testing.assert_allclose(model.feature_importances_, np.mean(shares, axis=0))
    np.testing.assert_allclose(
        model.estimators_[5].tree_.compute_feature_importances(normalize=False),
        alone.estimators_[5].tree_.compute_feature_importances(normalize=False),
    )


def test_without_warm_start_a_fit_starts_anew(forest):
    model = pickle.loads(pickle.dumps(forest)).fit(X[:, :2], Y)
    assert model.n_features_in_ == 2
    assert model.forest_.n_features == 2


# ------------------------------------------------------------------------------------------------------- same


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 32067])
def test_threads_change_nothing(forest, n_jobs):
    model = classifier(n_jobs=n_jobs).fit(X, Y)
    assert model.forest_.fingerprint() == forest.forest_.fingerprint()
    np.testing.assert_array_equal(model.predict_proba(X), forest.predict_proba(X))


def test_the_order_of_rows_changes_nothing(forest):
    order = np.random.default_rng(0).permutation(len(X))
    assert classifier().fit(X[order], Y[order]).forest_.fingerprint() == forest.forest_.fingerprint()


def test_a_weight_of_two_is_the_row_twice():
    weight = np.arange(len(X)) % 3
    weighted = classifier(3).fit(X, Y, sample_weight=weight)
    repeated = classifier(3).fit(X.repeat(weight, axis=0), Y.repeat(weight))
    assert weighted.forest_.fingerprint() == repeated.forest_.fingerprint()


def test_single_precision_is_exact(forest):
    model = classifier().fit(X.astype(np.float32), Y)
    np.testing.assert_array_equal(
        model.predict(X.astype(np.float32)), model.predict(X.astype(np.float32).astype(np.float64))
    )


# --------------------------------------------------------------------------------------------------- class weights


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1, 1: 5}])
def test_class_weights_shift_shares_but_not_bags(class_weight):
    x, y = X[50:125], Y[50:125] == 2
    plain = classifier(max_depth=1).fit(x, y)
    weighed = classifier(max_depth=1, class_weight=class_weight).fit(x, y)
    assert weighed.predict_proba(x)[:, 1].mean() > plain.predict_proba(x)[:, 1].mean()
    roots = plain.forest_.tree_start[:-1]
    np.testing.assert_array_equal(plain.forest_.size[roots], weighed.forest_.size[roots])


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("weight", [None, np.linspace(0.1, 0.9, 75)], ids=["rows", "weights"])
def test_only_ratios_of_class_weights_count(engine, weight):
    x, y = X[50:125], Y[50:125] == 2
    given = {"max_depth": 2, "bootstrap": False, "engine": engine}
    prints = {
        classifier(3, class_weight={False: scale, True: 3 * scale}, **given).fit(x, y, weight).forest_.fingerprint()
        for scale in (1.0, 2.0**60, 2.0**1020, 2.0**-1020)
    }
    assert len(prints) == 1


# ---------------------------------------------------------------------------------------------------- ecosystem


def test_in_a_pipeline_a_search_and_a_cross_validation():
    pipe = make_pipeline(StandardScaler(), classifier(3))
    assert cross_val_score(pipe, X, Y, cv=3).mean() > 0.85
    search = GridSearchCV(pipe, {"randomforestclassifier__max_depth": [1, None]}, cv=3, n_jobs=2).fit(X, Y)
    assert search.best_params_ == {"randomforestclassifier__max_depth": None}


def test_clone_pickle_and_joblib(forest, tmp_path):
    assert clone(forest).get_params() == forest.get_params()
    joblib.dump(forest, tmp_path / "forest.joblib")
    for twin in (pickle.loads(pickle.dumps(forest)), joblib.load(tmp_path / "forest.joblib")):
        np.testing.assert_array_equal(twin.predict_proba(X), forest.predict_proba(X))
        assert twin.forest_.fingerprint() == forest.forest_.fingerprint()
        assert not twin.forest_.feature.flags.writeable


def test_the_html_view_is_scikit_learns(forest):
    assert "RandomForestClassifier" in forest._repr_html_()
    assert repr(weald.RandomForestRegressor(3)) == "RandomForestRegressor(n_estimators=3)"


def test_a_subclass_may_add_parameters_of_its_own():
    class Mine(weald.RandomForestClassifier):
        def __init__(self, mark=1, n_estimators=3):
            super().__init__(n_estimators)
            self.mark = mark

    assert Mine(mark=2).fit(X, Y).score(X, Y) > 0.9


def test_extreme_targets_do_not_overflow():
    y = np.array([1e308, -1e308, 1.7e308, 0.0])
    model = regressor(bootstrap=False, max_features=None).fit([[1.0], [2.0], [3.0], [4.0]], y)
    np.testing.assert_allclose(model.predict([[1.0], [2.0], [3.0], [4.0]]), y, rtol=1e-9)


def test_a_warm_start_with_another_criterion_is_refused(forest):
    model = pickle.loads(pickle.dumps(forest)).set_params(n_estimators=6, warm_start=True, criterion="entropy")
    with pytest.raises(ParameterError, match="criterion='entropy' differs from the 'gini'"):
        model.fit(X, Y)
    assert model.forest_.fingerprint() == forest.forest_.fingerprint()


# ------------------------------------------------------------------------------------- what a fit leaves, and does not


@pytest.mark.parametrize("name", ["RandomForestClassifier", "DecisionTreeClassifier", "ExtraTreesClassifier"])
def test_classifiers_say_that_they_take_several_labels(name):
    assert getattr(weald, name)().__sklearn_tags__().classifier_tags.multi_label


def test_a_compact_tree_shows_its_own_nodes():
    X, y = load_iris(return_X_y=True)
    tree = weald.DecisionTreeClassifier().fit(X, y)
    assert tree.tree_.node_count == tree.forest_.n_nodes
    smaller = tree.compact()
    assert smaller.tree_.node_count == smaller.forest_.n_nodes


def test_a_fit_that_fails_to_read_leaves_the_generator_as_it_was():
    generator = np.random.default_rng(0)
    state = generator.bit_generator.state
    with pytest.raises(DataError):
        weald.RandomForestClassifier(3, random_state=generator).fit([[1.0], [2.0]], [0, 1, 1])
    assert generator.bit_generator.state == state


def test_a_kernel_forest_refuses_a_checkpoint(tmp_path):
    with pytest.raises(ParameterError, match="KernelForestClassifier does not support checkpoint"):
        weald.KernelForestClassifier(3).fit([[1.0], [2.0]], [0, 1], checkpoint=tmp_path)


def test_a_kernel_forest_tells_a_listener_of_its_steps():
    X, y = load_iris(return_X_y=True)
    heard = []
    with progress.listening(heard.append):
        weald.KernelForestClassifier(40, random_state=0, n_jobs=1).fit(X, y)
    assert [growing.n_done for growing in heard] == list(range(2, 41, 2))
    assert heard[-1].error is not None
