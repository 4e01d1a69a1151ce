"""Finding the parameter that was changed: the one with which a stored tree grows again.

ParameterChange    a parameter, and the value that trees were grown with
list_changes       a tree and what its model claims -> the changes that are tried, one parameter at a time
differing_names    two sets of growth parameters -> the names of the parameters that differ
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weald.engines import criteria
from weald.engines.params import UNLIMITED, Growth
from weald.forest.forest import Forest

MOST_FEATURES = 64  # more numbers of features are not tried one by one

# The parameters of an estimator, by the field of `Growth` that they become.
PARAMETER_OF = {
    "n_draws": "max_samples",
    "draws": "max_samples",
    "strata": "bootstrap",
    "random_cuts": "splitter",
    "monotonic": "monotonic_cst",
    "interaction_groups": "interaction_cst",
    "max_interacting": "interaction_cst",
    "class_weights": "class_weight",
    "max_categories": "category_penalty",
    "ties_by_column": "random_state",
}


@dataclass(frozen=True)
class ParameterChange:
    """What a tree may have been grown with: one parameter that differs from the claim."""

    parameter: str
    value: object
    claimed: object
    growth: Growth
    ccp_alpha: float
    seed: int


def list_changes(tree: Forest, growth: Growth, ccp_alpha: float, seed: int, task: str) -> Iterator[ParameterChange]:
    """List growth parameters that differ from the claimed ones in one parameter and suit a stored tree."""
    for field, values in _candidates(tree, growth, task):
        claimed = getattr(growth, field)
        for value in dict.fromkeys(values):
            if value != claimed:
                grown_with = replace(growth, **_with_value(field, value))
                yield ParameterChange(name_of(field), value, claimed, grown_with, ccp_alpha, seed)
    drawn = replace(growth, bootstrap=not growth.bootstrap)
    yield ParameterChange("bootstrap", drawn.bootstrap, growth.bootstrap, drawn, ccp_alpha, seed)
    if ccp_alpha:
        yield ParameterChange("ccp_alpha", 0.0, ccp_alpha, growth, 0.0, seed)


def _with_value(field: str, value: object) -> dict[str, Any]:
    """Return the fields to set; weights of classes are given only if they were given."""
    return {field: value, "class_weights": ()} if field == "class_weight" else {field: value}


def name_of(field: str) -> str:
    """Return the parameter of an estimator that becomes a field of `Growth`."""
    return PARAMETER_OF.get(field, field)


def differing_names(one: Growth, other: Growth) -> list[str]:
    """Name the parameters in which two sets of growth parameters differ."""
    return list(dict.fromkeys(name_of(f) for f, value in vars(one).items() if value != getattr(other, f)))


def _candidates(tree: Forest, growth: Growth, task: str) -> Iterator[tuple[str, list[Any]]]:
    """List values for each field: those without effect, and those that the tree itself shows."""
    is_leaf = tree.feature < 0
    splits = tree.size[~is_leaf]
    yield "criterion", [c for c, of_task in criteria.tasks().items() if of_task == task]
    yield "max_depth", [UNLIMITED, int(tree.depth().max())]
    yield "min_samples_leaf", [1, int(tree.size[is_leaf].min())]
    yield "min_samples_split", [2, *(int(n) for n in np.unique(splits)[:1])]
    yield "max_leaf_nodes", [0, int(is_leaf.sum())]
    yield "n_draws", [int(tree.size[0])]
    yield "random_cuts", [not growth.random_cuts]
    yield "ties_by_column", [not growth.ties_by_column]
    yield "min_impurity_decrease", [0.0]
    yield "min_weight_fraction_leaf", [0.0]
    yield "class_weight", ["none", "table", "bag"]
    yield "category_penalty", [0.0]
    for field in ("monotonic", "interaction_groups", "feature_weights"):
        yield field, [()]
    n = tree.n_features
    few = range(1, n + 1) if n <= MOST_FEATURES else (int(n**0.5), int(np.log2(n)), n // 3, n)
    yield "max_features", list(few)
