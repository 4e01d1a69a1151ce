"""Out-of-bag estimates come from the trees whose bags do not contain a row."""

import pickle

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

import weald
from weald.data.table import read_table
from weald.engines.choose import open_engine
from weald.engines.params import count_bins
from weald.errors import DataError, ParameterError
from weald.estimators.metrics import wilson

X, Y = load_iris(return_X_y=True)
X, Y = X[::2], Y[::2]
XR, YR = (part[:60] for part in load_diabetes(return_X_y=True))


def classifier(**given):
    return weald.RandomForestClassifier(**{"n_estimators": 25, "oob_score": True, "random_state": 0, **given})


def regressor(**given):
    return weald.RandomForestRegressor(**{"n_estimators": 20, "oob_score": True, "random_state": 0, **given})


def bags_of(model, x, y, weight=None):
    """Draw the bags of a fitted model again: trees x rows."""
    reading = read_table(weald.DecisionTreeClassifier(), x, y, weight, classify=hasattr(model, "classes_"))
    engine = open_engine(model.engine)
    coded = engine.code(reading.table, count_bins(model.max_bins), 1, None)
    return engine.bags(coded, model.growth_, model.forest_.origins, 1)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_only_trees_whose_bags_lack_a_row_speak_of_it(voting):
    model = classifier(n_estimators=20, voting=voting).fit(X, Y)
    outside = bags_of(model, X, Y) == 0
    predicted = np.array([tree.predict_proba(X) for tree in model.estimators_])
    if voting == "hard":
        predicted = np.eye(3)[predicted.argmax(axis=2)]
    expected = (predicted * outside[:, :, None]).sum(axis=0) / outside.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("has_missing", [False, True])
def test_blocks_of_rows_on_threads_say_what_leaves_say_tree_by_tree(kind, has_missing):
    draws = np.random.default_rng(5)
    x = draws.normal(size=(3000, 4)).astype(kind)
    y = x[:, 0] + 0.1 * draws.normal(size=3000)
    if has_missing:
        x[draws.random(x.shape) < 0.1] = np.nan
    model = regressor(n_estimators=40, min_samples_leaf=5, n_jobs=3).fit(x, y)
    forest, outside = model.forest_, bags_of(model, x, y) == 0
    at = forest.tree_start[:-1] + open_engine("native").leaves(forest, x, 1, None)
    sums = np.zeros(len(x))
    for t in range(40):  # one tree after the other, in the required order of summation
        sums[outside[t]] += forest.value[at[outside[t], t]]
    np.testing.assert_array_equal(model.oob_prediction_, sums / outside.sum(axis=0))


def test_the_error_of_a_classifier_is_the_share_of_wrong_rows():
    model = classifier().fit(X, Y)
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_fraction_ == 1
    assert model.oob_score_ == pytest.approx(accuracy_score(Y, predicted))
    assert model.oob_error_ == pytest.approx(1 - model.oob_score_)


def test_the_error_of_a_regressor_is_the_mean_square():
    model = regressor().fit(XR, YR)
    assert model.oob_error_ == pytest.approx(np.mean((YR - model.oob_prediction_) ** 2))
    assert model.oob_score_ == pytest.approx(r2_score(YR, model.oob_prediction_))


def test_the_score_of_tiny_numbers_is_that_of_others():
    tiny, plain = regressor().fit(XR, YR * 2.0**-1000), regressor().fit(XR, YR)
    assert tiny.oob_score_ == pytest.approx(plain.oob_score_)


def test_a_function_is_the_score():
    model = classifier(oob_score=balanced_accuracy_score).fit(X, np.array(["a", "b", "c"])[Y])
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == balanced_accuracy_score(np.array(["a", "b", "c"])[Y], predicted)
    model = regressor(oob_score=mean_absolute_error).fit(XR, YR)
    assert model.oob_score_ == pytest.approx(np.abs(YR - model.oob_prediction_).mean())


