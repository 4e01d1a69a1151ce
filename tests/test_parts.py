"""A table in parts gives the codes that it gives in one piece."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weald
from weald import DataError, coded_parts, parts
from weald.engines.native import NativeEngine
from weald.estimator import unfitted_copy
from weald.table import read_table

COLUMNS = ["number", "label", "rank", "flag"]


def frame(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows).round(1)),
            "label": rng.choice(np.array(["ash", "elm", "oak", None], dtype=object), n_rows),
            "rank": pd.Categorical(rng.choice(["low", "high"], n_rows), categories=["low", "high"], ordered=True),
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    table["y"] = np.where(table["number"].fillna(0) + table["flag"] > 0.5, "yes", "no")
    return table


def code_in_parts(model, given, max_bins):
    labels = parts.settle_labels([parts.read_labels(model, part) for part in given])
    tables = [parts.read_part(model, part, labels) for part in given if not part.is_empty()]
    found = [parts.survey_values(t, labels, max_bins) for t in tables]
    survey = parts.settle_values(parts.join_values(found, labels, max_bins), labels)
    cuts = parts.settle_cuts([parts.sample_values(t, labels, survey) for t in tables], survey, max_bins)
    coded = [coded_parts.code_part(t, cuts) for t in tables]
    highs = coded_parts.join_highs([coded_parts.highs_of(part) for part in coded])
    values = coded_parts.settle_values(cuts, highs, labels)
    rows = coded_parts.join_rows([part.rows for part in coded])
    return coded_parts.open_table([part.chunk for part in coded], values, rows, labels).ranked, labels


def assert_same_codes(model, X, y, weight, given, max_bins):
    joined, labels = code_in_parts(model, given, max_bins)
    whole = unfitted_copy(model)
    reading = read_table(whole, X, y, weight, classify=labels.n_classes > 0)
    coded = NativeEngine().code(reading.table, max_bins, 1, None)
    assert joined.fingerprint == coded.fingerprint
    assert joined.positions().tolist() == coded.positions().tolist()
    for f in range(coded.n_columns):
        for mine, theirs in zip(joined.column(f), coded.column(f), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert labels.size == reading.table.size
    assert labels.whole == reading.table.weights_whole
    assert labels.schema.categorical == whole.schema_.categorical


def cut(table, ends):
    return [table.iloc[begin:end] for begin, end in zip([0, *ends], [*ends, len(table)], strict=True)]


@given(
    st.lists(st.integers(0, 60), max_size=6), st.sampled_from([0, 3, 255]), st.sampled_from(["none", "whole", "any"])
)
def test_parts_of_any_length_give_the_codes_of_the_whole(ends, max_bins, weights):
    table = frame(60)
    rng = np.random.default_rng(1)
    table["w"] = {"none": 1.0, "whole": rng.integers(0, 3, 60), "any": rng.random(60) + 0.01}[weights]
    given = [parts.Part(t[COLUMNS], t["y"], t["w"]) for t in cut(table, sorted(ends))]
    model = weald.RandomForestClassifier()
    assert_same_codes(model, table[COLUMNS], table["y"], table["w"], given, max_bins)


@pytest.mark.parametrize("weights", ["none", "whole", "any"])
def test_columns_cut_by_a_sample_of_the_rows(weights, monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300_000, 2)).astype(np.float32), rng.normal(size=300_000)
    weight = {"none": None, "whole": rng.integers(1, 3, len(y)).astype(float), "any": rng.random(len(y)) + 0.1}[weights]
    thirds = np.split(np.arange(len(y)), [90_000, 91_000])
    given = [parts.Part(X[i], y[i], None if weight is None else weight[i]) for i in thirds]
    assert_same_codes(weald.RandomForestRegressor(), X, y, weight, given, 500)


def test_a_column_without_a_value_in_one_part():
    table = frame(40)
    table.loc[:19, ["number", "label"]] = None
    given = [parts.Part(t[COLUMNS], t["y"]) for t in cut(table, [20])]
    assert_same_codes(weald.RandomForestClassifier(), table[COLUMNS], table["y"], None, given, 0)


def test_parts_that_differ_are_refused():
    one, other = frame(20), frame(20)
    model = weald.RandomForestClassifier()
    found = [parts.read_labels(model, parts.Part(t[c], t["y"])) for t, c in ((one, COLUMNS), (other, COLUMNS[1:]))]
    with pytest.raises(DataError, match="differ in their columns"):
        parts.settle_labels(found)


def test_no_rows_at_all():
    empty = frame(5).iloc[:0]
    model = weald.RandomForestClassifier()
    with pytest.raises(DataError, match="no rows"):
        parts.settle_labels([parts.read_labels(model, parts.Part(empty[COLUMNS], empty["y"]))])
