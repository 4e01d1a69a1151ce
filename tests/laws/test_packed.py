"""A packed forest predicts what the plain walk predicts, bit for bit, for all rows, types, orders and threads."""

import dataclasses
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.laws.cases import (
    CORES,
    CRITERIA,
    NATIVE,
    REFERENCE,
    Case,
    cases,
    is_of_classes,
    make_growth,
    make_table,
    suited,
)
from weald.engines import native
from weald.engines.derived_forms import forms_of
from weald.forest.forest import CATEGORICAL

pytestmark = pytest.mark.sanitize

SIZES = ("small", "large")
NUMBERS = ("many", "few", "rounded", "binary")
MIXED = ("many", "kinds", "places", "names")


def pack(engine, forest, size):
    return engine.core.pack_forest(forest.n_features, forest.n_classes, forest.arrays(), size == "large", 1.0, False, 1)


def predict(packed, X, *, hard=False, total=1.0, n_threads=1, dtype=np.float64, order="C"):
    out = np.full((len(X), max(1, packed.n_classes)), np.nan, dtype=dtype, order=order)
    packed.predict(X, hard, total, out, n_threads, None)
    return out


def walk(engine, forest, X, *, hard=False):
    """The predictions of the plain walk: leaf by leaf, one tree after the other."""
    shares = forest.value[:, None] if not forest.n_classes else leaf_probabilities(forest, hard=hard)
    sums = np.zeros((len(X), max(1, forest.n_classes)))
    leaves = engine.leaves(forest, np.asarray(X, dtype=np.float64)) + forest.tree_start[:-1]
    weights = forest.tree_weight if len(forest.tree_weight) else np.ones(forest.n_trees)
    with np.errstate(over="ignore"):  # sums of extreme targets overflow in both
        for weight, leaf in zip(weights, leaves.T, strict=True):
            sums += weight * shares[leaf]
    return sums


def leaf_probabilities(forest, *, hard):
    """Class fractions by node; only those of leaves matter."""
    shares = np.zeros((forest.n_nodes, forest.n_classes))
    for i, leaf in enumerate(np.flatnonzero(forest.feature < 0)):
        here = slice(forest.leaf_start[i], forest.leaf_start[i + 1])
        shares[leaf, forest.leaf_class[here]] = forest.leaf_weight[here] / forest.leaf_weight[here].sum()
        if len(forest.value):
            shares[leaf] = 1.0 - forest.value[leaf], forest.value[leaf]
    return np.eye(forest.n_classes)[shares.argmax(axis=1)] if hard else shares


def rows_near_thresholds(forest, rng, n_rows, dtype):
    """Rows with values on thresholds, adjacent to them, far away, or missing."""
    inf = dtype(np.inf)
    X = np.empty((n_rows, forest.n_features), dtype=dtype)
    with np.errstate(all="ignore"):  # values that are not exact in float32
        for f in range(forest.n_features):
            here = forest.feature == f
            cut = forest.threshold[here & (forest.flags & CATEGORICAL == 0)].astype(dtype)
            beside = [cut, np.nextafter(cut, -inf), np.nextafter(cut, inf), -cut, cut.astype(np.float32).astype(dtype)]
            far = np.array([0.0, -0.0, inf, -inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype=dtype)
            by_set = np.flatnonzero(here & (forest.flags & CATEGORICAL != 0))
            sets = [forest.category_set(node).astype(dtype) for node in by_set]
            codes = [np.arange(70, dtype=dtype)] if sets else []
            X[:, f] = rng.choice(np.concatenate([*beside, far, *sets, *codes]), n_rows)
    return X


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=25)
def test_a_packed_forest_says_what_the_plain_walk_says(criterion, data):
    case = data.draw(cases(criterion))
    forest = REFERENCE.grow(REFERENCE.code(case.table, case.max_bins), case.growth, case.seed, 0, case.n_trees)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n_rows, hard = data.draw(st.sampled_from([1, 3, 7, 8, 9, 40])), data.draw(st.booleans()) and forest.n_classes > 0
    for engine in CORES.values():
        for size, dtype in (("small", np.float32), ("large", np.float32), ("large", np.float64)):
            packed = pack(engine, forest, size)
            X = rows_near_thresholds(forest, rng, n_rows, dtype)
            assert predict(packed, X, hard=hard).tobytes() == walk(engine, forest, X, hard=hard).tobytes()


