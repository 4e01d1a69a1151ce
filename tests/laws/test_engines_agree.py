"""Every engine, on every instruction set and any number of threads, gives the result of the definition, bit for bit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import (
    CORES,
    CRITERIA,
    NATIVE,
    REFERENCE,
    Case,
    assert_same,
    cases,
    fingerprint,
    is_of_classes,
    make_growth,
    outcome,
)
from weald.data.table import Table

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=20 if UNDER_SANITIZERS else 200)
def test_the_native_engine_does_what_the_definition_says(criterion, data):
    case = data.draw(cases(criterion))
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case), expected)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=50)
def test_the_native_engine_does_what_the_definition_says_of_larger_tables(criterion, data):
    case = data.draw(cases(criterion, max_rows=1200))
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case, 2), expected)


def patterns(n_values, n_rows):
    return (np.array(pattern) for pattern in itertools.product(range(n_values), repeat=n_rows))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("n_values", "n_rows"), [(2, 7), (3, 4)])
@pytest.mark.parametrize("columns", [[[1]], [[1], [-1]], [[1], [0.5], [0.25]]])
def test_ties_of_every_small_pattern_are_broken_alike(criterion, columns, n_values, n_rows):
    """All targets of a few rows, with a column, its mirror image, and columns that distinguish fewer rows."""
    X = np.floor(np.arange(n_rows) * np.array(columns, dtype=np.float64)).T.copy()
    for target in patterns(n_values, n_rows):
        of_classes = is_of_classes(criterion)
        labels = target.astype(np.int32) if of_classes else target.astype(np.float64)
        table = Table(X, labels, n_values if of_classes else 0, None, True, n_rows)
        case = Case(table, make_growth(table, criterion, max_features=len(columns), bootstrap=False), n_trees=1)
        expected = fingerprint(REFERENCE, case)
        for engine in CORES.values():
            assert fingerprint(engine, case) == expected, target


@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
def test_the_number_of_threads_changes_nothing(criterion, n_threads, data):
    case = data.draw(cases(criterion, max_rows=400))
    assert_same(outcome(NATIVE, case, n_threads), outcome(NATIVE, case))


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
def test_the_instruction_set_changes_nothing(criterion, name, data):
    case = data.draw(cases(criterion, max_rows=2000))
    assert_same(outcome(CORES[name], case), outcome(CORES["baseline"], case))
