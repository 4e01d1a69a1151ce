"""Random small tables: on every instruction set, forests are those of the definition.

Most nodes of such trees have so few rows that whole subtrees are grown at once. There are more columns than fit a
vector, or than such subtrees may have; some are copies or mirror images of others, so that cuts tie. Targets differ by
little next to outliers, and some rows have counts above 255.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from tests.laws.cases import (
    CATEGORICAL,
    COLUMNS,
    CORES,
    CRITERIA,
    REFERENCE,
    Case,
    change,
    draw_growth,
    fingerprint,
    is_of_classes,
    make_table,
    usually,
)

COLUMNS_OF = {
    "numbers": ("many", "many", "rounded", "few", "binary", "wide", "neighbors"),
    "ties": ("few", "binary", "rounded", "constant"),
    "bits": ("binary",) * 6 + ("many",),
    "anything": tuple(COLUMNS),
}
# Each changes the targets that can be learned.
TARGETS = {
    "as they are": lambda _, y: y,
    "few": lambda rng, y: rng.integers(0, 3, len(y)).astype(float),
    "one far off": lambda rng, y: np.where(np.arange(len(y)) == rng.integers(len(y)), rng.choice([1e3, -1e30]), y),
    "of all sizes": lambda rng, y: y * np.exp2(rng.integers(-40, 40, len(y)).astype(float)),
    "in heaps": lambda rng, y: rng.choice([0.0, 2.0**40, -(2.0**55)], len(y)) + np.round(y),
    "tiny": lambda _, y: y * 1e-300,
    "huge": lambda _, y: np.clip(y, -1, 1) * 1.7e308,
    "neighbors": lambda rng, y: 1.0 + rng.integers(0, 5, len(y)) * 2.0**-52,
}
COUNTS = (1, 1, 1, 2, 3, 127, 254, 255, 256, 300, 70_000)


def draw_case(dice):
    criterion = dice.choice(CRITERIA)
    n_rows = dice.choice([1, 2, 3, 4, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, dice.randint(1, 300)])
    n_columns = usually(dice, dice.randint(1, 12), 16, 17, 32, 33, 64, 65)
    words = {
        "n_rows": n_rows,
        "columns": tuple(dice.choices(COLUMNS_OF[dice.choice(list(COLUMNS_OF))], k=n_columns)),
        "n_classes": dice.choice([2, 3, 7]) if is_of_classes(criterion) else 0,
        "target": dice.choice(["learnable", "learnable", "rounded", "balanced"]),
        "weights": dice.choice(["none", "none", "whole", "fractional"]),
        "missing": usually(dice, 0.0, 0.01, 0.5),
        "n_distinct": usually(dice, None, lambda d: d.randint(1, n_rows)),
        "seed": dice.getrandbits(32),
    }
    table = make_table(**words)
    rng = np.random.default_rng(dice.getrandbits(32))
    if not table.n_classes:
        words["targets"] = dice.choice(list(TARGETS))
        table = change(table, target=TARGETS[words["targets"]](rng, table.target))
    if words["weights"] == "whole":
        table = change(table, weight=rng.choice(COUNTS, n_rows).astype(float))
    if dice.random() < 1 / 4 and not set(words["columns"]) & set(CATEGORICAL):
        table = change(table, X=table.X[:, rng.integers(0, n_columns, n_columns)] * rng.choice([1, -1], n_columns))
    growth = draw_growth(dice, table, criterion)
    if dice.random() < 2 / 3:  # no option that prevents growing whole subtrees
        growth = replace(growth, monotonic=(), interaction_groups=(), max_interacting=0, feature_weights=())
        growth = replace(growth, random_cuts=False, max_leaf_nodes=0, min_samples_leaf=1)
        growth = replace(growth, min_weight_fraction_leaf=0.0, min_impurity_decrease=0.0)
    if growth.bootstrap:
        growth = replace(growth, n_draws=min(growth.n_draws, 20_000))
    return Case(table, growth, dice.choice([65_535, 0, 255, 20]), dice.getrandbits(64), dice.randint(1, 3), words)


def hold_some_against_definition(seed, n_cases):
    dice = random.Random(seed)
    for _ in range(n_cases):
        case = draw_case(dice)
        expected = fingerprint(REFERENCE, case)
        for name, engine in CORES.items():
            for n_threads in (1, 2):
                assert fingerprint(engine, case, n_threads) == expected, (name, n_threads, case)


@pytest.mark.sanitize
def test_small_tables_grow_the_forests_of_the_definition():
    hold_some_against_definition(0, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_small_tables_grow_the_forests_of_the_definition(seed):
    hold_some_against_definition(seed, 300)
