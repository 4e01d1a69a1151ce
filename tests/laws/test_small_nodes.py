"""Nodes of few rows are sorted by networks, one for each range of sizes; the cuts are those of the definition.

The sizes lie on both sides of each network's last one, and of what fits the registers. More features are drawn than a
vector has lanes; some values are missing.
"""

import numpy as np
import pytest

from tests.laws.cases import (
    CRITERIA,
    Case,
    change,
    hold_against_definition,
    is_of_classes,
    make_growth,
    make_table,
)
from weald.data.table import Table

EDGES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 80, 128, 192, 256)
SIZES = sorted({3} | {size + more for size in EDGES for more in (0, 1)})
OF_CLASSES = [criterion for criterion in CRITERIA if is_of_classes(criterion)]
OF_NUMBERS = [criterion for criterion in CRITERIA if not is_of_classes(criterion)]


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_rows", SIZES)
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_cuts_of_small_nodes_are_those_of_the_definition(criterion, n_rows, missing):
    table = make_table(n_rows, ("many", "few") * 5, 0, missing=missing, seed=n_rows)
    growth = make_growth(table, criterion, max_features=9, max_depth=2, bootstrap=False)
    hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("max_bins", [0, 255])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("criterion", OF_CLASSES)
def test_cuts_of_small_nodes_of_two_classes_are_those_of_the_definition(criterion, missing, max_bins):
    """Codes of two bytes and of one; duplicated or mirrored columns tie."""
    for n_rows in SIZES:
        table = make_table(n_rows, ("many", "few", "rounded"), 2, missing=missing, seed=n_rows)
        table = change(table, X=np.column_stack([table.X, -table.X, table.X, table.X[:, :1]]))
        growth = make_growth(table, criterion, max_features=9, max_depth=2, min_samples_leaf=1 + n_rows % 2)
        hold_against_definition(Case(table, growth, max_bins, n_trees=1))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_classes", [3, 7, 40])
@pytest.mark.parametrize("criterion", OF_CLASSES)
def test_cuts_of_small_nodes_of_many_classes_are_those_of_the_definition(criterion, n_classes, missing):
    for n_rows in SIZES:
        weights = ("none", "whole", "fractional")[n_rows % 3]
        table = make_table(n_rows, ("many", "few", "rounded"), n_classes, missing=missing, weights=weights, seed=n_rows)
        growth = make_growth(table, criterion, max_features=2, max_depth=2, min_samples_leaf=1 + n_rows % 2)
        hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("n_classes", [2, 3, 7, 40])
@pytest.mark.parametrize("criterion", OF_CLASSES)
def test_cuts_that_tie_in_small_nodes_are_decided_as_the_definition_says(criterion, n_classes):
    """Classes that are symmetric, or in another order: scores tie, or differ in the last bits."""
    for n_rows in (6, 17, 63, 120, 256):
        rng = np.random.default_rng(n_rows)
        half = rng.integers(0, n_classes, (n_rows + 1) // 2)
        there_and_back = np.concatenate([half, half[::-1]])[:n_rows]
        renamed = rng.permutation(n_classes)[there_and_back]
        for target in (there_and_back, renamed):
            values = np.arange(n_rows)
            X = np.column_stack([values, -values, values // 2, np.where(values % 4 == 3, np.nan, values)])
            table = Table(X.astype(float), target.astype(np.int32), n_classes, None, True, n_rows)
            growth = make_growth(table, criterion, max_features=4, max_depth=3, bootstrap=False)
            hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("heavy", [255, 256, 2000, 4095, 32_738, 32_739, 40_000])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("criterion", OF_CLASSES)
def test_rows_that_count_often_in_small_nodes_are_those_of_the_definition(criterion, n_classes, heavy):
    """Counts of a row and of a node on both sides of the limits of the fast search."""
    table = make_table(30, ("many", "few"), n_classes, seed=heavy)
    weight = np.ones(30)
    weight[7] = heavy
    table = change(table, weight=weight, weights_whole=True)
    for bootstrap in (False, True) if heavy < 4095 else (False,):  # the definition is slow for large bags
        hold_against_definition(Case(table, make_growth(table, criterion, bootstrap=bootstrap), n_trees=1))
