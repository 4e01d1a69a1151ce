"""Prediction intervals are those of their definitions, computed here from bags, trees and leaves one by one."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import weald
from tests.scripts import run_to_the_end
from weald import DecisionTreeRegressor, ExtraTreesRegressor, RandomForestRegressor
from weald.errors import DataError, ParameterError
from weald.estimators.calibration.kept_errors import Weighing, bound

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
RNG = np.random.default_rng(9)
N, NEW = 90, 25
NUMBERS = RNG.normal(size=(N + NEW, 4)).round(2)
TARGET = NUMBERS[:N, 0] + (0.3 + np.abs(NUMBERS[:N, 1])) * RNG.normal(size=N)
HOLES = np.where(RNG.random(NUMBERS.shape) < 0.1, np.nan, NUMBERS)
FRAME = pd.DataFrame(HOLES, columns=list("abcd")).assign(color=RNG.choice(["red", "green", "blue"], N + NEW))
WEIGHTS = RNG.integers(0, 4, N)
METHODS = ("oob", "oob-scaled", "jackknife+ab", "cqr")

CASES = {
    "forest": (RandomForestRegressor(30), NUMBERS, {}),
    "large leaves": (RandomForestRegressor(30, min_samples_leaf=8), NUMBERS, {}),
    "missing and categories": (RandomForestRegressor(30, min_samples_leaf=3), FRAME, {}),
    "weights": (RandomForestRegressor(30, min_samples_leaf=3), NUMBERS, {"sample_weight": WEIGHTS}),
    "weights not whole": (RandomForestRegressor(30), NUMBERS, {"sample_weight": WEIGHTS / 3.0}),
    "groups": (RandomForestRegressor(30), NUMBERS, {"groups": np.arange(N) // 3}),
    "strata": (RandomForestRegressor(30), NUMBERS, {"stratify": np.arange(N) % 2}),
    "few trees": (RandomForestRegressor(4), NUMBERS, {}),
    "extra trees": (ExtraTreesRegressor(30, bootstrap=True), NUMBERS, {}),
    "shrinkage": (RandomForestRegressor(30, shrinkage=10.0), NUMBERS, {}),
}


def fit(case, **given):
    model, X, others = CASES[case]
    model = clone(model).set_params(**{"keep_errors": True, "keep_targets": True, "random_state": 1, **given})
    return model.fit(X[:N], TARGET, **others), X[:N], X[N:], others


def rank_of(values, weight, coverage, whole=True):
    """The smallest value that enough weight does not exceed, with one new row."""
    size = weight.sum() if whole else weight.sum() ** 2 / (weight**2).sum()
    needed = Fraction(str(coverage)) * (Fraction(size) + 1)
    total = 0
    for at in np.argsort(values, kind="stable"):
        total += Fraction(weight[at] if whole else weight[at] * size / weight.sum())
        if total >= needed - (0 if whole else Fraction(1, 10**9)):
            return values[at]
    return np.inf


class ByHand:
    """The quantities in the definitions of the methods."""

    def __init__(self, model, X, X_new, others):
        self.model, self.X_new = model, X_new
        self.weight = np.asarray(others.get("sample_weight", np.ones(N)), dtype=float)
        self.whole = bool((self.weight % 1 == 0).all())
        bags = model.bags(X, TARGET, **others)
        self.outside = (bags == 0) & (self.weight > 0)
        self.trees = np.array([model[t : t + 1].predict(X) for t in range(len(model))])
        self.new_trees = np.array([model[t : t + 1].predict(X_new) for t in range(len(model))])
        self.seen = np.flatnonzero(self.outside.any(axis=0))
        self.f = np.array([self.trees[self.outside[:, i], i].mean() for i in self.seen])
        self.y = TARGET[self.seen]
        leaves = model.apply(X)
        self.members = []  # for each row with predictions: weights of the training rows
        for i in self.seen:
            w = np.zeros(N)
            for t in np.flatnonzero(self.outside[:, i]):
                same = (leaves[:, t] == leaves[i, t]) * bags[t]
                w += same / same.sum()
            self.members.append(w / self.outside[:, i].sum())

    def rank(self, values, coverage):
        return rank_of(values, self.weight[self.seen], coverage, self.whole)

    def interval(self, method, coverage):
        away = np.abs(self.y - self.f)
        predicted = self.model.predict(self.X_new)
        if method == "oob":
            half = self.rank(away, coverage)
            return np.column_stack([predicted - half, predicted + half])
        if method == "oob-scaled":
            spread = np.sqrt([w @ TARGET**2 - (w @ TARGET) ** 2 for w in self.members])
            floor = spread.mean() / 10
            half = self.rank(away / (spread + floor), coverage) * (self.model.predict_std(self.X_new) + floor)
            return np.column_stack([predicted - half, predicted + half])
        if method == "cqr":
            low, high = (1 - coverage) / 2, (1 + coverage) / 2
            order = np.argsort(TARGET, kind="stable")
            cumulated = [np.cumsum(w[order]) for w in self.members]
            q = [[TARGET[order][np.argmax(c >= level * c[-1] - 1e-12)] for level in (low, high)] for c in cumulated]
            q = np.array(q)
            shift = self.rank(np.maximum(q[:, 0] - self.y, self.y - q[:, 1]), coverage)
            found = self.model.predict_quantiles(self.X_new, [round(low, 9), round(high, 9)])
            return np.column_stack([found[:, 0] - shift, found[:, 1] + shift])
        return np.array([self.jackknife(j, away, coverage) for j in range(NEW)])

    def jackknife(self, j, away, coverage):
        without = np.array([self.new_trees[self.outside[:, i], j].mean() for i in self.seen])
        unseen = [i for i in range(N) if i not in self.seen and self.weight[i] > 0]
        values = np.concatenate([without + away, np.full(len(unseen), np.inf)])
        lows = np.concatenate([away - without, np.full(len(unseen), np.inf)])
        weight = np.concatenate([self.weight[self.seen], self.weight[unseen]])
        return -rank_of(lows, weight, coverage, self.whole), rank_of(values, weight, coverage, self.whole)


@pytest.mark.parametrize("case", CASES)
def test_intervals_are_those_of_the_definitions(case):
    model, X, X_new, others = fit(case)
    by_hand = ByHand(model, X, X_new, others)
    for method in METHODS:
        for coverage in (0.5, 0.8, 0.95):
            expected = by_hand.interval(method, coverage)
            found = model.predict_interval(X_new, coverage, method=method)
            assert found.shape == (NEW, 2)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=f"{method} {coverage}")


@pytest.mark.parametrize("case", CASES)
def test_engines_orders_of_rows_and_ways_to_keep_errors_agree(case):
    model, X, X_new, others = fit(case)
    reference, *_ = fit(case, engine="reference")
    order = RNG.permutation(N)
    moved = {name: np.asarray(column)[order] for name, column in others.items()}
    X_moved = X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]
    later, *_ = fit(case, keep_errors=False, keep_targets=False)
    later.attach_targets(X_moved, TARGET[order], **moved).attach_errors(X_moved, TARGET[order], **moved)
    for method in METHODS:
        expected = model.predict_interval(X_new, 0.8, method=method)
        np.testing.assert_array_equal(reference.predict_interval(X_new, 0.8, method=method), expected)
        np.testing.assert_array_equal(later.predict_interval(X_new, 0.8, method=method), expected)


def test_a_weight_of_two_counts_twice():
    errors = np.array([3.0, 1.0, 2.0, 5.0])
    weight = np.array([1.0, 2.0, 3.0, 2.0])
    copies = np.repeat(errors, weight.astype(int))
    for coverage in (0.1, 0.3, 0.55, 0.75, 0.8, 0.9, 0.99):
        expected = bound(copies, Weighing(None, whole=True), coverage)
        assert bound(errors, Weighing(weight, whole=True), coverage) == expected
        by_size = sorted(copies)[math.ceil(Fraction(str(coverage)) * 9) - 1 : math.ceil(Fraction(str(coverage)) * 9)]
        assert expected == (by_size[0] if by_size else np.inf)


def test_ranks_are_those_of_decimal_numbers():
    errors = np.arange(1.0, 100.0)
    for percent in range(1, 100):  # 0.55 * 100 is more than 55 in doubles
        assert bound(errors, Weighing(None, whole=True), percent / 100) == percent


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_matrices_give_the_same(make):
    X = np.where(NUMBERS > 0.5, NUMBERS, 0.0)
    forest = RandomForestRegressor(10, keep_errors=True, keep_targets=True, random_state=0).fit(X[:N], TARGET)
    other = clone(forest).fit(make(X[:N]), TARGET)
    for method in METHODS:
        expected = forest.predict_interval(X[N:], 0.8, method=method)
        np.testing.assert_array_equal(other.predict_interval(make(X[N:]), 0.8, method=method), expected)


def test_numbers_of_threads_and_blocks_do_not_matter(monkeypatch):
    model, _, X_new, _ = fit("weights")
    expected = [model.predict_interval(X_new, 0.8, method=method) for method in METHODS]
    monkeypatch.setattr("weald.estimators.calibration.kept_errors.BATCH_BYTES", 8 * N * 7)
    monkeypatch.setattr("weald.uncertainty.intervals.BLOCK_BYTES", 4 * 30 * 11)
    monkeypatch.setattr("weald.uncertainty.jackknife.BLOCK_BYTES", 8 * N * 9)
    monkeypatch.setattr("weald.uncertainty.jackknife.MOST_ROWS", 10)
    for n_jobs in (1, 3):
        again, *_ = fit("weights", n_jobs=n_jobs)
        for method, intervals in zip(METHODS, expected, strict=True):
            np.testing.assert_array_equal(again.predict_interval(X_new, 0.8, method=method), intervals)


def test_collections_of_dask_are_predicted_by_partition():
    dask = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    model, _, X_new, _ = fit("forest")
    lazy = dask.from_array(X_new, chunks=(10, 4))
    table = frames.from_pandas(pd.DataFrame(X_new), npartitions=3)
    for method in ("oob", "cqr"):
        expected = model.predict_interval(X_new, 0.8, method=method)
        found = model.predict_interval(lazy, 0.8, method=method)
        assert found.shape == (NEW, 2)
        np.testing.assert_array_equal(found.compute(), expected)
        np.testing.assert_array_equal(model.predict_interval(table, 0.8, method=method).compute(), expected)


def test_held_out_rows_give_split_conformal_intervals():
    X, y = NUMBERS[:60], TARGET[:60]
    rest, y_rest = NUMBERS[60:N], TARGET[60:]
    for model in (DecisionTreeRegressor(min_samples_leaf=5), ExtraTreesRegressor(10, random_state=0)):
        model.fit(X, y).attach_targets(X, y).attach_errors(rest, y_rest, held_out=True)
        half = np.sort(np.abs(y_rest - model.predict(rest)))[math.ceil(0.8 * 31) - 1]
        predicted = model.predict(NUMBERS[N:])
        expected = np.column_stack([predicted - half, predicted + half])
        np.testing.assert_array_equal(model.predict_interval(NUMBERS[N:], 0.8), expected)
        low, high = model.predict_quantiles(rest, [0.1, 0.9]).T
        shift = np.sort(np.maximum(low - y_rest, y_rest - high))[math.ceil(0.8 * 31) - 1]
        found = model.predict_interval(NUMBERS[N:], 0.8, method="cqr")
        expected = model.predict_quantiles(NUMBERS[N:], [0.1, 0.9]) + np.array([-shift, shift])
        np.testing.assert_allclose(found, expected)
        scale = model.predict_std(rest) + model.predict_std(rest).mean() / 10
        half = np.sort(np.abs(y_rest - model.predict(rest)) / scale)[math.ceil(0.8 * 31) - 1]
        width = model.predict_interval(NUMBERS[N:], 0.8, method="split-scaled") @ [-0.5, 0.5]
        expected = half * (model.predict_std(NUMBERS[N:]) + model.predict_std(rest).mean() / 10)
        np.testing.assert_allclose(width, expected)


def test_kernel_forests_have_intervals():
    X, y = NUMBERS[:N], TARGET
    forest = weald.KernelForestRegressor(20, random_state=0).fit(X, y).attach_targets(X, y).attach_errors(X, y)
    oob = forest.out_of_bag(X, y)
    half = rank_of(np.abs(y - oob.predictions)[oob.mask], np.ones(oob.mask.sum()), 0.8)
    np.testing.assert_allclose(forest.predict_interval(NUMBERS[N:], 0.8) @ [-0.5, 0.5], half)
    for method in METHODS:
        low, high = forest.predict_interval(NUMBERS[N:], 0.8, method=method).T
        assert (low < high).all()


def test_too_few_rows_give_infinite_intervals():
    model, _, X_new, _ = fit("forest")
    for method in METHODS:
        found = model.predict_interval(X_new, 0.995, method=method)
        assert (found == [-np.inf, np.inf]).all()


@pytest.mark.parametrize("size", [1e300, 2e307])
def test_huge_targets_have_finite_intervals(size):
    y = np.where(NUMBERS[:N, 0] > 0, size, -size)
    model = RandomForestRegressor(20, keep_errors=True, keep_targets=True, random_state=0).fit(NUMBERS[:N], y)
    for method in METHODS:
        assert np.isfinite(model.predict_interval(NUMBERS[N:], 0.8, method=method)).all()


def test_a_constant_target_has_an_interval_of_width_zero():
    model = RandomForestRegressor(20, keep_errors=True, keep_targets=True, random_state=0)
    model.fit(NUMBERS[:N], np.full(N, 7.0))
    for method in METHODS:
        assert (model.predict_interval(NUMBERS[N:], 0.8, method=method) == 7.0).all()


def test_errors_belong_to_their_trees():
    model, X, X_new, _ = fit("large leaves")
    expected = model.predict_interval(X_new, 0.8, method="cqr")
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.predict_interval(X_new, 0.8, method="cqr"), expected)
    for other in (model[:10], model.compact(), model.truncate(max_depth=2), weald.merge([model[:9], model[9:]])):
        with pytest.raises(ParameterError, match="attach_errors"):
            other.predict_interval(X_new)
        assert other.attach_errors is not None
    part = model[:10].attach_errors(X, TARGET)
    whole = clone(model).set_params(n_estimators=10, keep_targets=False).fit(X, TARGET)
    np.testing.assert_array_equal(part.predict_interval(X_new), whole.predict_interval(X_new))


def test_a_warm_start_keeps_the_errors_of_all_trees():
    model, X, X_new, _ = fit("forest", n_estimators=10, warm_start=True)
    model.set_params(n_estimators=30).fit(X, TARGET)
    for method in METHODS:
        expected = fit("forest")[0].predict_interval(X_new, method=method)
        np.testing.assert_array_equal(model.predict_interval(X_new, method=method), expected)


def test_progress_is_shown_if_asked_for(capsys):
    model, _, X_new, _ = fit("forest", verbose=1)
    capsys.readouterr()
    model.predict_interval(X_new, 0.8, method="jackknife+ab")
    assert f"{NEW} of {NEW} rows" in capsys.readouterr().err


def test_ctrl_c_stops_a_prediction():
    run_to_the_end(
        """
