"""Extreme tables: all engines grow the same forest from them, and its results are finite."""

import pickle

import numpy as np
import pytest

import weald
from tests.laws.cases import CRITERIA, is_of_classes
from weald.engines.reference import definition

ROUNDED = "ignore:.* is rounded to multiples"  # one very large number rounds all others, with a warning
pytestmark = [pytest.mark.sanitize, pytest.mark.filterwarnings(ROUNDED)]

N = 24
RNG = np.random.default_rng(0)
PLAIN = np.round(RNG.normal(size=(N, 3)), 1)
ALTERNATING = np.arange(N) % 3
LARGEST = np.finfo(np.float64).max

X = {
    "plain": PLAIN,
    "one row": PLAIN[:1],
    "two rows": PLAIN[:2],
    "one column": PLAIN[:, :1],
    "constant columns": np.ones((N, 3)),
    "one constant column": np.column_stack([np.ones(N), PLAIN]),
    "all missing": np.full((N, 3), np.nan),
    "one missing column": np.column_stack([np.full(N, np.nan), PLAIN]),
    "one value and missing ones": np.where(np.arange(N) % 2, 5.0, np.nan)[:, None],
    "one row is not missing": np.where(np.arange(N) == 3, 5.0, np.nan)[:, None],
    "duplicated rows": np.tile(PLAIN[:3], (N // 3, 1)),
    "duplicated columns": np.repeat(PLAIN[:, :1], 4, axis=1),
    "infinities": RNG.choice([-np.inf, np.inf], (N, 2)),
    "infinities and numbers": RNG.choice([-np.inf, -1.0, 2.0, np.inf, np.nan], (N, 3)),
    "the largest numbers": RNG.choice([-LARGEST, LARGEST, np.nextafter(LARGEST, 0)], (N, 2)),
    "huge and tiny": PLAIN * np.exp2(RNG.integers(-1000, 1000, PLAIN.shape).astype(float)),
    "subnormals": RNG.integers(-9, 9, (N, 2)) * 5e-324,
    "signed zeros": RNG.choice([-0.0, 0.0, 5e-324, -5e-324], (N, 2)),
    "neighbors": 1.0 + RNG.integers(0, 9, (N, 2)) * np.finfo(float).eps,
    "whole numbers": RNG.integers(-5, 5, (N, 3)),
    "small whole numbers": RNG.integers(0, 200, (N, 3)).astype(np.uint8),
    "neighbors of 2**53": 2**53 - RNG.integers(0, 9, (N, 2)),
    "true and false": RNG.integers(0, 2, (N, 3)).astype(bool),
    "single precision": PLAIN.astype(np.float32),
    "single precision at its edges": RNG.choice(np.array([3.4e38, -3.4e38, 1e-45, 0], dtype=np.float32), (N, 2)),
    "more columns than rows": np.round(RNG.normal(size=(4, 70)), 1),
}
LABELS = {
    "three classes": ALTERNATING,
    "two classes": ALTERNATING > 0,
    "one class": np.zeros(N, dtype=int),
    "a class for each row": np.arange(N),
    "a rare class": (np.arange(N) == 5).astype(int),
}
NUMBERS = {
    "plain": RNG.normal(size=N),
    "constant": np.full(N, 0.1),
    "the smallest constant": np.full(N, 5e-324),
    "the largest constant": np.full(N, LARGEST),
    "whole": ALTERNATING,
    "plus and minus 1e308": np.where(ALTERNATING == 1, 1e308, -1e308),
    "the largest numbers": np.where(ALTERNATING == 1, LARGEST, -LARGEST),
    "huge and tiny": RNG.normal(size=N) * np.exp2(RNG.integers(-1000, 1000, N).astype(float)),
    "subnormals": RNG.integers(-9, 9, N) * 5e-324,
    "signed zeros": np.where(ALTERNATING == 1, 0.0, -0.0),
    "far from zero": 1e15 + RNG.integers(0, 4, N),
    "beyond the largest when rounded": np.array([1e308, LARGEST / 2, 0.0, -LARGEST] * (N // 4)),
    "one outlier": np.where(np.arange(N) == 5, 1e300, 1e-300),
}
WEIGHTS = {
    "huge": np.full(N, 1e300),
    "the largest": np.full(N, LARGEST),
    "tiny": np.full(N, 1e-300),
    "the smallest": np.full(N, 5e-324),
    "huge and tiny": np.where(ALTERNATING == 1, 1e300, 1e-300),
    "some are zero": np.where(ALTERNATING == 1, 0.0, 0.5),
    "all but one are zero": np.where(np.arange(N) == 5, 1.0, 0.0),
    "neighbors of 2**53": np.where(np.arange(N) == 5, 2.0**53, 1.0),
    "small whole numbers": np.full(N, 3, dtype=np.uint8),
    "true and false": np.arange(N) > 3,
}
TASKS = [(c, target) for c in CRITERIA for target in (LABELS if is_of_classes(c) else NUMBERS)]


def models(criterion, engine):
    trees, forests = (
        (weald.DecisionTreeClassifier, weald.RandomForestClassifier)
        if is_of_classes(criterion)
        else (weald.DecisionTreeRegressor, weald.RandomForestRegressor)
    )
    yield trees(criterion=criterion, engine=engine)
    yield forests(2, criterion=criterion, engine=engine, random_state=1)
    yield forests(2, criterion=criterion, engine=engine, random_state=1, max_bins=2, bootstrap=False, max_leaf_nodes=5)


def hold(criterion, x, y, weight=None):
    """Fit every model with both engines; results are the same, and finite."""
    y = np.maximum(y, 0.0) if criterion in definition.OF_COUNTS else y
    for native, reference in zip(models(criterion, "native"), models(criterion, "reference"), strict=True):
        native.fit(x, y, sample_weight=weight)
        reference.fit(x, y, sample_weight=weight)
        assert native.forest_.fingerprint() == reference.forest_.fingerprint()
        predicted = native.predict_votes(x)
        assert np.array_equal(predicted, reference.predict_votes(x), equal_nan=True)
        if is_of_classes(criterion):
            np.testing.assert_allclose(native.predict_proba(x).sum(axis=1), 1)
            assert set(native.predict(x)) <= set(np.asarray(y))
        else:
            halves = np.asarray(y, dtype=float) / 2
            slack = (halves.max() - halves.min()) * 1e-9 + 1e-9 * abs(halves).max()
            predicted = native.predict(x) / 2
            assert halves.min() - slack <= predicted.min()
            assert predicted.max() <= halves.max() + slack
        assert pickle.loads(pickle.dumps(native)).predict(x).tobytes() == native.predict(x).tobytes()
        importances = native.feature_importances_
        assert np.isfinite(importances).all()
        assert importances.sum() == pytest.approx(1) or not importances.any()
        if hasattr(native, "tree_"):
            assert np.isfinite(native.tree_.impurity).all()
            assert (native.tree_.impurity >= 0).all()
            assert np.isfinite(native.tree_.compute_feature_importances()).all()


@pytest.mark.parametrize("name", X)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_odd_features_are_features(criterion, name):
    x = X[name]
    hold(criterion, x, ALTERNATING[: len(x)])


@pytest.mark.parametrize(("criterion", "target"), TASKS)
def test_odd_targets_are_targets(criterion, target):
    hold(criterion, PLAIN, (LABELS if is_of_classes(criterion) else NUMBERS)[target])


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_odd_weights_are_weights(criterion, name):
    hold(criterion, PLAIN, ALTERNATING, WEIGHTS[name])


@pytest.mark.parametrize("one", NUMBERS)
@pytest.mark.parametrize("other", ["plain", "subnormals", "the largest numbers", "beyond the largest when rounded"])
def test_odd_targets_go_together(one, other):
    y = np.column_stack([NUMBERS[one], NUMBERS[other]])
    for native, reference in zip(models("squared_error", "native"), models("squared_error", "reference"), strict=True):
        native.fit(PLAIN, y)
        reference.fit(PLAIN, y)
        for mine, theirs in zip(native.forests_, reference.forests_, strict=True):
            assert mine.fingerprint() == theirs.fingerprint()
        assert np.isfinite(native.predict(PLAIN)).all()
        assert pickle.loads(pickle.dumps(native)).predict(PLAIN).tobytes() == native.predict(PLAIN).tobytes()


# Weights of the rows of two classes, weights of the classes, and the probability of the second class that they make.
PRODUCTS = {
    "beyond the doubles": (1e300, 1.0, 1e9, 1.0, 0.0),
    "below the doubles": (1e-300, 1e-300, 1e-200, 1e-300, 0.0),
    "both beyond": (2.0**1000, 3 * 2.0**1000, 2.0**1000, 2.0**1000, 0.75),
    "both below": (2.0**-1074, 3 * 2.0**-1074, 2.0**-1074, 2.0**-1074, 0.75),
    "each makes up for the other": (2.0**1000, 3 * 2.0**-1000, 2.0**-1000, 2.0**1000, 0.75),
    "the largest and the smallest": (LARGEST, 5e-324, 5e-324, LARGEST, 0.5),
    "a class without weight": (LARGEST, 1.0, LARGEST, 0.0, 0.0),
}


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.filterwarnings("ignore:class_weight weighs the class")
def test_products_of_weights_may_be_beyond_the_doubles(name, engine):
    first, second, of_first, of_second, expected = PRODUCTS[name]
    x, y = np.zeros((6, 1)), np.repeat([0, 1], 3)
    model = weald.DecisionTreeClassifier(class_weight={0: of_first, 1: of_second}, engine=engine)
    predicted = model.fit(x, y, sample_weight=np.repeat([first, second], 3)).predict_proba(x[:1])[0, 1]
    assert predicted == pytest.approx(expected, abs=1e-9)
    assert (model.forest_.leaf_weight >= 1).all()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("unit", [2.0**-1074, 2.0**-1000, 2.0**1022])
def test_the_unit_of_class_weights_does_not_matter(unit, bootstrap, engine):
    given = {"random_state": 1, "bootstrap": bootstrap, "engine": engine}
    expected, scaled = (
        weald.RandomForestClassifier(3, class_weight={0: by, 1: 2 * by, 2: 3 * by}, **given).fit(PLAIN, ALTERNATING)
        for by in (1.0, unit)
    )
    assert scaled.forest_.fingerprint() == expected.forest_.fingerprint()


@pytest.mark.parametrize("weight", [None, np.where(ALTERNATING == 1, 5e-324, LARGEST)])
@pytest.mark.parametrize("class_weight", ["balanced", [{0: LARGEST, 1: 1.0, 2: 5e-324}] * 2, [{0: 0}, {1: 0}]])
@pytest.mark.filterwarnings("ignore:class_weight weighs the class")
def test_class_weights_of_several_targets_may_be_beyond_the_doubles(class_weight, weight):
    y = np.column_stack([ALTERNATING, (ALTERNATING > 0) * np.arange(N) % 3])
    for bootstrap in (True, False):
        given = {"class_weight": class_weight, "random_state": 1, "bootstrap": bootstrap}
        fitted = [
            weald.RandomForestClassifier(3, engine=engine, **given).fit(PLAIN, y, sample_weight=weight)
            for engine in ("native", "reference")
        ]
        for forests in zip(*(model.forests_ for model in fitted), strict=True):
            assert forests[0].fingerprint() == forests[1].fingerprint()
        for found in fitted[0].predict_proba(PLAIN):
            np.testing.assert_allclose(found.sum(axis=1), 1)


def test_weights_of_features_may_be_the_largest():
    for engine in ("native", "reference"):
        prints = {
            weald.RandomForestClassifier(3, random_state=1, feature_weights=[3 * by, by, by], engine=engine)
            .fit(PLAIN, ALTERNATING)
            .forest_.fingerprint()
            for by in (1.0, 2.0**1022, 2.0**-1074)
        }
        assert len(prints) == 1


def test_many_classes_of_whole_weights_up_to_2_to_the_53_are_balanced():
    """The weight of a class times the number of classes exceeds 64 bits."""
    n = 2500
    weight = np.where(np.arange(n) == 0, 2.0**53 - n, 1.0)
    fitted = [
        weald.DecisionTreeClassifier(class_weight="balanced", engine=engine).fit(
            np.zeros((n, 1)), np.arange(n), sample_weight=weight
        )
        for engine in ("native", "reference")
    ]
    assert fitted[0].forest_.fingerprint() == fitted[1].forest_.fingerprint()
    np.testing.assert_allclose(fitted[0].predict_proba([[0.0]]), 1 / n, rtol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_constant_target_makes_a_single_leaf_that_says_it(criterion):
    for model in models(criterion, "native"):
        model.fit(PLAIN, np.full(N, 5.0))
        assert model.forest_.n_nodes == model.forest_.n_trees
        assert (model.predict(PLAIN) == 5.0).all()


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, 5e-324, 0.1, 1e15 + 1])
def test_a_constant_number_is_said_exactly(value):
    for model in models("squared_error", "native"):
        assert (model.fit(PLAIN, np.full(N, value)).predict(PLAIN) == value).all()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", ["constant columns", "all missing"])
def test_columns_that_cannot_cut_make_a_single_leaf(criterion, name):
    for model in models(criterion, "native"):
        assert (model.fit(X[name], ALTERNATING).forest_.feature < 0).all()
