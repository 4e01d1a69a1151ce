"""Strength and correlation are those of Breiman's paper, counted tree by tree and row by row."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris

import weald
from weald.errors import ParameterError

X, Y = load_iris(return_X_y=True)
X, Y = X[::2, :3], Y[::2]
WEIGHT = np.arange(len(X)) % 3 + 1.0


def count_by_hand(model, x, y, weight):
    """Vote by vote: margins, their mean and variance, and each tree's deviation."""
    out = model.out_of_bag(x, y, weight)
    outside = np.zeros((len(x), model.forest_.n_trees), dtype=bool)
    for t in range(model.forest_.n_trees):
        outside[out.rows(t), t] = True
    predicted = np.array([tree.predict(x) for tree in model.estimators_]).T
    margins, others = np.full(len(x), np.nan), np.zeros(len(x), dtype=int)
    for r in range(len(x)):
        shares = [np.mean(predicted[r, outside[r]] == k) if outside[r].any() else np.nan for k in range(3)]
        others[r] = max((k for k in range(3) if k != y[r]), key=lambda k: (shares[k], -k))
        margins[r] = shares[y[r]] - shares[others[r]]
    seen = outside.any(axis=1)
    mean = np.average(margins[seen], weights=weight[seen])
    variance = np.average((margins[seen] - mean) ** 2, weights=weight[seen])
    deviations = []
    for t in range(model.forest_.n_trees):
        raw = (predicted[:, t] == y).astype(float) - (predicted[:, t] == others)
        out_of_bag = outside[:, t]
        center = np.average(raw[out_of_bag], weights=weight[out_of_bag])
        deviations.append(math.sqrt(np.average((raw[out_of_bag] - center) ** 2, weights=weight[out_of_bag])))
    return margins, mean, variance, np.array(deviations)


@pytest.mark.filterwarnings("ignore:.*in the bag of every tree")
@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("weight", [np.ones(len(X)), WEIGHT])
@pytest.mark.parametrize("leaf", [1, 6])
def test_every_vote_is_counted(engine, weight, leaf):
    model = weald.RandomForestClassifier(20, random_state=1, min_samples_leaf=leaf, max_samples=60, engine=engine)
    found = weald.strength(model.fit(X, Y, weight), X, Y, weight)
    margins, mean, variance, deviations = count_by_hand(model, X, Y, weight)
    np.testing.assert_allclose(found.margins, margins, atol=1e-12)
    np.testing.assert_allclose(found.deviations, deviations, atol=1e-12)
    assert found.strength == pytest.approx(mean)
    assert found.correlation == pytest.approx(variance / deviations.mean() ** 2)
    assert found.bound == pytest.approx(found.correlation * (1 - mean**2) / mean**2)


def test_the_bound_holds():
    model = weald.RandomForestClassifier(100, random_state=0, voting="hard", oob_score=True).fit(X, Y)
    found = weald.strength(model, X, Y)
    assert found.error == pytest.approx(model.oob_error_)
    assert model.oob_error_ <= found.bound
    assert repr(found).startswith("<strength 0.")


def test_more_features_make_stronger_trees_that_are_more_alike():
    few, all_of_them = (
        weald.strength(weald.RandomForestClassifier(200, max_features=m, random_state=0).fit(X, Y), X, Y)
        for m in (1, 3)
    )
    assert all_of_them.correlation > few.correlation
    assert all_of_them.strength > few.strength


def test_trees_no_better_than_a_guess_give_no_bound():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    found = weald.strength(weald.RandomForestClassifier(50, random_state=0).fit(x, y), x, y)
    assert found.strength <= 0 or found.bound > 1
    assert np.isinf(found.bound) == (found.strength <= 0)


def test_rows_of_zero_weight_keep_their_place():
    weight = np.ones(len(X))
    weight[3] = 0
    found = weald.strength(weald.RandomForestClassifier(40, random_state=0).fit(X, Y, weight), X, Y, weight)
    assert np.flatnonzero(np.isnan(found.margins)).tolist() == [3]


def test_numbers_have_no_margins():
    with pytest.raises(ParameterError, match="got a RandomForestRegressor"):
        weald.strength(weald.RandomForestRegressor(5).fit(X, Y), X, Y)