def test_weights_weigh_the_error():
    weight = np.where(Y == 1, 3, 1)
    model = classifier(max_samples=len(Y)).fit(X, Y, sample_weight=weight)
    wrong = model.classes_[model.oob_decision_function_.argmax(axis=1)] != Y
    assert model.oob_error_ == pytest.approx(np.average(wrong, weights=weight))


def test_rows_in_every_bag_are_unknown_and_said_so():
    with pytest.warns(UserWarning, match="rows are in the bag of every tree"):
        model = classifier(n_estimators=2).fit(X, Y)
    unknown = np.isnan(model.oob_decision_function_).all(axis=1)
    assert 0 < unknown.sum() < len(X)
    assert model.oob_fraction_ == pytest.approx(1 - unknown.mean())
    assert 0 <= model.oob_error_ <= 1


def test_when_no_row_is_out_of_bag_nothing_is_known():
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        model = classifier().fit([[1.0]], [1])
    assert model.oob_fraction_ == 0
    assert np.isnan([model.oob_error_, model.oob_score_]).all()


def test_rows_of_zero_weight_keep_their_place():
    weight = np.ones(len(X))
    weight[[0, 5]] = 0
    model = classifier().fit(X, Y, sample_weight=weight)
    assert model.oob_decision_function_.shape == (len(X), 3)
    assert np.isnan(model.oob_decision_function_[[0, 5]]).all()
    assert model.oob_fraction_ == 1


def test_growing_on_gives_the_estimate_of_the_whole_forest():
    whole = classifier(n_estimators=30).fit(X, Y)
    parts = classifier(n_estimators=20, warm_start=True).fit(X, Y).set_params(n_estimators=30).fit(X, Y)
    np.testing.assert_array_equal(whole.oob_decision_function_, parts.oob_decision_function_)


def test_growing_on_with_other_data_has_no_estimate():
    model = classifier(warm_start=True).fit(X, Y).set_params(n_estimators=30)
    before = dict(vars(model))
    with pytest.raises(DataError, match="grown from other data"):
        model.fit(X + X**2, Y[::-1])
    assert vars(model) == before


def test_growing_on_with_other_bags_draws_each_as_it_was():
    model = classifier(n_estimators=15, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=30, max_samples=0.3).fit(X, Y)
    bags = bags_of(model, X, Y)
    assert bags.sum(axis=1).tolist() == [75] * 15 + [22] * 15
    predicted = np.array([tree.predict_proba(X) for tree in model.estimators_])
    expected = (predicted * (bags == 0)[:, :, None]).sum(axis=0) / (bags == 0).sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)


def test_a_later_fit_without_estimate_forgets_the_old_one():
    model = classifier().fit(X, Y).set_params(oob_score=False).fit(X, Y)
    assert not hasattr(model, "oob_score_")


def test_without_bags_there_is_nothing_outside():
    with pytest.raises(ParameterError, match="bootstrap=False"):
        classifier(bootstrap=False).fit(X, Y)


# ------------------------------------------------------------------------------------------------------ the object


def test_the_object_says_what_the_attributes_say():
    model = classifier().fit(X, Y)
    out = model.oob_
    assert (out.error, out.share) == (model.oob_error_, model.oob_fraction_)
    np.testing.assert_array_equal(out.probabilities, model.oob_decision_function_)
    np.testing.assert_array_equal(out.predictions, model.classes_[out.probabilities.argmax(axis=1)])
    np.testing.assert_allclose(out.votes.sum(axis=1), out.counts)
    numbers = regressor().fit(XR, YR)
    np.testing.assert_array_equal(numbers.oob_.predictions, numbers.oob_prediction_)


def test_rows_of_trees_and_trees_of_rows_are_two_views_of_the_bags():
    weight = np.ones(len(X))
    weight[[0, 5]] = 0
    model = classifier(n_estimators=12).fit(X, Y, sample_weight=weight)
    outside = bags_of(model, X, Y, weight) == 0
    out = model.oob_
    kept = np.flatnonzero(weight)
    for t in range(12):
        np.testing.assert_array_equal(out.rows(t), kept[outside[t]])
    for i, row in enumerate(kept):
        np.testing.assert_array_equal(out.trees(row), np.flatnonzero(outside[:, i]))
        assert out.counts[row] == len(out.trees(row))
    assert out.counts[0] == 0
    assert not out.mask[[0, 5]].any()


