"""Concordance and Brier scores, against brute force and other packages."""

import numpy as np
import pytest

from tests.estimators.survival.test_models import make_rows
from weald import DataError, RandomSurvivalForest
from weald.data.survival import Survival
from weald.estimators.survival.scores import CensoringDistribution, brier_score, concordance_index, integrate


def concordance_by_pairs(time, event, risk, weight):
    right = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        pairs += weight[i] * weight[later].sum()
        right += weight[i] * (weight * ((risk < risk[i]) + 0.5 * (risk == risk[i])))[later].sum()
    return right / pairs


@pytest.mark.parametrize("n", [2, 3, 17, 64, 200])
@pytest.mark.parametrize("n_values", [2, 10, 1000])
def test_concordance_is_that_of_all_pairs(n, n_values):
    rng = np.random.default_rng(n)
    time, risk = rng.integers(0, n_values, n).astype(float), rng.integers(0, n_values, n).astype(float)
    event, weight = rng.random(n) < 0.6, rng.integers(1, 4, n).astype(float)
    event[np.argmin(time)], time[np.argmax(time)] = True, n_values
    for weights in (np.ones(n), weight):
        found = concordance_index(Survival(time, event), risk, weights)
        np.testing.assert_allclose(found, concordance_by_pairs(time, event, risk, weights))


def test_concordance_is_nan_without_comparable_pairs():
    survival = Survival(np.array([1.0, 2.0]), np.array([False, True]))
    assert np.isnan(concordance_index(survival, np.array([1.0, 2.0])))


def test_a_weight_of_k_is_the_row_k_times_in_every_score():
    X, y = make_rows()
    weight = np.random.default_rng(0).integers(1, 4, 150)
    rows = np.repeat(np.arange(150), weight)
    forest = RandomSurvivalForest(10, random_state=0).fit(X, y)
    np.testing.assert_allclose(forest.score(X, y, weight), forest.score(X[rows], y[rows]))
    times = [0.3, 0.8, 1.5]
    np.testing.assert_allclose(forest.brier_score(X, y, times, weight), forest.brier_score(X[rows], y[rows], times))


def test_the_brier_score_without_censoring_is_the_mean_squared_error():
    X, y = make_rows()
    y["event"] = True
    forest = RandomSurvivalForest(10, random_state=0).fit(X, y)
    for time, score in zip((0.3, 1.0), forest.brier_score(X, y, [0.3, 1.0]), strict=True):
        survival = np.array([function(time) for function in forest.predict_survival_function(X)])
        np.testing.assert_allclose(score, np.mean(((y["time"] > time) - survival) ** 2))
    np.testing.assert_allclose(
        forest.integrated_brier_score(X, y, [0.3, 1.0]), forest.brier_score(X, y, [0.3, 1.0]).mean()
    )


@pytest.mark.parametrize("times", [[], [1.0, 1.0], [2.0, 1.0], [np.nan], ["a"], [[1.0]], [1e9]])
def test_bad_times_are_refused(times):
    X, y = make_rows()
    y["event"][np.argmax(y["time"])] = False
    forest = RandomSurvivalForest(2, random_state=0).fit(X, y)
    with pytest.raises(DataError, match=r"times|time 1e\+09"):
        forest.brier_score(X, y, times)
    with pytest.raises(DataError, match="two times"):
        integrate(np.array([1.0]), np.array([0.1]))


def test_scores_are_those_of_scikit_survival():
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    X, y = make_rows(300)
    forest = RandomSurvivalForest(20, random_state=0).fit(X[:200], y[:200])
    risk, times = forest.predict(X[200:]), np.linspace(0.2, 1.5, 9)
    theirs = metrics.concordance_index_censored(y["event"][200:], y["time"][200:], risk)[0]
    np.testing.assert_allclose(forest.score(X[200:], y[200:]), theirs)
    survival = np.vstack([function(times) for function in forest.predict_survival_function(X[200:])])
    _, theirs = metrics.brier_score(y[200:], y[200:], survival, times)
    np.testing.assert_allclose(forest.brier_score(X[200:], y[200:], times), theirs)


def test_concordance_is_that_of_lifelines():
    utils = pytest.importorskip("lifelines.utils", reason="lifelines is not installed")
    X, y = make_rows()
    risk = RandomSurvivalForest(5, random_state=0).fit(X, y).predict(X)
    ours = concordance_index(Survival(y["time"], y["event"]), risk)
    np.testing.assert_allclose(ours, utils.concordance_index(y["time"], -risk, y["event"]))


def test_the_censoring_distribution_puts_events_before_censored_rows():
    survival = Survival(np.array([1.0, 1.0, 2.0, 3.0]), np.array([True, False, False, True]))
    found = CensoringDistribution.of(survival)
    np.testing.assert_allclose(found.at([0.5, 1.0, 2.0, 9.0]), [1, 2 / 3, 1 / 3, 1 / 3])
    score = brier_score(survival, np.full((4, 1), 0.5), np.array([1.5]), found)
    np.testing.assert_allclose(score, [(0.25 / (2 / 3) + 2 * 0.25 / (2 / 3)) / 4])
