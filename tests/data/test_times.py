"""Dates and durations become numbers of days, in every kind of table, and are later distinguished from numbers."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import weald
from weald.data.times import days_of_times, format_time

TEXTS = ["2015-03-14 06:30:00.000250", None, "1969-12-31 23:00", "2026-01-01"] * 10
MOMENTS = [None if text is None else dt.datetime.fromisoformat(text) for text in TEXTS]
DAYS_OF_MOMENTS = [16508 + (6.5 * 3600 + 0.00025) / 86400, np.nan, -1 / 24, 20454.0]
DATES = [dt.date(2015, 3, 14), None, dt.date(1969, 12, 31), dt.date(2026, 1, 1)] * 10
LENGTHS = [dt.timedelta(days=2, hours=3), None, -dt.timedelta(hours=5), dt.timedelta(microseconds=3)] * 10
Y = [0.0, 1.0, 2.0, 3.0] * 10


def in_zone(zone):
    return pd.Series(MOMENTS).astype("datetime64[us]").dt.tz_localize("UTC").dt.tz_convert(zone)


FRAMES = {
    "dates": {
        "pandas, nanoseconds": lambda: pd.DataFrame({"t": pd.Series(MOMENTS).astype("datetime64[ns]")}),
        "pandas, microseconds": lambda: pd.DataFrame({"t": pd.Series(MOMENTS).astype("datetime64[us]")}),
        "pandas, a time zone": lambda: pd.DataFrame({"t": in_zone("America/New_York")}),
        "pandas, another": lambda: pd.DataFrame({"t": in_zone("UTC")}),
        "pandas, objects": lambda: pd.DataFrame({"t": pd.Series(MOMENTS, dtype=object)}),
        "pandas, objects with a time zone": lambda: pd.DataFrame({"t": in_zone("Asia/Tokyo").astype(object)}),
        "pandas of arrow": lambda: pd.DataFrame({"t": pd.Series(MOMENTS).astype(pd.ArrowDtype(pa.timestamp("us")))}),
        "pandas of arrow, a time zone": lambda: pd.DataFrame(
            {"t": in_zone("UTC").astype(pd.ArrowDtype(pa.timestamp("us", "Asia/Tokyo")))}
        ),
        "polars": lambda: pl.DataFrame({"t": MOMENTS}),
        "polars, a time zone": lambda: pl.DataFrame({"t": MOMENTS}).with_columns(
            pl.col("t").dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo")
        ),
        "arrow": lambda: pa.table({"t": MOMENTS}),
        "arrow, a time zone": lambda: pa.table({"t": pa.array(MOMENTS, pa.timestamp("us", "America/New_York"))}),
        "array": lambda: np.array(MOMENTS, dtype="datetime64[us]").reshape(-1, 1),
        "array of objects": lambda: np.array(MOMENTS, dtype=object).reshape(-1, 1),
        "masked array": lambda: np.ma.masked_invalid(
            np.ma.array(np.array(MOMENTS, dtype="datetime64[us]").reshape(-1, 1), mask=np.arange(40)[:, None] % 4 == 1)
        ),
    },
    "whole dates": {
        "pandas": lambda: pd.DataFrame({"t": pd.Series(DATES, dtype=object)}),
        "pandas of arrow": lambda: pd.DataFrame({"t": pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32()))}),
        "polars": lambda: pl.DataFrame({"t": DATES}),
        "arrow": lambda: pa.table({"t": DATES}),
        "array": lambda: np.array(DATES, dtype="datetime64[D]").reshape(-1, 1),
        "lists": lambda: [[date] for date in DATES],
    },
    "durations": {
        "pandas": lambda: pd.DataFrame({"t": pd.Series(LENGTHS)}),
        "pandas, objects": lambda: pd.DataFrame({"t": pd.Series(LENGTHS, dtype=object)}),
        "polars": lambda: pl.DataFrame({"t": LENGTHS}),
        "arrow": lambda: pa.table({"t": LENGTHS}),
        "array": lambda: np.array(LENGTHS, dtype="timedelta64[us]").reshape(-1, 1),
    },
}
DAYS = {
    "dates": DAYS_OF_MOMENTS,
    "whole dates": [16508.0, np.nan, -1.0, 20454.0],
    "durations": [2.125, np.nan, -5 / 24, 3e-6 / 86400],
}


@pytest.mark.parametrize(("kind", "frame"), [(kind, frame) for kind, frames in FRAMES.items() for frame in frames])
def test_dates_and_durations_are_numbers_of_days_in_every_frame(kind, frame):
    X = FRAMES[kind][frame]()
    model = weald.DecisionTreeRegressor().fit(X, Y)
    expected = weald.DecisionTreeRegressor().fit(np.array(DAYS[kind] * 10).reshape(-1, 1), Y)
    assert model.schema_.times == {0: "durations" if kind == "durations" else "dates"}
    np.testing.assert_allclose(model.forest_.threshold, expected.forest_.threshold, rtol=1e-15)
    assert model.predict(X).tolist() == Y


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "25s"])
def test_all_units_of_numpy_give_the_same_days(unit):
    dates = np.array(["1970-01-01", "NaT"], dtype=f"datetime64[{unit}]")
    assert days_of_times(dates, "X").tolist()[0] == 0
    assert np.isnan(days_of_times(dates, "X")[1])
    if unit in ("h", "m", "s", "ms", "us", "ns"):
        half = np.array([12], dtype="timedelta64[h]").astype(f"timedelta64[{unit}]")
        assert days_of_times(half, "X").tolist() == [0.5]


def test_days_are_whole_days_and_the_rest_of_the_day():
    ns = np.array([86_400_000_000_000 * 20_000 + 1, -1], dtype="datetime64[ns]")
    assert days_of_times(ns, "X").tolist() == [20_000.0 + 1 / 86_400_000_000_000, -1.0 + (1 - 1 / 86_400_000_000_000)]
    assert days_of_times(ns, "X")[0] == 20_000.0  # nanoseconds are rounded
    far = np.array(["9999-12-31", "-9999-01-01"], dtype="datetime64[D]")
    assert days_of_times(far, "X").tolist() == far.astype(np.int64).tolist()


FITTED = {
    "dates": pd.DataFrame({"when": pd.date_range("2020-01-01", periods=60)}),
    "durations": pd.DataFrame({"when": pd.to_timedelta(np.arange(60), "D")}),
    "numbers": pd.DataFrame({"when": np.arange(60.0)}),
    "text or truth values": pd.DataFrame({"when": ["a", "b", "c"] * 20}),
}


@pytest.mark.parametrize(
    ("was", "now"),
    [(a, b) for a in list(FITTED)[:3] for b in FITTED if a != b and (a, b) != ("numbers", list(FITTED)[3])],
)
def test_dates_are_not_mixed_with_other_kinds(was, now):
    model = weald.DecisionTreeRegressor(max_depth=2).fit(FITTED[was], np.arange(60.0))
    with pytest.raises(
        weald.errors.DataTypeError, match=f"Column 'when' of X holds {now}, but held {was}.* Give {was}"
    ):
        model.predict(FITTED[now])


def test_an_array_of_numbers_and_a_sparse_table_are_no_dates():
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]").reshape(-1, 1)
    model = weald.DecisionTreeRegressor().fit(dates, [0.0, 1.0])
    with pytest.raises(weald.errors.DataTypeError, match="Column 0 of X holds numbers, but held dates"):
        model.predict(np.array([[18262.0]]))
    with pytest.raises(weald.errors.DataTypeError, match="X is sparse, which holds numbers, but the fit had dates"):
        model.predict(sparse.csr_array(np.array([[18262.0]])))


def test_a_column_of_nothing_is_missing_dates():
    model = weald.DecisionTreeRegressor().fit(FITTED["dates"], np.arange(60.0))
    nothing = pd.DataFrame({"when": [None, None]})
    assert (
        model.predict(nothing).tolist() == model.predict(pd.DataFrame({"when": pd.to_datetime([None, None])})).tolist()
    )


def test_missing_dates_can_be_refused():
    with pytest.raises(weald.errors.DataError, match="Row 1 of column 'when' of X is missing"):
        weald.DecisionTreeRegressor(missing="error").fit(
            pd.DataFrame({"when": pd.to_datetime(["2020-01-01", None])}), [0.0, 1.0]
        )


def test_chosen_categories_leave_dates_to_be_numbers():
    X = FITTED["dates"].assign(kind=np.arange(60) % 3)
    model = weald.DecisionTreeRegressor(categorical_features=["kind"]).fit(X, np.arange(60.0))
    assert (model.schema_.times, model.schema_.categorical) == ({0: "dates"}, {1})


def test_thresholds_are_said_as_dates():
    model = weald.DecisionTreeRegressor(max_depth=1).fit(FITTED["dates"], [0.0] * 30 + [1.0] * 30)
    assert "when ≤ 2020-01-30 12:00:00" in model.export_text()
    assert "when ≤ 2020-01-30 12:00:00" in str(model.rules()[0])
    assert "when is 2020-01-05, at most 2020-01-30 12:00:00" in str(model.explain_row(FITTED["dates"].iloc[[4]]))
    lengths = weald.DecisionTreeRegressor(max_depth=1).fit(FITTED["durations"], [0.0] * 30 + [1.0] * 30)
    assert "when ≤ 29.5 days" in lengths.export_text()
    assert format_time(1e12, "dates") == "day 1e+12 since 1970-01-01"


def test_models_remember_dates_in_files(tmp_path):
    X = FITTED["dates"].assign(x=1.0)
    model = weald.RandomForestRegressor(3, random_state=0).fit(X, np.arange(60.0))
    model.save(tmp_path / "m.weald")
    for again in (weald.load(tmp_path / "m.weald"), weald.from_json(model.to_json().model)):
        assert again.schema_.times == {0: "dates"}
        assert again.predict(X).tolist() == model.predict(X).tolist()
        with pytest.raises(weald.errors.DataTypeError, match="held dates"):
            again.predict(FITTED["numbers"].assign(x=1.0))
    plain = weald.RandomForestRegressor(3, random_state=0).fit(FITTED["numbers"], np.arange(60.0))
    assert '"times"' not in plain.to_json().model  # files without dates do not change


def test_a_file_that_says_nonsense_of_dates_is_refused():
    model = weald.DecisionTreeRegressor().fit(FITTED["dates"], np.arange(60.0))
    text = model.to_json().model
    assert '"dates"' in text
    for bad in ('"minutes"', '"numbers"'):
        with pytest.raises(weald.FormatError, match="Dates and durations must be numerical columns"):
            weald.from_json(text.replace('"dates"', bad))


def test_warm_starts_and_out_of_bag_read_dates_again():
    X, y = FITTED["dates"], np.arange(60.0)
    model = weald.RandomForestRegressor(30, random_state=0, warm_start=True).fit(X, y)
    assert model.out_of_bag(X, y).error > 0
    with pytest.raises(weald.errors.DataError, match="categories in X differ"):
        model.set_params(n_estimators=31).fit(FITTED["numbers"], y)


def test_code_stores_keep_dates(tmp_path):
    X, y = FITTED["dates"], np.arange(60.0)
    whole = weald.RandomForestRegressor(3, random_state=0).fit(X, y)
    store = weald.codes.from_chunks([(X[:30], y[:30]), (X[30:], y[30:])], folder=tmp_path / "codes")
    stored = weald.RandomForestRegressor(3, random_state=0).fit(store)
    assert stored.forest_.fingerprint() == whole.forest_.fingerprint()
    assert stored.predict(X).tolist() == whole.predict(X).tolist()
