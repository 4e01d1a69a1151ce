"""Large nodes are searched by other methods than small ones; all of them find the same cut.

Nodes here have hundreds to thousands of rows: sorted rows, a bin for each code, coarse bins with bounds that are
refined, tables of code and class. Depth is limited, because the definition is slow.
"""

import numpy as np
import pytest

from tests.laws.cases import (
    CORES,
    CRITERIA,
    NATIVE,
    OF_SUMS,
    REFERENCE,
    Case,
    assert_same,
    change,
    codes_of,
    fingerprint,
    hold_against_definition,
    is_of_classes,
    make_growth,
    make_table,
    outcome,
    positions_of,
)
from weald.data.table import Table

# Codes with a small, medium and large range, compared with the rows of a node.
COLUMNS = ("many", "rounded", "few", "neighbors")


def classes_for(criterion):
    return (2, 3, 12) if is_of_classes(criterion) else (0,)


FAMILIES = [(criterion, n_classes) for criterion in OF_SUMS for n_classes in classes_for(criterion)]


@pytest.mark.sanitize
@pytest.mark.parametrize("min_samples_leaf", [1, 20])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_cuts_of_large_nodes_are_those_of_the_definition(criterion, n_classes, missing, min_samples_leaf):
    table = make_table(1800, COLUMNS, n_classes, missing=missing, seed=5)
    growth = make_growth(table, criterion, max_features=3, max_depth=5, min_samples_leaf=min_samples_leaf)
    hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("weights", ["whole", "fractional", "wide"])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_cuts_of_large_weighted_nodes_are_those_of_the_definition(criterion, n_classes, bootstrap, weights):
    table = make_table(900, COLUMNS, n_classes, weights=weights, missing=0.1, seed=6)
    growth = make_growth(table, criterion, max_features=4, max_depth=4, bootstrap=bootstrap)
    hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("target", ["noise", "rounded", "extreme"])
