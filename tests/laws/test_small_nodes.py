"""Nodes of few rows are sorted by networks, one for each range of sizes; the cuts are those of the definition.

The sizes lie on both sides of each network's last one, and of what fits the registers. More features are drawn than a
vector has lanes; some values are missing.
"""

import pytest

from tests.laws.cases import (
    CORES,
    CRITERIA,
    REFERENCE,
    Case,
    assert_same,
    is_of_classes,
    make_growth,
    make_table,
    outcome,
)

EDGES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 128, 192, 256)
SIZES = sorted({3} | {size + more for size in EDGES for more in (0, 1)})
OF_NUMBERS = [criterion for criterion in CRITERIA if not is_of_classes(criterion)]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_cuts_of_small_nodes_are_those_of_the_definition(criterion, n_rows, missing):
    table = make_table(n_rows, ("many", "few") * 5, 0, missing=missing, seed=n_rows)
    growth = make_growth(table, criterion, max_features=9, max_depth=2, bootstrap=False)
    case = Case(table, growth, n_trees=1)
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case), expected)
