"""Results of inspecting a forest do not depend on the engine, nor on how its table was stored."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

import weald
from weald.inspection.importance import KINDS

RNG = np.random.default_rng(12)
N = 70
X = np.where(RNG.random((N, 5)) < 0.5, 0.0, RNG.normal(size=(N, 5)))
SIGNAL = X[:, 0] + X[:, 1] ** 2 + 0.2 * RNG.normal(size=N)
TARGETS = {"classes": np.digitize(SIGNAL, [0.1, 0.8]), "numbers": SIGNAL}
MODELS = {"classes": weald.RandomForestClassifier, "numbers": weald.RandomForestRegressor}

each_kind = pytest.mark.parametrize("kind", MODELS)
pytestmark = pytest.mark.filterwarnings("ignore:.*in the bag of every tree")  # of so few trees some rows are


def fit(kind, n_trees=9, table=X, **given):
    return MODELS[kind](n_trees, random_state=1, **given).fit(table, TARGETS[kind])


def out_of_bag(model, table, y):
    out = model.out_of_bag(table, y)
    found = [out.predictions, out.counts, out.error, out.error_interval(), out.score(), out.curve.error, out.rows(2)]
    if out.classes is None:
        return found
    rest = [out.votes, out.margins, out.confusion(), out.calibration().observed, out.threshold(1).value, out.trees(3)]
    return [*found, *rest, out.score("neg_log_loss"), out.calibration().brier]


def neighbors(model, table, y):
    near = model.neighbors(table, y)
    rows, weights = near.nearest(table[:5], k=3)
    near_each_other = near.proximity(out_of_bag=True).toarray()
    return [near.weights().toarray(), model.proximity(table, k=4).toarray(), near_each_other, rows, weights]


def strength(model, table, y):
    found = weald.strength(model, table, y)
    return [found.strength, found.correlation, found.bound, found.margins]


KNOWLEDGE = {"out_of_bag": out_of_bag, "neighbors": neighbors, "strength": strength} | {
    kind: lambda model, table, y, kind=kind: [weald.importance(model, table, y, kind=kind).values] for kind in KINDS
}


def save_and_load(model, file):
    model.save(file)
    return weald.load(file)


PAIRS = [(kind, what) for kind in MODELS for what in KNOWLEDGE if (kind, what) != ("numbers", "strength")]
each = pytest.mark.parametrize(("kind", "what"), PAIRS)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@each
def test_engines_agree(kind, what):
    found = [KNOWLEDGE[what](fit(kind, engine=engine), X, TARGETS[kind]) for engine in ("native", "reference")]
    assert_same(*found)


@each
def test_a_sparse_table_says_the_same(kind, what):
    table = sparse.csr_array(X)
    found = KNOWLEDGE[what](fit(kind, table=table), table, TARGETS[kind])
    assert_same(found, KNOWLEDGE[what](fit(kind), X, TARGETS[kind]))


@pytest.mark.parametrize("way", ["saved", "pickled", "merged", "grown on", "sliced"])
@each
def test_it_survives(kind, what, way, tmp_path):
    """The training data restores all results after any operation on the forest."""
    whole, y = fit(kind), TARGETS[kind]
    changed = {
        "saved": lambda: save_and_load(whole, tmp_path / "forest.weald"),
        "pickled": lambda: pickle.loads(pickle.dumps(whole)),
        "merged": lambda: whole[:4] + whole[4:],
        "grown on": lambda: fit(kind, 5, warm_start=True).set_params(n_estimators=9).fit(X, y),
        "sliced": lambda: fit(kind, 12)[:9],
    }[way]()
    assert_same(KNOWLEDGE[what](changed, X, y), KNOWLEDGE[what](whole, X, y))


@each_kind
def test_engines_agree_on_what_fits_many_times(kind):
    y = TARGETS[kind]

    def ask(engine):
        forest = MODELS[kind](4, random_state=1, engine=engine)
        tuned = weald.tune(forest, X, y, grid={"max_features": [1, 3], "min_samples_leaf": [1, 4]})
        chosen = weald.select_features(forest, X, y, folds=2)
        parts = weald.bias_variance(forest, X, y, n_repeats=4)
        moved = weald.stability(forest, X, y, n_repeats=3)
        return [
            [step.error for step in tuned.path],
            [step.error for step in chosen.path_],
            chosen.honest_error_,
            [parts.error, parts.bias, parts.variance],
            [moved.change, moved.structure],
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one, other in zip(ask("native"), ask("reference"), strict=True):
            np.testing.assert_array_equal(one, other)
