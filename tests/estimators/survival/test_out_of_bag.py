"""Out-of-bag estimates of survival forests, against brute force from bags and trees; importance."""

import numpy as np
import pytest

import weald
from tests.estimators.survival.test_models import make_rows
from weald import DataError, ParameterError, RandomSurvivalForest
from weald.data.survival import Survival
from weald.estimators.survival.scores import concordance_index


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_out_of_bag_results_are_those_of_the_trees_that_lack_a_row(engine):
    X, y = make_rows(60)
    forest = RandomSurvivalForest(12, random_state=0, oob_score=True, engine=engine).fit(X, y)
    is_out = forest.bags(X, y) == 0
    risks = np.array([tree.predict(X) for tree in forest])
    mean = np.where(is_out, risks, 0).sum(axis=0) / is_out.sum(axis=0)
    np.testing.assert_allclose(forest.oob_prediction_, mean)
    curves = np.array([tree.predict_survival_function(X, True) for tree in forest])
    mean = (curves * is_out[:, :, None]).sum(axis=0) / is_out.sum(axis=0)[:, None]
    np.testing.assert_allclose(forest.oob_.survival_function(), mean, atol=1e-12)
    assert forest.oob_score_ == concordance_index(Survival(y["time"], y["event"]), forest.oob_prediction_)
    assert forest.oob_error_ == 1 - forest.oob_score_
    assert forest.oob_fraction_ == 1.0


def test_out_of_bag_can_be_computed_again_with_rows_in_any_order():
    X, y = make_rows()
    forest = RandomSurvivalForest(20, random_state=0, oob_score=True).fit(X, y)
    order = np.random.default_rng(0).permutation(150)
    again = forest.out_of_bag(X[order], y[order])
    assert again.score == forest.oob_score_
    assert np.array_equal(again.predictions, forest.oob_prediction_[order])
    np.testing.assert_allclose(again.integrated_brier_score(), forest.oob_.integrated_brier_score())
    assert again.brier_score([0.2, 0.5]).shape == (2,)
    other = y.copy()
    other["time"][0] += 0.01
    with pytest.raises(DataError, match="no row of the fit"):
        forest.out_of_bag(X, other)
    other["time"], other["event"][0] = y["time"], ~y["event"][0]
    with pytest.raises(DataError, match="other data"):
        forest.out_of_bag(X, other)


def test_rows_in_every_bag_have_no_prediction():
    X, y = make_rows(40)
    with pytest.warns(UserWarning, match="in the bag of every tree"):
        forest = RandomSurvivalForest(2, random_state=0, oob_score=True).fit(X, y)
    assert 0 < np.isnan(forest.oob_prediction_).sum() < 40
    assert np.isnan(forest.oob_.survival_function()).all(axis=1).sum() == np.isnan(forest.oob_prediction_).sum()


def test_the_importance_is_the_decrease_of_concordance():
    X, y = make_rows(300)
    forest = RandomSurvivalForest(30, random_state=0).fit(X, y)
    found = weald.importance(forest, X, y, n_repeats=3)
    assert found.values.argmax() == 0
    assert found.values[0] > 0.1 > abs(found.values[1:]).max()
    assert found.unit == "decrease of the concordance index"
    assert found.std_error.shape == (3,)
    new, truth = make_rows(300, 1)
    on_new = weald.importance(forest, new, truth, rows="new")
    assert on_new.values.argmax() == 0
    assert weald.importance(forest, X, y, kind="mdi").values.sum() == pytest.approx(1)
    for refused in ({"kind": "local"}, {"kind": "conditional"}, {"kind": "mdi", "n_null": 2}):
        with pytest.raises(ParameterError, match="pairs of rows"):
            weald.importance(forest, X, y, **refused)


def test_a_feature_that_no_tree_uses_has_no_importance():
    X, y = make_rows(100)
    X[:, 2] = 1.0
    forest = RandomSurvivalForest(10, random_state=0).fit(X, y)
    assert weald.importance(forest, X, y).values[2] == 0.0
