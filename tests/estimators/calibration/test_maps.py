"""Calibration maps are those of their definitions, and of the packages that have them."""

import math

import numpy as np
import pytest
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from weald.estimators.calibration.arithmetic import exp, ln, log_one_plus_exp
from weald.estimators.calibration.calibrator import METHODS, Calibrator
from weald.estimators.calibration.isotonic import Isotonic
from weald.estimators.calibration.logistic import Beta, Sigmoid
from weald.estimators.calibration.outcomes import count
from weald.estimators.calibration.venn_abers import VennAbers

NEW = np.concatenate([np.arange(101) / 100, np.random.default_rng(9).random(50)])
# Number of rows, and of distinct scores (None: all differ).
SIZES = [(300, None), (400, 20), (200, 50), (8, 3), (2, None), (30, 1)]


def make(size, seed=0):
    """Scores, classes and whole weights of rows."""
    rng = np.random.default_rng(seed)
    n, n_scores = size
    score = rng.random(n)
    score = np.round(score * n_scores) / n_scores if n_scores else score
    is_hit = rng.random(n) < score**2
    is_hit[0], is_hit[-1] = True, False
    return score, is_hit, rng.integers(1, 4, n).astype(np.float64)


def test_exp_and_ln_are_right_to_the_last_digits():
    x = np.random.default_rng(0).uniform(-700, 700, 3000)
    right = np.array([math.exp(v) for v in x])
    assert np.max(np.abs(exp(x) - right) / np.spacing(right)) <= 2
    y = np.concatenate([np.exp(x / 20), 1 + x / 1e6, [2.0**-52, 1 - 2.0**-52]])
    right = np.array([math.log(v) for v in y])
    assert np.max(np.abs(ln(y) - right) / np.spacing(np.abs(right))) <= 4
    np.testing.assert_allclose(log_one_plus_exp(x), np.logaddexp(0, x), rtol=1e-15, atol=1e-15)


def test_exp_stays_finite():
    found = exp(np.array([-1e308, -708.0, 0.0, 708.0, 1e308]))
    assert np.isfinite(found).all()
    assert (found > 0).all()


@pytest.mark.parametrize("size", SIZES)
def test_isotonic_is_that_of_scikit_learn(size):
    score, is_hit, weight = make(size)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(score, is_hit, sample_weight=weight)
    mine = Isotonic.fit(count(score, is_hit, weight))
    np.testing.assert_array_equal(mine.threshold, theirs.X_thresholds_)
    np.testing.assert_allclose(mine(NEW), theirs.predict(NEW), atol=1e-15)


