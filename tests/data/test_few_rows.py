"""A few rows are read cell by cell, and as if columns had been read: the same numbers, counts and errors."""

import datetime as dt
import pickle
import warnings
from decimal import Decimal
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import weald
from weald.data import few_rows, table
from weald.errors import DataError, DataTypeError, WealdError

LABELS = ["Bern", "Lima", "Oslo", "Rome"]
N_ROWS = 120


def make_frame(seed=0, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.normal(size=n_rows),
            "city": rng.choice(LABELS, n_rows),
            "count": rng.integers(-5, 100, n_rows),
            "ok": rng.random(n_rows) < 0.5,
            "size": pd.Categorical(rng.choice(["L", "M", "S"], n_rows), ["S", "M", "L"], ordered=True),
            "single": rng.normal(size=n_rows).astype(np.float32),
            "grade": pd.Categorical(rng.integers(1, 5, n_rows)),
        }
    )


def fit(X, **parameters):
    y = (X["city"].isin(LABELS[:2]).fillna(False).astype(bool) ^ (X["x"] > 0)).astype(int)
    return weald.RandomForestClassifier(5, random_state=0, **parameters).fit(X, y)


def with_holes(X, seed=1):
    holes = np.random.default_rng(seed).random(X.shape) < 0.2
    plain = X.astype({"count": "float64", "ok": "object"})
    return plain.mask(pd.DataFrame(holes, X.index, X.columns))


def by_columns():
    """Disable the fast path for few rows, so that columns are read."""
    return mock.patch.object(table, "read_few", return_value=None)


FORMS = {
    "pandas": lambda X: X,
    "pandas, object": lambda X: X.astype(object),
    "pandas, nullable": lambda X: X.convert_dtypes(),
    "polars": pl.from_pandas,
    "pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("holes", [False, True])
def test_a_few_rows_are_read_as_columns_are(form, holes):
    X = make_frame()
    model = fit(with_holes(X) if holes else X)
    few = make_frame(2, 9)
    few = FORMS[form](with_holes(few) if holes else few)
    fast = few_rows.read_few(model, few)
    assert fast is not None
    with by_columns():
        slow = table.read_features(model, few, reset=False)
        expected = model.predict_proba(few)
    np.testing.assert_array_equal(fast, np.asarray(slow, dtype=np.float64))
    assert model.predict_proba(few).tobytes() == expected.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_unknown_categories_are_counted_once_each(form):
    model, few = fit(make_frame()), make_frame(3, 6)
    few.loc[[1, 4], "city"] = ["Paris", "Quito"]
    given = FORMS[form](few)
    with pytest.warns(UserWarning, match="Row 1 of column 'city' of X is 'Paris'.* 2 cells with such values"):
        found = model.predict_proba(given)
    assert model.unknown_categories_ == {"city": 2}
    with by_columns():
        assert model.predict_proba(given).tobytes() == found.tobytes()
    assert model.unknown_categories_ == {"city": 4}


def spoil(X, column, value):
    X = X.copy()
    X[column] = X[column].astype(object)
    X.loc[2, column] = value
    return X


WRONG = {
    "text for a number": lambda X: spoil(X, "x", "many"),
    "a number for text": lambda X: X.assign(city=7.0),
    "text for numbers of categories": lambda X: X.assign(grade="good"),
    "a complex number": lambda X: spoil(X, "x", 1j),
    "a date for a number": lambda X: X.assign(x=pd.Timestamp("2020-01-01")),
    "another order": lambda X: X[X.columns[::-1]],
    "a column less": lambda X: X.drop(columns="ok"),
    "a column more": lambda X: X.assign(more=1.0),
    "other names": lambda X: X.rename(columns={"x": "z"}),
    "two columns of one name": lambda X: X.rename(columns={"single": "x"}),
    "a missing value": lambda X: spoil(X, "x", None),
    "an unknown category": lambda X: spoil(X, "city", "Paris"),
}


@pytest.mark.parametrize("how", WRONG)
def test_errors_are_those_of_columns(how):
    model = fit(make_frame(), missing="error", unknown_category="error")
    wrong = WRONG[how](make_frame(4, 5))
    with by_columns(), pytest.raises(WealdError) as expected:
        model.predict(wrong)
    with pytest.raises(type(expected.value)) as found:
        model.predict(wrong)
    assert str(found.value) == str(expected.value)


def test_unusual_cells_are_read_as_columns_are():
    model = fit(make_frame())
    for cell in (Decimal("1.5"), np.float16(0.5), True, np.int8(3), 2**60, pd.NA, None):
        few = spoil(make_frame(5, 4), "x", cell)
        with by_columns():
            expected = model.predict_proba(few)
        assert model.predict_proba(few).tobytes() == expected.tobytes()


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("kind", ["longdouble", "period"])
def test_types_that_are_no_numbers_are_refused_however_few_rows_there_are(form, kind):
    model = fit(make_frame())
    odd = np.ones(4, dtype=np.longdouble) if kind == "longdouble" else pd.period_range("2020", periods=4)
    if kind == "longdouble" and form != "pandas":
        pytest.skip("has no such type")
    few = FORMS[form](make_frame(5, 4).assign(x=odd))
    with by_columns(), pytest.raises(DataTypeError) as expected:
        model.predict(few)
    with pytest.raises(DataTypeError) as found:
        model.predict(few)
    assert str(found.value) == str(expected.value)


def test_dates_are_read_by_columns():
    X = make_frame().assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N_ROWS), "D"))
    model = fit(X)
    assert few_rows.read_few(model, X[:3]) is None
    assert model.predict_proba(X[:3]).tobytes() == model.predict_proba(X)[:3].tobytes()


