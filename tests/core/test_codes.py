"""core/coding/codes.h against the definition: codes, their extremes, ranks and the fingerprint of the data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.laws.cases import CORES, REFERENCE, codes_of, make_table, positions_of
from weald.data.table import Table

pytestmark = pytest.mark.sanitize

engines = pytest.mark.parametrize("engine", CORES.values(), ids=CORES.keys())
# A small set of numbers has ties; the unusual numbers are edge cases of coding.
numbers = st.one_of(st.sampled_from([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324]), st.floats(width=32))


def hold(engine, table, max_bins, n_threads=1):
    found, expected = engine.code(table, max_bins, n_threads, None), REFERENCE.code(table, max_bins, 1, None)
    assert np.array_equal(positions_of(found), positions_of(expected))
    assert (found.fingerprint, found.values) == (expected.fingerprint, expected.values)
    for (codes, lows, highs), (wanted, wanted_lows, wanted_highs) in zip(
        codes_of(found), codes_of(expected), strict=True
    ):
        assert np.array_equal(codes, wanted)
        assert lows.tobytes() == wanted_lows.tobytes()
        assert highs.tobytes() == wanted_highs.tobytes()


@engines
@given(
    X=hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.tuples(st.integers(1, 40), st.integers(1, 6)),
        elements=numbers,
    ),
    max_bins=st.sampled_from([0, 2, 3, 7, 65_535]),
    weights=st.sampled_from([None, "whole", "fractional"]),
    n_classes=st.sampled_from([0, 3]),
)
@settings(max_examples=60)
def test_codes_are_those_of_the_definition(engine, X, max_bins, weights, n_classes):
    n = len(X)
    target = np.arange(n, dtype=np.int32) % 3 if n_classes else np.where(np.arange(n) % 2, -0.0, np.arange(n) % 4)
    weight = {None: None, "whole": 1.0 + np.arange(n) % 3, "fractional": 0.1 + np.arange(n) % 5}[weights]
    size = n if weights != "whole" else int(weight.sum())
    hold(engine, Table(X, target, n_classes, weight, weights != "fractional", size), max_bins)


# Around the sizes at which codes need another byte, or rows are sorted by another method.
@pytest.mark.parametrize("n_values", [1, 2, 254, 255, 256, 257, 300, 65_534, 65_535, 65_536, 66_000])
@engines
def test_codes_take_the_bytes_that_they_need(engine, n_values):
    values = np.arange(n_values, dtype=np.float64)
    X = np.random.default_rng(0).permutation(np.concatenate([values, values[: n_values // 2], [np.nan]]))[:, None]
    table = Table(X, np.zeros(len(X), dtype=np.int32), 1, None, True, len(X))
    for max_bins in (0, 65_535, 255):
        codes, lows, highs = codes_of(engine.code(table, max_bins, 2, None))[0]
        n_codes = min(n_values, max_bins or n_values)
        missing = np.isnan(X[:, 0])
        assert (codes[missing] == 2**32 - 1).all()
        assert len(lows) == len(highs) == n_codes
        assert codes[~missing].max() == n_codes - 1
        assert (lows[codes[~missing]] <= X[~missing, 0]).all()
        assert (X[~missing, 0] <= highs[codes[~missing]]).all()
        assert (highs[:-1] < lows[1:]).all()


@pytest.mark.parametrize("weights", ["none", "whole", "fractional", "wide"])
@pytest.mark.parametrize("max_bins", [2, 16, 255, 256, 1000])
@engines
def test_quantile_codes_are_those_of_the_definition(engine, max_bins, weights):
    table = make_table(3000, ("many", "rounded", "wide", "subnormal"), 3, weights=weights, missing=0.1)
    for n_threads in (1, 3):
        hold(engine, table, max_bins, n_threads)


def test_quantile_codes_have_about_equal_weight():
    table = make_table(10_000, ("many",), 2)
    codes, _, _ = codes_of(REFERENCE.code(table, 100, 1, None))[0]
    assert np.bincount(codes).tolist() == [100] * 100


@engines
def test_rows_that_collide_keep_their_order(engine):
    """Rows with equal codes and equal targets are ranked by position."""
    n = 1000
    table = Table(np.ones((n, 2)), np.zeros(n, dtype=np.int32), 1, None, True, n)
    assert positions_of(engine.code(table, 0, 2, None)).tolist() == list(range(n))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": np.zeros(3, dtype=np.int32)}, "differ in length"),
        ({"weight": np.ones(5)}, "differ in length"),
        ({"X": np.empty((0, 2)), "target": np.empty(0, dtype=np.int32)}, "empty"),
        ({"X": np.empty((4, 0))}, "empty"),
        ({"target": np.array([0, 1, 2, 0], dtype=np.int32)}, "class is out of range"),
        ({"target": np.array([0, -1, 1, 0], dtype=np.int32)}, "class is out of range"),
        ({"X": np.ones((4, 2), dtype=np.int32)}, "float32 or float64"),
    ],
)
@engines
def test_the_core_refuses_what_would_lead_it_astray(engine, changes, words):
    table = Table(np.ones((4, 2)), np.zeros(4, dtype=np.int32), 2, None, True, 4)
    table = Table(**{**vars(table), **changes})
    with pytest.raises(ValueError, match=words):
        engine.code(table, 0, 1, None)