@pytest.mark.parametrize("size", SIZES[:4])
def test_sigmoid_is_that_of_scikit_learn(size):
    score, is_hit, weight = make(size)
    theirs = _SigmoidCalibration().fit(score, is_hit, sample_weight=weight)
    mine = Sigmoid.fit(count(score, is_hit, weight))
    np.testing.assert_allclose(mine(NEW), theirs.predict(NEW), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", SIZES[:3])
def test_beta_is_a_logistic_regression_on_the_logarithms(size, seed):
    score, is_hit, weight = make(size, seed)
    eps = np.finfo(float).eps

    def columns(s):
        inside = np.clip(s, eps, 1 - eps)
        return np.column_stack([np.log(inside), -np.log(1 - inside)])

    theirs = LogisticRegression(C=99999999999, tol=1e-12, solver="newton-cholesky", max_iter=1000)
    theirs.fit(columns(score), is_hit, weight)
    assert (theirs.coef_ > 0).all()
    mine = Beta.fit(count(score, is_hit, weight))
    np.testing.assert_allclose(mine.coefficients, [*theirs.coef_[0], theirs.intercept_[0]], rtol=1e-6)
    np.testing.assert_allclose(mine(NEW), theirs.predict_proba(columns(NEW))[:, 1], atol=1e-7)


def test_beta_is_that_of_its_authors():
    betacal = pytest.importorskip("betacal", reason="the package betacal is not installed")
    for size in SIZES[:3]:
        score, is_hit, weight = make(size)
        theirs = betacal.BetaCalibration().fit(score, is_hit, weight)  # its solver stops early
        np.testing.assert_allclose(Beta.fit(count(score, is_hit, weight))(NEW), theirs.predict(NEW), atol=1e-3)


def test_beta_leaves_out_what_would_let_it_fall():
    score = np.linspace(0.01, 0.99, 99)
    is_hit = np.arange(99) % 5 < 2 + (score < 0.3)  # the class is more frequent at low scores
    found = Beta.fit(count(score, is_hit, np.ones(99)))
    a, b, _ = found.coefficients
    assert a >= 0
    assert b >= 0
    assert (np.diff(found(NEW[:101])) >= 0).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", SIZES)
def test_venn_abers_is_two_isotonic_regressions_of_one_more_row(size, seed):
    score, is_hit, weight = make(size, seed)
    found = VennAbers.fit(count(score, is_hit, weight))
    low, high = found.bounds(NEW[::7])
    for k, s in enumerate(NEW[::7]):
        expected = [
            IsotonicRegression()
            .fit(np.append(score, s), np.append(is_hit, label), sample_weight=np.append(weight, 1.0))
            .predict([s])[0]
            for label in (0, 1)
        ]
        np.testing.assert_allclose([low[k], high[k]], expected, atol=1e-14)
    np.testing.assert_array_equal(found(NEW[::7]), high / ((1 - low) + high))


def test_venn_abers_is_that_of_the_package():
    package = pytest.importorskip("venn_abers", reason="the package venn-abers is not installed")
    for size in SIZES[:3]:
        score, is_hit, weight = make(size)
        theirs = package.VennAbers()
        theirs.fit(np.column_stack([1 - score, score]), is_hit.astype(int))
        predicted, bounds = theirs.predict_proba(np.column_stack([1 - NEW, NEW]))
        mine = VennAbers.fit(count(score, is_hit, np.ones_like(weight)))
        np.testing.assert_allclose(mine(NEW), predicted[:, 1], atol=1e-14)
        np.testing.assert_allclose(np.column_stack(mine.bounds(NEW)), bounds, atol=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
class TestCalibrator:
    """Properties of every method."""

    def data(self, n_classes, n=200):
        rng = np.random.default_rng(4)
        probabilities = np.round(rng.dirichlet(np.ones(n_classes), n), 2)
        probabilities[:, -1] = 1 - probabilities[:, :-1].sum(axis=1)
        probabilities = np.clip(probabilities, 0, 1)
        truth = np.array([rng.choice(n_classes, p=p / p.sum()) for p in probabilities**2])
        return probabilities, truth, rng.integers(1, 4, n).astype(np.float64)

    def test_probabilities_are_probabilities(self, method, n_classes):
        probabilities, truth, weight = self.data(n_classes)
        found = Calibrator.fit(method, probabilities, truth, weight)(probabilities)
        assert ((found >= 0) & (found <= 1)).all()
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-15)

    def test_a_row_of_weight_k_is_k_rows_in_any_order(self, method, n_classes):
        probabilities, truth, weight = self.data(n_classes)
        copies = np.random.default_rng(0).permutation(np.repeat(np.arange(len(truth)), weight.astype(int)))
        one = Calibrator.fit(method, probabilities, truth, weight)
        two = Calibrator.fit(method, probabilities[copies], truth[copies], np.ones(len(copies)))
        np.testing.assert_array_equal(one(probabilities), two(probabilities))

    def test_weights_that_are_not_whole_have_no_unit(self, method, n_classes):
        probabilities, truth, weight = self.data(n_classes)
        weight = weight * 0.37
        order = np.random.default_rng(0).permutation(len(truth))
        one = Calibrator.fit(method, probabilities, truth, weight)(probabilities)
        two = Calibrator.fit(method, probabilities[order], truth[order], weight[order] * 4)(probabilities)
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, Calibrator.fit(method, probabilities, truth, np.ones(len(truth)))(probabilities))

    def test_a_class_without_rows_is_improbable(self, method, n_classes):
        probabilities, _, weight = self.data(n_classes)
        truth = np.zeros(len(probabilities), dtype=np.int64)
        found = Calibrator.fit(method, probabilities, truth, weight)(probabilities)
        assert np.isfinite(found).all()
        assert found[:, 0].mean() > 0.9


def test_one_against_the_rest_is_normalized():
    probabilities, truth, weight = TestCalibrator().data(3)
    maps = [
        IsotonicRegression(out_of_bounds="clip").fit(probabilities[:, k], truth == k, sample_weight=weight)
        for k in range(3)
    ]
    single = np.column_stack([of_class.predict(probabilities[:, k]) for k, of_class in enumerate(maps)])
    total = single.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, single / np.where(total > 0, total, 1), 1 / 3)
    found = Calibrator.fit("isotonic", probabilities, truth, weight)(probabilities)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_one_class_needs_no_calibration():
    found = Calibrator.fit("beta", np.ones((5, 1)), np.zeros(5, dtype=np.int64), np.ones(5))
    assert found(np.ones((2, 1))).tolist() == [[1.0], [1.0]]
    assert repr(found) == "<beta calibration, 0 maps>"


@pytest.mark.parametrize("map_of", [Sigmoid, Beta])
def test_classes_that_a_threshold_separates_end(map_of):
    score = np.linspace(0, 1, 40)
    found = map_of.fit(count(score, score > 0.5, np.ones(40)))
    assert np.isfinite(found.coefficients).all()
    low, high = found(np.array([0.1, 0.9]))
    assert low < 0.1
    assert high > 0.9


def test_the_sigmoid_of_separate_classes_is_platts():
    score = np.repeat([0.0, 1.0], 20)
    found = Sigmoid.fit(count(score, score > 0.5, np.ones(40)))(np.array([0.0, 1.0]))
    np.testing.assert_allclose(found, [1 / 22, 21 / 22])
    a, b = Sigmoid.fit(count(score, score > 0.5, np.ones(40))).coefficients
    np.testing.assert_allclose(expit(-(a * score + b)), np.repeat(found, 20))
