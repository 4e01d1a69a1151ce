"""Any X, y and weights become a table, or an error names what is wrong with them."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

import weald
from weald.data.table import read_features, read_table
from weald.data.targets import MAX_CLASSES
from weald.errors import DataError, DataTypeError

X = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, np.nan], [4.0, -np.inf]])
Y = np.array([0, 1, 0, 1])


def read(x=X, y=Y, weight=None, *, classify=True):
    return read_table(weald.DecisionTreeClassifier(), x, y, weight, classify=classify)


def features(x):
    return read_features(weald.DecisionTreeClassifier(), x, reset=True)


# ------------------------------------------------------------------------------------------------------------ X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "turn", [np.array, np.asfortranarray, lambda a: a[::-1], lambda a: a[:, ::-1], lambda a: a[::2]]
)
def test_floats_of_any_stride_pass_without_a_copy(dtype, turn):
    given = turn(X.astype(dtype))
    got = features(given)
    assert got.dtype == dtype
    assert np.shares_memory(got, given)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_a_field_of_records_is_read(dtype):
    records = np.zeros(8, dtype=[("features", dtype, 2), ("out", "f8", 2), ("mark", "u1")])
    given, y = records["features"], np.arange(8) % 2
    given[:] = np.arange(16).reshape(8, 2)
    assert given.strides[0] % given.itemsize
    forest, same = (weald.RandomForestClassifier(3, random_state=0).fit(table, y) for table in (given, given.copy()))
    assert forest.forest_.fingerprint() == same.forest_.fingerprint()
    assert (forest.predict_proba(given) == same.predict_proba(given.copy())).all()
    with pytest.raises(DataError, match="not evenly strided"):
        forest.predict_proba(given, out=records["out"])


def test_a_broadcast_array_passes_without_a_copy():
    given = np.broadcast_to(np.array([1.0, 2.0]), (5, 2))
    assert features(given).strides == given.strides


def test_a_read_only_memmap_passes_without_a_copy(tmp_path):
    np.save(tmp_path / "x.npy", X)
    given = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert np.shares_memory(features(given), given)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8", "u8", "?", "f2", ">f4", ">f8", ">i4", "longdouble"])
def test_other_numbers_become_float64(dtype):
    given = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    got = features(given)
    assert got.dtype == np.float64
    assert (got == given).all()


def test_objects_that_are_numbers_are_read():
    got = features([[Decimal("1.5"), None], [2, True]])
    np.testing.assert_array_equal(got, [[1.5, np.nan], [2.0, 1.0]])


def test_masked_entries_are_missing():
    got = features(np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]]))
    np.testing.assert_array_equal(got, [[1, np.nan], [3, 4]])


def test_whole_numbers_beyond_2_to_the_53_warn():
    with pytest.warns(UserWarning, match="beyond 2\\*\\*53"):
        features(np.array([[2**60], [2**60 + 1]]))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (X + 1j, "Complex data not supported"),
        (np.array([["a", "b"]]), r"X holds text \(<U1\), not numbers. Give a data frame, or an array of objects"),
        (np.array([[b"a"]]), r"X holds text \(\|S1\), not numbers"),
        (np.array([[1.0, "a"], [1.0, 2.0]], dtype=object), "Row 0 of column 1 of X is 'a'"),
        (np.array([[1.0, {}]], dtype=object), "argument must be a string or a real number"),
        (np.array([[3]], dtype="timedelta64[Y]"), r"Column 0 of X contains timedelta64\[Y\], whose length in days"),
        (np.zeros(3, dtype=[("a", float), ("b", int)]), "not numbers"),
        (np.empty((0, 3)), r"0 sample\(s\)"),
        (np.empty((3, 0)), r"0 feature\(s\)"),
        (np.zeros(3), r"Expected 2D array, got 1D array: the shape of X is \(3,\). Reshape your data: X.reshape"),
        (None, "X is None, not a table"),
        ("table.csv", "X is 'table.csv', not a table"),
        (np.zeros((2, 2, 2)), "3"),
        (1.0, "Expected 2D array, got scalar"),
        ([[1, 2], [3]], "X cannot be read as a table"),
        (pl.LazyFrame({"a": [1.0]}), "collect"),
        ({"a": [1.0]}, "X is a mapping, not a table. Convert it to a data frame"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(bad, words):
    with pytest.raises((DataError, DataTypeError), match=words):
        features(bad)


# ------------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_gives_values_and_names(library):
    model = weald.DecisionTreeClassifier()
    frame = library.DataFrame({"a": [1, 2, 3], "b": [0.5, None, 1.5], "c": [True, False, True]})
    got = read_features(model, frame, reset=True)
    np.testing.assert_array_equal(got, [[1, 0.5, 1], [2, np.nan, 0], [3, 1.5, 1]])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pandas_frame_of_floats_passes_without_a_copy(dtype):
    frame = pd.DataFrame(X.astype(dtype))
    got = features(frame)
    assert got.dtype == dtype
    assert np.shares_memory(got, frame.to_numpy())


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "Float32", "UInt8"])
def test_null_in_a_nullable_column_is_missing(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 0], dtype=dtype)})
    np.testing.assert_array_equal(features(frame), [[1.0], [np.nan], [0.0]])


def test_null_in_a_polars_column_is_missing():
    frame = pl.DataFrame({"a": [1, None, 0], "b": [None, True, False]})
    np.testing.assert_array_equal(features(frame), [[1, np.nan], [np.nan, 1], [0, 0]])


def test_types_that_numpy_lacks_are_read():
    zeros = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 2.0, np.nan], fill_value=0.0)})
    np.testing.assert_array_equal(features(zeros), [[0], [2], [np.nan]])
    wide = pl.DataFrame({"a": [1, None, 3]}, schema={"a": pl.Int128})
    np.testing.assert_array_equal(features(wide), [[1], [np.nan], [3]])
    with pytest.warns(UserWarning, match=r"beyond 2\*\*53"):
        features(pl.DataFrame({"a": [1, 2**100]}, schema={"a": pl.Int128}))


def test_objects_in_a_frame_are_read_or_named():
    good = pd.DataFrame({"a": pd.Series([Decimal("1.5"), None, pd.NA], dtype=object)})
    np.testing.assert_array_equal(features(good), [[1.5], [np.nan], [np.nan]])
    bad = pd.DataFrame({"n": [1.0, 2.0], "a": pd.Series([1, [2]], dtype=object)})
    with pytest.raises(DataTypeError, match=r"Row 1 of column 'a' of X is \[2\]"):
        features(bad)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pl.DataFrame({"n": [dt.time(6, 30)]}), "Column 'n' of X holds Time, not numbers. Turn times of the day"),
        (pd.DataFrame({"n": [1.0, 2.0], "name": ["x", 2]}), "Row 0 of column 'name' of X is 'x'"),
        (pl.DataFrame({"n": [[1.0]]}), "Column 'n' of X holds List"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "more than one column named 'a'"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", 1]), "string names"),
    ],
)
def test_a_column_without_numbers_is_named(frame, words):
    with pytest.raises((DataError, DataTypeError), match=words):
        features(frame)


def test_a_column_that_was_numbers_stays_numbers():
    model = weald.DecisionTreeClassifier().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    with pytest.raises(
        DataTypeError, match=r"Column 'b' of X holds .*, not numbers. It was numbers when the model was"
    ):
        model.predict(pd.DataFrame({"a": [1.0], "b": ["x"]}))


def test_names_must_agree_at_prediction():
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = weald.DecisionTreeClassifier().fit(frame, Y)
    assert (model.predict(frame) == Y).all()
    with pytest.raises(DataError, match=r"(?s)feature names should match.*Column 0 is 'b', but was 'a'"):
        model.predict(frame[["b", "a"]])
    with pytest.raises(DataError, match=r"(?s)yet now missing:\n- b"):
        model.predict(frame[["a"]])
    with pytest.raises(DataError, match=r"(?s)unseen at fit time:\n- c"):
        model.predict(frame.assign(c=1.0))
    with pytest.raises(DataError, match="X has 1 features, but DecisionTreeClassifier is expecting 2"):
        model.set_params().fit(X, Y).predict(X[:, :1])


def test_numbers_as_column_names_are_no_names():
    model = weald.DecisionTreeClassifier()
    got = read_features(model, pd.DataFrame({0: [1, 2], 1: [3, 4]}), reset=True)
    assert got.shape == (2, 2)
    assert not hasattr(model, "feature_names_in_")


# ------------------------------------------------------------------------------------------------------------ y


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a", "b", "c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        np.array([7, 3, 7, 9]),
        np.array([7.0, 3.0, 7.0, 9.0]),
        np.array([1, 0, 1, 2], dtype=">i2"),
        ["b", "a", "b", "c"],
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        pl.Series([7, 3, 7, 9]),
    ],
)
def test_labels_of_any_kind_are_numbered_in_sorted_order(labels):
    reading = read(y=labels)
    assert reading.table.target.tolist() == [1, 0, 1, 2]
    assert reading.table.target.dtype == np.int32
    assert reading.table.n_classes == 3
    assert (reading.classes[reading.table.target] == np.asarray(labels)).all()


def test_true_and_false_are_labels():
    assert read(y=[True, False, True, True]).classes.tolist() == [False, True]


def test_a_column_vector_warns():
    with pytest.warns(DataConversionWarning):
        assert read(y=Y.reshape(-1, 1)).table.target.shape == (4,)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (None, "y is None"),
        ([0, 1], "X has 4 rows but y has 2"),
        ([0.5, 1.0, 2.0, 3.0], "Row 0 of y is 0.5; a classifier needs class labels"),
        ([0, 1, np.nan, 1], "Row 2 of y is nan"),
        ([0, 1, np.inf, 1], "Row 2 of y is inf"),
        (np.array(["a", None, "b", "a"], dtype=object), "Row 1 of y is None"),
        (np.array(["a", 1, "b", "a"], dtype=object), "y mixes labels that cannot be sorted: int, str"),
        (np.zeros((4, 2, 2)), "y"),
        (np.zeros(4, dtype=complex), "y holds complex128"),
        (np.zeros(4, dtype=[("a", int)]), "y holds"),
        (np.ma.array([0, 1, 0, 1], mask=[0, 0, 0, 1]), "masked"),
        (sparse.csr_matrix(np.eye(4)), "y is sparse"),
        ([[0], [1], [0, 1], [1]], "y cannot be read"),
    ],
)
def test_what_is_no_label_is_refused(bad, words):
    with pytest.raises((DataError, DataTypeError), match=words):
        read(y=bad)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1.0, np.nan, 2.0, 3.0], "Row 1 of y is nan"),
        ([1.0, 2.0, -np.inf, 3.0], "Row 2 of y is -inf"),
        (["a", "b", "c", "d"], r"y holds text \(<U1\), not numbers. .* use a classifier"),
        (5.0, r"y should be a 1d array, but its shape is \(\)"),
        (np.array([1, 2, "x", 4], dtype=object), "Row 2 of y is 'x'"),
        (np.array([1, 2, None, 4], dtype=object), "Row 2 of y is nan"),
    ],
)
def test_what_is_no_finite_number_is_refused(bad, words):
    with pytest.raises((DataError, DataTypeError), match=words):
        read(y=bad, classify=False)


@pytest.mark.parametrize("n_rows", [10, 999, 1000, 1001, 5000])
def test_labels_are_numbered_in_sorted_order(n_rows):
    rng = np.random.default_rng(n_rows)
    few, many = rng.integers(-3, 4, n_rows), rng.integers(0, 100_000, n_rows)
    rare = np.where(np.arange(n_rows) == n_rows - 2, 9, np.where(np.arange(n_rows) == 1, 3, 5))
    kinds = [few, np.sort(few), few > 0, few.astype(float), few.astype(str), few.astype("S2"), few.astype(np.uint8)]
    for labels in [*kinds, few.astype(object), many, rare, np.full(n_rows, 7)]:
        got = read(np.zeros((n_rows, 1)), labels)
        classes, numbers = np.unique(labels, return_inverse=True)
        assert got.classes.dtype == classes.dtype
        np.testing.assert_array_equal(got.classes, classes)
        np.testing.assert_array_equal(got.table.target, numbers)


def test_too_many_classes_are_refused():
    n = MAX_CLASSES + 1
    with pytest.raises(DataError, match="65537 classes"):
        read(np.zeros((n, 1)), np.arange(n))


# ------------------------------------------------------------------------------------------------------ weights


def test_without_weights_every_row_weighs_one():
    table = read().table
    assert (table.weight, table.weights_whole, table.size) == (None, True, 4)


def test_weights_of_one_are_no_weights():
    assert read(weight=[1, 1, 1, 1]).table.weight is None


def test_whole_weights_add_up_to_the_size():
    table = read(weight=[1, 2, 3, 4]).table
    assert (table.weights_whole, table.size) == (True, 10)


@pytest.mark.parametrize("weight", [[0.5, 1, 1, 1], [2.0**53, 2, 1, 1], [1e300, 1, 1, 1], [1e-320, 1, 1, 1]])
def test_weights_that_are_not_whole_leave_the_rows_as_size(weight):
    table = read(weight=weight).table
    assert (table.weights_whole, table.size) == (False, 4)


def test_rows_of_zero_weight_are_dropped_but_their_classes_stay():
    reading = read(y=[0, 1, 2, 1], weight=[1, 0, 2, 0])
    assert reading.classes.tolist() == [0, 1, 2]
    assert reading.table.target.tolist() == [0, 2]
    assert reading.table.n_classes == 3
    assert reading.table.X.shape == (2, 2)
    assert reading.kept.tolist() == [True, False, True, False]


def test_one_number_weighs_all_rows():
    assert read(weight=3).table.size == 12


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1, 2, 3], "X has 4 rows but sample_weight has 3"),
        ([[1], [2], [3], [4]], "2 dimensions"),
        ([1, -1, 1, 1], "Row 1 of sample_weight is -1.0"),
        ([1, 1, np.nan, 1], "Row 2 of sample_weight is nan"),
        ([1, 1, 1, np.inf], "Row 3 of sample_weight is inf"),
        ([0, 0, 0, 0], "sample_weight is zero for every row"),
        (["a", "b", "c", "d"], "sample_weight holds"),
        (np.ones(4) * 1j, "sample_weight holds complex128"),
    ],
)
def test_what_is_no_weight_is_refused(bad, words):
    with pytest.raises((DataError, DataTypeError), match=words):
        read(weight=bad)


# ---------------------------------------------------------------------------------------- odd tables that work


@pytest.mark.parametrize(
    "x",
    [
        np.full((4, 2), np.nan),
        np.ones((4, 2)),
        np.full((4, 1), np.inf),
        np.array([[1e308], [-1e308], [5e-324], [-0.0]]),
        np.array([[np.inf], [-np.inf], [0.0], [np.nan]]),
    ],
)
def test_odd_values_are_values(x):
    model = weald.RandomForestClassifier(3, random_state=0).fit(x, Y)
    assert np.isfinite(model.predict_proba(x)).all()


def test_one_row_and_one_class_are_enough():
    model = weald.RandomForestClassifier(2, random_state=0).fit([[1.0]], ["only"])
    assert model.predict([[5.0]]).tolist() == ["only"]
    assert model.feature_importances_.tolist() == [0.0]


def malformed(array, at, value, kind):
    X = sparse.random(24, 3, 0.3, format=kind, random_state=0)
    getattr(X, array)[at] = value
    return X


@pytest.mark.sanitize
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("value", [-1, 10**6])
def test_sparse_indices_outside_the_table_are_refused(kind, value):
    arrays = ["row", "col"] if kind == "coo" else ["indices", "indptr"]
    good = sparse.random(24, 3, 0.3, format=kind, random_state=0)
    model = weald.RandomForestClassifier(2, random_state=0).fit(good, np.arange(24) % 2)
    for array in arrays:
        X = malformed(array, 2, value, kind)
        with pytest.raises(weald.DataError, match="malformed sparse matrix"):
            weald.DecisionTreeClassifier().fit(X, np.arange(24) % 2)
        with pytest.raises(weald.DataError, match="malformed sparse matrix"):
            model.predict(X)


def test_a_sparse_array_of_one_dimension_is_refused():
    with pytest.raises(weald.DataError, match="rows and columns"):
        weald.DecisionTreeClassifier().fit(sparse.coo_array(np.arange(4.0)), [0, 1, 0, 1])
