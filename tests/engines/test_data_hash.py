"""The data hash: equal for every engine, order of rows and division into parts; a changed cell changes it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.laws.cases import CORES, ENGINES, NATIVE, REFERENCE
from weald.data.table import Table
from weald.engines import data_hash
from weald.engines.data_hash import PRIME
from weald.engines.reference import data_hash as definition

pytestmark = pytest.mark.sanitize

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf, 5e-324, 1e308])


def table_of(X, target, weight=None, whole=True):
    X, target = np.asarray(X, dtype=np.float64), np.asarray(target)
    n_classes = 0 if target.dtype.kind == "f" else int(target.max()) + 1
    return Table(X, target, n_classes, weight, whole, len(target))


@st.composite
def tables(draw):
    n, d = draw(st.integers(1, 20)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pool = draw(st.lists(VALUES, min_size=1, max_size=5))
    X = np.where(rng.random((n, d)) < 0.5, rng.choice(pool, (n, d)), rng.normal(size=(n, d)))
    target = rng.integers(0, 3, n).astype(np.int32) if draw(st.booleans()) else rng.normal(size=n).round(1)
    kind = draw(st.sampled_from(["none", "whole", "fractional"]))
    weight = {"none": None, "whole": rng.integers(1, 9, n) * 1.0, "fractional": rng.random(n) + 0.1}[kind]
    return table_of(X, target, weight, kind != "fractional")


def take(table, rows):
    weight = None if table.weight is None else table.weight[rows]
    return replace(table, X=table.X[rows], target=table.target[rows], weight=weight)


@settings(max_examples=40, deadline=None)
@given(tables())
def test_all_engines_and_instruction_sets_give_the_same_hash(table):
    expected = REFERENCE.row_product(table)
    assert 0 < expected < PRIME
    for core in CORES.values():
        assert core.row_product(table) == core.row_product(table, 3) == expected


@settings(max_examples=40, deadline=None)
@given(tables(), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_their_division_into_parts_matters(table, random):
    rows = list(range(table.n_rows))
    random.shuffle(rows)
    end = random.randint(0, len(rows))
    parts = [take(table, rows[:end]), take(table, rows[end:])]
    whole = NATIVE.row_product(table)
    assert NATIVE.row_product(take(table, rows)) == whole
    assert data_hash.join(NATIVE.row_product(part) for part in parts if part.n_rows) == whole


@settings(max_examples=20, deadline=None)
@given(tables(), st.data())
def test_a_changed_cell_target_or_weight_changes_the_hash(table, data):
    r = data.draw(st.integers(0, table.n_rows - 1))
    f = data.draw(st.integers(0, table.n_features - 1))
    before = NATIVE.row_product(table)
    X = table.X.copy()
    X[r, f] = 7.25 if np.isnan(X[r, f]) else np.nan
    target = table.target.copy()
    target[r] += 1
    weight = np.ones(table.n_rows) if table.weight is None else table.weight.copy()
    weight[r] += 1
    for changed in (replace(table, X=X), replace(table, target=target), replace(table, weight=weight)):
        assert NATIVE.row_product(changed) != before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_weight_of_k_is_the_row_k_times(engine):
    X, y = [[1.0], [2.0]], np.array([0, 1], dtype=np.int32)
    weighted = table_of(X, y, np.array([3.0, 1.0]))
    repeated = table_of([[1.0], [1.0], [2.0], [1.0]], np.array([0, 0, 1, 0], dtype=np.int32))
    assert ENGINES[engine].row_product(weighted) == ENGINES[engine].row_product(repeated)


@pytest.mark.parametrize("k", [2**8, 2**16, 2**31, 2**32, 2**53])
def test_no_number_of_copies_wraps(k):
    """Sums modulo 2^16 or 2^64 forget rows that come 2^16 or 2^64 times; the order of a row's number is 2^3070."""
    row = table_of([[1.0]], np.array([2.5]), np.array([float(k)]))
    found = NATIVE.row_product(row)
    assert found == REFERENCE.row_product(row) == pow(definition.row_number(words_of(row)), k, PRIME)
    assert found not in (1, PRIME - 1, NATIVE.row_product(replace(row, weight=None)))


def words_of(table):
    return [int(np.float64(x + 0.0).view(np.uint64)) for x in (*table.X[0], table.target[0])]


def test_the_prime_is_a_safe_prime_by_the_test_of_fermat():
    for base in (2, 3, 5):
        assert pow(base, PRIME - 1, PRIME) == 1
        assert pow(base, (PRIME - 3) // 2, (PRIME - 1) // 2) == 1


def test_numbers_at_and_above_the_prime_are_reduced():
    """Random rows never come near the prime, so the arithmetic of the core is tested on numbers of its own."""
    for core in CORES.values():
        multiply = core.core.multiply_rows
        for a, b in [
            (PRIME - 1, PRIME - 1),
            (PRIME - 1, 1),
            (PRIME - 1, 2),
            (2, (PRIME + 1) // 2),
            (PRIME - 2, 2**3000),
        ]:
            found = multiply(a.to_bytes(384, "little"), b.to_bytes(384, "little"))
            assert int.from_bytes(found, "little") == a * b % PRIME


@pytest.mark.parametrize("engine", ENGINES)
def test_layouts_and_types_of_x_do_not_matter(engine):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 7)) < 0.6, 0.0, rng.integers(-3, 3, (30, 7)) / 4)
    y, run = rng.integers(0, 2, 30).astype(np.int32), ENGINES[engine].row_product
    expected = run(table_of(X, y))
    variants = [X.astype(np.float32), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], sparse.csr_matrix(X)]
    assert {run(replace(table_of(X, y), X=variant)) for variant in variants} == {expected}
