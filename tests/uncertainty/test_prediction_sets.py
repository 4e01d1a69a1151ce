"""Prediction sets are those of their definitions, computed here row by row."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import weald
from weald import DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier
from weald.engines.reference.definition import draw
from weald.errors import DataError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
RNG = np.random.default_rng(4)
N, NEW = 120, 40
NUMBERS = RNG.normal(size=(N + NEW, 3)).round(2)
CLASSES = np.array(["low", "middle", "top"])[np.digitize(NUMBERS[:, 0] + RNG.normal(size=N + NEW), [-0.6, 0.6])]
TRUTH = np.searchsorted(np.unique(CLASSES), CLASSES)
HOLES = np.where(RNG.random(NUMBERS.shape) < 0.1, np.nan, NUMBERS)
FRAME = pd.DataFrame(HOLES, columns=list("abc")).assign(color=RNG.choice(["red", "green", "blue"], N + NEW))
WEIGHTS = RNG.integers(0, 4, N)

CASES = {
    "forest": (RandomForestClassifier(30), NUMBERS, {}),
    "missing and categories": (RandomForestClassifier(30, min_samples_leaf=3), FRAME, {}),
    "weights": (RandomForestClassifier(30, min_samples_leaf=3), NUMBERS, {"sample_weight": WEIGHTS}),
    "groups": (RandomForestClassifier(30), NUMBERS, {"groups": np.arange(N) // 3}),
    "few trees": (RandomForestClassifier(4), NUMBERS, {}),
    "hard votes": (RandomForestClassifier(30, voting="hard"), NUMBERS, {}),
    "class weights": (RandomForestClassifier(30, class_weight="balanced", min_samples_leaf=3), NUMBERS, {}),
    "calibrated": (RandomForestClassifier(30, calibrate="sigmoid"), NUMBERS, {}),
}


def fit(case, **given):
    model, X, others = CASES[case]
    model = clone(model).set_params(**{"keep_errors": True, "random_state": 7, **given})
    return model.fit(X[:N], CLASSES[:N], **others), X[:N], X[N:], others


def score_by_hand(shares, k, u):
    """Probability of the classes before class k, and u times its own."""
    before = [p for j, p in enumerate(shares) if p > shares[k] or (p == shares[k] and j < k)]
    return sum(sorted(before, reverse=True)) + u * shares[k]


def rank_of(scores, weight, coverage):
    needed = Fraction(str(coverage)) * (int(weight.sum()) + 1)
    total = 0
    for at in np.argsort(scores, kind="stable"):
        total += int(weight[at])
        if total >= needed:
            return scores[at]
    return np.inf


def uniform(model, rows, purpose, i):
    return [(draw(model.seed_, int(row), 0, purpose, i) >> 11) * 2.0**-53 for row in rows]


@pytest.mark.parametrize("case", CASES)
def test_sets_are_those_of_the_definitions(case):
    model, X, X_new, others = fit(case)
    plain = model.calibrated(None)
    oob = model.out_of_bag(X, CLASSES[:N], **others)
    weight = np.asarray(others.get("sample_weight", np.ones(N)))
    engine_order = model_order(model, X, others)
    ranked = [row for row in engine_order if oob.mask[row]]
    shares, truth, weight = oob.probabilities[ranked], TRUTH[ranked], weight[ranked]
    rank = [rank for rank, row in enumerate(engine_order) if oob.mask[row]]
    u = uniform(model, rank, 33, 0)
    aps = np.array([score_by_hand(p, k, v) for p, k, v in zip(shares, truth, u, strict=True)])
    lac = np.array([1 - p[k] for p, k in zip(shares, truth, strict=True)])
    new = plain.predict_proba(X_new)
    for coverage in (0.5, 0.8, 0.9):
        expected = 1 - new <= rank_of(lac, weight, coverage) + 1e-12
        np.testing.assert_array_equal(model.predict_set(X_new, coverage), expected)
        for repeat in (0, 1, 5):
            drawn = uniform(model, range(NEW), 34, repeat)
            scores = np.array([[score_by_hand(p, k, v) for k in range(3)] for p, v in zip(new, drawn, strict=True)])
            expected = scores <= rank_of(aps, weight, coverage) + 1e-12
            found = model.predict_set(X_new, coverage, method="aps", repeat=repeat)
            np.testing.assert_array_equal(found, expected)


def model_order(model, X, others):
    """Rows in rank order."""
    from weald.data.table import TrainingArguments
    from weald.estimators.training_data import read_again

    given = (others.get("sample_weight"), others.get("groups"), None)
    training = read_again(model, TrainingArguments(X, CLASSES[:N], *given))
    kept = training.reading.kept
    order = training.order()
    return order.tolist() if kept is None else np.flatnonzero(kept)[order].tolist()


@pytest.mark.parametrize("case", CASES)
def test_engines_orders_of_rows_and_ways_to_keep_errors_agree(case):
    model, X, X_new, others = fit(case)
    reference, *_ = fit(case, engine="reference")
    order = RNG.permutation(N)
    moved = {name: np.asarray(column)[order] for name, column in others.items()}
    later, *_ = fit(case, keep_errors=False)
    X_moved = X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]
    later.attach_errors(X_moved, CLASSES[:N][order], **moved)
    for method in ("lac", "aps"):
        expected = model.predict_set(X_new, 0.8, method=method)
        np.testing.assert_array_equal(reference.predict_set(X_new, 0.8, method=method), expected)
        np.testing.assert_array_equal(later.predict_set(X_new, 0.8, method=method), expected)
        twin = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(twin.predict_set(X_new, 0.8, method=method), expected)


def test_sets_cover_as_often_as_they_should():
    X = RNG.normal(size=(4000, 3))
    y = np.digitize(X[:, 0] + RNG.normal(size=4000), [-1, 0, 1])
    model = RandomForestClassifier(100, min_samples_leaf=5, keep_errors=True, random_state=0).fit(X[:1000], y[:1000])
    for method in ("lac", "aps"):
        for coverage in (0.7, 0.9):
            found = model.predict_set(X[1000:], coverage, method=method)
            assert abs(found[np.arange(3000), y[1000:]].mean() - coverage) < 0.04
    assert model.predict_set(X, 0.9).sum() <= model.predict_set(X, 0.9, method="aps").sum()
    wide, narrow = model.predict_set(X, 0.95), model.predict_set(X, 0.8)
    assert (narrow <= wide).all()


def test_the_draw_of_aps_has_an_address(monkeypatch):
    model, _, X_new, _ = fit("forest")
    found = [model.predict_set(X_new, 0.6, method="aps", repeat=repeat) for repeat in range(10)]
    assert any((found[0] != other).any() for other in found)
    monkeypatch.setattr("weald.uncertainty.prediction_sets.BLOCK_BYTES", 8 * 3 * 7)
    again = [model.predict_set(X_new, 0.6, method="aps", repeat=repeat) for repeat in range(10)]
    np.testing.assert_array_equal(again, found)
    first = model.predict_set(X_new[:5], 0.6, method="aps", repeat=3)
    np.testing.assert_array_equal(first, found[3][:5])


def test_held_out_rows_give_split_conformal_sets():
    X, y = NUMBERS[:60], CLASSES[:60]
    rest, truth = NUMBERS[60:N], TRUTH[60:N]
    for model in (DecisionTreeClassifier(min_samples_leaf=5), ExtraTreesClassifier(10, random_state=0)):
        model.fit(X, y).attach_errors(rest, CLASSES[60:N], held_out=True)
        limit = np.sort(1 - model.predict_proba(rest)[np.arange(60), truth])[math.ceil(0.8 * 61) - 1]
        expected = 1 - model.predict_proba(NUMBERS[N:]) <= limit + 1e-12
        np.testing.assert_array_equal(model.predict_set(NUMBERS[N:], 0.8), expected)


def test_collections_of_dask_are_predicted_by_partition():
    dask = pytest.importorskip("dask.array")
    model, _, X_new, _ = fit("forest")
    found = model.predict_set(dask.from_array(X_new, chunks=(15, 3)), 0.8)
    assert (found.shape, found.dtype) == ((NEW, 3), np.bool_)
    np.testing.assert_array_equal(found.compute(), model.predict_set(X_new, 0.8))


def test_too_few_rows_give_sets_of_all_classes():
    model, _, X_new, _ = fit("forest")
    for method in ("lac", "aps"):
        assert model.predict_set(X_new, 0.999, method=method).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"coverage": 90}, "coverage=90"),
        ({"coverage": 1.0}, "coverage=1.0"),
        ({"coverage": 0}, "coverage=0"),
        ({"coverage": np.inf}, "coverage=inf"),
        ({"coverage": "high"}, "coverage='high'"),
        ({"coverage": None}, "coverage=None"),
        ({"method": "raps"}, "method='raps'"),
        ({"method": None}, "method=None"),
        ({"repeat": -1}, "repeat=-1"),
        ({"repeat": 0.5}, r"repeat=0\.5"),
    ],
)
def test_bad_arguments_are_refused_in_words(given, words):
    model, _, X_new, _ = fit("few trees")
    with pytest.raises(ParameterError, match=words):
        model.predict_set(X_new, **given)


def test_errors_belong_to_the_votes_that_they_were_computed_from():
    model, X, X_new, _ = fit("forest", min_samples_leaf=5)
    soft = model.predict_set(X_new, 0.8)
    model.set_params(voting="hard")
    with pytest.raises(ParameterError, match=r"computed with voting='soft'.*attach_errors\(X, y\)"):
        model.predict_set(X_new, 0.8)
    with pytest.raises(ParameterError, match="attach_errors"):
        weald.from_json(model.to_json(check=False).model).predict_set(X_new, 0.8)
    np.testing.assert_array_equal(model.set_params(voting="soft").predict_set(X_new, 0.8), soft)
    model.set_params(voting="hard").attach_errors(X, CLASSES[:N])
    expected = fit("forest", min_samples_leaf=5, voting="hard")[0].predict_set(X_new, 0.8)
    np.testing.assert_array_equal(model.predict_set(X_new, 0.8), expected)
    again = weald.from_json(model.to_json(check=False).model)
    np.testing.assert_array_equal(again.predict_set(X_new, 0.8), expected)


def test_what_has_no_sets_says_so():
    X, y, X_new = NUMBERS[:N], CLASSES[:N], NUMBERS[N:]
    plain = RandomForestClassifier(10, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="keep_errors=True"):
        plain.predict_set(X_new)
    with pytest.raises(NotFittedError):
        RandomForestClassifier(keep_errors=True).predict_set(X_new)
    with pytest.raises(DataError, match=r"classes.*held_out=True"):
        plain.attach_errors(X, np.where(y == "low", "other", y))
    with pytest.raises(DataError, match="not in the fit"):
        plain.attach_errors(X_new, ["new"] * NEW, held_out=True)
    with pytest.raises(DataError, match="Leave out held_out=True"):
        plain.attach_errors(X, y, held_out=True)
    with pytest.raises(ParameterError, match="held_out=True"):
        DecisionTreeClassifier().fit(X, y).predict_set(X_new)
    with pytest.raises(ParameterError, match=r"resampling='boosting'"):
        RandomForestClassifier(5, resampling="boosting", keep_errors=True).fit(X, y)
    with pytest.raises(ParameterError, match=r"boosting.*held_out=True"):
        RandomForestClassifier(5, resampling="boosting").fit(X, y).attach_errors(X, y)
    with pytest.raises(ParameterError, match="keep_errors=True does not support multi-output targets"):
        RandomForestClassifier(5, keep_errors=True).fit(X, np.column_stack([y, y]))
    with pytest.raises(AttributeError, match="predict_interval"):
        plain.predict_interval(X_new)
