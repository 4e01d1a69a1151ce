"""The kernels grow the forest of the definition, bit for bit. Here they run on the host, on emulated blocks and warps.

With small sizes a small table passes through all tiers, from huge nodes to single lanes.
"""

import random

import numpy as np
import pytest

from tests.engines.cuda.emulator import Emulator
from tests.laws.cases import NATIVE, REFERENCE, make_growth, make_table
from weald.engines.cuda.engine import CudaEngine
from weald.engines.cuda.grower import TreeGrower

DEVICE = Emulator()
SMALL = {"huge_rows": 60, "middle_rows": 50, "twig_rows": 33, "bin_bits": 4, "fine_words": 512}
KINDS = ("many", "rounded", "few", "binary", "constant", "infinite", "neighbors", "subnormal", "wide")


def make_engine(**sizes):
    return CudaEngine(lambda: DEVICE, **sizes)


def grow(engine, table, growth, seed=3, first_tree=0, n_trees=2):
    return engine.grow(engine.code(table, 65_535, 1, None), growth, seed, first_tree, n_trees, 1, None)


def assert_same_forest(table, growth, sizes=(), oracle=NATIVE, **how):
    engine = make_engine(**dict(sizes))
    expected, found = grow(oracle, table, growth, **how), grow(engine, table, growth, **how)
    assert engine.n_grown == found.n_trees
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array, err_msg=name, strict=True)
    assert found.fingerprint() == expected.fingerprint()
    assert found.origins == expected.origins


def draw_case(dice, n_rows):
    """A table and a growth that the kernels support."""
    columns = dice.choices(KINDS, k=dice.choice([2, 3, 6, 20, 70, 140]))
    table = make_table(
        n_rows,
        columns,
        dice.choice([2, 2, 3, 4, 5, 8]),
        target=dice.choice(["learnable", "learnable", "noise", "balanced"]),
        n_distinct=dice.choice([None, None, n_rows // 3 + 1]),
        weights=dice.choice(["none", "none", "none", "whole"]),
        seed=dice.getrandbits(32),
    )
    limits = {
        "max_depth": dice.randint(1, 6),
        "min_samples_split": dice.randint(2, 30),
        "min_samples_leaf": dice.randint(2, 20),
        "min_weight_fraction_leaf": dice.uniform(0, 0.1),
        "min_impurity_decrease": dice.uniform(0, 0.02),
        "n_draws": dice.randint(1, 3 * n_rows),
    }
    chosen = {name: limit for name, limit in limits.items() if dice.random() < 0.25}
    n_features = table.n_features if dice.random() < 0.2 else dice.randint(1, min(12, table.n_features))
    bags = {"bootstrap": dice.random() < 0.8, "n_draws": table.size, "ties_by_column": dice.random() < 0.2}
    if dice.random() < 0.15:
        bags = {"strata": "class", "draws": tuple(np.bincount(table.target, minlength=table.n_classes).tolist())}
    return table, make_growth(table, "gini", **{"max_features": n_features} | bags | chosen)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["usual sizes", "small sizes"])
def test_the_kernels_do_what_the_definition_says(sizes, seed):
    dice = random.Random(seed)
    table, growth = draw_case(dice, dice.choice([1, 2, 10, 40, 60]))
    assert_same_forest(table, growth, sizes, REFERENCE, seed=dice.getrandbits(64))


@pytest.mark.parametrize("seed", range(12))
def test_all_tiers_do_what_the_native_engine_does(seed):
    dice = random.Random(100 + seed)
    table, growth = draw_case(dice, 500)
    assert_same_forest(table, growth, SMALL, seed=dice.getrandbits(64))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_larger_tables_are_grown_as_on_the_cpu(seed):
    dice = random.Random(1000 + seed)
    table, growth = draw_case(dice, dice.choice([300, 900, 2500]))
    sizes = {"huge_rows": dice.choice([70, 400]), "middle_rows": dice.choice([40, 200]), "twig_rows": 33}
    sizes |= {"bin_bits": dice.choice([3, 5]), "fine_words": dice.choice([256, 2048])}
    assert_same_forest(table, growth, dice.choice([{}, sizes, sizes]), seed=dice.getrandbits(64))


def test_wide_codes_are_refined_inside_of_bins():
    """All values differ: at most 16 of 900 cuts are edges of bins."""
    table = make_table(900, ["many"] * 5, 3, seed=1)
    assert_same_forest(table, make_growth(table, "gini", max_features=2, bootstrap=True, n_draws=900), SMALL)


def test_a_row_that_is_drawn_often_is_counted_right():
    table = make_table(3, ["many", "many"], 2, seed=5)
    assert_same_forest(table, make_growth(table, "gini", max_features=1, bootstrap=True, n_draws=48), n_trees=5)


def test_trees_have_numbers():
    table = make_table(80, ["many"] * 4, 2, seed=2)
    growth = make_growth(table, "gini", max_features=2, bootstrap=True, n_draws=80)
    assert_same_forest(table, growth, first_tree=7, n_trees=3)


def test_trees_that_do_not_fit_the_memory_together_are_grown_in_batches(monkeypatch):
    table = make_table(200, ["many"] * 4, 3, seed=2)
    growth = make_growth(table, "gini", max_features=2, bootstrap=True, n_draws=200, max_depth=4)
    engine, steps = make_engine(), []
    assert grow(engine, table, growth, n_trees=1).n_trees == 1
    needed = TreeGrower(DEVICE, engine.tables[-1][1], growth).batch_bytes(3)
    monkeypatch.setattr(DEVICE, "free_bytes", lambda: needed / 0.9)
    found = engine.grow(engine.code(table, 65_535, 1, None), growth, 3, 0, 9, 1, steps.append)
    assert len(steps) > 1
    assert steps[-1] == 1
    assert found.fingerprint() == grow(NATIVE, table, growth, n_trees=9).fingerprint()
