"""Small regression subtrees are grown at once; they are those of the definition.

Numbers of rows lie on both sides of the limit of such a subtree, numbers of columns on both sides of the lanes of a
vector and of their limit. Duplicated or mirrored columns tie; constant ones do not count when drawn.
"""

import numpy as np
import pytest

from tests.laws.cases import CRITERIA, Case, change, hold_against_definition, is_of_classes, make_growth, make_table

OF_NUMBERS = [criterion for criterion in CRITERIA if not is_of_classes(criterion)]


@pytest.mark.parametrize("max_bins", [0, 255])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 9, 16, 17, 40, 90])
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_small_subtrees_are_those_of_the_definition(criterion, n_rows, max_bins):
    for target in ("learnable", "rounded", "balanced"):
        table = make_table(n_rows, ("many", "few", "rounded", "constant"), 0, target=target, seed=n_rows)
        table = change(table, X=np.column_stack([table.X, -table.X, table.X]))
        for given in ({}, {"max_features": 12}, {"bootstrap": False, "max_depth": 3}, {"min_samples_split": 5}):
            hold_against_definition(Case(table, make_growth(table, criterion, **given), max_bins))


@pytest.mark.parametrize("n_copies", [10, 11, 21, 22])
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_small_subtrees_of_many_features_are_those_of_the_definition(criterion, n_copies):
    table = make_table(30, ("many", "few", "constant") * n_copies, 0, target="rounded", seed=n_copies)
    for max_features in (1, 8, 9, 25, 3 * n_copies):
        growth = make_growth(table, criterion, max_features=max_features)
        hold_against_definition(Case(table, growth, n_trees=1))


@pytest.mark.parametrize("missing", [0.01, 0.3])
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_small_subtrees_with_missing_values_are_those_of_the_definition(criterion, missing):
    for max_bins in (0, 20):
        table = make_table(80, ("many", "few", "binary", "binary") * 3, 0, missing=missing)
        hold_against_definition(Case(table, make_growth(table, criterion), max_bins))


@pytest.mark.parametrize("missing", [0, 0.2])
@pytest.mark.parametrize("n_rows", [2, 3, 6, 16, 33, 90])
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_small_subtrees_with_categories_are_those_of_the_definition(criterion, n_rows, missing):
    table = make_table(n_rows, ("kinds", "many", "few", "yes or no", "names"), 0, missing=missing, seed=n_rows)
    for given in ({}, {"max_features": 5}, {"category_penalty": 2.5}, {"min_samples_leaf": 2}, {"max_categories": 3}):
        hold_against_definition(Case(table, make_growth(table, criterion, **given), 255))


@pytest.mark.parametrize("n_labels", [2, 11, 40])
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_penalized_categories_in_small_subtrees_are_those_of_the_definition(criterion, n_labels):
    """With a penalty, a cut by many labels can lose against a worse one, or be no cut at all."""
    rng = np.random.default_rng(n_labels)
    table = make_table(60, ("kinds", "many", "rounded"), 0, seed=n_labels)
    X = table.X.copy()
    X[:, 0] = rng.integers(0, n_labels, 60)
    X[:2, 0] = 0, n_labels - 1
    table = change(table, X=X)
    for penalty in (0.5, 2.5, 50.0):
        growth = make_growth(table, criterion, max_features=3, category_penalty=penalty)
        hold_against_definition(Case(table, growth))


@pytest.mark.parametrize("heavy", [255, 256, 2000, 40_000])
@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_rows_that_count_often_in_small_subtrees_are_those_of_the_definition(criterion, heavy):
    table = make_table(14, ("many", "few"), 0, seed=heavy)
    weight = np.ones(14)
    weight[7] = heavy
    table = change(table, weight=weight, weights_whole=True)
    for bootstrap in (False, True):
        hold_against_definition(Case(table, make_growth(table, criterion, bootstrap=bootstrap), n_trees=1))


@pytest.mark.parametrize("criterion", OF_NUMBERS)
def test_targets_far_apart_in_small_subtrees_are_those_of_the_definition(criterion):
    """Differences of one between integers of sixty bits: approximate sums are imprecise, exact ones are not."""
    rng = np.random.default_rng(0)
    for scale in (1e-12, 1.0, 1e290):
        target = np.concatenate([rng.integers(0, 3, 10), 2.0**48 + rng.integers(0, 3, 10), [-(2.0**52)]]) * scale
        table = make_table(21, ("many", "few", "many"), 0)
        table = change(table, target=target)
        hold_against_definition(Case(table, make_growth(table, criterion, max_features=2)))
