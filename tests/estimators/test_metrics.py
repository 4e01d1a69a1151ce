"""Metrics agree with scikit-learn's, and with counting by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, f1_score, roc_curve

from weald.errors import ParameterError
from weald.estimators import metrics

RNG = np.random.default_rng(0)
PREDICTED = RNG.integers(0, 21, 400) / 20
OBSERVED = RNG.random(400) < PREDICTED**1.5
WEIGHT = RNG.integers(1, 4, 400).astype(float)


@pytest.mark.parametrize("n_wrong", [0, 7, 40, 80])
def test_wilsons_interval_is_that_of_scipy(n_wrong):
    expected = binomtest(n_wrong, 80).proportion_ci(0.95, method="wilson")
    found = metrics.wilson(n_wrong / 80, 80, 1.959963984540054)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_shares_are_held_against_what_came_true():
    found = metrics.calibrate(PREDICTED, OBSERVED, np.ones(400), 8)
    true, predicted = calibration_curve(OBSERVED, PREDICTED, n_bins=8)
    np.testing.assert_allclose(found.observed, true)
    np.testing.assert_allclose(found.predicted, predicted)
    assert found.brier == pytest.approx(brier_score_loss(OBSERVED, PREDICTED))
    assert found.weight.sum() == 400


def test_a_weight_is_the_row_so_many_times():
    copies = np.repeat(np.arange(400), WEIGHT.astype(int))
    ones = np.ones(len(copies))
    weighted, copied = (
        metrics.calibrate(PREDICTED, OBSERVED, WEIGHT, 5),
        metrics.calibrate(PREDICTED[copies], OBSERVED[copies], ones, 5),
    )
    np.testing.assert_allclose(weighted.observed, copied.observed)
    assert weighted.brier == pytest.approx(copied.brier)
    for by in metrics.RULES:
        weighted = metrics.choose_threshold(PREDICTED, OBSERVED, WEIGHT, by, (1, 2))
        copied = metrics.choose_threshold(PREDICTED[copies], OBSERVED[copies], ones, by, (1, 2))
        np.testing.assert_allclose(weighted.scores, copied.scores)


def test_the_threshold_of_the_best_f1_is_found_by_trying_all():
    found = metrics.choose_threshold(PREDICTED, OBSERVED, np.ones(400), "f1", (1, 1))
    tried = [f1_score(OBSERVED, value <= PREDICTED) for value in found.values]
    np.testing.assert_allclose(found.scores, tried)
    assert found.score == max(tried)
    assert f1_score(OBSERVED, found.value <= PREDICTED) == found.score


def test_youdens_threshold_is_the_highest_point_of_the_roc_curve():
    found = metrics.choose_threshold(PREDICTED, OBSERVED, np.ones(400), "youden", (1, 1))
    false_alarms, hits, _ = roc_curve(OBSERVED, PREDICTED, drop_intermediate=False)
    assert found.score == pytest.approx((hits - false_alarms).max())


def test_a_miss_that_costs_more_lowers_the_threshold():
    cheap, dear = (metrics.choose_threshold(PREDICTED, OBSERVED, np.ones(400), "cost", (1, miss)) for miss in (1, 9))
    assert dear.value < cheap.value
    called = dear.value <= PREDICTED
    assert dear.score == pytest.approx(((called & ~OBSERVED).sum() + 9 * (~called & OBSERVED).sum()) / 400)


def test_of_equal_thresholds_the_one_nearest_to_a_half_is_taken():
    found = metrics.choose_threshold(
        np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True]), np.ones(4), "f1", (1, 1)
    )
    assert (found.value, found.score) == (0.5, 1.0)


def test_margins_are_the_true_share_less_the_best_other():
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [np.nan] * 3])
    np.testing.assert_allclose(metrics.margins(shares, np.array([0, 1, 0])), [0.2, -0.5, np.nan])


def test_what_is_not_known_is_refused():
    with pytest.raises(ParameterError, match="by='best' is not allowed"):
        metrics.choose_threshold(PREDICTED, OBSERVED, WEIGHT, "best", (1, 1))
    with pytest.raises(ParameterError, match="get_scorer_names"):
        metrics.call_scorer("goodness", None, PREDICTED, PREDICTED, None)
