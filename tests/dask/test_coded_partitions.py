"""Codes arrive unchanged, and errors of parts add up to those of the whole."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import weald
from tests import training_tables
from weald.dask import coded_partitions, tree_tasks
from weald.data.dask_collections import is_dask_collection
from weald.engines.native import NativeEngine
from weald.engines.reference import definition


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.float32, np.float64])
@pytest.mark.parametrize("n_kinds", [3, 10**6])
def test_what_is_packed_is_unpacked(dtype, n_kinds):
    array = np.random.default_rng(0).integers(0, n_kinds, 5000).astype(dtype)
    packed = pickle.loads(pickle.dumps(coded_partitions.pack(array)))
    assert packed.unpack().dtype == dtype
    np.testing.assert_array_equal(packed.unpack(), array)
    assert packed.n_bytes <= array.nbytes


def test_only_what_gets_smaller_is_compressed():
    rng = np.random.default_rng(0)
    assert coded_partitions.pack(np.zeros(10_000, np.uint16)).is_compressed
    assert not coded_partitions.pack(rng.integers(0, 2**16, 10_000).astype(np.uint16)).is_compressed
    assert not coded_partitions.pack(np.empty(0, np.uint8)).is_compressed


@pytest.mark.parametrize("of", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 7, 3000])
def test_equal_values_are_weighed_together(of, n_rows):
    rng = np.random.default_rng(3)
    X = rng.integers(-40, 40, (n_rows, 2)).astype(of) / 8
    X[::5, 1], X[1::5, 1] = np.nan, -0.0
    lengths = rng.integers(1, 9, n_rows).astype(np.uint64)
    for rows in (None, np.arange(0, n_rows, 3, dtype=np.uint32), np.empty(0, np.uint32)):
        chosen = np.arange(n_rows) if rows is None else rows
        chosen = chosen[~np.isnan(X[chosen, 1])]
        expected, places = np.unique(X[chosen, 1] + of(0), return_inverse=True)
        values, weights = NativeEngine().weigh_values(X, [0, 1], rows, lengths)[1]
        assert values.dtype == of
        np.testing.assert_array_equal(values, expected)
        assert weights.tolist() == np.bincount(places, lengths[chosen], len(expected)).tolist()
        assert NativeEngine().weigh_values(X, [1], rows, None)[0][1].tolist() == np.bincount(places).tolist()


def test_bags_are_drawn_once_for_all_who_vote():
    X, y = np.random.default_rng(4).normal(size=(90, 3)), np.arange(90) % 3
    model = weald.RandomForestClassifier(n_estimators=40, random_state=0).fit(X, y)
    bagged, _ = training_tables.bags_of(model, X, y, None)
    engine = NativeEngine()
    trees = [(0, 0, t) for t in range(40)]
    found = engine.draw_out_of_bag(bagged.codes, [model.growth_], trees)
    assert [bits.dtype for bits in found] == [np.uint32, np.uint8]
    drawn = engine.bags(bagged.codes, model.growth_, model.forest_.origins)
    for t in range(40):
        np.testing.assert_array_equal(found[t // 32] >> (t % 32) & 1, drawn[t] == 0)
    with_bags = [bits.astype(np.uint64) for bits in found]
    what = bagged.codes, model.growth_, model.forest_, X, engine.ranks(bagged.codes)
    given = engine.sum_votes_of_rows(*what, "soft", None, 0, with_bags)
    without = engine.sum_votes_of_rows(*what, "soft")
    np.testing.assert_array_equal(given[0].sums, without[0].sums)
    assert given[1] == without[1]


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=1, max_size=60), st.integers(1, 12))
def test_quantiles_are_cut_as_the_definition_says(found, max_bins):
    weight_of = {}
    for value, weight in found:
        weight_of[float(value)] = weight_of.get(float(value), 0) + weight
    values = np.array(sorted(weight_of))
    weights = np.array([weight_of[value] for value in values.tolist()], dtype=np.uint64)
    expected = definition.cut_quantiles(values.tolist(), weights.tolist(), max_bins)
    assert NativeEngine().cut_quantiles(values, weights, max_bins).tolist() == expected


@given(
    st.lists(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 300)), max_size=30), min_size=1, max_size=4),
    st.integers(1, 12),
    st.booleans(),
)
def test_columns_in_pieces_are_cut_as_in_one(found, max_bins, keep_few):
    types = [(np.float32, np.uint16), (np.float64, np.uint64), (np.float32, np.uint32)]
    pieces, weight_of = [], {}
    for i, piece in enumerate(found):
        of_values, of_weights = types[i % 3]
        values, weights = (np.array([pair[k] for pair in piece]) for k in (0, 1))
        pieces.append((values.astype(of_values), weights.astype(of_weights)))
        for value, weight in piece:
            weight_of[float(value)] = weight_of.get(float(value), 0) + weight
    distinct = sorted(weight_of)
    expected = definition.cut_quantiles(distinct, [weight_of[value] for value in distinct], max_bins)
    is_few = len(distinct) <= max_bins
    for starts, few in NativeEngine().cut_columns([pieces] * 3, max_bins, keep_few, 2):
        assert few == is_few
        assert starts.tolist() == (distinct if few and keep_few else expected)
        assert starts.dtype == (np.float32 if len(pieces) == 1 else np.float64)


def test_values_of_other_kinds_are_not_cut():
    ones = np.ones(3)
    for pieces, message in [
        ([(ones, ones[:2].astype(np.uint8))], "differ in length"),
        ([(ones, ones)], "weights must be whole"),
        ([(ones.astype(int), ones.astype(np.uint8))], "float32 or float64"),
    ]:
        with pytest.raises(ValueError, match=message):
            NativeEngine().cut_columns([pieces] * 3, 5, True, 2)  # raised in a thread
    with pytest.raises(ValueError, match="at least one code"):
        NativeEngine().cut_columns([], 0, False)


def test_threads_share_a_part_column_by_column():
    rng = np.random.default_rng(4)
    X, targets = rng.normal(size=(9001, 5)).round(2), rng.integers(0, 9, 9001).astype(np.uint64)
    starts = [np.unique(X[:100, f]) for f in range(5)]
    engine, rows = NativeEngine(), np.arange(0, 9001, 3, dtype=np.uint32)

    def all_of(n_threads):
        codes = engine.code_values(X, range(5), starts, n_threads)
        return (
            engine.hash_values(X, targets, n_threads).tolist(),
            [tuple(map(np.ndarray.tolist, pair)) for pair in engine.weigh_values(X, range(5), rows, None, n_threads)],
            [column.tolist() for column in codes],
            [
                (highs.tolist(), least)
                for highs, least in engine.find_code_maxima(X, range(5), codes, [*map(len, starts)], n_threads)
            ],
        )

    assert all_of(3) == all_of(8) == all_of(1)


@pytest.mark.parametrize(("n_starts", "dtype"), [(1, np.uint8), (255, np.uint8), (256, np.uint16), (65536, np.uint32)])
@pytest.mark.parametrize("of", [np.float32, np.float64])
def test_values_take_the_code_of_the_largest_start_below(n_starts, dtype, of):
    rng = np.random.default_rng(1)
    starts = np.unique(rng.normal(size=n_starts))
    X = rng.normal(size=(1000, 2)).astype(of)
    X[::7, 1] = np.nan
    _, codes = NativeEngine().code_values(X, [0, 1], [starts[:1], starts])
    ((highs, least),) = NativeEngine().find_code_maxima(X, [1], [codes], [len(starts)])
    present = ~np.isnan(X[:, 1])
    values = X[present, 1].astype(np.float64)
    expected = np.maximum(np.searchsorted(starts, values, side="right") - 1, 0)
    assert codes.dtype == dtype
    assert (codes[~present] == np.iinfo(dtype).max).all()
    np.testing.assert_array_equal(codes[present], expected)
    assert (highs.dtype, least) == (of, values.min())
    for code in range(len(starts)):
        assert highs[code] == values[expected == code].max(initial=-np.inf)


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.RandomForestRegressor])
def test_errors_of_blocks_of_rows_add_up(kind):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    weight = rng.random(300) + 0.1
    model = kind(n_estimators=9, random_state=0).fit(X, y, weight)
    engine = NativeEngine()
    bagged, reading = training_tables.bags_of(model, X, y, weight)
    whole = bagged.sum_votes(X, model.forest_)
    ranks, mixed = engine.ranks(bagged.codes), rng.permutation(300)  # blocks may consist of any rows
    blocks, predicted = [mixed[:1], mixed[1:140], mixed[140:]], [None] * 3
    for tree in [model.forest_.take([t]) for t in range(9)]:
        predicted = [
            engine.sum_votes_of_rows(
                bagged.codes, model.growth_, tree, X[rows], ranks[rows], "soft", start and start[0]
            )
            for rows, start in zip(blocks, predicted, strict=True)
        ]
        errors = predicted[0][1].add(predicted[1][1]).add(predicted[2][1])
    np.testing.assert_array_equal(np.concatenate([votes.sums for votes, _ in predicted]), whole.sums[mixed])
    np.testing.assert_array_equal(np.concatenate([votes.n_trees for votes, _ in predicted]), whole.n_trees[mixed])
    assert errors.means()[-1] == whole.errors[-1]
    assert reading.table.n_rows == 300


def test_a_collection_is_told_by_its_graph():
    assert not is_dask_collection(np.zeros((2, 2)))


def test_a_tree_and_a_kernel_forest_are_grown_here():
    with pytest.raises(weald.ParameterError, match="engine='dask' is for forests"):
        weald.DecisionTreeClassifier(engine="dask").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(weald.ParameterError, match="engine='dask' works on the columns of a table"):
        weald.KernelForestClassifier(engine="dask").fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("pieces", [[(0, 3, 9)], [(0, 0, 4), (1, 2, 3), (0, 5, 10)]])
def test_values_of_a_block_are_put_together(make, pieces):
    parts = [np.arange(30.0).reshape(10, 3), np.arange(12.0).reshape(4, 3) - 50]
    found = tree_tasks.take_rows([(make(parts[i]), begin, end) for i, begin, end in pieces])
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_array_equal(found, np.concatenate([parts[i][begin:end] for i, begin, end in pieces]))


def test_what_bags_are_drawn_from_can_travel():
    rng = np.random.default_rng(0)
    X, y, groups = rng.normal(size=(200, 3)), rng.integers(0, 3, 200), rng.integers(0, 40, 200)
    given = {"groups": groups, "stratify": groups % 2}
    model = weald.RandomForestClassifier(3, random_state=0, class_weight="balanced").fit(X, y, **given)
    engine, bagged = NativeEngine(), training_tables.bags_of(model, X, y, None, **given)[0]
    sent = pickle.loads(pickle.dumps(engine.send_bags(bagged.codes)))
    here, there = (
        engine.bags(source, model.growth_, model.forest_.origins, 1)
        for source in (bagged.codes, engine.receive_bags(sent))
    )
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, np.full(200, 200, dtype=np.uint32)),  # rows out of range
        (2, np.full(200, 3, dtype=np.int32)),  # classes out of range
        (2, np.full(200, -1, dtype=np.int32)),
        (3, np.ones(199, dtype=np.uint64)),  # wrong length
        (8, np.full(200, 1, dtype=np.uint32)),  # groups out of range
    ],
)
def test_what_no_bags_can_be_drawn_from_is_refused(place, wrong):
    X, y = np.arange(200.0)[:, None], np.arange(200) % 3
    model = weald.RandomForestClassifier(3, random_state=0).fit(X, y)
    arrays = list(NativeEngine().send_bags(training_tables.bags_of(model, X, y, None)[0].codes))
    arrays[place] = wrong
    with pytest.raises(ValueError, match=r"not a table|differ in number|for each rank"):
        NativeEngine().receive_bags(tuple(arrays))
