"""A partitioned table gives the same codes as the whole table."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weald
from weald import DataError
from weald.codes import bins, partitioned_table
from weald.dask import coded_partitions
from weald.data.table import read_table
from weald.engines.native import NativeEngine
from weald.estimators.fit import unfitted_copy

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


def code_in_parts(model, given, max_bins, n_blocks=2, n_together=1):
    labels = partitioned_table.merge_part_labels([partitioned_table.read_labels(model, part) for part in given])
    there = [part for part in given if not part.is_empty()]
    tables = [
        partitioned_table.read_parts(model, there[i : i + n_together], labels) for i in range(0, len(there), n_together)
    ]
    for times in (1, 16, bins.NO_LIMIT):
        limit = bins.limit_hashes(labels, times)
        surveyed = [bins.survey_part(t, labels, max_bins, limit) for t in tables]
        highest = bins.find_highest_hash(surveyed, labels, max_bins, limit)
        if highest is not None:
            break
    columns = []
    if max_bins or not bins.is_sampled(labels, 1):
        sampled = [bins.sample_values(t, labels, highest) for t in tables]
        blocks = np.array_split(np.arange(labels.n_features), n_blocks)
        columns = [bins.cut_columns(sampled, block.tolist(), labels, max_bins) for block in blocks]
    cuts = bins.join_cuts(columns, labels)
    doubtful = cuts.outline().doubtful
    if doubtful:
        found = [bins.find_distinct(t, doubtful, max_bins) for t in tables]
        cuts = bins.resolve_cuts(cuts, bins.join_distinct(found, max_bins))
    chunks = [coded_partitions.code_part(t, cuts) for t in tables]
    groups = [coded_partitions.find_code_maxima(tables[i::3], chunks[i::3], cuts) for i in range(min(3, len(tables)))]
    highs = coded_partitions.join_code_maxima(groups)
    return coded_partitions.open_table(chunks, cuts, highs, bins.join_rows(surveyed), labels).ranked, labels


def assert_same_codes(model, X, y, weight, given, max_bins, n_together=1):
    joined, labels = code_in_parts(model, given, max_bins, n_together=n_together)
    whole = unfitted_copy(model)
    reading = read_table(whole, X, y, weight, classify=labels.n_classes > 0)
    coded = NativeEngine().code(reading.table, max_bins, 1, None)
    assert (joined.fingerprint, joined.values) == (coded.fingerprint, coded.values)
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
    st.lists(st.integers(0, 60), max_size=6),
    st.sampled_from([0, 3, 255]),
    st.sampled_from(["none", "whole", "any"]),
    st.sampled_from([1, 2, 7]),
)
def test_parts_of_any_length_give_the_codes_of_the_whole(ends, max_bins, weights, n_together):
    table = frame(60)
    rng = np.random.default_rng(1)
    table["w"] = {"none": 1.0, "whole": rng.integers(0, 3, 60), "any": rng.random(60) + 0.01}[weights]
    given = [partitioned_table.Part(t[COLUMNS], t["y"], t["w"]) for t in cut(table, sorted(ends))]
    model = weald.RandomForestClassifier()
    assert_same_codes(model, table[COLUMNS], table["y"], table["w"], given, max_bins, n_together)


@given(st.lists(st.integers(0, 60), max_size=6), st.sampled_from(["none", "whole"]), st.sampled_from([1, 2, 7]))
def test_parts_of_one_column_give_the_fingerprints_of_the_whole(ends, weights, n_together):
    table = pd.DataFrame({"x": np.arange(60) % 2 * 1.0, "y": np.arange(60) % 3, "w": 1.0})
    if weights == "whole":
        table["w"] = np.where(table["y"] == 1, 0.0, 1.0 + np.arange(60) % 2)  # a class without rows
    given = [partitioned_table.Part(t[["x"]], t["y"], t["w"]) for t in cut(table, sorted(ends))]
    model = weald.RandomForestClassifier()
    assert_same_codes(model, table[["x"]], table["y"], table["w"], given, 0, n_together)
    labels = partitioned_table.merge_part_labels([partitioned_table.read_labels(model, part) for part in given])
    assert labels.classes.tolist() == [0, 1, 2]


def test_a_part_without_a_row_that_counts_still_tells_its_classes():
    table = frame(40)
    table.loc[30:, "y"] = "maybe"
    weight = np.where(table["y"] == "maybe", 0.0, 1.0)
    for order in (slice(None), slice(None, None, -1)):
        t, w = table[order], weight[order]
        cuts = [0, 10, 10, 20, 30, 40]
        given = [partitioned_table.Part(t[a:b][COLUMNS], t["y"][a:b], w[a:b]) for a, b in pairwise(cuts)]
        labels = partitioned_table.merge_part_labels(
            [partitioned_table.read_labels(weald.RandomForestClassifier(), part) for part in given]
        )
        assert labels.classes.tolist() == ["maybe", "no", "yes"]
        assert labels.n_rows == 30
        assert_same_codes(weald.RandomForestClassifier(), t[COLUMNS], t["y"], w, given, 3)


@pytest.mark.parametrize("weights", ["none", "whole", "any"])
def test_columns_cut_by_a_sample_of_the_rows(weights):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300_000, 2)).astype(np.float32), rng.normal(size=300_000)
    weight = {"none": None, "whole": rng.integers(1, 3, len(y)).astype(float), "any": rng.random(len(y)) + 0.1}[weights]
    thirds = np.split(np.arange(len(y)), [90_000, 91_000])
    given = [partitioned_table.Part(X[i], y[i], None if weight is None else weight[i]) for i in thirds]
    assert_same_codes(weald.RandomForestRegressor(), X, y, weight, given, 500)


@pytest.mark.parametrize("max_bins", [0, 6])
def test_a_sample_may_leave_columns_in_doubt(max_bins):
    rng = np.random.default_rng(7)
    n_rows = 280_000
    few, rare = rng.integers(0, 5, n_rows), np.zeros(n_rows)
    rare[rng.choice(n_rows, 9, replace=False)] = np.arange(9)
    rare[:3] = np.nan
    X = np.column_stack([few, rare, np.full(n_rows, np.nan), rng.integers(0, 40, n_rows)]).astype(float)
    y = rng.integers(0, 2, n_rows)
    given = [partitioned_table.Part(X[i], y[i]) for i in np.split(np.arange(n_rows), [10, 200_000])]
    assert_same_codes(weald.RandomForestClassifier(), X, y, None, given, max_bins)


@pytest.mark.parametrize("weights", ["none", "whole"])
def test_rows_that_are_all_alike_are_sampled_too(weights):
    rng = np.random.default_rng(8)
    n_rows = 270_000
    X, y = rng.normal(size=(7, 2))[rng.integers(0, 7, n_rows)], np.zeros(n_rows)
    weight = None if weights == "none" else rng.integers(1, 50, n_rows).astype(float)
    given = [
        partitioned_table.Part(X[i], y[i], None if weight is None else weight[i])
        for i in np.split(np.arange(n_rows), [100_000])
    ]
    assert_same_codes(weald.RandomForestRegressor(), X, y, weight, given, 3)


@pytest.mark.parametrize("n_together", [1, 2])
def test_a_column_without_a_value_in_one_part(n_together):
    table = frame(40)
    table.loc[:19, ["number", "label"]] = None
    given = [partitioned_table.Part(t[COLUMNS], t["y"]) for t in cut(table, [20])]
    assert_same_codes(weald.RandomForestClassifier(), table[COLUMNS], table["y"], None, given, 0, n_together)


def test_parts_that_differ_are_refused():
    one, other = frame(20), frame(20)
    model = weald.RandomForestClassifier()
    found = [
        partitioned_table.read_labels(model, partitioned_table.Part(t[c], t["y"]))
        for t, c in ((one, COLUMNS), (other, COLUMNS[1:]))
    ]
    with pytest.raises(DataError, match="differ in their columns"):
        partitioned_table.merge_part_labels(found)


def test_no_rows_at_all():
    empty = frame(5).iloc[:0]
    model = weald.RandomForestClassifier()
    with pytest.raises(DataError, match="no rows"):
        partitioned_table.merge_part_labels(
            [partitioned_table.read_labels(model, partitioned_table.Part(empty[COLUMNS], empty["y"]))]
        )


@pytest.mark.parametrize("n_rows", [(0, 3), (1, 300, 7), (257,), (600, 0), (9000, 4096, 5)])
@pytest.mark.parametrize("types", [(np.float32,), (np.float64,), (np.float32, np.float64)])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_pieces_of_a_table_are_stored_column_by_column(n_rows, types, n_threads):
    rng = np.random.default_rng(0)
    pieces = [rng.normal(size=(2 * n, 5)).astype(types[i % len(types)])[::2] for i, n in enumerate(n_rows)]
    pieces[-1] = np.asfortranarray(pieces[-1])
    stored = NativeEngine().store_by_column(pieces, n_threads)
    assert stored.T.flags.c_contiguous
    np.testing.assert_array_equal(stored, np.vstack(pieces))
    assert stored.dtype == np.result_type(*pieces)


def test_pieces_that_do_not_suit_one_another_are_not_stored():
    with pytest.raises(ValueError, match="differ in number"):
        NativeEngine().store_by_column([np.zeros((3, 2)), np.zeros((3, 1))])


@pytest.mark.parametrize("name", ["y", "groups", "stratify", "column 'kind' of X"])
def test_text_in_one_part_and_numbers_in_another_are_refused_by_name(name):
    model = weald.RandomForestClassifier(categorical_features=["kind"])

    def part(values):
        given = {"kind": [0, 1], "y": [0, 1], "groups": [0, 1], "stratify": [0, 1]}
        given["kind" if "kind" in name else name] = values
        return partitioned_table.Part(
            pd.DataFrame({"kind": given["kind"]}), given["y"], None, given["groups"], given["stratify"]
        )

    found = [partitioned_table.read_labels(model, part(values)) for values in ([1, 2], [3, 4], ["a", "b"])]
    words = f"{name} holds numbers in partition 1, such as 3, and text in partition 3, such as 'a'"
    with pytest.raises(weald.DataTypeError, match=words):
        partitioned_table.merge_part_labels([found[0], found[1], None, found[2]])
