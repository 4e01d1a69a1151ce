"""SHAP values are Shapley values of the path-dependent or the interventional game, and all engines agree to the bit."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.cases import CORES, NATIVE, REFERENCE, Case, cases, grow, make_growth, make_table, probe_rows
from weald.engines.interface import ShapTask
from weald.forest.forest import Forest
from weald.forest.partial_dependence import goes_left, leaf_shares


def amounts_of(forest, seed=0):
    """Values of leaves: means, or random numbers."""
    return forest.value if len(forest.value) else np.random.default_rng(seed).normal(size=forest.n_nodes)


def payoff(forest, amounts, row, known):
    """Mean of the leaves of a single tree that a row reaches if only some features are known."""

    def below(node):
        feature = forest.feature[node]
        if feature < 0:
            return amounts[node]
        left, right = node + 1, int(forest.right[node])
        if feature in known:
            return below(left) if goes_left(forest, node, row[[feature]])[0] else below(right)
        weights = forest.weight[[left, right]]
        return (weights[0] * below(left) + weights[1] * below(right)) / weights.sum()

    return below(0)


def by_definition(forest, amounts, row):
    """Shapley values and interaction indices of the path-dependent game, by all subsets."""
    found = []
    for tree in range(forest.n_trees):
        one, of_leaves = forest.take([tree]), amounts[forest.tree_start[tree] : forest.tree_start[tree + 1]]
        found.append(shapley(forest.n_features, lambda known, one=one, of=of_leaves: payoff(one, of, row, known)))
    return (sum(part) for part in zip(*found, strict=True))


def shapley(n, payoff_of):
    """Shapley values and interaction indices of a game of n players, by all subsets."""
    values, pairs = np.zeros(n), np.zeros((n, n))
    subsets = [frozenset(s) for k in range(n + 1) for s in itertools.combinations(range(n), k)]
    of = {known: payoff_of(known) for known in subsets}
    for known in subsets:
        others = [f for f in range(n) if f not in known]
        k = len(known)
        for i in others:
            gain = of[known | {i}] - of[known]
            values[i] += gain * math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n)
            for j in others:
                if j != i:
                    both = of[known | {i, j}] - of[known | {j}] - gain
                    pairs[i, j] += both * math.factorial(k) * math.factorial(n - k - 2) / math.factorial(n - 1) / 2
    return values, pairs


def interventional_payoff(forest, amounts, row, background, known):
    """Sum of the leaves of rows that have the row's values of known features, and those of background rows else."""
    mixed = np.where([f in known for f in range(forest.n_features)], row, background)
    return amounts[NATIVE.leaves(forest, mixed) + forest.tree_start[:-1]].sum()


@pytest.mark.sanitize
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
@given(data=st.data())
@settings(max_examples=25)
def test_every_engine_computes_the_bits_of_the_definition(criterion, data):
    case = data.draw(cases(criterion))
    forest = grow(NATIVE, case)
    rows, amounts = probe_rows(case.table, forest, n_rows=9), np.clip(amounts_of(forest), -1e300, 1e300)
    is_new = data.draw(st.sampled_from([None, np.random.default_rng(1).random((forest.n_trees, 9)) < 0.4]))
    background = probe_rows(case.table, forest, seed=1, n_rows=7)
    for task in (
        ShapTask(amounts, is_new),
        ShapTask(amounts, is_new, pairs=True),
        ShapTask(amounts, is_new, background=background),
    ):
        expected = REFERENCE.shap(forest, rows, task)
        for engine in CORES.values():
            np.testing.assert_array_equal(engine.shap(forest, rows, task), expected, strict=True)


@pytest.mark.sanitize
@pytest.mark.parametrize("core", CORES)
def test_results_do_not_depend_on_threads_or_on_the_other_rows(core):
    table = make_table(300, ["many", "kinds", "rounded", "few"], 0, missing=0.1)
    forest = grow(NATIVE, Case(table, make_growth(table, "squared_error"), n_trees=4))
    rows = probe_rows(table, forest, n_rows=301)
    is_new = np.random.default_rng(0).random((4, 301)) < 0.37
    for pairs, background in ((False, None), (True, None), (False, rows[:20])):
        for marks in (None, is_new):
            task = ShapTask(forest.value, marks, pairs, background)
            expected = NATIVE.shap(forest, rows, task, 1)
            np.testing.assert_array_equal(CORES[core].shap(forest, rows, task, 3), expected)
            one = replace(task, is_new=None if marks is None else marks[:, 77:78])
            np.testing.assert_array_equal(CORES[core].shap(forest, rows[77:78], one), expected[77:78])


