"""Inputs that break other libraries, on all four estimators: an error that names the argument or column, or a result.

    REFUSED      what a fit refuses, and a word that the error must contain
    ACCEPTED     what looks invalid but has a meaning
    SCRIPTS      what has crashed or hung other libraries, run in a separate process

Reading tables and parameters has its own tests, test_table.py and test_params.py; here estimators are fitted.
Truncated files are in test_mapped.py, tables beyond 32 bits in test_beyond_32_bits.py, other libraries in the
same process in test_symbols.py, and files of models in tests/io/.
"""

import copy
import datetime as dt
import pickle
import subprocess
import sys
import textwrap
from decimal import Decimal
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier

import weald
from tests.scripts import run_to_the_end
from weald.errors import WealdError, shown

pytestmark = pytest.mark.sanitize

ESTIMATORS = {
    "tree classifier": weald.DecisionTreeClassifier,
    "tree regressor": weald.DecisionTreeRegressor,
    "forest classifier": weald.RandomForestClassifier,
    "forest regressor": weald.RandomForestRegressor,
}
RNG = np.random.default_rng(0)
N = 30
X = np.round(RNG.normal(size=(N, 4)), 2)
Y = (X[:, 0] > 0).astype(int)
ONES = np.ones(N)


def replaced(array, row, value):
    """Put one value into a copy of an array."""
    changed = np.array(array, dtype=object if isinstance(value, str) else float)
    changed[row] = value
    return changed


def objects(n_rows, value):
    """Make a column from one object."""
    column = np.empty((n_rows, 1), dtype=object)
    column[:] = [[value]] * n_rows
    return column


def frame(**columns):
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], **columns})


@pytest.fixture(params=ESTIMATORS)
def make(request):
    """Make an estimator, with few trees if it is a forest."""
    model = ESTIMATORS[request.param]

    def make_model(**given):
        small = {"n_estimators": 3, "random_state": 0} if "n_estimators" in model().get_params() else {}
        return model(**{**small, **given})

    return make_model


def only_for(make, given):
    """Skip parameters that an estimator does not have."""
    if not set(given) <= set(make().get_params()):
        pytest.skip(f"this estimator has no {', '.join(given)}")


# ------------------------------------------------------------------------------------------------------------ refused

