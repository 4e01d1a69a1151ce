"""Out-of-bag estimates come from the trees whose bags lack a row."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_absolute_error, r2_score

import weald
from weald.engines.door import open_engine
from weald.errors import DataError, ParameterError
from weald.params import count_bins
from weald.table import read_table

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
    said = np.array([tree.predict_proba(X) for tree in model.estimators_])
    if voting == "hard":
        said = np.eye(3)[said.argmax(axis=2)]
    expected = (said * outside[:, :, None]).sum(axis=0) / outside.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)


def test_the_error_of_a_classifier_is_the_share_of_wrong_rows():
    model = classifier().fit(X, Y)
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_share_ == 1
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
    assert model.oob_share_ == pytest.approx(1 - unknown.mean())
    assert 0 <= model.oob_error_ <= 1


def test_when_no_row_is_out_of_bag_nothing_is_known():
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        model = classifier().fit([[1.0]], [1])
    assert model.oob_share_ == 0
    assert np.isnan([model.oob_error_, model.oob_score_]).all()


def test_rows_of_zero_weight_keep_their_place():
    weight = np.ones(len(X))
    weight[[0, 5]] = 0
    model = classifier().fit(X, Y, sample_weight=weight)
    assert model.oob_decision_function_.shape == (len(X), 3)
    assert np.isnan(model.oob_decision_function_[[0, 5]]).all()
    assert model.oob_share_ == 1


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
    said = np.array([tree.predict_proba(X) for tree in model.estimators_])
    expected = (said * (bags == 0)[:, :, None]).sum(axis=0) / (bags == 0).sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)


def test_a_later_fit_without_estimate_forgets_the_old_one():
    model = classifier().fit(X, Y).set_params(oob_score=False).fit(X, Y)
    assert not hasattr(model, "oob_score_")


def test_without_bags_there_is_nothing_outside():
    with pytest.raises(ParameterError, match="bootstrap=False"):
        classifier(bootstrap=False).fit(X, Y)