@pytest.mark.parametrize("weights", ["none", "fractional"])
@pytest.mark.parametrize("max_depth", [1, 2, 30])
def test_values_are_shapley_values_by_all_subsets(weights, max_depth):
    table = make_table(70, ["many", "kinds", "few", "rounded"], 0, weights=weights, missing=0.1, seed=max_depth)
    forest = grow(NATIVE, Case(table, make_growth(table, "squared_error", max_depth=max_depth), n_trees=2))
    rows = probe_rows(table, forest, n_rows=4)
    values, pairs = (NATIVE.shap(forest, rows, ShapTask(forest.value, None, both)) for both in (False, True))
    for row, of_row, of_pairs in zip(rows, values, pairs, strict=True):
        expected, expected_pairs = by_definition(forest, forest.value, row)
        np.testing.assert_allclose(of_row, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(of_pairs, expected_pairs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("max_depth", [1, 3, 30])
def test_values_against_a_background_are_shapley_values_by_all_subsets(max_depth):
    table = make_table(70, ["many", "kinds", "few", "rounded"], 0, missing=0.1, seed=max_depth)
    forest = grow(NATIVE, Case(table, make_growth(table, "squared_error", max_depth=max_depth), n_trees=3))
    rows, background = probe_rows(table, forest, n_rows=4), probe_rows(table, forest, seed=1, n_rows=13)
    values = NATIVE.shap(forest, rows, ShapTask(forest.value, background=background))
    for row, of_row in zip(rows, values, strict=True):
        payoff_of = lambda known, row=row: interventional_payoff(forest, forest.value, row, background, known)  # noqa: E731
        np.testing.assert_allclose(of_row, shapley(4, payoff_of)[0], rtol=1e-12, atol=1e-12)


def add_up(engine, forest, amounts, rows):
    """Return how far base value and values are from the leaf, relative to their magnitude."""
    values = engine.shap(forest, rows, ShapTask(amounts))
    base = float(leaf_shares(forest) @ amounts)
    leaves = engine.leaves(forest, rows) + forest.tree_start[:-1]
    error = np.abs(base + values.sum(axis=1) - amounts[leaves].sum(axis=1))
    return error / (np.abs(base) + np.abs(values).sum(axis=1))


def chain(n_splits, n_features):
    """A tree in which each split takes one of the remaining rows to a leaf on the left; features take turns."""
    n = 2 * n_splits + 1
    is_split = np.arange(n) % 2 == 0
    is_split[-1] = False
    number = np.arange(n) // 2
    return Forest(
        *(n_features, 0, 0.0, 0),
        tree_start=np.array([0, n]),
        feature=np.where(is_split, number % n_features, -1).astype(np.int32),
        threshold=np.where(is_split, np.random.default_rng(0).random(n), 0.0),
        right=np.where(is_split, np.arange(n) + 2, 0).astype(np.int32),
        flags=np.zeros(n, dtype=np.uint8),
        size=np.ones(n, dtype=np.uint32),
        weight=np.where(np.arange(n) % 2 == 1, 1.0, n_splits + 1.0 - number),
        decrease=np.zeros(n),
        **dict.fromkeys(("leaf_start", "leaf_class", "leaf_weight", "category_sets"), np.zeros(0)),
        value=np.random.default_rng(1).normal(size=n),
        impurity=np.zeros(n),
        category_start=np.zeros(1, dtype=np.int64),
    )


@pytest.mark.parametrize("n_features", [1, 7, 300])
def test_values_add_up_at_any_depth(n_features):
    """The longest path has 1,000 splits and up to 300 distinct features."""
    forest = chain(1000, n_features)
    rows = np.random.default_rng(2).random((100, n_features)) ** 0.02
    assert add_up(NATIVE, forest, forest.value, rows).max() < 1e-12
    against = NATIVE.shap(forest, rows, ShapTask(forest.value, background=rows[:20]))
    leaves = forest.value[NATIVE.leaves(forest, rows)[:, 0]]
    np.testing.assert_allclose(leaves[:20].mean() + against.sum(axis=1) / 20, leaves, rtol=1e-12, atol=1e-13)
    for task in (ShapTask(forest.value), ShapTask(forest.value, background=rows[:5])):
        np.testing.assert_array_equal(NATIVE.shap(forest, rows[:1], task), REFERENCE.shap(forest, rows[:1], task))


def test_what_does_not_matter_gets_exactly_nothing():
    table = make_table(200, ["many"] * 5, 0)
    forest = grow(NATIVE, Case(table, make_growth(table, "squared_error", max_depth=2), n_trees=3))
    unused = np.setdiff1d(np.arange(5), forest.feature)
    assert len(unused)
    values = NATIVE.shap(forest, table.X, ShapTask(forest.value))
    assert (values[:, unused] == 0).all()
    assert (NATIVE.shap(forest, table.X, ShapTask(np.full(forest.n_nodes, 0.1))) == 0).all()
    against = NATIVE.shap(forest, table.X, ShapTask(forest.value, background=table.X[:9]))
    assert (against[:, unused] == 0).all()
    alone = NATIVE.shap(forest, table.X[3:4], ShapTask(forest.value, background=table.X[3:4]))
    assert (alone == 0).all()


def test_nodes_without_weight_are_halved():
    table = make_table(60, ["many"] * 3, 0)
    forest = grow(NATIVE, Case(table, make_growth(table, "squared_error"), n_trees=1))
    weight = np.where(np.arange(forest.n_nodes) > 5, 0.0, forest.weight)
    light = forest.with_arrays({"weight": weight})
    rows = table.X[:8]
    task = ShapTask(forest.value)
    np.testing.assert_array_equal(NATIVE.shap(light, rows, task), REFERENCE.shap(light, rows, task))
    assert add_up(NATIVE, light, forest.value, rows).max() < 1e-12
