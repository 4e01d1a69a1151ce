"""Binary columns are counted all at once; the cuts are those of the definition.

Common and rare values, so that most columns are constant in most nodes; more of them than a word has bits; with
columns of other kinds, and with missing values in some.
"""

import numpy as np
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
from weald.data.table import Table

FAMILIES = [(c, k) for c in CRITERIA for k in ((2, 3, 12) if is_of_classes(c) else (0,))]


def table_of_bits(n_rows, n_binary, n_classes, *, missing=0, weight=None, seed=0):
    """Two numeric columns, and binary ones of which the first `missing` have missing values."""
    rng = np.random.default_rng(seed)
    plain = make_table(n_rows, ("many", "few"), n_classes, seed=seed)
    bits = (rng.random((n_rows, n_binary)) < rng.choice([0.02, 0.1, 0.5, 0.95], n_binary)).astype(float)
    bits[: n_rows // 2, 1] = plain.X[: n_rows // 2, 0] > 0
    bits[rng.random(bits.shape) < 0.05 * (np.arange(n_binary) < missing)] = np.nan
    X = np.column_stack([plain.X[:, 0], bits, plain.X[:, 1]])
    n_draws = n_rows if weight is None else int(weight.sum())
    return Table(X, plain.target, n_classes, weight, True, n_draws)


def hold_against_definition(case):
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case, 2), expected)


@pytest.mark.sanitize
@pytest.mark.parametrize(("n_binary", "missing"), [(3, 0), (9, 3), (70, 0)])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_cuts_by_binary_features_are_those_of_the_definition(criterion, n_classes, n_binary, missing):
    table = table_of_bits(500, n_binary, n_classes, missing=missing, seed=1)
    for max_features in (3, n_binary + 2):
        growth = make_growth(table, criterion, max_features=max_features, max_depth=6)
        hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("min_samples_leaf", [1, 30])
@pytest.mark.parametrize("class_weight", ["none", "table"])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_limits_and_class_weights_hold_for_binary_features(n_classes, class_weight, min_samples_leaf):
    table = table_of_bits(900, 12, n_classes, seed=2)
    growth = make_growth(
        table, "gini", max_features=4, max_depth=6, min_samples_leaf=min_samples_leaf, class_weight=class_weight
    )
    hold_against_definition(Case(table, growth, n_trees=2))


@pytest.mark.sanitize
@pytest.mark.parametrize("n_classes", [2, 5])
def test_counts_of_binary_features_may_exceed_two_bytes(n_classes):
    weight = np.where(np.arange(200) % 7 == 0, 60_001.0, 3.0)
    table = table_of_bits(200, 12, n_classes, weight=weight, seed=3)
    hold_against_definition(Case(table, make_growth(table, "gini", bootstrap=False, max_features=5), n_trees=1))