@pytest.mark.filterwarnings("ignore:.*in the bag of every tree")
@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("weight", [None, np.arange(60) % 3 + 1, np.linspace(0.5, 2, 60)])
def test_the_curve_is_the_error_of_the_first_trees(engine, weight):
    for model, x, y in ((classifier(), X[:60], Y[:60]), (regressor(), XR, YR)):
        grown = model.set_params(n_estimators=12, engine=engine, max_samples=60).fit(x, y, sample_weight=weight)
        curve = grown.oob_.curve
        assert curve.n_trees.tolist() == list(range(1, 13))
        for n in (1, 5, 12):
            error = model.set_params(n_estimators=n).fit(x, y, sample_weight=weight).oob_error_
            assert curve.error[n - 1] == pytest.approx(error, rel=1e-9)


def test_the_curve_of_huge_numbers_is_that_of_small_ones():
    y = np.where(np.arange(60) % 2, 1e308, -1e308)
    huge, small = regressor().fit(XR, y).oob_, regressor().fit(XR, np.ldexp(y, -600)).oob_
    np.testing.assert_allclose(huge.curve.share, small.curve.share)
    assert (huge.curve.error == np.finfo(float).max).all()  # squares of such numbers overflow
    assert np.isfinite(small.curve.error).all()


@pytest.mark.parametrize("unit", [2.0**1021, 2.0**-1074])
@pytest.mark.parametrize("targets", [1, 2])
def test_the_unit_of_weights_does_not_matter(targets, unit):
    """Sums and squares of such weights overflow."""
    weight = np.where(np.arange(60) % 3, 1.0, 3.0)
    for make, x, target in ((classifier, X[:60], Y[:60]), (regressor, XR, YR)):
        y = target if targets == 1 else np.column_stack([target, target])
        plain = make(max_samples=40, n_estimators=40).fit(x, y, sample_weight=weight / 4)
        scaled = make(max_samples=40, n_estimators=40).fit(x, y, sample_weight=weight * unit)
        assert (scaled.oob_error_, scaled.oob_score_) == (plain.oob_error_, plain.oob_score_)
        if targets == 1:
            assert scaled.oob_.error_interval() == plain.oob_.error_interval()


@pytest.mark.parametrize("name", ["native", "reference"])
def test_votes_go_on_from_earlier_trees(name):
    model = classifier(n_estimators=20, voting="soft", min_samples_leaf=4).fit(X, Y)
    reading = read_table(weald.DecisionTreeClassifier(), X, Y, None, classify=True)
    engine = open_engine(name)
    coded = engine.code(reading.table, count_bins(model.max_bins), 1, None)

    def look(trees, start=None):
        forest = model.forest_.take(trees)
        return engine.sum_votes_out_of_bag(coded, model.growth_, forest, reading.table.X, "soft", 1, None, start)

    whole, first = look(range(20)), look(range(9))
    rest = look(range(9, 20), first)
    np.testing.assert_array_equal(rest.sums, whole.sums)
    np.testing.assert_array_equal(rest.n_trees, whole.n_trees)
    np.testing.assert_array_equal([*first.errors, *rest.errors], whole.errors)


def test_given_the_data_again_a_saved_forest_knows_it_all():
    model = classifier().fit(X, Y)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.oob_.error == model.oob_.error
    assert loaded.oob_.error_interval() == model.oob_.error_interval()
    with pytest.raises(DataError, match=r"forest.out_of_bag\(X, y\)"):
        loaded.oob_.confusion()
    with pytest.raises(DataError, match=r"forest.out_of_bag\(X, y\)"):
        loaded.oob_.rows(0)
    again = loaded.out_of_bag(X, Y)
    np.testing.assert_array_equal(again.probabilities, model.oob_.probabilities)
    np.testing.assert_array_equal(again.confusion(), model.oob_.confusion())
    np.testing.assert_array_equal(again.curve.error, model.oob_.curve.error)
    np.testing.assert_array_equal(again.rows(3), model.oob_.rows(3))


