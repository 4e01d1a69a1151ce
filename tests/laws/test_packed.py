"""A packed forest says what the plain walk says, bit for bit, whatever the rows, their type and order, the threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.cases import CORES, CRITERIA, NATIVE, REFERENCE, cases, is_of_classes, make_growth, make_table
from weald.engines.native import PACKED

pytestmark = pytest.mark.sanitize

SIZES = ("small", "large")


def pack(engine, forest, size):
    arrays = {name: getattr(forest, name) for name in PACKED}
    return engine.core.pack_forest(forest.n_features, forest.n_classes, arrays, size == "large", 1.0, False, 1)


def predict(packed, X, *, hard=False, total=1.0, n_threads=1, dtype=np.float64, order="C"):
    out = np.full((len(X), max(1, packed.n_classes)), np.nan, dtype=dtype, order=order)
    packed.predict(X, hard, total, out, n_threads, None)
    return out


def walk(engine, forest, X, *, hard=False):
    """What the plain walk says, one node after the other."""
    arrays = {name: getattr(forest, name) for name in PACKED}
    plain = engine.core.Predictor(n_features=forest.n_features, n_classes=forest.n_classes, **arrays)
    return plain.sum_votes(np.asarray(X, dtype=np.float64), hard, 1, None)


def rows_near_thresholds(forest, rng, n_rows, dtype):
    """Rows whose values stand on thresholds, one step beside them, far away, or are missing."""
    inf = dtype(np.inf)
    X = np.empty((n_rows, forest.n_features), dtype=dtype)
    with np.errstate(all="ignore"):  # of what float32 does not hold
        for f in range(forest.n_features):
            cut = forest.threshold[forest.feature == f].astype(dtype)
            beside = [cut, np.nextafter(cut, -inf), np.nextafter(cut, inf), -cut, cut.astype(np.float32).astype(dtype)]
            far = np.array([0.0, -0.0, inf, -inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype=dtype)
            X[:, f] = rng.choice(np.concatenate([*beside, far]), n_rows)
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
            if packed is None:
                assert len(forest.category_start) > 1
                continue
            X = rows_near_thresholds(forest, rng, n_rows, dtype)
            assert predict(packed, X, hard=hard).tobytes() == walk(engine, forest, X, hard=hard).tobytes()


def grown(criterion="gini", *, n_rows=3000, n_trees=9, seed=0, **changes):
    """A forest of a table without categories, and more rows."""
    table = make_table(n_rows, ["many", "few", "rounded", "binary"], 3 if is_of_classes(criterion) else 0, missing=0.02)
    growth = make_growth(table, criterion, max_features=2, **changes)
    forest = NATIVE.grow(NATIVE.code(table, 65535), growth, seed, 0, n_trees)
    return forest, make_table(2000, ["many", "few", "rounded", "binary"], 0, missing=0.05, seed=1).X


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("size", SIZES)
def test_neither_threads_nor_order_nor_batches_change_a_bit(criterion, size):
    forest, X = grown(criterion)
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
    forest, X = grown(criterion, n_rows=60, n_trees=2)
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
