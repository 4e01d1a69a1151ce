"""The forests whose fingerprints are stored, grown from tables that are the same on every machine.

A change of any fingerprint is a change of the contract: users could not reproduce their forests.
"""

import json
import random
from pathlib import Path

import numpy as np

from tests.laws.cases import CRITERIA, OF_SUMS, is_of_classes, suited
from weald.data.table import Table
from weald.engines.params import Growth

FILE = Path(__file__).with_name("fingerprints.json")

N_ROWS, N_FEATURES = 120, 5

# Differences from a plain random forest.
WAYS = {
    "plain": {},
    "one tree that sees all": {"bootstrap": False, "max_features": N_FEATURES},
    "shallow": {"max_depth": 3},
    "wide leaves": {"min_samples_leaf": 4, "min_samples_split": 12},
    "heavy leaves": {"min_weight_fraction_leaf": 0.05},
    "few leaves": {"max_leaf_nodes": 9},
    "worthwhile cuts": {"min_impurity_decrease": 0.01},
    "small bags": {"n_draws": 30},
    "features that meet": {"interaction_groups": ((0, 1), (1, 2, 3, 4))},
    "two on a path": {"max_interacting": 2, "max_leaf_nodes": 12},
    "weighed features": {"feature_weights": (1.0, 0.25, 3.0, 0.0, 1.0)},
}
# Cases with categories.
CATEGORY_WAYS = {
    "penalized categories": {"category_penalty": 1.5},
    "many categories in order": {"category_penalty": 1.5, "max_categories": 10},
}
# Cases without categories, since the order of categories has no meaning.
NUMBER_WAYS = {"random cuts": {"random_cuts": True, "bootstrap": False}}
BOUND_WAYS = {
    "rising and falling": {"monotonic": (1, -1, 0, 0, 1)},
    "random cuts, rising": {"monotonic": (1, 1, 0, 0, 0), "random_cuts": True},
}
TABLES = ("plain", "missing", "whole weights", "fractional weights", "two classes", "few codes", "categories")


def bell(dice: random.Random) -> float:
    """Draw approximately normal numbers by sums alone: logarithms and cosines differ from machine to machine."""
    return dice.random() + dice.random() + dice.random() + dice.random() - 2.0


def make_table(kind: str, *, of_classes: bool) -> Table:
    dice = random.Random(2025)
    X = np.array([[bell(dice) for _ in range(N_FEATURES)] for _ in range(N_ROWS)])
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = np.round(X[:, 3] * 4) / 4
    noise = np.array([bell(dice) for _ in range(N_ROWS)])
    signal = X[:, 0] + X[:, 2] * X[:, 1] + noise / 2
    if kind == "missing":
        X[np.array([[dice.random() < 0.2 for _ in range(N_FEATURES)] for _ in range(N_ROWS)])] = np.nan
    weight, size = None, N_ROWS
    if kind == "whole weights":
        weight = np.array([float(dice.randint(1, 4)) for _ in range(N_ROWS)])
        size = int(weight.sum())
    if kind == "fractional weights":
        weight = np.array([dice.random() + 0.1 for _ in range(N_ROWS)])
    edges = [0.0] if kind == "two classes" else [-1.0, 0.0, 1.0]
    target = np.digitize(signal, edges).astype(np.int32) if of_classes else signal
    categorical = frozenset()
    if kind == "categories":
        X[:, 1], X[:, 2] = np.floor(X[:, 1] * 50) % 17, X[:, 2] % 3
        X[np.array([dice.random() < 0.1 for _ in range(N_ROWS)]), 1] = np.nan
        categorical = frozenset({1, 2})
    n_classes = len(edges) + 1 if of_classes else 0
    return Table(X, target, n_classes, weight, kind != "fractional weights", size, categorical=categorical)


def make_cases() -> dict[str, tuple[Table, Growth, int]]:
    """Return all cases by name: a table, how to grow, and how many codes a column may have."""
    cases = {}
    for criterion in CRITERIA:
        for kind in TABLES:
            if kind == "two classes" and not is_of_classes(criterion):
                continue
            table = suited(criterion, make_table(kind, of_classes=is_of_classes(criterion)))
            for way, given in WAYS.items():
                cases[f"{criterion}, {kind}, {way}"] = (table, make_growth(table, criterion, given), bins(kind))
            ways = (
                CATEGORY_WAYS
                if table.categorical
                else NUMBER_WAYS | (BOUND_WAYS if may_be_bound(criterion, table) else {})
            )
            for way, given in ways.items():
                cases[f"{criterion}, {kind}, {way}"] = (table, make_growth(table, criterion, given), bins(kind))
            for class_weight in ("table", "bag") if is_of_classes(criterion) else ():
                growth = make_growth(table, criterion, {"class_weight": class_weight})
                cases[f"{criterion}, {kind}, classes balanced by {class_weight}"] = (table, growth, bins(kind))
    return cases


def may_be_bound(criterion: str, table: Table) -> bool:
    return table.n_classes in {0, 2} and criterion in OF_SUMS


def bins(kind: str) -> int:
    return 10 if kind == "few codes" else 65_535


def make_growth(table: Table, criterion: str, given: dict) -> Growth:
    plain = {
        "max_features": 2,
        "max_depth": 2**31 - 1,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "min_weight_fraction_leaf": 0.0,
        "min_impurity_decrease": 0.0,
        "max_leaf_nodes": 0,
        "bootstrap": True,
        "n_draws": table.size,
        "class_weight": "none",
    }
    return Growth(criterion=criterion, **{**plain, **given})


def fingerprint(engine, case) -> str:
    table, growth, max_bins = case
    coded = engine.code(table, max_bins, 2, None)
    return f"{coded.fingerprint:016x} {engine.grow(coded, growth, 42, 0, 3, 2, None).fingerprint()}"


def read_file() -> dict[str, str]:
    return json.loads(FILE.read_text())
