"""Laws of survival trees: residuals, log-rank statistics, weights, order, engines."""

import itertools
import math

import numpy as np
import pytest

import weald
from weald.engines.reference import survival as definition
from weald.engines.reference.definition import Growth

EXPONENT = 40
MODELS = (weald.SurvivalTree, weald.RandomSurvivalForest, weald.ExtraSurvivalTrees)


def make_rows(n, seed, *, ties=True):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    time = rng.exponential(np.exp(-np.nan_to_num(X[:, 0])))
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.6, np.round(time, 1) if ties else time
    return X, y


def numbers_of(y):
    return (2 * np.unique(y["time"], return_inverse=True)[1] + y["event"]).tolist()


def residuals_of(y, weights):
    """The residuals of the definition, as floats."""
    numbers = numbers_of(y)
    hazard = definition.hazard_of(numbers, weights, EXPONENT)
    return np.array([number % 2 - math.ldexp(hazard.up_to(number // 2), -EXPONENT) for number in numbers])


def observed_less_expected(y, weights, left):
    """Events of one side, less those expected if both sides had the same hazard, time by time."""
    found = 0.0
    for time in np.unique(y["time"][y["event"]]):
        at_risk, dies = y["time"] >= time, (y["time"] == time) & y["event"]
        share = weights[at_risk & left].sum() / weights[at_risk].sum()
        found += weights[dies & left].sum() - weights[dies].sum() * share
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_sum_of_residuals_of_a_side_is_observed_less_expected(seed):
    rng = np.random.default_rng(seed)
    _, y = make_rows(60, seed)
    weights, left = rng.integers(1, 5, 60), rng.random(60) < 0.4
    residuals = residuals_of(y, weights.tolist())
    np.testing.assert_allclose(
        np.dot(weights[left], residuals[left]), observed_less_expected(y, weights, left), atol=1e-9
    )
    assert abs(np.dot(weights, residuals)) < 1e-9


def test_observed_less_expected_is_that_of_scikit_survival():
    compare = pytest.importorskip("sksurv.compare", reason="scikit-survival is not installed")
    for seed in range(5):
        _, y = make_rows(80, seed)
        left = np.random.default_rng(seed).random(80) < 0.4
        _, _, stats, _ = compare.compare_survival(y, left, return_stats=True)
        theirs = stats.loc[True, "observed"] - stats.loc[True, "expected"]
        np.testing.assert_allclose(residuals_of(y, [1] * 80)[left].sum(), theirs, atol=1e-9)


def test_the_statistic_has_the_variance_of_all_permutations():
    """The gain in squared error is the square of O - E over its variance among all subsets of that size, scaled."""
    _, y = make_rows(9, 3)
    residuals = residuals_of(y, [1] * 9)
    about_mean = residuals - residuals.mean()
    for n_left in (1, 3, 4):
        sums = [residuals[list(rows)].sum() for rows in itertools.combinations(range(9), n_left)]
        for s in sums[::7]:
            gain = s * s / n_left + (residuals.sum() - s) ** 2 / (9 - n_left) - residuals.sum() ** 2 / 9
            statistic = (s - np.mean(sums)) ** 2 / np.var(sums)
            np.testing.assert_allclose(statistic, gain * 8 / (about_mean @ about_mean), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_root_has_the_largest_statistic_of_all_cuts(seed):
    X, y = make_rows(70, seed)
    X = np.nan_to_num(X)
    tree = weald.SurvivalTree(max_depth=1, min_samples_leaf=5, random_state=0).fit(X, y)
    best = 0.0
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            left = column <= threshold
            if min(left.sum(), (~left).sum()) >= 5:
                best = max(best, observed_less_expected(y, np.ones(70), left) ** 2 * 70 / left.sum() / (~left).sum())
    found = X[:, tree.tree_.feature[0]] <= tree.tree_.threshold[0]
    chosen = observed_less_expected(y, np.ones(70), found) ** 2 * 70 / found.sum() / (~found).sum()
    np.testing.assert_allclose(chosen, best, rtol=1e-9)
    np.testing.assert_allclose(math.ldexp(tree.forest_.decrease[0], -2 * tree.forest_.target_exponent), best / 70)


WEIGHTS = {
    "none": lambda _rng, _n: None,
    "whole": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "fractions": lambda rng, n: rng.random(n),
}
GROWTH = {
    "plain": {},
    "to purity": {"min_samples_split": 2, "min_samples_leaf": 1},
    "best first": {"max_leaf_nodes": 9},
    "all features": {"max_features": None, "min_weight_fraction_leaf": 0.05},
    "sizes": {"min_samples_split": 0.2, "max_depth": 4, "min_impurity_decrease": 0.01},
    "constraints": {"interaction_cst": "pairwise", "feature_weights": [1, 2, 0, 3], "max_features": 2},
    "few bins": {"max_bins": 5},
}


@pytest.mark.sanitize
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("model", MODELS)
def test_engines_agree(model, growth, weights):
    X, y = make_rows(90, len(growth))
    weight = WEIGHTS[weights](np.random.default_rng(1), 90)
    n_trees = {} if model is weald.SurvivalTree else {"n_estimators": 2}
    made = [model(**n_trees, random_state=3, engine=engine, **GROWTH[growth]) for engine in ("native", "reference")]
    native, reference = (each.fit(X, y, weight) for each in made)
    assert native.forest_.fingerprint() == reference.forest_.fingerprint()
    for predict in ("predict_survival_function", "predict_cumulative_hazard_function"):
        assert np.array_equal(getattr(native, predict)(X, True), getattr(reference, predict)(X, True))
    assert np.array_equal(native.predict(X), reference.predict(X))


@pytest.mark.sanitize
@pytest.mark.parametrize("model", MODELS)
def test_engines_agree_on_categories(model):
    rng = np.random.default_rng(5)
    X, y = make_rows(120, 5)
    X[:, 1], X[:, 2] = rng.integers(0, 5, 120), rng.integers(0, 14, 120)
    how = {"categorical_features": [1, 2], "category_penalty": 0 if model is weald.ExtraSurvivalTrees else 1.5}
    for growth in ({}, {"max_leaf_nodes": 12}):
        made = [model(random_state=3, engine=engine, **how, **growth) for engine in ("native", "reference")]
        for each in made:
            if model is not weald.SurvivalTree:
                each.set_params(n_estimators=3)
            each.fit(X, y)
        assert made[0].forest_.fingerprint() == made[1].forest_.fingerprint()


def test_engines_agree_on_many_rows_of_few_times_and_of_many():
    for n_digits in (0, 6):
        X, y = make_rows(1500, 8)
        y["time"] = np.round(np.random.default_rng(0).exponential(np.exp(-np.nan_to_num(X[:, 0])) * 5), n_digits)
        made = [
            weald.RandomSurvivalForest(1, max_depth=6, random_state=3, engine=engine).fit(X, y)
            for engine in ("native", "reference")
        ]
        assert made[0].forest_.fingerprint() == made[1].forest_.fingerprint()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("model", MODELS)
def test_a_weight_of_k_is_the_row_k_times(model, engine):
    X, y = make_rows(60, 2)
    weight = np.random.default_rng(2).integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    how = {"random_state": 0, "engine": engine} | ({} if model is weald.SurvivalTree else {"n_estimators": 3})
    once, copies = model(**how).fit(X, y, weight.astype(float)), model(**how).fit(X[rows], y[rows])
    assert once.forest_.fingerprint() == copies.forest_.fingerprint()
    assert np.array_equal(once.predict_survival_function(X, True), copies.predict_survival_function(X, True))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_the_order_of_rows_does_not_matter(model, n_jobs):
    X, y = make_rows(200, 4)
    order = np.random.default_rng(4).permutation(200)
    how = {"random_state": 0} | ({} if model is weald.SurvivalTree else {"n_estimators": 5})
    one, other = model(**how).fit(X, y), model(n_jobs=n_jobs, **how).fit(X[order], y[order])
    assert one.forest_.fingerprint() == other.forest_.fingerprint()
    assert np.array_equal(one.predict_survival_function(X, True), other.predict_survival_function(X, True))


def test_only_the_order_of_times_matters_to_the_trees():
    X, y = make_rows(100, 6)
    stretched = y.copy()
    stretched["time"] = np.exp(y["time"])
    one, other = (weald.RandomSurvivalForest(3, random_state=0).fit(X, target) for target in (y, stretched))
    assert one.forest_.fingerprint() == other.forest_.fingerprint()


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("model", MODELS)
def test_the_risk_is_the_sum_of_the_cumulative_hazard_over_event_times(model, weights):
    X, y = make_rows(120, 7)
    fitted = model(random_state=0).fit(X, y, WEIGHTS[weights](np.random.default_rng(1), 120))
    hazards = fitted.predict_cumulative_hazard_function(X)
    sums = [hazard(fitted.event_times_).sum() for hazard in hazards]
    np.testing.assert_allclose(fitted.predict(X), sums, rtol=1e-7)


def test_exponents_leave_room_for_the_largest_hazard():
    for n_draws in (1, 2, 7, 100, 10**6, 2**31 - 1):
        growth = Growth("log_rank", 1, 9, 2, 1, 0.0, 0.0, 0, bootstrap=True, n_draws=n_draws, class_weight="none")
        exponent = definition.exponent_of(None, growth)
        largest = (1 + math.log(n_draws)) * 2**exponent + min(n_draws, 2 ** (exponent + 1)) / 2
        assert largest * n_draws < 2**61