import os, signal, threading, time
import numpy as np
import weald

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 3))
model = weald.RandomForestRegressor(20, keep_errors=True, n_jobs=2, random_state=0).fit(X, X[:, 0])
before = dict(vars(model))
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    model.predict_interval(np.tile(X, (100, 1)), method="jackknife+ab")
except KeyboardInterrupt:
    assert vars(model) == before
    assert model.predict_interval(X[:2]).shape == (2, 2)
else:
    raise SystemExit("it was not interrupted")
""",
        timeout=60,
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"coverage": 90}, "coverage=90"),
        ({"coverage": 1.0}, "coverage=1.0"),
        ({"coverage": 0.0}, "coverage=0.0"),
        ({"coverage": -0.1}, "coverage=-0.1"),
        ({"coverage": np.nan}, "coverage=nan"),
        ({"coverage": "0.9"}, "coverage='0.9'"),
        ({"coverage": [0.5, 0.9]}, "coverage=."),
        ({"coverage": None}, "coverage=None"),
        ({"method": "naive"}, "method='naive'"),
        ({"method": 1}, "method=1"),
        ({"method": "split"}, "held_out=True"),
    ],
)
def test_bad_arguments_are_refused_in_words(given, words):
    model, _, X_new, _ = fit("few trees")
    with pytest.raises(ParameterError, match=words):
        model.predict_interval(X_new, **given)


def test_what_has_no_intervals_says_so():
    X, y, X_new = NUMBERS[:N], TARGET, NUMBERS[N:]
    plain = RandomForestRegressor(10, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="keep_errors=True"):
        plain.predict_interval(X_new)
    with pytest.raises(NotFittedError):
        RandomForestRegressor(keep_errors=True).predict_interval(X_new)
    plain.attach_errors(X, y)
    for method in ("cqr", "oob-scaled"):
        with pytest.raises(ParameterError, match="keep_targets=True"):
            plain.predict_interval(X_new, method=method)
    with pytest.raises(DataError, match="4 features"):
        plain.predict_interval(X_new[:, :3])
    with pytest.raises(DataError, match=r"other data.*held_out=True"):
        plain.attach_errors(X, y + 1)
    with pytest.raises(DataError, match="Leave out held_out=True"):
        plain.attach_errors(X, y, held_out=True)
    with pytest.raises(DataError, match="Give X and y"):
        plain.attach_errors(None, held_out=True)
    with pytest.raises(ParameterError, match="held_out='yes'"):
        plain.attach_errors(X, y, held_out="yes")
    plain.attach_errors(X_new, y[:NEW], held_out=True)
    with pytest.raises(ParameterError, match="needs out-of-bag errors"):
        plain.predict_interval(X_new, method="jackknife+ab")
    with pytest.raises(ParameterError, match="single tree has no out-of-bag"):
        DecisionTreeRegressor().fit(X, y).attach_errors(X, y)
    with pytest.raises(ParameterError, match="held_out=True"):
        DecisionTreeRegressor().fit(X, y).predict_interval(X_new)
    with pytest.raises(ParameterError, match=r"bootstrap=False.*held_out=True"):
        ExtraTreesRegressor(keep_errors=True).fit(X, y)
    with pytest.raises(ParameterError, match=r"bootstrap=False.*held_out=True"):
        ExtraTreesRegressor(5).fit(X, y).attach_errors(X, y)
    with pytest.raises(ParameterError, match="keep_errors=True does not support multi-output targets"):
        RandomForestRegressor(5, keep_errors=True).fit(X, np.column_stack([y, y]))
    with pytest.raises(ParameterError, match="2 targets"):
        RandomForestRegressor(5).fit(X, np.column_stack([y, y])).attach_errors(X, np.column_stack([y, y]))
    with pytest.raises(ParameterError, match="keep_errors='yes'"):
        RandomForestRegressor(5, keep_errors="yes").fit(X, y)