def grown(criterion="gini", *, n_rows=3000, n_trees=9, seed=0, columns=NUMBERS, **changes):
    """A forest of a table, and more rows."""
    table = make_table(n_rows, columns, 3 if is_of_classes(criterion) else 0, missing=0.02)
    table = suited(criterion, table)
    growth = make_growth(table, criterion, max_features=2, **changes)
    forest = NATIVE.grow(NATIVE.code(table, 65535), growth, seed, 0, n_trees)
    return forest, make_table(2000, columns, 0, missing=0.05, seed=1).X


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("columns", [NUMBERS, MIXED])
@pytest.mark.parametrize("size", SIZES)
def test_neither_threads_nor_order_nor_batches_change_a_bit(criterion, columns, size):
    forest, X = grown(criterion, columns=columns)
    X = X.astype(np.float32)
    for engine in CORES.values():
        packed = pack(engine, forest, size)
        expected = walk(engine, forest, X)
        for n_threads in (1, 2, 5):
            assert predict(packed, X, n_threads=n_threads).tobytes() == expected.tobytes()
        assert predict(packed, np.asfortranarray(X), n_threads=2).tobytes() == expected.tobytes()
        assert predict(packed, X[::-1])[::-1].tobytes() == expected.tobytes()
        batches = [predict(packed, X[begin : begin + 17]) for begin in range(0, len(X), 17)]
        assert np.concatenate(batches).tobytes() == expected.tobytes()


@pytest.mark.parametrize("n_categories", [31, 32, 63, 64, 700, 70_000])  # words of sets, and lists
@pytest.mark.parametrize("size", SIZES)
def test_sets_of_categories_agree_with_the_definition(n_categories, size):
    rng = np.random.default_rng(0)
    table = make_table(400, ["many", "many"], 3, missing=0.02)
    X = table.X.copy()
    X[:, 0] = rng.integers(n_categories, size=len(X))
    table = dataclasses.replace(table, X=X, categorical=frozenset([0]))
    forest = REFERENCE.grow(REFERENCE.code(table, 65535), make_growth(table, "gini", max_features=1), 0, 0, 3)
    assert len(forest.category_sets) > 0
    X = rows_near_thresholds(forest, rng, 40, np.float32)
    X[:5, 0] = [n_categories - 1, n_categories, 2.5, -1.0, 1e30]
    expected = REFERENCE.sum_votes(forest, X, "soft").tobytes()
    for engine in CORES.values():
        packed = pack(engine, forest, size)
        assert predict(packed, X).tobytes() == expected
        assert np.concatenate([predict(packed, X[i : i + 1]) for i in range(len(X))]).tobytes() == expected


