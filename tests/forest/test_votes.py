"""Predictions of trees are averaged, also if their sum overflows."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

import weald
from weald.forest import votes

LARGEST = np.finfo(np.float64).max
X = np.arange(12.0)[:, None]
ALTERNATING = np.arange(12) % 2


def test_where_no_tree_says_anything_there_is_no_mean():
    forest = weald.DecisionTreeRegressor().fit(X, X[:, 0]).forest_
    averages = votes.average(forest, lambda *_: (np.array([6.0, 0.0]), np.array([3, 0])))
    np.testing.assert_array_equal(averages, [2.0, np.nan])


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("largest", [1e308, LARGEST])
def test_means_of_huge_numbers_are_those_of_small_ones(engine, largest):
    """Dividing values by two ten times changes only the exponent."""
    y = np.where(ALTERNATING, largest, -largest)
    model = weald.RandomForestRegressor(30, random_state=1, oob_score=True, engine=engine)
    small = model.fit(X, np.ldexp(y, -10))
    expected = small.predict(X), small.oob_prediction_, small.oob_score_
    huge = model.fit(X, y)
    assert not np.isfinite(huge.predict_votes(X)).all()
    np.testing.assert_allclose(np.ldexp(huge.predict(X), -10), expected[0], rtol=1e-14)
    np.testing.assert_allclose(np.ldexp(huge.oob_prediction_, -10), expected[1], rtol=1e-14)
    assert huge.oob_score_ == pytest.approx(expected[2])
    assert np.isposinf(huge.oob_error_)


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("largest", [1e308, LARGEST])
def test_one_huge_target_changes_nothing_for_the_other(engine, largest):
    huge, small = np.where(ALTERNATING, largest, -largest), np.cos(X[:, 0])
    model = weald.RandomForestRegressor(30, random_state=1, oob_score=True, engine=engine)
    expected = model.fit(X, np.column_stack([np.ldexp(huge, -100), np.ldexp(small, -100)]))
    expected = expected.predict(X), expected.oob_prediction_, expected.oob_score_
    model.fit(X, np.column_stack([huge, small]))
    np.testing.assert_allclose(np.ldexp(model.predict(X), -100), expected[0], rtol=1e-14)
    np.testing.assert_allclose(np.ldexp(model.oob_prediction_, -100), expected[1], rtol=1e-14)
    assert model.oob_score_ == pytest.approx(expected[2])
    assert np.isposinf(model.oob_error_)


def test_the_mean_of_the_largest_number_is_itself():
    model = weald.RandomForestRegressor(25, random_state=1, oob_score=True).fit(X, np.full(12, LARGEST))
    assert (model.predict(X) == LARGEST).all()
    assert (model.oob_prediction_ == LARGEST).all()
    assert model.oob_error_ == 0


def test_huge_numbers_change_nothing_for_the_rows_beside_them():
    """The smallest values would be lost on the scale that very large ones need."""
    y = np.where(X[:, 0] < 6, LARGEST, 5e-324)
    model = weald.RandomForestRegressor(20, random_state=0).fit(X, y)
    sums = {0: np.array([np.inf, 20 * 5e-324, 1.0]), 5: np.array([20 * 1e300, 0.0, 1 / 32])}
    averages = votes.average(model.forest_, lambda _, room: (sums[room], 20))
    assert averages.tolist() == pytest.approx([32e300, 5e-324, 0.05], abs=0)
    assert [model.predict(X[i : i + 1])[0] for i in range(12)] == model.predict(X).tolist()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("largest", [1e308, LARGEST])
def test_scores_of_huge_numbers_are_those_of_small_ones(engine, largest):
    huge = np.where(ALTERNATING, largest, -largest)
    for y in (huge, np.column_stack([huge, np.ldexp(np.cos(X[:, 0]), 1000)])):
        for model in (
            weald.RandomForestRegressor(30, random_state=1, engine=engine),
            weald.ExtraTreesRegressor(30, random_state=1, engine=engine, max_depth=2),
            weald.DecisionTreeRegressor(max_depth=2, engine=engine),
        ):
            expected = model.fit(X, np.ldexp(y, -900)).score(X, np.ldexp(y, -900))
            assert model.fit(X, y).score(X, y) == pytest.approx(expected)


def test_ordinary_scores_are_those_of_scikit_learn():
    y = np.cos(X[:, 0])
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, y)
    assert model.score(X, y.tolist(), X[:, 0]) == r2_score(y, model.predict(X), sample_weight=X[:, 0])


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_forest_of_huge_numbers_settles_and_knows_no_error(engine):
    y = np.where(ALTERNATING, LARGEST, -LARGEST)
    model = weald.RandomForestRegressor("auto", max_estimators=70, random_state=1, engine=engine).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.oob_.error_interval() == (0.0, np.inf)