# ------------------------------------------------------------------------------------------------- compiled models


def rows_of(X):
    return X.astype(object).to_dict("records")


@pytest.mark.parametrize("holes", [False, True])
def test_compiled_models_take_rows_in_any_form(holes):
    X = make_frame()
    X = with_holes(X) if holes else X
    model = fit(X)
    compiled, expected = model.compile(), model.predict_proba(X)
    for row, of_row in zip(rows_of(X), expected, strict=True):
        assert compiled(row).tobytes() == of_row.tobytes()
        assert compiled(tuple(row.values())).tobytes() == of_row.tobytes()
        assert compiled(list(row.values())).tobytes() == of_row.tobytes()
    assert compiled(X.iloc[3]).tobytes() == expected[3].tobytes()  # a Series
    assert compiled(X[3:4]).tobytes() == expected[3:4].tobytes()
    for form in FORMS.values():
        assert compiled(form(X), threads=2).tobytes() == expected.tobytes()
    copied = pickle.loads(pickle.dumps(compiled))
    assert copied(rows_of(X)[5]).tobytes() == expected[5].tobytes()


def test_compiled_models_treat_unknown_categories_as_predict_does():
    model = fit(make_frame())
    row = rows_of(make_frame(6, 1))[0]
    expected = model.predict_proba(pd.DataFrame([{**row, "city": None}]))[0]
    compiled = model.compile()
    with pytest.warns(UserWarning, match="'Paris', a category that does not occur"):
        assert compiled({**row, "city": "Paris"}).tobytes() == expected.tobytes()
    assert model.unknown_categories_ == {"city": 1}
    strict = fit(make_frame(), unknown_category="error").compile()
    with pytest.raises(DataError, match="'Paris', a category that does not occur"):
        strict({**row, "city": "Paris"})


def test_compiled_models_take_dates():
    days = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=7 * i) for i in range(N_ROWS)]
    X = make_frame().assign(day=days)
    model = fit(X)
    compiled, expected = model.compile(), model.predict_proba(X)
    for i in (0, 7, 50):
        row = rows_of(X)[i]
        assert compiled(row).tobytes() == expected[i].tobytes()
        assert compiled({**row, "day": days[i]}).tobytes() == expected[i].tobytes()
    without = model.predict_proba(X[:1].assign(day=pd.NaT))[0]
    assert compiled({**rows_of(X)[0], "day": None}).tobytes() == without.tobytes()


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16, ">f8", np.longdouble])
def test_compiled_models_read_arrays_of_other_numbers(dtype):
    X = (np.random.default_rng(8).normal(size=(N_ROWS, 3)) * 3).round()
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0] + X[:, 1])
    compiled, given = model.compile(), np.abs(X).astype(dtype)
    expected = model.predict(given)
    assert compiled(given).tobytes() == expected.tobytes()
    assert compiled(given[2]) == expected[2]


def test_compiled_models_take_masked_cells_as_missing():
    X = np.random.default_rng(8).normal(size=(N_ROWS, 3))
    holes = np.random.default_rng(9).random(X.shape) < 0.3
    model = weald.RandomForestRegressor(5, random_state=0).fit(X, X[:, 0] + X[:, 1])
    compiled, masked = model.compile(), np.ma.array(X, mask=holes)
    expected = model.predict(np.where(holes, np.nan, X))
    assert model.predict(masked).tobytes() == expected.tobytes()
    assert compiled(masked).tobytes() == expected.tobytes()
    assert compiled(masked[1]) == expected[1]


def test_compiled_models_refuse_durations_in_months():
    X = make_frame().assign(wait=pd.to_timedelta(np.arange(N_ROWS), "h"))
    compiled, row = fit(X).compile(), rows_of(X)[0]
    with pytest.raises(DataTypeError, match="whose length in days varies"):
        compiled({**row, "wait": np.timedelta64(1, "M")})


def test_compiled_models_name_what_is_wrong():
    compiled, row = fit(make_frame()).compile(), rows_of(make_frame(7, 1))[0]
    with pytest.raises(DataError, match="x has no value for 'city'"):
        compiled({name: value for name, value in row.items() if name != "city"})
    with pytest.raises(DataError, match="X has 3 features"):
        compiled((1.0, "Rome", 2))
    with pytest.raises(DataError, match=r"'x'.*not a number"):
        compiled({**row, "x": "many"})
    with pytest.raises(DataTypeError, match="not a table"):
        compiled("Rome")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # rows need no names
        compiled(tuple(row.values()))
