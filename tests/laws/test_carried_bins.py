"""Histogram subtraction, used if every node considers all features: the forest is the same.

Nodes here have hundreds to thousands of rows, so that histograms are computed, subtracted, merged, and computed again
if a path has left few bins of a feature.
"""

import numpy as np
import pytest

import weald
from tests.laws.cases import (
    CORES,
    OF_SUMS,
    REFERENCE,
    Case,
    assert_same,
    is_of_classes,
    make_growth,
    make_table,
    outcome,
)
from weald.data.table import Table

COLUMNS = ("many", "rounded", "few", "binary", "constant")


def hold_against_definition(case):
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case), expected)


@pytest.mark.sanitize
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("target", ["learnable", "noise", "rounded", "extreme"])
@pytest.mark.parametrize("criterion", OF_SUMS)
def test_bins_that_are_handed_down_are_those_of_the_rows(criterion, target, missing):
    n_classes = 2 if is_of_classes(criterion) else 0
    table = make_table(2500, COLUMNS, n_classes, target=target, missing=missing, seed=21)
    hold_against_definition(
        Case(table, make_growth(table, criterion, max_features=len(COLUMNS), max_depth=4), n_trees=1)
    )


@pytest.mark.parametrize("max_bins", [255, 300])
@pytest.mark.parametrize("criterion", OF_SUMS)
def test_few_codes_are_cut_as_well(criterion, max_bins):
    n_classes = 2 if is_of_classes(criterion) else 0
    table = make_table(2500, ("many", "wide"), n_classes, missing=0.05, seed=22)
    growth = make_growth(table, criterion, max_features=2, max_depth=5, min_samples_leaf=7)
    hold_against_definition(Case(table, growth, max_bins, n_trees=1))


@pytest.mark.parametrize("criterion", OF_SUMS)
def test_copies_and_limits_do_not_matter(criterion):
    """Rows with large counts, and minimum leaf sizes so large that few cuts are admissible."""
    n_classes = 2 if is_of_classes(criterion) else 0
    table = make_table(1500, ("many", "rounded", "many"), n_classes, weights="whole", missing=0.1, seed=23)
    growth = make_growth(table, criterion, max_features=3, max_depth=4, min_samples_leaf=table.size // 7)
    hold_against_definition(Case(table, growth, n_trees=1))


def test_targets_far_off_hide_no_cut():
    """A few targets are a million times as far from the mean as all others, so bounds from squares are loose."""
    rng = np.random.default_rng(24)
    X = np.column_stack([rng.normal(size=2000), rng.integers(0, 900, 2000)])
    y = np.sin(3 * X[:, 0]) + 1e-3 * rng.normal(size=2000)
    y[rng.integers(0, 2000, 3)] = [1e6, -1e6, 5e5]
    table = Table(X, y, 0, None, True, len(X))
    hold_against_definition(Case(table, make_growth(table, "squared_error", max_features=2, max_depth=5), n_trees=2))


@pytest.mark.parametrize("task", ["two classes", "numbers"])
def test_threads_hand_bins_to_one_another(task):
    rng = np.random.default_rng(25)
    X = np.round(rng.normal(size=(40_000, 5)), 3)
    number = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=len(X))
    y = number > 1 if task == "two classes" else number
    kind = weald.RandomForestClassifier if task == "two classes" else weald.RandomForestRegressor
    given = {"n_estimators": 3, "max_features": 1.0, "max_depth": 9, "random_state": 5}
    alone = kind(n_jobs=1, **given).fit(X, y).forest_
    assert kind(n_jobs=2, **given).fit(X, y).forest_.fingerprint() == alone.fingerprint()
