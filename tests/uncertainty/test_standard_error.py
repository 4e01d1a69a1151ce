"""Standard errors of predictions are those of the formulas, and of the package forestci."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import weald
from weald import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from weald.errors import DataError, ParameterError
from weald.uncertainty import standard_error

# Few trees are fast, and some variances are negative.
pytestmark = pytest.mark.filterwarnings("ignore:.*variances were estimated to be negative")

RNG = np.random.default_rng(2)
N = 60
NUMBERS = RNG.normal(size=(N, 3)).round(2)
TARGET = NUMBERS[:, 0] + 0.5 * RNG.normal(size=N)
THREE = np.digitize(TARGET, [-0.5, 0.5])
FRAME = pd.DataFrame(np.where(RNG.random((N, 3)) < 0.1, np.nan, NUMBERS), columns=list("abc"))
FRAME = FRAME.assign(color=RNG.choice(["red", "green"], N))
WEIGHTS = RNG.integers(1, 4, N)
METHODS = standard_error.METHODS

CASES = {
    "few trees": (RandomForestRegressor(40), NUMBERS, TARGET, {}),
    "many trees": (RandomForestRegressor(150), NUMBERS, TARGET, {}),
    "two classes": (RandomForestClassifier(40), NUMBERS, THREE > 0, {}),
    "three classes": (RandomForestClassifier(80), NUMBERS, THREE, {}),
    "hard votes": (RandomForestClassifier(40, voting="hard", max_depth=2), NUMBERS, THREE, {}),
    "missing and categories": (RandomForestRegressor(40), FRAME, TARGET, {}),
    "few draws": (RandomForestRegressor(40, max_samples=0.5), NUMBERS, TARGET, {}),
    "weights": (RandomForestRegressor(80), NUMBERS, TARGET, {"sample_weight": WEIGHTS}),
    "weights, few trees": (RandomForestRegressor(30), NUMBERS, TARGET, {"sample_weight": WEIGHTS}),
    "weights not whole": (RandomForestRegressor(40), NUMBERS, TARGET, {"sample_weight": WEIGHTS / 7}),
    "groups": (RandomForestRegressor(40), NUMBERS, TARGET, {"groups": np.arange(N) // 2}),
    "strata": (RandomForestRegressor(80), NUMBERS, TARGET, {"stratify": np.arange(N) % 3}),
    "balanced": (RandomForestClassifier(80, bootstrap="balanced"), NUMBERS, THREE, {}),
    "shrinkage": (RandomForestRegressor(40, shrinkage=10.0), NUMBERS, TARGET, {}),
    "extra trees": (ExtraTreesRegressor(40, bootstrap=True), NUMBERS, TARGET, {}),
}
WEIGHTED = [case for case in CASES if "weights" in case]


def fit(case, **given):
    model, X, y, others = CASES[case]
    return clone(model).set_params(random_state=1, **given).fit(X, y, **others), X, y, others


def predictions_of_trees(model, X):
    """Predictions of each tree (trees x rows x classes, or 1)."""
    parts = [model[t : t + 1] for t in range(len(model))]
    each = [part.predict_votes(X) for part in parts]
    return np.array(each).reshape(len(model), len(X), -1)


def by_the_formula(model, X, y, others, method):
    t = predictions_of_trees(model, X)
    bags = model.bags(X, y, **others).astype(float)
    away = t - t.mean(axis=0)
    stratum = others.get("stratify", y if model.bootstrap == "balanced" else np.zeros(N))
    weight = np.ones(N)
    if "groups" in others:
        first = np.unique(others["groups"], return_index=True)[1]
        bags, stratum, weight = bags[:, first], stratum[first], weight[first]
    given = np.asarray(others.get("sample_weight", weight))
    weight = given if (given % 1 == 0).all() else weight
    n_trees = len(bags)
    if method == "jackknife":
        out = bags == 0
        n = np.array([(stratum == s).sum() for s in stratum])
        factor = (n - 1) / n
        shift = np.array([away[without].mean(axis=0) for without in out.T])
        raw = np.einsum("i,irk->rk", factor, shift**2)
        noise = np.sum(factor * (1 / out.sum(axis=0) - 1 / n_trees))
    else:
        covariance = np.einsum("bi,brk->irk", bags - bags.mean(axis=0), away) / n_trees
        raw = np.einsum("i,irk->rk", 1 / weight, covariance**2)
        noise = np.sum(bags.var(axis=0) / weight) / n_trees
    variance = raw - noise * (away**2).mean(axis=0)
    with np.errstate(invalid="ignore"):
        found = np.sqrt(variance)
    return found if hasattr(model, "classes_") else found[:, 0]


def close(found, expected, atol=1e-7):
    """Compare standard errors; a variance of 0 may be negative by rounding."""
    np.testing.assert_allclose(np.nan_to_num(found), np.nan_to_num(expected), rtol=1e-9, atol=atol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_standard_errors_are_those_of_the_formula(case, method):
    if method == "jackknife" and case in WEIGHTED:
        pytest.skip("the jackknife has no weights")
    model, X, y, others = fit(case)
    if (model.bags(X, y, **others) > 0).all(axis=0).any() and method == "jackknife":
        pytest.fail("choose more trees: a row is in every bag")
    found = model.predict_standard_error(X, X, y, **others, method=method)
    close(found, by_the_formula(model, X, y, others, method))
    assert np.nanmax(found) > 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ["few trees", "many trees", "three classes", "balanced"])
def test_engines_threads_and_orders_of_rows_give_the_same_bits(case, method):
    model, X, y, others = fit(case)
    found = model.predict_standard_error(X[:9], X, y, **others, method=method)
    order = RNG.permutation(N)
    np.testing.assert_array_equal(
        model.set_params(n_jobs=3).predict_standard_error(X[:9], X[order], y[order], method=method), found
    )
    model.set_params(engine="reference")
    np.testing.assert_array_equal(model.predict_standard_error(X[:9], X, y, method=method), found)


@pytest.mark.parametrize("case", ["few trees", "many trees", "groups"])
def test_blocks_do_not_change_the_bits(case, monkeypatch):
    model, X, y, others = fit(case)
    found = model.predict_standard_error(X, X, y, **others)
    monkeypatch.setattr(standard_error, "BLOCK_BYTES", 8 * 40 * 7)
    monkeypatch.setattr(standard_error, "BATCH_BYTES", 8 * N * 11)
    monkeypatch.setattr(standard_error, "CACHE_BYTES", 8 * 3 * N)
    np.testing.assert_array_equal(model.predict_standard_error(X, X, y, **others), found)


@pytest.mark.parametrize("n_trees", [30, 200])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_it_is_the_infinitesimal_jackknife_of_forestci(n_classes, n_trees):
    theirs = pytest.importorskip("forestci.forestci", reason="the package forestci is not installed")
    y = {0: TARGET, 2: THREE > 0, 3: THREE}[n_classes]
    kind = RandomForestClassifier if n_classes else RandomForestRegressor
    model = kind(n_trees, random_state=0).fit(NUMBERS, y)
    inbag = model.bags(NUMBERS, y).T.astype(float)
    votes = predictions_of_trees(model, NUMBERS)
    expected = []
    for k in range(votes.shape[2]):
        centered = (votes[:, :, k] - votes[:, :, k].mean(axis=0)).T
        variance = theirs._core_computation(NUMBERS.shape, NUMBERS, inbag, centered, n_trees)
        variance = theirs._bias_correction(variance, inbag, centered, n_trees)
        with np.errstate(invalid="ignore"):
            expected.append(np.sqrt(variance))
    found = model.predict_standard_error(NUMBERS, NUMBERS, y)
    close(found, np.array(expected).T if n_classes else expected[0])


@pytest.mark.slow
def test_they_tell_how_much_a_prediction_varies():
    """The spread over many training tables is about what is estimated from one of them."""
    rng = np.random.default_rng(0)
    new = np.array([[0.5, 0.5], [0.7, 0.3]])
    means, estimates = [], []
    for seed in range(60):
        X = rng.random((80, 2))
        y = np.sin(3 * X[:, 0]) + rng.normal(size=80)
        forest = RandomForestRegressor(400, min_samples_leaf=5, random_state=seed).fit(X, y)
        means.append(forest.predict(new))
        estimates.append(forest.predict_standard_error(new, X, y, method="jackknife"))
    np.testing.assert_allclose(np.mean(estimates, axis=0), np.std(means, axis=0), rtol=0.25)


def test_saved_sliced_and_merged_forests_have_them(tmp_path):
    model, X, y, _ = fit("few trees")
    found = model.predict_standard_error(X, X, y)
    model.save(tmp_path / "forest.weald")
    np.testing.assert_array_equal(weald.load(tmp_path / "forest.weald").predict_standard_error(X, X, y), found)
    halves = weald.merge([model[:20], model[20:]])
    np.testing.assert_array_equal(halves.predict_standard_error(X, X, y), found)


def test_huge_numbers_do_not_overflow():
    model, X, y, _ = fit("few trees")
    scale = 2.0**1000
    huge = clone(model).fit(X, y * scale)
    found = huge.predict_standard_error(X, X, y * scale)
    np.testing.assert_array_equal(found / scale, model.predict_standard_error(X, X, y))


def test_constant_predictions_have_none():
    model = RandomForestRegressor(20, random_state=0).fit(NUMBERS, np.full(N, 3.0))
    assert (model.predict_standard_error(NUMBERS, NUMBERS, np.full(N, 3.0)) == 0).all()


def test_too_few_trees_are_told():
    model = RandomForestRegressor(5, random_state=0).fit(NUMBERS, TARGET)
    with pytest.warns(UserWarning, match="too few trees to tell them from noise"):
        found = model.predict_standard_error(NUMBERS, NUMBERS, TARGET)
    assert np.isnan(found).any()


# -------------------------------------------------------------------------------------------------------- bad input

MODEL = RandomForestRegressor(20, random_state=0).fit(NUMBERS, TARGET)
BAD = {
    "an unknown method": (
        lambda: MODEL.predict_standard_error(NUMBERS, NUMBERS, TARGET, method="bootstrap"),
        "method='bootstrap'",
    ),
    "no training data": (lambda: MODEL.predict_standard_error(NUMBERS, None, None), "Give the training data"),
    "other training data": (
        lambda: MODEL.predict_standard_error(NUMBERS, NUMBERS[1:], TARGET[1:]),
        "grown from other data",
    ),
    "another number of columns": (
        lambda: MODEL.predict_standard_error(NUMBERS[:, :2], NUMBERS, TARGET),
        "2 features",
    ),
    "no target": (lambda: MODEL.predict_standard_error(NUMBERS, NUMBERS, None), "y"),
    "no bags": (
        lambda: ExtraTreesRegressor(5).fit(NUMBERS, TARGET).predict_standard_error(NUMBERS, NUMBERS, TARGET),
        "bootstrap=False",
    ),
    "boosting": (
        lambda: (
            RandomForestClassifier(5, max_depth=2, resampling="boosting")
            .fit(NUMBERS, THREE)
            .predict_standard_error(NUMBERS, NUMBERS, THREE)
        ),
        "boosting",
    ),
    "several targets": (
        lambda: (
            RandomForestRegressor(5)
            .fit(NUMBERS, np.column_stack([TARGET, TARGET]))
            .predict_standard_error(NUMBERS, NUMBERS, np.column_stack([TARGET, TARGET]))
        ),
        "has 2 targets",
    ),
    "one tree": (
        lambda: RandomForestRegressor(1).fit(NUMBERS, TARGET).predict_standard_error(NUMBERS, NUMBERS, TARGET),
        "has one",
    ),
    "a calibrated forest": (
        lambda: (
            RandomForestClassifier(30, calibrate="beta", random_state=0)
            .fit(NUMBERS, THREE)
            .predict_standard_error(NUMBERS, NUMBERS, THREE)
        ),
        "calibration",
    ),
    "weights, jackknife": (
        lambda: (
            RandomForestRegressor(20)
            .fit(NUMBERS, TARGET, WEIGHTS)
            .predict_standard_error(NUMBERS, NUMBERS, TARGET, WEIGHTS, method="jackknife")
        ),
        "these rows have weights",
    ),
    "rows in every bag": (
        lambda: (
            RandomForestRegressor(3, random_state=0)
            .fit(NUMBERS, TARGET)
            .predict_standard_error(NUMBERS, NUMBERS, TARGET, method="jackknife")
        ),
        "in the bag of every tree",
    ),
    "groups left out": (
        lambda: (
            RandomForestRegressor(9)
            .fit(NUMBERS, TARGET, groups=np.arange(N) // 2)
            .predict_standard_error(NUMBERS, NUMBERS, TARGET)
        ),
        "groups",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
def test_bad_input_is_refused_in_words(case):
    call, words = BAD[case]
    with pytest.raises((DataError, ParameterError), match=words):
        call()


def test_an_unfitted_forest_is_refused():
    with pytest.raises(NotFittedError):
        RandomForestRegressor().predict_standard_error(NUMBERS, NUMBERS, TARGET)
