"""Multi-output: shapes and names are scikit-learn's, and the predictions of each target are right."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import ensemble, tree
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

import weald
from weald.errors import DataError, ParameterError

KINDS = [name for name in weald.__all__ if name.endswith(("Classifier", "Regressor")) and not name.startswith("Kernel")]
RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 4))
CLASSES = np.column_stack([X[:, 0] > 0, np.digitize(X[:, 1], [-0.5, 0.5]), np.arange(N) % 4]).astype(int)
NUMBERS = np.column_stack([3 * X[:, 0], X[:, 1] ** 2 + 100])


def make(name, **given):
    model = getattr(weald, name)(random_state=0)
    small = {"n_estimators": 8} if hasattr(model, "n_estimators") else {}
    return model.set_params(**{**small, **given})


def target_of(model):
    return CLASSES if is_classifier(model) else NUMBERS


@pytest.mark.parametrize("name", KINDS)
def test_shapes_are_those_of_scikit_learn(name):
    ours, theirs = make(name), getattr(ensemble, name, None) or getattr(tree, name)
    y = target_of(ours)
    given = {"n_estimators": 8} if hasattr(ours, "n_estimators") else {}
    theirs = theirs(random_state=0, **given).fit(X, y)
    ours.fit(X, y)
    assert ours.n_outputs_ == theirs.n_outputs_ == y.shape[1]
    assert ours.predict(X).shape == theirs.predict(X).shape
    assert ours.feature_importances_.shape == (4,)
    assert ours.feature_importances_.sum() == pytest.approx(1)
    assert ours.apply(X).shape == theirs.apply(X).shape
    if is_classifier(ours):
        assert isinstance(ours.classes_, list)
        assert all(np.array_equal(a, b) for a, b in zip(ours.classes_, theirs.classes_, strict=True))
        assert list(ours.n_classes_) == list(theirs.n_classes_)
        for method in ("predict_proba", "predict_log_proba"):
            with np.errstate(divide="ignore"):  # scikit-learn leaves this to the user
                shapes = [[a.shape for a in getattr(model, method)(X)] for model in (ours, theirs)]
            assert shapes[0] == shapes[1] == [(N, 2), (N, 3), (N, 4)]
    one = ours.estimators_[0] if hasattr(ours, "estimators_") else ours
    other = theirs.estimators_[0] if hasattr(theirs, "estimators_") else theirs
    assert one.tree_.value.shape[1:] == other.tree_.value.shape[1:]
    assert list(one.tree_.n_classes) == list(other.tree_.n_classes)
    assert one.predict(X).shape == other.predict(X).shape


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_trees_say_what_those_of_scikit_learn_say(name):
    """Splits are at the same thresholds if no two tie; scikit-learn reads X as float32."""
    exact = X.astype(np.float32).astype(np.float64)
    y = (CLASSES[:, :2] if "Classifier" in name else NUMBERS).astype(float)
    given = {"min_samples_leaf": 9, "max_depth": 4}
    ours = getattr(weald, name)(**given).fit(exact, y)
    theirs = getattr(tree, name)(**given, random_state=0).fit(exact, y)
    assert ours.tree_.feature.tolist() == theirs.tree_.feature.tolist()
    np.testing.assert_allclose(ours.tree_.value, theirs.tree_.value, atol=1e-12)
    np.testing.assert_allclose(ours.tree_.impurity, theirs.tree_.impurity, atol=1e-9)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_engines_and_pickles_agree(name):
    model = make(name)
    y = target_of(model)
    native, reference = clone(model).fit(X, y), clone(model).set_params(engine="reference").fit(X, y)
    prints = [[forest.fingerprint() for forest in m.forests_] for m in (native, reference)]
    assert prints[0] == prints[1]
    assert np.array_equal(native.predict(X), reference.predict(X))
    again = pickle.loads(pickle.dumps(native))
    assert np.array_equal(again.predict(X), native.predict(X))


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
@pytest.mark.parametrize("weight", [None, RNG.integers(0, 4, N).astype(float)])
def test_a_target_that_is_given_twice_is_that_target_out_of_bag_too(name, weight):
    twice = make(name, oob_score=True, n_estimators=100)
    y = target_of(twice)[:, 0]
    alone = clone(twice).fit(X, y, sample_weight=weight)
    twice.fit(X, np.column_stack([y, y]), sample_weight=weight)
    assert twice.forests_[1].fingerprint() == alone.forest_.fingerprint()
    assert np.array_equal(twice.predict(X)[:, 1], alone.predict(X))
    assert np.array_equal(twice.feature_importances_, alone.feature_importances_)
    assert twice.oob_score_ == pytest.approx(alone.oob_score_)
    assert twice.oob_error_ == pytest.approx(alone.oob_error_)
    assert twice.oob_fraction_ == alone.oob_fraction_
    if is_classifier(twice):
        assert np.array_equal(twice.predict_proba(X)[0], alone.predict_proba(X))
        assert np.array_equal(twice.oob_decision_function_[:, :, 0], alone.oob_decision_function_, equal_nan=True)
    else:
        np.testing.assert_allclose(twice.oob_prediction_[:, 0], alone.oob_prediction_, rtol=1e-15)


def test_scores_are_those_of_scikit_learn():
    binary = CLASSES[:, :2] > 0
    forest = make("RandomForestClassifier", max_depth=2).fit(X, binary)
    assert forest.score(X, binary) == accuracy_score(binary, forest.predict(X))
    mixed = make("RandomForestClassifier", max_depth=2).fit(X, CLASSES)
    assert mixed.score(X, CLASSES) == (mixed.predict(X) == CLASSES).all(axis=1).mean() < 1
    numbers = make("RandomForestRegressor").fit(X, NUMBERS)
    assert numbers.score(X, NUMBERS) == r2_score(NUMBERS, numbers.predict(X))


def test_the_score_out_of_bag_is_that_of_the_rows_outside():
    forest = make("RandomForestRegressor", oob_score=True, n_estimators=40).fit(X, NUMBERS)
    assert forest.oob_score_ == pytest.approx(r2_score(NUMBERS, forest.oob_prediction_))
    assert forest.oob_error_ == pytest.approx(((NUMBERS - forest.oob_prediction_) ** 2).mean())
    forest = make("RandomForestClassifier", oob_score=True, n_estimators=40).fit(X, CLASSES)
    predicted = forest.oob_decision_function_.argmax(axis=1)
    assert forest.oob_score_ == pytest.approx((predicted == CLASSES).all(axis=1).mean())
    own = make("RandomForestRegressor", oob_score=lambda y, predicted: float(np.abs(y - predicted).max()))
    own.set_params(n_estimators=40).fit(X, NUMBERS)
    assert own.oob_score_ == np.abs(NUMBERS - own.oob_prediction_).max()


def test_weights_of_classes_multiply():
    weights = [{0: 1.0, 1: 2.0}, {0: 3.0, 1: 1.0, 2: 1.0}]
    y = CLASSES[:, :2]
    weighed = make("RandomForestClassifier", bootstrap=False, class_weight=weights, max_depth=3).fit(X, y)
    by_row = np.array([weights[0][a] * weights[1][b] for a, b in y])
    plain = make("RandomForestClassifier", bootstrap=False, max_depth=3).fit(X, y, sample_weight=by_row)
    assert weighed.apply(X).tolist() == plain.apply(X).tolist()
    for mine, other in zip(weighed.predict_proba(X), plain.predict_proba(X), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-5)  # weights of classes are rounded to 20 bits
    for words in ("balanced", "balanced_subsample"):
        native = make("RandomForestClassifier", class_weight=words).fit(X, CLASSES)
        reference = make("RandomForestClassifier", class_weight=words, engine="reference").fit(X, CLASSES)
        assert native.forests_[2].fingerprint() == reference.forests_[2].fingerprint()


def test_targets_may_be_columns_of_a_frame():
    frame = pd.DataFrame({"sort": np.where(CLASSES[:, 0] == 1, "yes", "no"), "size": CLASSES[:, 1]})
    model = make("RandomForestClassifier").fit(X, frame)
    assert [classes.tolist() for classes in model.classes_] == [["no", "yes"], [0, 1, 2]]
    predicted = model.predict(X)
    assert set(predicted[:, 0]) <= {"no", "yes"}
    assert set(predicted[:, 1]) <= {0, 1, 2}
    same = make("RandomForestClassifier").fit(X, pl.from_pandas(frame))
    rows = make("RandomForestClassifier").fit(X, frame.to_numpy().tolist())
    prints = {m.forests_[0].fingerprint() for m in (model, same, rows)}
    assert len(prints) == 1
    assert model.score(X, frame) == 1.0


def test_categories_are_cut_for_several_targets():
    kinds = np.array(list("abcdef"))[np.arange(N) % 6]
    frame = pd.DataFrame({"kind": kinds, "x": X[:, 0]})
    y = np.column_stack([np.isin(kinds, ["b", "e"]), np.isin(kinds, ["a", "e", "f"])])
    model = weald.DecisionTreeClassifier().fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert model.get_n_leaves() == 4  # the combinations of both targets


REFUSED = [
    ("RandomForestClassifier", {"monotonic_cst": [1, 0, 0, 0]}, "not supported with multiple output .monotonic_cst"),
    ("RandomForestRegressor", {"n_estimators": "auto"}, "n_estimators"),
    ("RandomForestClassifier", {"resampling": "boosting"}, "resampling"),
    ("RandomForestClassifier", {"bootstrap": "balanced"}, "stratify"),
    ("RandomForestClassifier", {"max_samples": {0: 5}}, "stratify"),
    ("RandomForestClassifier", {"class_weight": {0: 1.0}}, "one dict for each"),
    ("RandomForestClassifier", {"class_weight": [{0: 1.0}]}, "one dict for each"),
]


@pytest.mark.parametrize(("name", "given", "words"), REFUSED)
def test_what_speaks_of_one_target_is_refused_at_fit(name, given, words):
    model = make(name, **given)
    with pytest.raises(ParameterError, match=words):
        model.fit(X, target_of(model))


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.forest_,
        lambda model: weald.importance(model, X, CLASSES),
        lambda model: model.predict(X, rule="sample"),
        lambda model: model.estimators_[0].export_text(),
        lambda model: model.estimators_[0].choose_alpha(X, CLASSES),
    ],
)
def test_what_speaks_of_one_target_is_refused_later(ask):
    model = make("RandomForestClassifier").fit(X, CLASSES)
    with pytest.raises(ParameterError, match="3 targets"):
        ask(model)


@pytest.mark.filterwarnings("ignore:.*90 rows are in the bag of every tree")
@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_out_of_bag_stays_right_when_forests_are_sliced_and_joined(name, engine):
    whole = make(name, n_estimators=12, oob_score=True, engine=engine)
    y = target_of(whole)
    part = clone(whole).set_params(n_estimators=10).fit(X, y)
    whole.fit(X, y)
    for made, fitted in ((whole[:10], part), (whole[:5] + whole[5:], whole)):
        assert not hasattr(made, "oob_score_")
        again = pickle.loads(pickle.dumps(made)).out_of_bag(X, y)
        assert (again.score, again.error, again.share) == (fitted.oob_score_, fitted.oob_error_, fitted.oob_fraction_)
    merged = weald.merge([whole, clone(whole).set_params(random_state=7).fit(X, y)])
    assert merged.out_of_bag(X, y).error == pytest.approx(merged.out_of_bag(X[::-1], y[::-1]).error, rel=1e-12)


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
def test_bags_that_have_all_rows_say_nothing(name):
    model = make(name, max_samples=5000, n_estimators=3, oob_score=True)
    with pytest.warns(UserWarning, match="90 of 90 rows are in the bag of every tree"):
        model.fit(X, target_of(model))
    assert np.isnan(model.oob_score_)
    assert model.oob_fraction_ == 0


def test_trees_of_other_targets_or_rows_have_no_estimate():
    model = make("RandomForestClassifier", n_estimators=3).fit(X, CLASSES)
    constant = CLASSES * [0, 1, 1]
    for y, words in (
        (CLASSES[::-1], "3 of the 3 trees were grown from other data"),
        (CLASSES[:, :2], "y has 2 targets, but the forest has 3"),
        (constant, r"y has the classes \[\[0\], .* but the forest was fitted to \[\[0, 1\]"),
    ):
        with pytest.raises(DataError, match=words):
            model.out_of_bag(X, y)
    with pytest.raises(DataError, match="y has 3 targets, but the forest has 1"):
        model.of_target(0).out_of_bag(X, CLASSES)
    with pytest.raises(DataError, match="3 of the 5 trees were grown from other data"):
        model.set_params(warm_start=True, oob_score=True, n_estimators=5).fit(X[::-1], CLASSES)


def test_a_class_weight_for_several_targets_is_refused_for_one():
    with pytest.raises(ParameterError, match="1 target"):
        make("RandomForestClassifier", class_weight=[{0: 1.0}, {0: 1.0}]).fit(X, CLASSES[:, 0])


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.where(np.arange(N)[:, None] == 3, np.nan, NUMBERS), "Row 3 of column 0 of y"),
        (NUMBERS[:-1], "X has 90 rows but y has 89"),
        (np.zeros((N, 2, 2)), "1d array"),
    ],
)
def test_bad_targets_are_refused_by_name(y, words):
    with pytest.raises(DataError, match=words):
        make("RandomForestRegressor").fit(X, y)
    with pytest.raises(DataError, match="column 1 of y"):
        make("RandomForestClassifier").fit(X, np.column_stack([CLASSES[:, 0], X[:, 0]]))


FORESTS = [name for name in KINDS if "Forest" in name or "Trees" in name]


def prints(model):
    return [forest.fingerprint() for forest in model.forests_]


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("name", FORESTS)
def test_growing_on_gives_the_forest_of_one_fit(name, engine):
    given = {"engine": engine, "bootstrap": True, "oob_score": True, "n_estimators": 30}
    whole = make(name, **given)
    y = target_of(whole)
    whole.fit(X, y)
    part = make(name, **given, warm_start=True).set_params(n_estimators=12).fit(X, y)
    early = part.oob_score_
    part.set_params(n_estimators=30).fit(X, y)
    assert prints(part) == prints(whole)
    assert part.oob_score_ == whole.oob_score_ != early
    assert (part.predict(X) == whole.predict(X)).all()


@pytest.mark.parametrize("name", FORESTS)
def test_slices_put_together_are_the_forest(name):
    whole = make(name, bootstrap=True, oob_score=True, n_estimators=30)
    y = target_of(whole)
    whole.fit(X, y)
    parts = [whole[:10], whole[10:11], whole[11:]]
    assert [len(part.estimators_) for part in parts] == [10, 1, 19]
    assert not hasattr(parts[0], "oob_score_")
    joined = parts[0] + parts[1] + parts[2]
    assert prints(joined) == prints(whole) == prints(weald.merge(parts))
    assert (joined.predict(X) == whole.predict(X)).all()
    on = joined[:20].set_params(n_estimators=30, warm_start=True, oob_score=True).fit(X, y)
    assert prints(on) == prints(whole)
    assert on.oob_score_ == whole.oob_score_


@pytest.mark.parametrize("name", FORESTS)
def test_trees_of_other_targets_do_not_go_on(name):
    model = make(name, warm_start=True)
    y = target_of(model)
    model.fit(X, y)
    for other, words in ((y[:, 0], "1 targets"), (y[:, [0, 1, 1, 1]], "4 targets")):
        with pytest.raises(DataError, match=words):
            model.set_params(n_estimators=12).fit(X, other)
    with pytest.raises(DataError, match="2 targets"):
        clone(model).fit(X, y[:, 0]).set_params(n_estimators=12).fit(X, y[:, :2])
    with pytest.raises(DataError, match="numbers of targets"):
        model + clone(model).set_params(random_state=1).fit(X, y[:, 0])
    if is_classifier(model):
        with pytest.raises(DataError, match="y has the classes"):
            model.fit(X, y + 1)


def test_a_kernel_forest_takes_one_target():
    with pytest.raises(DataError, match="y has 3 columns, but a kernel forest supports one target"):
        weald.KernelForestClassifier(3).fit(X, CLASSES)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_pruning_is_scikit_learns(name, engine):
    rng = np.random.default_rng(5)
    table = rng.normal(size=(200, 4))
    noisy = table[:, :2] + rng.normal(size=(200, 2))
    y = noisy if name.endswith("Regressor") else np.column_stack([noisy[:, 0] > 0, np.digitize(noisy[:, 1], [-1, 1])])
    ours = make(name, engine=engine, min_samples_leaf=5).fit(table, y)
    theirs = getattr(tree, name)(random_state=0, min_samples_leaf=5).fit(table, y)
    np.testing.assert_array_equal(ours.tree_.n_node_samples, theirs.tree_.n_node_samples)
    path, other = (model.cost_complexity_pruning_path(table, y) for model in (ours, theirs))
    at = np.searchsorted(other.ccp_alphas, path.ccp_alphas * (1 + 1e-9), side="right") - 1
    np.testing.assert_allclose(path.ccp_alphas, other.ccp_alphas[at], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(path.impurities, other.impurities[at], rtol=1e-9)
    for alpha in path.ccp_alphas[1::5] * (1 + 1e-9):
        pruned = ours.prune(alpha)
        by_fit = clone(ours).set_params(ccp_alpha=alpha).fit(table, y)
        expected = clone(theirs).set_params(ccp_alpha=alpha).fit(table, y)
        assert pruned.get_n_leaves() == expected.get_n_leaves()
        np.testing.assert_allclose(pruned.predict(table), expected.predict(table), rtol=1e-9)
        assert [f.fingerprint() for f in pruned.forests_] == [f.fingerprint() for f in by_fit.forests_]
        assert (pickle.loads(pickle.dumps(pruned)).predict(table) == pruned.predict(table)).all()


def test_trees_of_forests_are_pruned():
    forest = make("RandomForestRegressor", oob_score=True, n_estimators=30, max_features=None)
    y = NUMBERS + RNG.normal(size=NUMBERS.shape)
    whole, pruned = forest.fit(X, y), clone(forest).set_params(ccp_alpha=0.05).fit(X, y)
    assert pruned.get_n_leaves().max() < whole.get_n_leaves().min()
    for one, other in zip(pruned, whole, strict=True):
        assert one.forests_[1].fingerprint() == other.prune(0.05).forests_[1].fingerprint()
    assert pruned.oob_fraction_ == whole.oob_fraction_