@pytest.mark.parametrize("size", SIZES)
def test_votes_weigh_what_their_trees_do(size):
    forest, X = grown()
    forest = dataclasses.replace(forest, tree_weight=np.linspace(0.1, 2, forest.n_trees))
    X = X[:100].astype(np.float32)
    expected = REFERENCE.sum_votes(forest, X, "soft").tobytes()
    for engine in CORES.values():
        packed = pack(engine, forest, size)
        assert predict(packed, X).tobytes() == expected
        assert predict(packed, X[:2]).tobytes() == expected[: len(expected) // 50]
        assert engine.sum_votes(forest, X, "hard").tobytes() == REFERENCE.sum_votes(forest, X, "hard").tobytes()


@pytest.mark.parametrize("n_trees", [1, 128, 129, 300])  # one row walks 128 trees at once
@pytest.mark.parametrize("size", SIZES)
def test_a_row_alone_says_what_it_says_among_others(size, n_trees):
    forest, X = grown(n_rows=60, n_trees=n_trees)
    X = X[:20].astype(np.float32)
    for engine in CORES.values():
        packed = pack(engine, forest, size)
        alone = np.concatenate([predict(packed, X[i : i + 1]) for i in range(len(X))])
        assert alone.tobytes() == predict(packed, X).tobytes() == walk(engine, forest, X).tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_many_rows_of_large_trees_agree_with_the_plain_walk(size):
    forest, X = grown(n_rows=20_000, n_trees=20)
    X = np.tile(X, (6, 1)).astype(np.float32)
    for engine in CORES.values():
        found = predict(pack(engine, forest, size), X, n_threads=3)
        assert found.tobytes() == walk(engine, forest, X).tobytes()


def test_predictions_are_divided_and_rounded_once():
    forest, X = grown()
    for engine in CORES.values():
        packed = pack(engine, forest, "large")
        shares = walk(engine, forest, X) / forest.n_trees
        assert predict(packed, X, total=forest.n_trees).tobytes() == shares.tobytes()
        rounded = predict(packed, X, total=forest.n_trees, dtype=np.float32, order="F")
        assert rounded.tobytes() == shares.astype(np.float32).tobytes()


@pytest.mark.parametrize("size", SIZES)
def test_a_buffer_found_in_memory_predicts_the_same(size):
    forest, X = grown()
    X = X.astype(np.float32)
    for engine in CORES.values():
        packed = pack(engine, forest, size)
        copy = np.zeros(len(packed.buffer()) + 16, dtype=np.uint8)
        begin = -copy.ctypes.data % 16
        copy[begin : begin + len(packed.buffer())] = packed.buffer()
        found = engine.core.Packed(copy[begin : begin + len(packed.buffer())])
        assert predict(found, X).tobytes() == predict(packed, X).tobytes()


def test_small_nodes_refuse_rows_that_are_not_floats():
    forest, X = grown()
    for engine in CORES.values():
        with pytest.raises(ValueError, match="floats"):
            predict(pack(engine, forest, "small"), X + 1e-12)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@pytest.mark.parametrize("size", SIZES)
def test_a_buffer_with_any_byte_changed_is_refused_or_harmless(criterion, size):
    forest, X = grown(criterion, n_rows=60, n_trees=2, columns=MIXED)
    X, engine = X[:9].astype(np.float32), next(iter(CORES.values()))
    good = pack(engine, forest, size).buffer().copy()
    n_refused = 0
    for at in range(len(good)):
        for flip in (1, 0x80):
            bad = good.copy()
            bad[at] ^= flip
            try:
                found = engine.core.Packed(bad)
            except ValueError:
                n_refused += 1
                continue
            if found.n_classes == forest.n_classes and found.n_features == forest.n_features:
                predict(found, X)
    assert n_refused > len(good) / 8
    for n_bytes in range(0, len(good), 7):
        with pytest.raises(ValueError, match="buffer"):
            engine.core.Packed(good[:n_bytes].copy())


BROKEN = {  # features and right children of a tree; what is wrong
    "one leaf more": ([0, -1, -1, -1], [2, 0, 0, 0], "one leaf more"),
    "a leaf missing": ([0, 0, -1, -1], [2, 3, 0, 0], "one leaf more"),
    "an unknown feature": ([3, -1, -1], [2, 0, 0], "feature"),
    "a child before its parent": ([0, -1, -1], [1, 0, 0], "right child"),
    "a child beyond the tree": ([0, -1, -1], [3, 0, 0], "right child"),
    "a child in another's place": ([0, 0, -1, -1, -1], [2, 3, 0, 0, 0], "pre-order"),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", BROKEN)
def test_a_tree_that_is_none_is_not_packed(name, size):
    features, right, what = BROKEN[name]
    n = len(features)
    arrays = {
        "tree_start": np.array([0, n]),
        "feature": np.array(features, dtype=np.int32),
        "threshold": np.zeros(n),
        "right": np.array(right, dtype=np.int32),
        "flags": np.zeros(n, dtype=np.uint8),
        "leaf_start": np.zeros(1, dtype=np.int64),
        "leaf_class": np.empty(0, dtype=np.int32),
        "leaf_weight": np.empty(0),
        "value": np.zeros(n),
        "category_start": np.zeros(1, dtype=np.int64),
        "category_sets": np.empty(0, dtype=np.uint32),
        "tree_weight": np.empty(0),
    }
    with pytest.raises(ValueError, match=what):
        NATIVE.core.pack_forest(2, 0, arrays, size == "large", 1.0, False, 1)


# --------------------------------------------------------------------------------------------------------- portions


def in_portions(n_nodes):
    """Pack trees in batches of at most this many nodes, or one tree per thread."""
    return mock.patch.multiple(native, NODES_AT_ONCE=n_nodes, CELLS_PER_NODE=1 << 40)


def look_outside(engine, case, voting, n_threads=1, n_before=0):
    """Grow a forest and compute its out-of-bag votes, before it is packed; some trees first."""
    coded = engine.code(case.table, case.max_bins, 1, None)

    def look(first, n_trees, start):
        forest = engine.grow(coded, case.growth, case.seed, first, n_trees, 1, None)
        return engine.sum_votes_out_of_bag(coded, case.growth, forest, case.table.X, voting, n_threads, None, start)

    return look(n_before, case.n_trees - n_before, look(0, n_before, None) if n_before else None)


def assert_alike(found, expected):
    for name, array in expected._asdict().items():
        np.testing.assert_array_equal(getattr(found, name), array, err_msg=name)


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=10)
def test_trees_that_are_packed_in_portions_say_what_the_definition_says(criterion, voting, data):
    drawn = data.draw(cases(criterion))
    case = dataclasses.replace(drawn, n_trees=5, growth=dataclasses.replace(drawn.growth, bootstrap=True))
    for n_before in (0, 2):
        expected = look_outside(REFERENCE, case, voting, n_before=n_before)
        for engine in CORES.values():
            for n_nodes, n_threads in ((0, 1), (0, 2), (40, 1)):
                with in_portions(n_nodes):
                    assert_alike(look_outside(engine, case, voting, n_threads, n_before), expected)


@pytest.mark.parametrize("n_nodes", [1 << 20, 2000, 0])
def test_more_trees_than_bags_are_drawn_at_once(n_nodes):
    table = make_table(120, NUMBERS, 3, seed=4)
    case = Case(table, make_growth(table, "gini"), n_trees=70)
    with in_portions(1 << 40):
        expected = look_outside(NATIVE, case, "soft", 2)
    with in_portions(n_nodes):
        assert_alike(look_outside(NATIVE, case, "soft", 2), expected)
    forest = NATIVE.grow(NATIVE.code(table, 0, 1, None), case.growth, case.seed, 0, 70, 1, None)
    assert_alike_in_core(table, case.growth, forest, n_nodes)


def assert_alike_in_core(table, growth, forest, n_nodes):
    """Compare the results of batches, with both node sizes, with those of the packed forest."""
    coded, rows, n_trees = NATIVE.code(table, 0, 1, None), table.X.astype(np.float32), forest.n_trees
    drawn, trees = [NATIVE.core.Growth(**vars(growth))], [(0, *tree) for tree in forest.origins[0].trees()]

    def look(walked):
        hard, before, room, n_threads, watch = False, (None, None), 0, 2, None
        return NATIVE.core.sum_votes_out_of_bag(
            walked, coded, drawn, trees, rows, hard, *before, room, n_threads, watch
        )

    expected = look(pack(NATIVE, forest, "small"))
    assert len(expected[2]) == n_trees
    for small_is_exact in (False, True):
        made_from = forest.n_features, forest.n_classes, forest.arrays()
        found = look(NATIVE.core.PackedBatch(*made_from, small_is_exact, n_nodes))
        for array, other in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("n_nodes", [0, 500, 1 << 20])
@pytest.mark.parametrize("n_classes", [0, 2, 5])
def test_portions_of_large_and_small_nodes_say_what_all_trees_say(n_classes, n_nodes):
    table = make_table(300, MIXED, n_classes, missing=0.1, seed=3)
    growth = make_growth(table, "gini" if n_classes else "squared_error")
    forest = NATIVE.grow(NATIVE.code(table, 0, 1, None), growth, 7, 0, 11, 1, None)
    assert_alike_in_core(table, growth, forest, n_nodes)


def test_a_sparse_table_is_walked_in_portions():
    table = make_table(200, ("few", "binary", "rounded"), 0, seed=6)
    growth = make_growth(table, "squared_error")
    dense = NATIVE.code(table, 0, 1, None)
    forest = NATIVE.grow(dense, growth, 7, 0, 6, 1, None)
    found = []
    for X in (table.X, sparse.csr_array(table.X)):
        with in_portions(50):
            fresh = dataclasses.replace(forest)
            found.append(NATIVE.sum_votes_out_of_bag(dense, growth, fresh, X, "soft", 1, None))
            assert not is_packed(fresh)
    assert_alike(*found)


def is_packed(forest):
    return bool(forms_of(forest).packed)


def test_a_forest_that_is_asked_again_is_packed_as_a_whole():
    table = make_table(200, NUMBERS, 0, seed=5)
    growth = make_growth(table, "squared_error")
    coded = NATIVE.code(table, 0, 1, None)
    forest = NATIVE.grow(coded, growth, 7, 0, 6, 1, None)

    def look():
        return NATIVE.sum_votes_out_of_bag(coded, growth, forest, table.X, "soft", 1, None)

    with in_portions(100):
        first = look()
        assert not is_packed(forest)
        again = look()
        assert is_packed(forest)
    assert_alike(first, again)


def test_a_wide_table_is_read_once():
    table = make_table(50, NUMBERS, 0, seed=5)
    growth = make_growth(table, "squared_error")
    coded = NATIVE.code(table, 0, 1, None)
    forest = NATIVE.grow(coded, growth, 7, 0, 3, 1, None)
    with mock.patch.multiple(native, NODES_AT_ONCE=0, CELLS_PER_NODE=0.1):
        NATIVE.sum_votes_out_of_bag(coded, growth, forest, table.X, "soft", 1, None)
    assert is_packed(forest)


def test_portions_are_for_rows_that_suit_them():
    table = make_table(50, NUMBERS, 2, seed=5)
    growth = make_growth(table, "gini")
    coded = NATIVE.code(table, 0, 1, None)
    forest = NATIVE.grow(coded, growth, 7, 0, 3, 1, None)
    drawn, trees = [NATIVE.core.Growth(**vars(growth))], [(0, 7, tree) for tree in range(3)]

    def look(X, small_is_exact, outside=()):
        portions = NATIVE.core.PackedBatch(forest.n_features, 2, forest.arrays(), small_is_exact, 10)
        given = (portions, coded, drawn, trees, X, False, None, None, 0, 1, None, None, list(outside))
        return NATIVE.core.sum_votes_out_of_bag(*given)

    with pytest.raises(ValueError, match="small nodes are for tables of floats"):
        look(table.X + 1e-12, small_is_exact=True)
    with pytest.raises(ValueError, match="differ in the number of features"):
        look(table.X[:, :3], small_is_exact=False)
    with pytest.raises(ValueError, match="bags are not those of the trees"):  # bags are drawn for all trees
        look(table.X, small_is_exact=False, outside=[np.zeros(50, dtype=np.uint64)])
    broken = {**forest.arrays(), "right": np.full_like(forest.right, 99_999)}
    with pytest.raises(ValueError, match="right child"):
        NATIVE.core.PackedBatch(forest.n_features, 2, broken, False, 10)