@pytest.mark.parametrize("max_bins", [0, 255, 300, 1200])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_cuts_by_coarse_codes_are_those_of_the_definition(criterion, n_classes, max_bins, target):
    table = make_table(1500, ("many", "wide"), n_classes, target=target, seed=7)
    growth = make_growth(table, criterion, max_features=2, max_depth=3, min_samples_leaf=3)
    hold_against_definition(Case(table, growth, max_bins, n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize("target", ["learnable", "noise", "rounded", "extreme", "balanced"])
@pytest.mark.parametrize("max_bins", [0, 255])
def test_cuts_by_bins_of_several_features_at_once_are_those_of_the_definition(max_bins, target):
    """More columns than a vector has lanes. Some are duplicated or mirrored, and tie; one has few codes."""
    table = make_table(700, ("many", "rounded", "few", "many", "wide"), 0, target=target, seed=21)
    table = change(table, X=np.column_stack([table.X, -table.X[:, :3], table.X[:, :2]]))
    growth = make_growth(table, "squared_error", max_features=9, max_depth=3)
    hold_against_definition(Case(table, growth, max_bins, n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize("min_samples_leaf", [1, 30])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("criterion", [criterion for criterion in CRITERIA if is_of_classes(criterion)])
def test_cuts_by_counts_of_several_features_at_once_are_those_of_the_definition(criterion, missing, min_samples_leaf):
    """Codes of one byte, with and without a copy of the rows; some columns are constant, or nearly all missing."""
    for n_rows, n_noise in ((90, 0), (700, 0), (700, 90)):
        table = make_table(n_rows, ("many", "rounded", "few", "neighbors"), 2, missing=missing, seed=n_rows)
        rng = np.random.default_rng(n_rows)
        rare = np.where(np.arange(n_rows) == 5, 1.0, np.nan)
        columns = [table.X, -table.X[:, :3], table.X[:, :2], np.ones(n_rows), rare, rng.normal(size=(n_rows, n_noise))]
        table = change(table, X=np.column_stack(columns))
        growth = make_growth(table, criterion, max_features=10, max_depth=4, min_samples_leaf=min_samples_leaf)
        hold_against_definition(Case(table, growth, 255, n_trees=1))


@pytest.mark.parametrize("heavy", [65_435, 65_436, 65_437, 70_000, 2**24 + 1])
def test_counts_of_nodes_beyond_two_bytes_are_those_of_the_definition(heavy):
    """Numbers of draws of a node on both sides of the 16-bit limit."""
    table = make_table(100, ("many", "few", "rounded"), 2, target="noise", seed=23)
    weight = np.where(np.arange(100) == 3, heavy, 1.0)
    table = change(table, weight=weight, weights_whole=True)
    growth = make_growth(table, "gini", bootstrap=False, max_features=2, max_depth=3)
    hold_against_definition(Case(table, growth, 255, n_trees=1))


@pytest.mark.parametrize("far", [1e3, 1e9, 1e15])
def test_bins_of_several_features_at_once_see_little_beside_much(far):
    """One outlier, compared with which all other targets are nearly equal."""
    table = make_table(600, ("many", "rounded", "many"), 0, seed=22)
    target = table.target.copy()
    target[17] = far
    growth = make_growth(table, "squared_error", max_features=2, max_depth=6)
    hold_against_definition(Case(change(table, target=target), growth, n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize("share", [0.0, 0.3, 0.45, 0.499])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_cuts_of_few_rows_among_many_codes_are_those_of_the_definition(criterion, n_classes, missing, share):
    """Bags much smaller than the table; minimum leaf sizes so large that few cuts, or none, are admissible."""
    table = make_table(4000, ("many", "wide", "neighbors"), n_classes, target="noise", missing=missing, seed=16)
    n_draws = 500
    growth = make_growth(
        table, criterion, max_features=2, max_depth=3, n_draws=n_draws, min_samples_leaf=1 + int(share * n_draws)
    )
    hold_against_definition(Case(table, growth, n_trees=2))


@pytest.mark.parametrize("n_values", [3, 6, 21, 40, 70, 300, 1000])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_cuts_that_all_gain_nothing_are_decided_as_the_definition_says(criterion, n_classes, n_values):
    """Every value with every target: scores tie, or differ in the last bit."""
    n_targets = n_classes or 2
    values = np.repeat(np.arange(n_values), n_targets)
    X = np.column_stack([values, values // 3, values % 5, -values]).astype(float)
    target = np.tile(np.arange(n_targets), n_values).astype(np.int32 if n_classes else float)
    table = Table(X, target, n_classes, None, True, len(X))
    for max_features in (1, 4):
        growth = make_growth(table, criterion, max_features=max_features, max_depth=4, bootstrap=False)
        hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("n_classes", [3, 7, 40])
@pytest.mark.parametrize("criterion", [criterion for criterion in CRITERIA if is_of_classes(criterion)])
def test_cuts_that_nearly_tie_are_decided_as_the_definition_says(criterion, n_classes, bootstrap):
    """Classes that are symmetric: each cut has a mirror image, which in a bag is nearly as good."""
    for n_rows in (300, 1100):
        rng = np.random.default_rng(n_rows)
        half = rng.integers(0, n_classes, n_rows // 2) * rng.integers(0, 2, n_rows // 2)
        target = rng.permutation(n_classes)[np.concatenate([half, half[::-1]])]
        values = np.arange(n_rows)
        X = np.column_stack([values, -values, values // 7, values[::-1] ** 2]).astype(float)
        table = Table(X, target.astype(np.int32), n_classes, None, True, n_rows)
        growth = make_growth(table, criterion, max_features=3, max_depth=3, bootstrap=bootstrap)
        hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize("max_bins", [0, 255])
@pytest.mark.parametrize("class_weight", ["given", "table", "bag"])
@pytest.mark.parametrize(("criterion", "n_classes"), [f for f in FAMILIES if f[1]])
def test_cuts_of_weighed_classes_are_those_of_the_definition(criterion, n_classes, class_weight, max_bins):
    table = make_table(1500, COLUMNS, n_classes, missing=0.05, seed=8)
    given = tuple(1.0 + k % 3 / 3 for k in range(n_classes)) if class_weight == "given" else ()
    growth = make_growth(table, criterion, max_depth=4, class_weight=class_weight, class_weights=given)
    hold_against_definition(Case(table, growth, max_bins, n_trees=1))


@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_whole_trees_of_a_large_table_are_those_of_the_definition(criterion, n_classes):
    table = make_table(1200, ("many", "rounded", "few"), n_classes, missing=0.05, seed=9)
    hold_against_definition(Case(table, make_growth(table, criterion, max_features=1), n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_counts_beyond_two_bytes_are_those_of_the_definition(criterion, n_classes):
    """A row that counts more than 65,535 times."""
    table = make_table(60, ("many", "few"), n_classes, seed=10)
    weight = np.where(np.arange(60) % 7 == 0, 200_001.0, 3.0)
    table = change(table, weight=weight, weights_whole=True)
    hold_against_definition(Case(table, make_growth(table, criterion, bootstrap=False), n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_weights_too_large_to_be_counted_are_those_of_the_definition(criterion, n_classes):
    """Integer weights with a sum of 2^31 or more are not copies, but weights in fixed point."""
    table = make_table(80, ("many", "few"), n_classes, seed=11)
    table = change(table, weight=2.0**30 + np.arange(80), weights_whole=True)
    growth = make_growth(table, criterion, bootstrap=False, n_draws=2**31 - 1)
    hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.sanitize
@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_large_forests_depend_neither_on_threads_nor_on_the_instruction_set(criterion, n_classes, n_threads):
    table = make_table(6000, (*COLUMNS, "binary", "wide"), n_classes, missing=0.02, seed=12)
    case = Case(table, make_growth(table, criterion), n_trees=8)
    expected = outcome(NATIVE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case, n_threads), expected)


@pytest.mark.parametrize(("n_rows", "max_bins"), [(33_000, 0), (66_000, 255)])  # columns of more than 64 KiB
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_trees_grown_from_copies_of_rows_are_those_grown_from_the_table(n_classes, n_rows, max_bins):
    """A table large enough to be stored row by row; trees that are grown best-first read it directly."""
    criterion = "gini" if n_classes else "squared_error"
    table = make_table(n_rows, ("many",) * 33 + ("few",), n_classes, missing=0.01, seed=24)
    growths = [make_growth(table, criterion, max_leaf_nodes=most, min_samples_leaf=20) for most in (0, 2**31 - 1)]
    cases = [Case(table, growth, max_bins, n_trees=1) for growth in growths]
    assert len({fingerprint(engine, case) for engine in CORES.values() for case in cases}) == 1


# ---------------------------------------------------------------------------------------------------- very large ones


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_codes_cut_from_a_sample_are_those_of_the_definition(n_classes, weights):
    """Above 2^18 copies, quantiles are computed from a sample of the rows."""
    n_rows = 150_000 if weights == "whole" else 270_000
    table = make_table(n_rows, ("many", "rounded"), n_classes, weights=weights, missing=0.01, seed=13)
    expected = REFERENCE.code(table, 1000, 1, None)
    for engine in CORES.values():
        coded = engine.code(table, 1000, 2, None)
        assert coded.fingerprint == expected.fingerprint
        assert np.array_equal(positions_of(coded), positions_of(expected))
        for found, wanted in zip(codes_of(coded), codes_of(expected), strict=True):
            for array, other in zip(found, wanted, strict=True):
                assert np.array_equal(array, other)


@pytest.mark.slow
@pytest.mark.parametrize("max_bins", [0, 65_535])
def test_codes_beyond_two_bytes_are_those_of_the_definition(max_bins):
    table = make_table(90_000, ("many", "wide"), 2, missing=0.01, seed=14)
    growth = make_growth(table, "gini", max_features=2, max_depth=1)
    case = Case(table, growth, max_bins, n_trees=1)
    assert {fingerprint(engine, case) for engine in (REFERENCE, *CORES.values())} == {fingerprint(NATIVE, case)}


@pytest.mark.slow
@pytest.mark.parametrize(("criterion", "n_classes"), FAMILIES)
def test_very_large_forests_depend_neither_on_threads_nor_on_the_instruction_set(criterion, n_classes):
    table = make_table(120_000, ("many", "rounded", "few", "wide"), n_classes, missing=0.02, seed=15)
    case = Case(table, make_growth(table, criterion), n_trees=2)
    expected = fingerprint(NATIVE, case)
    for engine in CORES.values():
        assert fingerprint(engine, case, 2) == expected


@pytest.mark.sanitize
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_few_rows_beside_very_many_are_seen(n_classes):
    """Beyond 2^24 copies, single precision cannot distinguish n from n + 1."""
    criterion = "gini" if n_classes else "squared_error"
    target = np.array([0, 1, 1, 2 % (n_classes or 3)], dtype=np.int32 if n_classes else float)
    weight = np.array([2.0**26, 2.0**26, 1.0, 3.0])
    table = Table(np.array([[0.0], [0.0], [1.0], [2.0]]), target, n_classes, weight, True, 2**27 + 4)
    hold_against_definition(Case(table, make_growth(table, criterion, bootstrap=False, max_features=1), n_trees=1))


@pytest.mark.parametrize("heavy", [2**24 + 2**20, 2**26, 2**28, 2**30])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_bounds_hold_beside_a_very_heavy_row(n_classes, heavy):
    """The best cut lies inside the last bin, with almost nothing behind it."""
    rng = np.random.default_rng(heavy)
    for _ in range(3):
        X = np.column_stack([np.zeros(3000), np.arange(3000.0)])
        last = np.arange(3000 - rng.integers(2, 6), 3000)
        group = np.unique(np.concatenate([[0], rng.choice(2900, rng.integers(270, 600), replace=False), last]))
        X[group, 0] = 1
        y, weight = np.full(3000, 1e4), np.ones(3000)
        y[group] = 0.001 * rng.normal(size=len(group))
        y[0], weight[0] = 0.0, heavy
        sign = rng.choice([-1, 1])
        y[last] = sign * rng.random(len(last))
        y[last[rng.integers(1, len(last)) :]] = sign * 100
        target = (y > np.median(y[group])).astype(np.int32) if n_classes else y
        table = Table(X, target, n_classes, weight, True, int(weight.sum()))
        criterion = "gini" if n_classes else "squared_error"
        growth = make_growth(table, criterion, bootstrap=False, max_features=2, max_depth=3)
        hold_against_definition(Case(table, growth, n_trees=1))