REFUSED_X = {
    "no rows": (np.empty((0, 4)), "X|sample"),
    "no columns": (np.empty((N, 0)), "X|feature"),
    "one dimension": (X[:, 0], "2D"),
    "three dimensions": (X[None], "dim"),
    "a number": (3.0, "X|2D"),
    "nothing": (None, "X|2D|array"),
    "words": (np.full((N, 2), "a"), "X"),
    "bytes": (np.full((N, 2), b"a"), "X"),
    "a word among numbers": (np.where(np.arange(N)[:, None] == 7, "a", X.astype(object)), "[Rr]ow 7 of column 0 of X"),
    "complex numbers": (X * 1j, "[Cc]omplex"),
    "durations in months": (
        np.full((N, 2), np.timedelta64(1, "M")),
        r"contains timedelta64\[M\], whose length in days",
    ),
    "masked complex numbers": (np.ma.array(X * 1j), "[Cc]omplex"),
    "masked words": (np.ma.array(np.full((N, 2), "a")), "X holds text"),
    "complex numbers among objects": (np.array([[1.0, np.complex128(1j)]] * N, dtype=object), "Row 0 of column 1 of X"),
    "a date among numbers": (
        np.array([[np.datetime64("2020-01-01", "ns")], [1.0]] * (N // 2), dtype=object),
        "Row 0 of column 0 of X",
    ),
    "a duration among numbers": (
        np.array([[np.timedelta64(1, "ns")], [1.0]] * (N // 2), dtype=object),
        "Row 0 of column 0 of X",
    ),
    "beyond floats": (objects(N, 10**400), r"Row 0 of column 0 of X is 10* \.\.\., which is too large for float64"),
    "beyond what Python writes": (objects(N, 10**5000), "Row 0 of column 0 of X is a value of type int"),
    "an Arrow table with two columns of one name": (pa.table([X[:, 0], X[:, 1]], names=["a", "a"]), "'a'"),
    "an Arrow table with codes beyond its labels": (
        pa.table({"b": pa.DictionaryArray.from_arrays(pa.array([0, 5] * (N // 2)), pa.array(["a", "b"]), safe=False)}),
        "Column 'b' of X has codes",
    ),
    "records": (np.zeros(N, dtype=[("a", float), ("b", int)]), "X"),
    "ragged lists": ([[1.0, 2.0]] * (N - 1) + [[1.0]], "X"),
    "sparse, complex": (sparse.csr_array(X * 1j), "complex"),
    "sparse, more columns than 32 bits can number": (
        sparse.csr_array((np.ones(N), np.full(N, 2**32 + 1), np.arange(N + 1)), shape=(N, 2**32 + 2)),
        "4294967298 columns",
    ),
    "sparse, no columns": (sparse.csr_array((N, 0)), "0 feature"),
    "other numbers of rows": (X[:-1], "X has 29 rows but y has 30"),
    "a frame with a time of the day": (frame(when=pa.array([dt.time(6)] * N).to_pandas()), "'when'"),
    "a frame with words among numbers": (frame(name=["x", 1] * (N // 2)), "[Rr]ow 0 of column 'name' of X is 'x'"),
    "a frame with lists": (frame(things=[[1]] * N), "'things'"),
    "a frame with two columns of one name": (pd.DataFrame(X, columns=["a", "b", "a", "c"]), "'a'"),
    "a frame with names and numbers for names": (pd.DataFrame(X, columns=["a", 1, 2, 3]), "name"),
}
REFUSED_Y = {
    "nothing": (None, "y"),
    "too short": (Y[:-1], "X has 30 rows but y has 29"),
    "too long": (np.append(Y, 1), "X has 30 rows but y has 31"),
    "missing": (replaced(Y, 4, np.nan), "Row 4 of y is nan"),
    "all missing": (np.full(N, np.nan), "Row 0 of y is nan"),
    "infinite": (replaced(Y, 4, -np.inf), "Row 4 of y is -inf"),
    "three dimensions": (np.zeros((N, 1, 1)), "y"),
    "a number": (1.0, "y"),
    "complex numbers": (Y * 1j, "y holds complex"),
    "records": (np.zeros(N, dtype=[("a", float)]), "y holds"),
    "masked": (np.ma.array(Y, mask=np.arange(N) == 3), "y has masked"),
    "sparse": (sparse.csr_matrix(Y), "y is sparse|sparse multilabel-indicator for y is"),
    "ragged": ([[0]] * (N - 1) + [[0, 1]], "y"),
    "words and numbers": (np.array([0, "a"] * (N // 2), dtype=object), "y"),
    "words and NaN": (pd.Series(["a", np.nan] * (N // 2), dtype=object), "[Rr]ow [01] of y"),
    "words and NA": (pd.Series(["a", pd.NA] * (N // 2), dtype="string"), "[Rr]ow [01] of y|y holds"),
    "categories and nothing": (pd.Series(pd.Categorical(["a", None] * (N // 2))), "[Rr]ow [01] of y"),
    "words and null of polars": (pl.Series(["a", None] * (N // 2)), "[Rr]ow [01] of y"),
    "numbers and null of polars": (pl.Series([1, None] * (N // 2)), "[Rr]ow [01] of y"),
    "words and nothing": (np.array(["a", None] * (N // 2), dtype=object), "[Rr]ow .* of y"),
    "dates and NaT": (
        np.array(["2020-01-01", "NaT"] * (N // 2), dtype="M8[D]"),
        "Row 1 of y is .*NaT|y holds datetime",
    ),
    "durations and NaT": (np.array([1, "NaT"] * (N // 2), dtype="m8[D]"), "Row 1 of y is .*NaT|y holds timedelta"),
    "dates and NaT of pandas": (
        pd.Series([pd.Timestamp("2020-01-01"), pd.NaT] * (N // 2)),
        "Row 1 of y is .*NaT|y holds datetime",
    ),
    "NaT among objects": (np.array(["a", np.datetime64("NaT")] * (N // 2), dtype=object), "Row [01] of y"),
    "decimals and NaN": (np.array([Decimal(1), Decimal("NaN")] * (N // 2), dtype=object), "Row 1 of y is"),
    "small floats and NaN": (np.array([1, np.float32("nan")] * (N // 2), dtype=object), "Row 1 of y is"),
    "masked complex numbers": (np.ma.array(Y * 1j), "y holds complex"),
    "masked records": (np.ma.zeros(N, dtype=[("a", float)]), "y holds"),
    "series as labels": (pd.Series([0, pd.Series([1.0, 2.0])] * (N // 2)).to_numpy(), "y"),
    "two columns of one name": (pd.DataFrame(np.c_[Y, Y], columns=["a", "a"]), "y has more than one column named 'a'"),
}
REFUSED_WEIGHTS = {
    "too short": (ONES[:-1], "sample_weight"),
    "too long": (np.ones(N + 1), "sample_weight"),
    "two dimensions": (ONES[:, None], "sample_weight"),
    "negative": (replaced(ONES, 4, -1), "Row 4 of sample_weight is -1"),
    "missing": (replaced(ONES, 4, np.nan), "Row 4 of sample_weight is nan"),
    "infinite": (replaced(ONES, 4, np.inf), "Row 4 of sample_weight is inf"),
    "all zero": (np.zeros(N), "sample_weight is zero"),
    "words": (np.full(N, "a"), "sample_weight"),
    "complex numbers": (ONES * 1j, "sample_weight"),
    "dates": (np.full(N, np.datetime64("2020-01-01")), "sample_weight"),
    "masked": (np.ma.array(ONES, mask=np.arange(N) == 3), "sample_weight has masked"),
    "masked complex numbers": (np.ma.array(ONES * 1j), "sample_weight holds complex"),
    "masked dates": (np.ma.array(np.full(N, np.datetime64("2020-01-01"))), "sample_weight holds datetime64"),
    "an array of no dimension": (np.array(0), "sample_weight one number for each row"),
    "one complex number": (np.complex128(1j), "sample_weight holds complex"),
    "beyond floats": ([10**400] + [1] * (N - 1), "Row 0 of sample_weight is 10* .*float64"),
    "one number beyond floats": (10**400, "Row 0 of sample_weight is 10* .*float64"),
    "ragged": ([[1.0]] * (N - 1) + [[1.0, 2.0]], "sample_weight cannot be read"),
    "a word": ("balanced", "sample_weight"),
    "a dict": ({0: 1.0}, "sample_weight"),
    "a set": ({1.0}, "sample_weight"),
}
REFUSED_PARAMETERS = [
    {"max_features": 0},
    {"max_features": np.timedelta64(1, "D")},
    {"max_depth": np.timedelta64(1, "D")},
    {"n_jobs": np.timedelta64(1, "D")},
    {"max_features": -1},
    {"max_features": 0.0},
    {"max_features": "auto"},
    {"max_depth": 0},
    {"max_depth": -3},
    {"max_depth": 1.5},
    {"min_samples_leaf": 0},
    {"min_samples_split": 1},
    {"max_leaf_nodes": 1},
    {"min_weight_fraction_leaf": 0.51},
    {"min_impurity_decrease": float("nan")},
    {"max_bins": 1},
    {"max_bins": 2**40},
    {"criterion": "no such thing"},
    {"n_jobs": 0},
    {"random_state": -1},
    {"random_state": 2**64},
    {"random_state": "seed"},
    {"engine": "cuda"},
    {"categorical_features": "all"},
    {"categorical_features": ["a"]},
    {"categorical_features": [4]},
    {"categorical_features": [True]},
    {"unknown_category": "ignore"},
    {"missing": None},
    {"ccp_alpha": -1.0},
    {"n_estimators": 0},
    {"n_estimators": -1},
    {"n_estimators": 10.0},
    {"max_samples": 0},
    {"max_samples": -1.5},
    {"max_samples": 2**31},
    {"voting": "loud"},
    {"class_weight": {7: 1.0}},
    {"class_weight": {0: -1.0}},
    {"class_weight": "even"},
    {"class_weight": {0: 10**400}},
    {"engine": np.array([1, 0, 1])},
    {"warm_start": np.array([1, 0])},
    {"warm_start": np.array([])},
    {"monotonic_cst": [[0, 1], [2]]},
    {"monotonic_cst": {0: np.array([1, 0])}},
    {"monotonic_cst": np.array(1)},
    {"interaction_cst": [np.array(1)]},
    {"interaction_cst": np.array(1)},
    {"feature_weights": [10**400, 1, 1, 1]},
    {"feature_weights": {0: [1]}},
    {"categorical_features": np.array(1)},
    {"categorical_features": b"a"},
    {"max_depth": -(10**5000)},
    {"ccp_alpha": 10**5000},
]


@pytest.mark.parametrize("name", REFUSED_X)
def test_bad_features_are_refused_by_name(make, name):
    bad, words = REFUSED_X[name]
    with pytest.raises(WealdError, match=words):
        make().fit(bad, Y)


@pytest.mark.parametrize("name", REFUSED_Y)
def test_bad_targets_are_refused_by_name(make, name):
    bad, words = REFUSED_Y[name]
    with pytest.raises(WealdError, match=words):
        make().fit(X, bad)


@pytest.mark.parametrize("name", REFUSED_WEIGHTS)
def test_bad_weights_are_refused_by_name(make, name):
    bad, words = REFUSED_WEIGHTS[name]
    with pytest.raises(WealdError, match=words):
        make().fit(X, Y, sample_weight=bad)


@pytest.mark.parametrize("given", REFUSED_PARAMETERS, ids=shown)
def test_bad_parameters_are_refused_by_name(make, given):
    only_for(make, given)
    with pytest.raises(WealdError, match=f"{next(iter(given))}|A bag would have"):
        make(**given).fit(X, Y)


@pytest.mark.parametrize("name", [name for name in REFUSED_X if "numbers of rows" not in name])
def test_bad_features_are_refused_at_prediction_too(make, name):
    model = make().fit(X, Y)
    for ask in (model.predict, model.apply, model.predict_votes):
        with pytest.raises(WealdError):
            ask(REFUSED_X[name][0])
    assert (model.predict(X[:3]) == make().fit(X, Y).predict(X[:3])).all()


@pytest.mark.parametrize("n_features", [1, 3, 5])
def test_other_features_are_refused_at_prediction(make, n_features):
    model = make().fit(X, Y)
    with pytest.raises(WealdError, match=f"X has {n_features} features"):
        model.predict(np.zeros((2, n_features)))


def test_other_names_are_refused_at_prediction(make):
    table = pd.DataFrame(X, columns=list("abcd"))
    model = make().fit(table, Y)
    for other in (table[list("badc")], table.rename(columns={"a": "z"}), table[list("abc")]):
        with pytest.raises(WealdError):
            model.predict(other)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(make):
    model = make().fit(X, Y)
    before = dict(vars(model))
    for bad in (
        lambda: model.fit(X[:, :2], Y[:-1]),
        lambda: model.fit(REFUSED_X["complex numbers"][0], Y),
        lambda: model.fit(X[:, :2], Y, sample_weight=-ONES),
    ):
        with pytest.raises(WealdError):
            bad()
        assert vars(model) == before


def test_a_classifier_refuses_numbers_that_are_no_labels(make):
    model = make()
    if is_classifier(model):
        with pytest.raises(WealdError, match=r"Row 1 of y is 0\.5"):
            model.fit(X, replaced(Y, 1, 0.5))
    else:
        with pytest.raises(WealdError, match="y holds"):
            model.fit(X, np.full(N, "a"))


# ----------------------------------------------------------------------------------------------------------- accepted

ACCEPTED_X = {
    "big-endian": X.astype(">f8"),
    "halves": X.astype(np.float16),
    "long doubles": X.astype(np.longdouble),
    "read-only": np.frombuffer(X.tobytes()).reshape(X.shape),
    "masked": np.ma.array(X, mask=X > 1),
    "lists": X.tolist(),
    "tuples": tuple(map(tuple, X)),
    "objects": X.astype(object),
    "decimals": np.array([[Decimal(str(x)) for x in row] for row in X]),
    "decimals and a signaling NaN": np.array([[Decimal("1.5")], [Decimal("sNaN")]] * (N // 2)),
    "masked objects": np.ma.array(X.astype(object), mask=X > 1),
    "masked words among numbers": np.ma.array(
        [[1.0, "ab"[i % 2]] for i in range(N)], mask=[[0, 1], [1, 0]] * (N // 2), dtype=object
    ),
    "a frame with a dictionary of Arrow": frame(
        kind=pd.array(["u", None, "v"] * (N // 3), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    ),
    "None for missing": np.where(X > 1, None, X.astype(object)),
    "unsigned bytes": (X * 10).astype(np.int8).astype(np.uint8),
    "true and false": X > 0,
    "a frame of nullable numbers": pd.DataFrame(X).astype("Float64"),
    "a frame with numbers for names": pd.DataFrame(X),
    "a frame of many types": frame(c=Y, d=Y > 0, e=pd.array([None, 1] * (N // 2), dtype="Int64")),
    "a frame with words": frame(name="x"),
    "a frame with categories": frame(kind=pd.Categorical(["u", None, "v"] * (N // 3))),
    "words and numbers in lists": [[*row, "ab"[i % 2]] for i, row in enumerate(X.tolist())],
    "a transposed frame": pd.DataFrame(X.T).T,
    "zero strides": np.broadcast_to(X[:, :1], (N, 4)),
    "negative strides": X[:, ::-1],
    "columns of a larger table": np.hstack([X, X])[:, 1::2],
}
ACCEPTED_PARAMETERS = [
    {"max_depth": 10**9},
    {"max_depth": 2**70},
    {"min_samples_leaf": 10**9},
    {"min_samples_split": 2**70},
    {"max_leaf_nodes": 10**9},
    {"max_leaf_nodes": 2**70},
    {"max_features": 1e-9},
    {"max_features": "third"},
    {"max_bins": 2},
    {"max_bins": None},
    {"n_jobs": 32067},
    {"n_jobs": -1000},
    {"random_state": 2**64 - 1},
    {"max_samples": 1},
    {"max_samples": 1e-9},
    {"max_samples": 5000},
    {"n_estimators": 1},
    {"class_weight": {0: 0.0, 1: 1.0}},
    {"class_weight": {0: 1e-300, 1: 1e300}},
]


@pytest.mark.parametrize("name", ACCEPTED_X)
def test_odd_features_are_read(make, name):
    given = ACCEPTED_X[name]
    model = make().fit(given, Y)
    assert model.predict(given).shape == (N,)


@pytest.mark.parametrize("given", ACCEPTED_PARAMETERS, ids=str)
@pytest.mark.filterwarnings("ignore:class_weight weighs the class")
def test_odd_parameters_mean_something_and_the_engines_agree(make, given):
    only_for(make, given)
    if "random_state" not in given:
        given = {**given, "random_state": 0}
    native = make(**given).fit(X, Y)
    reference = make(**given, engine="reference").set_params(random_state=native.seed_).fit(X, Y)
    assert native.forest_.fingerprint() == reference.forest_.fingerprint()
    assert native.predict(X).shape == (N,)


def test_a_thousandth_of_the_features_is_one(make):
    assert make(max_features=0.001).fit(X, Y).growth_.max_features == 1


@pytest.mark.parametrize("max_bins", [2, 255, 65_535, None])
def test_more_codes_than_rows_change_nothing(make, max_bins):
    plain = make(max_bins=255).fit(X, Y).forest_.fingerprint()
    assert (make(max_bins=max_bins).fit(X, Y).forest_.fingerprint() == plain) == (max_bins != 2)


def test_classes_that_a_bag_lacks_keep_their_column():
    y = np.where(np.arange(N) == 3, 2, Y)
    model = weald.RandomForestClassifier(5, max_samples=3, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (N, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_no_rows_to_predict_are_refused(make):
    with pytest.raises(WealdError, match="sample"):
        make().fit(X, Y).predict(np.empty((0, 4)))


def test_whole_numbers_beyond_2_to_the_53_are_rounded_with_a_warning(make):
    with pytest.warns(UserWarning, match=r"beyond 2\*\*53"):
        make().fit((X * 1e17).astype(np.int64), Y)


def test_heavy_whole_weights_warn_of_large_bags(make):
    model = make()
    if not hasattr(model, "bootstrap"):
        pytest.skip("single trees have no bags")
    with pytest.warns(UserWarning, match="max_samples"):
        model.fit(X, Y, sample_weight=ONES * 1000)
    with pytest.raises(WealdError, match="max_samples"), pytest.warns(UserWarning, match="max_samples"):
        model.fit(X, Y, sample_weight=ONES * 2**40)


# Unusual but unambiguous tables: (X, y). They are accepted, and both engines grow the same forest.
EDGES = {
    "one row": (X[:1], Y[:1]),
    "one column of one row": (X[:1, :1], Y[:1]),
    "one class": (X, np.zeros(N, dtype=int)),
    "a column without a value": (np.where(np.arange(4) == 1, np.nan, X), Y),
    "no value at all": (np.full((N, 4), np.nan), Y),
    "infinities": (np.where(X > 1, np.inf, np.where(X < -1, -np.inf, X)), Y),
    "constant columns": (np.ones((N, 4)), Y),
    "the smallest numbers": (np.round(X * 10) * 5e-324, Y),
    "zeros of both signs": (np.where(X > 0, 0.0, -0.0), Y),
    "the largest whole numbers": (np.full((N, 1), 2**53, dtype=np.uint64) - np.arange(N, dtype=np.uint64)[:, None], Y),
    "huge targets": (X, np.where(Y == 1, 1e308, -1e308)),
    "sparse, out of order": (
        sparse.csr_array((X.ravel()[::-1], np.tile([3, 2, 1, 0], N), np.arange(0, 4 * N + 1, 4))),
        Y,
    ),
    "sparse, places twice": (
        sparse.csr_array((np.tile(X / 2, (1, 2)).ravel(), np.tile([0, 1, 2, 3], 2 * N), np.arange(0, 8 * N + 1, 8))),
        Y,
    ),
    "sparse, missing": (sparse.csr_array(np.where(X > 1, np.nan, np.where(X < 0, 0, X))), Y),
}


@pytest.mark.parametrize("name", EDGES)
def test_tables_at_the_edge_are_learned_alike(make, name):
    features, target = EDGES[name]
    native, reference = make(), make(engine="reference")
    for model in (native, reference):
        model.fit(features, target)
    assert native.forest_.fingerprint() == reference.forest_.fingerprint()
    message = native.predict(features)
    assert np.array_equal(message, reference.predict(features))
    assert np.isfinite(message).all()


@pytest.mark.parametrize("weight", [1e-300, 1e300, 5e-324])
def test_the_scale_of_weights_means_nothing_where_they_are_not_whole(make, weight):
    ratios = np.where(Y == 1, 1.5, 1.25)
    plain, scaled = (make().fit(X, Y, sample_weight=ratios * unit) for unit in (1.0, 2.0**-900))
    assert plain.forest_.fingerprint() == scaled.forest_.fingerprint()
    assert np.isfinite(make().fit(X, Y, sample_weight=np.where(Y == 1, weight, 1.0)).predict(X)).all()


def test_a_seed_may_come_from_a_generator(make):
    for source in (np.random.default_rng, np.random.RandomState):
        one, other = (make(random_state=source(3), max_features=1).fit(X, Y) for _ in range(2))
        assert one.seed_ == other.seed_
        assert one.forest_.fingerprint() == other.forest_.fingerprint()


def test_levels_in_another_order_are_the_same_categories(make):
    labels = np.array(["u", "v", "w"])[np.arange(N) % 3]
    one = frame(kind=pd.Categorical(labels, categories=["u", "v", "w"]))
    other = frame(kind=pd.Categorical(labels, categories=["w", "x", "v", "u"]))
    model = make().fit(one, Y)
    assert np.array_equal(model.predict(one), model.predict(other))
    assert make().fit(other, Y).forest_.fingerprint() == model.forest_.fingerprint()


def test_copies_and_clones_of_a_fitted_model(make):
    model = make().fit(X, Y)
    twin = copy.deepcopy(model)
    assert np.array_equal(twin.predict(X), model.predict(X))
    fresh = clone(model)
    assert not hasattr(fresh, "forest_")
    assert fresh.fit(X, Y).forest_.fingerprint() == model.forest_.fingerprint()


def test_a_fit_may_be_asked_for_within_a_fit():
    """The estimator is copied and fitted again by a function that its own fit calls."""
    copies = []

    def judge(truth, message):
        copies.append(copy.deepcopy(model))
        copies.append(pickle.loads(pickle.dumps(clone(model).set_params(oob_score=False))))
        copies.append(clone(model).set_params(oob_score=False).fit(X, Y))
        return float(model.set_params(oob_score=False).fit(X, Y).score(X, Y))

    model = weald.RandomForestClassifier(40, oob_score=judge, random_state=0)
    model.fit(X, Y)
    assert model.oob_score_ == 1.0
    assert not any(hasattr(twin, "forest_") for twin in copies[:2])  # attributes are set only after success
    assert model.forest_.fingerprint() == copies[2].forest_.fingerprint()


# ------------------------------------------------------------------------------------------------- streams, queries


class Stream:
    """An object with only an Arrow interface, like queries of DuckDB."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


STREAMS = {
    "a reader of batches": lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(7)),
    "a batch": lambda table: table.to_batches()[0],
    "whatever speaks Arrow": Stream,
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_of_arrow_is_read_to_its_end(make, name):
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "kind": pa.array(["u", None, "v"] * (N // 3))})
    stream = STREAMS[name]
    model = make().fit(stream(table), Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "kind"]
    assert model.forest_.fingerprint() == make().fit(table, Y).forest_.fingerprint()
    assert np.array_equal(model.predict(stream(table)), model.predict(table))


def test_a_stream_that_fails_or_has_been_read_is_refused(make):
    def fail():
        yield pa.record_batch({"a": X[:10, 0]})
        raise OSError("the line is dead")

    with pytest.raises(
        WealdError, match=r"X is RecordBatchReader, a stream of Arrow, that cannot be read: .*line is dead"
    ):
        make().fit(pa.RecordBatchReader.from_batches(pa.schema({"a": pa.float64()}), fail()), Y)
    table = pa.table({"a": X[:, 0]})
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    make().fit(reader, Y)
    with pytest.raises(WealdError, match=r"without rows: 0 sample.*can be read only once"):
        make().fit(reader, Y)


LAZY = {
    "polars": lambda: pl.LazyFrame({"a": X[:, 0]}),
    "dask": lambda: pytest.importorskip("dask.dataframe").from_pandas(frame(), npartitions=2),
}


@pytest.mark.parametrize("name", LAZY)
def test_what_has_no_values_yet_is_refused_with_what_to_do(name):
    """Forests send Dask frames to a cluster; a tree needs the values."""
    model = weald.DecisionTreeClassifier()
    with pytest.raises(WealdError, match=r"X\.(collect|compute)\(\)"):
        model.fit(LAZY[name](), Y)


# --------------------------------------------------------------------------------- what has crashed or hung elsewhere

PREPARE = """
import threading, warnings
import numpy as np
import weald

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
Y = (X[:, 0] > 0).astype(int)
MODELS = [weald.DecisionTreeClassifier, weald.DecisionTreeRegressor, weald.RandomForestClassifier,
          weald.RandomForestRegressor]
"""
SCRIPTS = {
    "many more threads than there can be": """
        for n_jobs in (1000, 32067, 2**31, 2**70):
            for model in MODELS:
                model(n_jobs=n_jobs, random_state=0).fit(X, Y).predict(np.tile(X, (100, 1)))
    """,
    "no memory for more threads": """
        import os, resource
        if "libasan" in os.environ.get("LD_PRELOAD", ""):
            raise SystemExit(print("all well"))  # the sanitizer needs more room than there is
        expected = [model(random_state=0).fit(X, Y).forest_.fingerprint() for model in MODELS]
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 100_000_000, size + 100_000_000))
        for model, wanted in zip(MODELS, expected):
            try:
                assert model(n_jobs=64, random_state=0).fit(X, Y).forest_.fingerprint() == wanted
            except (RuntimeError, MemoryError):
                pass
    """,
    "no memory for the trees": """
        import os, resource
        if "libasan" in os.environ.get("LD_PRELOAD", ""):
            raise SystemExit(print("all well"))  # the sanitizer needs more room than there is
        large = np.tile(X, (20, 1)) + 1e-3 * rng.normal(size=(6000, 6))
        small = weald.RandomForestRegressor(2, random_state=0, n_jobs=2).fit(large, large[:, 1])
        expected = small.forest_.fingerprint()
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 60_000_000, size + 60_000_000))
        model = weald.RandomForestRegressor(5000, random_state=0, n_jobs=2)
        try:
            model.fit(large, large[:, 1])
        except MemoryError:
            pass
        else:
            raise AssertionError("there was room for 5000 trees")
        assert not hasattr(model, "forest_")
        model.set_params(n_estimators=2).fit(large, large[:, 1])
        assert model.forest_.fingerprint() == expected
    """,
    "very many trees of one row": """
        model = weald.RandomForestRegressor(50_000, random_state=0).fit(X[:1], Y[:1])
        assert model.forest_.n_trees == 50_000
        assert model.predict(X[:2]).tolist() == [Y[0], Y[0]]
    """,
    "a table that another thread writes to": """
        stop = threading.Event()
        shared = X.repeat(20, axis=0)
        target = Y.repeat(20)
        def write():
            dice = np.random.default_rng(1)
            while not stop.is_set():
                rows, column = dice.integers(0, len(shared), 500), dice.integers(0, 6)
                shared[rows, column] = dice.choice([np.nan, np.inf, 0.0, 1e308])
        thread = threading.Thread(target=write)
        thread.start()
        for turn in range(5):
            for model in MODELS:
                fitted = model(random_state=0, max_depth=6).fit(shared, target)
                fitted.predict(shared)
        warnings.simplefilter("ignore")
        weald.RandomForestClassifier(5, oob_score=True, max_bins=4).fit(shared, target)
        stop.set()
        thread.join()
    """,
    "forests with a child, a feature or a class out of range": """
        import dataclasses
        for model in MODELS:
            forest = model(random_state=0).fit(X, Y).forest_
            for name, value in (("right", 10**6), ("right", -1), ("right", 0), ("right", 1), ("feature", 6),
                                ("feature", 2**31 - 1), ("tree_start", 10**6), ("tree_start", -1),
                                ("leaf_start", 10**6), ("leaf_start", -1), ("leaf_class", 99), ("leaf_class", -1)):
                array = getattr(forest, name).copy()
                if not len(array) or (name == "leaf_start" and not forest.n_classes):
                    continue
                array[0 if name != "tree_start" else -1] = value
                bad = dataclasses.replace(forest, **{name: array})
                estimator = model(random_state=0).fit(X, Y)
                estimator.forest_ = bad
                try:
                    estimator.predict(X)
                except ValueError:
                    continue
                raise AssertionError((model, name, value))
    """,
    "arrays of other lengths": """
        import dataclasses
        for model in MODELS:
            estimator = model(random_state=0).fit(X, Y)
            good = estimator.forest_
            for name in ("feature", "threshold", "right", "flags", "tree_start"):
                estimator.forest_ = dataclasses.replace(good, **{name: getattr(good, name)[:-1].copy()})
                try:
                    estimator.predict(X)
                except ValueError:
                    continue
                raise AssertionError((model, name))
    """,
    "more leaves to name than 32 bits can count": """
        import os, resource
        if "libasan" in os.environ.get("LD_PRELOAD", ""):
            raise SystemExit(print("all well"))  # the sanitizer needs more room than there is
        model = weald.RandomForestRegressor(2**11, random_state=0).fit(X[:1], Y[:1])
        many = np.broadcast_to(X[:1], (2**21 + 1, 6))
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + 2**30, size + 2**30))
        try:
            model.apply(many)
        except MemoryError:
            assert model.apply(many[:3]).tolist() == [[0] * 2**11] * 3
        else:
            raise AssertionError("there was room for 2**32 numbers")
    """,
    "two models of one file": """
        import pathlib, tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.weald")
            model = weald.RandomForestClassifier(5, random_state=0).fit(X, Y)
            model.save(path)
            one, other = weald.load(path), weald.load(path)
        expected = model.predict_proba(X)
        assert (one.predict_proba(X) == expected).all()
        one.fit(-X, 1 - Y)
        del one
        assert (other.predict_proba(X) == expected).all()
    """,
    "a tree as deep as it has rows": """
        n = 2500
        x = np.eye(n, dtype=np.float32)  # every cut takes one row away
        y = np.arange(n) % 2
        for max_leaf_nodes in (None, n):
            model = weald.DecisionTreeClassifier(max_features=1, max_leaf_nodes=max_leaf_nodes, random_state=0)
            model.fit(x, y)
            assert model.get_depth() > n / 4, model.get_depth()
            assert (model.predict(x) == y).all()
            assert model.decision_path(x[:3]).shape == (3, model.tree_.node_count)
    """,
    "as many classes as rows": """
        x = rng.normal(size=(3000, 2))
        for criterion in ("gini", "entropy", "misclassification"):
            model = weald.DecisionTreeClassifier(criterion=criterion, max_depth=3).fit(x, np.arange(3000))
            assert model.predict_proba(x[:5]).shape == (5, 3000)
    """,
    "very wide tables": """
        x = rng.integers(0, 3, size=(20, 30_000)).astype(np.float32)
        for model in MODELS:
            model(random_state=0, max_depth=3).fit(x, Y[:20]).predict(x)
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_has_crashed_others_does_not_crash(name):
    assert run_to_the_end(PREPARE + textwrap.dedent(SCRIPTS[name])).stdout == "all well\n"


SUBINTERPRETERS = next((name for name in ("_interpreters", "_xxsubinterpreters") if find_spec(name)), None)
WITHIN = """
import sys
sys.path[:] = PATH
try:
    import weald
except ImportError as error:
    print(error, flush=True)
"""


@pytest.mark.skipif(SUBINTERPRETERS is None, reason="this Python has no subinterpreters")
def test_a_subinterpreter_is_refused_when_weald_is_imported():
    """In a subinterpreter, libraries would wait forever."""
    source = f"""
import sys, {SUBINTERPRETERS} as interpreters
new = interpreters.create()
getattr(interpreters, "exec", interpreters.run_string)(new, {WITHIN!r}.replace("PATH", repr(sys.path)))
interpreters.destroy(new)
import weald
print(weald.RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1]).n_classes_)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    refused, fitted = done.stdout.splitlines()
    assert refused.startswith("weald runs in the main interpreter only")
    assert fitted == "2"


@pytest.mark.slow
def test_memory_does_not_grow_over_repeated_fits():
    script = """
        import resource
        def work():
            for model in MODELS:
                model(random_state=0).fit(X, Y).predict(X)
        for _ in range(10):
            work()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(60):
            work()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 20_000, grown  # kilobytes
    """
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", [weald.KernelForestClassifier, weald.KernelForestRegressor])
@pytest.mark.parametrize(
    "given",
    [
        {"random_state": "x"},
        {"random_state": -1},
        {"warm_start": np.array([1, 0])},
        {"engine": np.array([1, 0])},
        {"kernel": "auto", "random_state": 0.5},
    ],
    ids=str,
)
def test_bad_parameters_of_kernel_forests_are_refused_by_name(kind, given):
    with pytest.raises(weald.ParameterError, match=list(given)[-1]):
        kind(**given).fit(X, Y)


# ---------------------------------------------------------------------------------------------- arguments of methods

TREE = weald.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
FOREST = weald.RandomForestClassifier(3, random_state=0).fit(X, Y)
ARRAY = np.array([1, 2])
REFUSED_ARGUMENTS = {
    "choose_alpha, cv as text": (lambda: TREE.choose_alpha(X, Y, cv="x"), "cv='x'"),
    "choose_alpha, cv below 0": (lambda: TREE.choose_alpha(X, Y, cv=-1), "cv=-1"),
    "choose_alpha, no folds": (lambda: TREE.choose_alpha(X, Y, cv=[]), "cv="),
    "choose_alpha, folds of floats": (lambda: TREE.choose_alpha(X, Y, cv=np.zeros((2, 2))), "cv="),
    "choose_alpha, one_standard_error": (
        lambda: TREE.choose_alpha(X, Y, one_standard_error=ARRAY),
        "one_standard_error=",
    ),
    "explain_row, nothing": (lambda: TREE.explain_row(None), "x is None"),
    "explain_row, a number": (lambda: TREE.explain_row(np.array(1.0)), "x is array"),
    "explain_row, ragged": (lambda: TREE.explain_row([[1.0], [1.0, 2.0]]), "x cannot be read"),
    "explain_split, node": (lambda: TREE.explain_split(10**5000, X, Y), "node="),
    "nodes, frame": (lambda: TREE.nodes(frame=ARRAY), "frame=array"),
    "nodes, feature_names": (lambda: TREE.nodes(feature_names=3), "feature_names is 3"),
    "nodes, class_names as text": (lambda: TREE.nodes(class_names="ab"), "class_names is 'ab'"),
    "nodes, class_names of lists": (lambda: TREE.nodes(class_names=[[1], [1, 2]]), "class_names"),
    "predict_chunks, nothing": (lambda: TREE.predict_chunks(None), "X is None"),
    "predict_chunks, a number": (lambda: TREE.predict_chunks(np.float64(1.0)), "X is np.float64"),
    "predict_chunks, method": (lambda: TREE.predict_chunks(X, method=ARRAY), "method="),
    "predict_chunks, out": (lambda: TREE.predict_chunks(X, out="x"), "out is 'x'"),
    "predict_chunks, n_rows": (lambda: TREE.predict_chunks([X], n_rows=ARRAY), "n_rows="),
    "predict_chunks, dtype": (lambda: TREE.predict_chunks(X, dtype="\ud800"), "dtype="),
    "to_c, name": (lambda: TREE.to_c(name=10**5000), "name=a value of type int"),
    "to_c, check": (lambda: TREE.to_c(check=ARRAY), "check="),
    "to_json, check": (lambda: TREE.to_json(check=ARRAY), "check="),
    "to_onnx, columns": (lambda: TREE.to_onnx(columns=ARRAY), "columns="),
    "to_onnx, check": (lambda: TREE.to_onnx(check=ARRAY), "check="),
    "to_shap, check": (lambda: TREE.to_shap(check=ARRAY), "check="),
    "to_sklearn, check": (lambda: TREE.to_sklearn(check=ARRAY), "check="),
    "to_treelite, check": (lambda: TREE.to_treelite(check=ARRAY), "check="),
    "max_samples": (lambda: weald.RandomForestClassifier(max_samples=10**5000).fit(X, Y), "draws"),
    "a metric without a number": (
        lambda: weald.RandomForestClassifier(30, oob_score=lambda *_: None, random_state=0).fit(X, Y),
        "metric <lambda> returned None",
    ),
    "proximity, k": (lambda: FOREST.proximity(X, k=10**400), "k="),
    "prototypes_.prune, y": (
        lambda: weald.KernelForestClassifier(3, random_state=0).fit(X, Y).prototypes_.prune(X, None, 2),
        "y",
    ),
}


@pytest.mark.parametrize("name", REFUSED_ARGUMENTS)
def test_bad_arguments_of_methods_are_refused_by_name(name):
    ask, words = REFUSED_ARGUMENTS[name]
    with pytest.raises(WealdError, match=words):
        ask()


def test_names_of_classes_say_nothing_in_a_regressor():
    tree = weald.DecisionTreeRegressor().fit(X, Y)
    assert tree.export_text(class_names=[]) == tree.export_text()