def test_a_pickle_holds_no_training_data():
    y = np.linspace(1000, 2000, 60) + 0.123
    saved = pickle.dumps(regressor().fit(XR, y).oob_)
    assert y.tobytes()[:64] not in saved
    assert pickle.loads(saved)._truth is None


def test_a_forest_of_several_runs_is_looked_at_as_one():
    model = classifier(n_estimators=10, oob_score=False, warm_start=True).fit(X, Y)
    model.set_params(n_estimators=25).fit(X, Y)
    np.testing.assert_array_equal(model.out_of_bag(X, Y).probabilities, classifier().fit(X, Y).oob_.probabilities)


def test_the_rows_may_stand_in_another_order():
    model = classifier(oob_score=False).fit(X, Y)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(
        model.out_of_bag(X[order], Y[order]).probabilities, model.out_of_bag(X, Y).probabilities[order]
    )


def test_other_data_is_refused():
    model = classifier().fit(X, Y)
    with pytest.raises(DataError, match="25 of the 25 trees were grown from other data"):
        model.out_of_bag(X[:-1], Y[:-1])
    with pytest.raises(DataError, match="the forest was fitted to"):
        model.out_of_bag(X, Y + 1)
    with pytest.raises(DataError, match="bootstrap=False every tree sees every row"):
        classifier(bootstrap=False, oob_score=False).fit(X, Y).out_of_bag(X, Y)


def test_any_metric_judges():
    model = classifier().fit(X, np.array(["a", "b", "c"])[Y])
    out, labels = model.oob_, np.array(["a", "b", "c"])[Y]
    predicted = model.classes_[out.probabilities.argmax(axis=1)]
    assert out.score() == pytest.approx(accuracy_score(labels, predicted))
    assert out.score(f1_score_macro) == f1_score_macro(labels, predicted)
    assert out.score("balanced_accuracy") == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert out.score("neg_log_loss") == pytest.approx(-log_loss(labels, out.probabilities))
    assert out.score("roc_auc_ovr") == pytest.approx(roc_auc_score(labels, out.probabilities, multi_class="ovr"))
    assert out.score(log_loss, of="probabilities") == pytest.approx(log_loss(labels, out.probabilities))
    numbers = regressor().fit(XR, YR).oob_
    assert numbers.score("neg_mean_absolute_error") == pytest.approx(-mean_absolute_error(YR, numbers.predictions))
    assert numbers.score(mean_absolute_error) == pytest.approx(mean_absolute_error(YR, numbers.predictions))


def f1_score_macro(truth, predicted):
    return f1_score(truth, predicted, average="macro")


def test_metrics_weigh_rows():
    weight = np.arange(len(X)) % 3 + 1.0
    out = classifier(max_samples=len(X)).fit(X, Y, sample_weight=weight).oob_
    predicted = out.probabilities.argmax(axis=1)
    assert out.score("accuracy") == pytest.approx(accuracy_score(Y, predicted, sample_weight=weight))
    assert out.score(accuracy_score) == pytest.approx(accuracy_score(Y, predicted, sample_weight=weight))
    np.testing.assert_array_equal(out.confusion(), confusion_matrix(Y, predicted, sample_weight=weight))


def test_confusion_calibration_and_threshold_are_of_the_rows_out_of_bag():
    two = np.where(Y == 1, "yes", "no")
    with pytest.warns(UserWarning, match="rows are in the bag"):
        out = classifier(n_estimators=4).fit(X, two).oob_
    assert not out.mask.all()
    predicted, truth = out.probabilities[out.mask], two[out.mask]
    np.testing.assert_array_equal(
        out.confusion(), confusion_matrix(truth, np.array(["no", "yes"])[predicted.argmax(axis=1)])
    )
    np.testing.assert_allclose(
        out.confusion(normalize="true"),
        confusion_matrix(truth, np.array(["no", "yes"])[predicted.argmax(axis=1)], normalize="true"),
    )
    assert out.calibration().brier == pytest.approx(brier_score_loss(truth == "yes", predicted[:, 1]))
    assert out.calibration("no").brier == pytest.approx(out.calibration("yes").brier)
    chosen = out.threshold("yes")
    assert chosen.score == pytest.approx(f1_score(truth == "yes", predicted[:, 1] >= chosen.value))
    assert np.ma.is_masked(out.predictions)
    assert np.isnan(out.margins[~out.mask]).all()


