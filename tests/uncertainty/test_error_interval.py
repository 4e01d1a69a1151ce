"""The interval of an out-of-bag error by the delta method is that of its formula."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from weald import RandomForestClassifier, RandomForestRegressor
from weald.errors import DataError, ParameterError
from weald.uncertainty import error_interval
from weald.uncertainty.error_interval import delta_variance

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
RNG = np.random.default_rng(6)
N = 50
X = RNG.normal(size=(N, 3)).round(2)
TARGET = X[:, 0] + 0.7 * RNG.normal(size=N)
THREE = np.digitize(TARGET, [-0.5, 0.5])
WEIGHTS = RNG.integers(0, 4, N)

CASES = {
    "regression": (RandomForestRegressor(120), TARGET, {}),
    "two classes": (RandomForestClassifier(120), THREE > 0, {}),
    "three classes": (RandomForestClassifier(60, min_samples_leaf=3), THREE, {}),
    "hard votes": (RandomForestClassifier(60, voting="hard"), THREE, {}),
    "shrinkage": (RandomForestClassifier(60, shrinkage=10.0), THREE, {}),
    "few trees": (RandomForestRegressor(8), TARGET, {}),
    "weights": (RandomForestRegressor(120), TARGET, {"sample_weight": WEIGHTS}),
    "weights not whole": (RandomForestClassifier(120), THREE, {"sample_weight": WEIGHTS / 3.0}),
    "groups": (RandomForestRegressor(60), TARGET, {"groups": np.arange(N) // 2}),
}


def fit(case, **given):
    model, y, others = CASES[case]
    return clone(model).set_params(oob_score=True, random_state=1, **given).fit(X, y, **others), y, others


def by_the_formula(model, y, others):
    bags = model.bags(X, y, **others).astype(float)
    weight = np.asarray(others.get("sample_weight", np.ones(N)), dtype=float)
    new = (bags == 0) & (weight > 0)
    trees = np.array([model[t : t + 1].predict_votes(X) for t in range(len(model))])
    seen = np.flatnonzero(new.any(axis=0))
    p = weight / weight[seen].sum()
    loss, influence, g = np.zeros(N), np.zeros(N), np.zeros(len(bags))
    if hasattr(model, "classes_"):
        code = np.searchsorted(model.classes_, y)
        margins, votes = np.zeros(N), np.zeros((len(bags), N))
        for i in seen:
            mean = trees[new[:, i], i].mean(axis=0)
            other = max((k for k in range(len(mean)) if k != code[i]), key=lambda k: (mean[k], -k))
            margins[i] = mean[code[i]] - mean[other]
            votes[:, i] = trees[:, i, code[i]] - trees[:, i, other]
            loss[i] = mean.argmax() != code[i]
        width = 1.06 * margins[seen].std() * len(seen) ** -0.2
        slope = -np.exp(-0.5 * (margins / width) ** 2) / np.sqrt(2 * np.pi) / width
    else:
        votes = trees
        means = np.array([trees[new[:, i], i].mean() if i in seen else 0 for i in range(N)])
        loss, slope = (means - y) ** 2, 2 * (means - y)
    error = np.sum((p * loss)[seen])
    for i in seen:
        b = new[:, i]
        g[b] += p[i] * slope[i] * (votes[b, i] - votes[b, i].mean()) / b.sum()
        influence[i] += p[i] * (loss[i] - error)
    whole = (weight % 1 == 0).all()
    if "groups" in others:
        first = np.unique(others["groups"], return_index=True)[1]
        influence = np.bincount(others["groups"], weights=influence)
        bags, copies = bags[:, first], np.ones(len(first))
    else:
        kept = weight > 0
        influence, bags = influence[kept], bags[:, kept]
        copies = weight[kept] if whole else np.ones(kept.sum())
    influence = influence + g @ bags
    return np.sum(influence**2 / copies) - np.sum(bags.var(axis=0) / copies) * np.sum(g**2)


@pytest.mark.parametrize("case", CASES)
def test_the_variance_is_that_of_the_formula(case):
    model, y, others = fit(case)
    found = delta_variance(model.oob_, model.oob_.rows_to_score)
    np.testing.assert_allclose(found, by_the_formula(model, y, others), rtol=1e-8)


@pytest.mark.parametrize("case", ["regression", "three classes", "groups"])
def test_engines_and_blocks_give_the_same_bits(case, monkeypatch):
    model, y, others = fit(case)
    found = model.oob_.error_interval(method="delta")
    order = RNG.permutation(N)
    turned = {name: values[order] for name, values in others.items()}
    again = model.out_of_bag(X[order], y[order], **turned).error_interval(method="delta")
    assert again == pytest.approx(found, rel=1e-12)  # the error itself is summed in the order of the rows
    model.set_params(engine="reference")
    assert model.out_of_bag(X, y, **others).error_interval(method="delta") == found
    monkeypatch.setattr(error_interval, "BATCH_BYTES", 8 * N * 7)
    assert model.oob_.error_interval(method="delta") == found


@pytest.mark.parametrize("case", CASES)
def test_it_is_never_narrower(case):
    out = fit(case)[0].oob_
    for level in (0.8, 0.95):
        low, high = out.error_interval(level)
        wide_low, wide_high = out.error_interval(level, method="delta")
        assert wide_low <= low <= out.error <= high <= wide_high


def test_it_is_wider_where_it_counts():
    out = RandomForestRegressor(400, oob_score=True, random_state=0).fit(X, X[:, 0] + 3 * RNG.normal(size=N)).oob_
    low, high = out.error_interval()
    wide_low, wide_high = out.error_interval(method="delta")
    assert wide_high - wide_low > 1.02 * (high - low)


def test_errors_that_do_not_vary_have_the_usual_interval():
    model = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, np.ones(N))
    assert model.oob_.error_interval(method="delta") == model.oob_.error_interval()
    model = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, np.ones(N))
    assert model.oob_.error_interval(method="delta") == (0.0, 0.0)


def test_bad_input_is_refused_in_words():
    model, y, _ = fit("few trees")
    with pytest.raises(ParameterError, match="method='naive'"):
        model.oob_.error_interval(method="naive")
    with pytest.raises(ParameterError, match="level=95"):
        model.oob_.error_interval(95, method="delta")
    with pytest.raises(DataError, match="Give the table again"):
        pickle.loads(pickle.dumps(model)).oob_.error_interval(method="delta")
    changed = X.copy()
    other = RandomForestRegressor(20, oob_score=True, random_state=0).fit(changed, y)
    changed[0] += 1
    with pytest.raises(DataError, match="changed in place"):
        other.oob_.error_interval(method="delta")