def test_of_many_classes_the_winner_is_calibrated_and_a_threshold_needs_a_label():
    out = classifier().fit(X, Y).oob_
    winner = out.probabilities.max(axis=1)
    right = out.predictions == Y
    assert out.calibration().brier == pytest.approx(np.mean((winner - right) ** 2))
    assert out.threshold(label=2).score > 0.8
    with pytest.raises(ParameterError, match=r"one of \[0, 1, 2\]"):
        out.threshold()
    with pytest.raises(ParameterError, match="label=7"):
        out.calibration(7)


def test_margins_are_negative_where_the_forest_is_wrong():
    out = classifier().fit(X, Y).oob_
    wrong = out.probabilities.argmax(axis=1) != Y
    assert (out.margins[wrong] <= 0).all()
    assert (out.margins[~wrong] >= 0).all()


def test_intervals_of_errors():
    out = classifier().fit(X, Y).oob_
    expected = binomtest(round(out.error * len(X)), len(X)).proportion_ci(0.9, method="wilson")
    assert out.error_interval(0.9) == pytest.approx((expected.low, expected.high))
    numbers = regressor().fit(XR, YR).oob_
    squares = (YR - numbers.predictions) ** 2
    half = 1.959963984540054 * squares.std() / np.sqrt(len(YR))
    assert numbers.error_interval() == pytest.approx((numbers.error - half, numbers.error + half))


def test_whole_weights_count_as_rows_in_the_interval_and_others_by_their_evenness():
    whole = np.arange(len(X)) % 2 + 1
    out = classifier(n_estimators=60).fit(X, Y, sample_weight=whole).oob_
    assert out.error_interval() == pytest.approx(wilson(out.error, whole.sum(), 1.959963984540054))
    uneven = whole + 0.5
    out = classifier(n_estimators=60).fit(X, Y, sample_weight=uneven).oob_
    n = uneven.sum() ** 2 / (uneven**2).sum()
    assert out.error_interval() == pytest.approx(wilson(out.error, n, 1.959963984540054))


def test_numbers_have_no_classes():
    out = regressor().fit(XR, YR).oob_
    assert not hasattr(out, "shares")
    with pytest.raises(AttributeError, match="predicts numbers"):
        out.confusion()


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda out: out.rows(25), "no tree 25"),
        (lambda out: out.trees(-1), "no row -1"),
        (lambda out: out.error_interval(95), "level=95"),
        (lambda out: out.score("goodness"), "get_scorer_names"),
        (lambda out: out.score(log_loss, of="votes"), "of='votes'"),
        (lambda out: out.calibration(n_bins=0), "n_bins=0"),
        (lambda out: out.confusion(normalize="rows"), "normalize='rows'"),
    ],
)
def test_questions_that_have_no_answer_are_refused(ask, words):
    with pytest.raises(ParameterError, match=words):
        ask(classifier().fit(X, Y).oob_)


def test_a_merged_forest_is_looked_at_tree_by_tree():
    parts = [classifier(n_estimators=15, random_state=seed, max_samples=n).fit(X, Y) for seed, n in ((1, 70), (2, 40))]
    out = weald.merge(parts).out_of_bag(X, Y)
    assert out.n_trees == 30
    np.testing.assert_array_equal(out.counts, sum(part.oob_.counts for part in parts))
    np.testing.assert_array_equal(out.rows(14), parts[0].oob_.rows(14))
    np.testing.assert_array_equal(out.rows(15), parts[1].oob_.rows(0))
    np.testing.assert_array_equal(weald.merge(parts)[15:].out_of_bag(X, Y).probabilities, parts[1].oob_.probabilities)
