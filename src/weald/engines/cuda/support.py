"""What the kernels support. The native engine grows all other forests, which are the same."""

from collections.abc import Sequence

import numpy as np

from weald.data.task import Task
from weald.engines.cuda.table import ColumnFacts, RankedCodes
from weald.engines.params import Growth

MOST_CLASSES = 8
WHOLE, GROUPS = 4, 8  # in what bags are drawn from: whether weights are whole, and the groups
MOST_WHOLE = 2**31  # a larger sum of whole weights counts as fractional
MOST_SORTED = 256  # features that a node considers all: each warp sorts them
MOST_BITS = 16  # of a code
DRAWS_PER_ROW = 16  # a byte counts how often a row was drawn; the kernels do not check that it suffices
CRITERIA = ("gini",)

# Fields of Growth that must have these values, and what they are for users.
PLAIN: dict[str, tuple[object, str]] = {
    "max_leaf_nodes": (0, "max_leaf_nodes"),
    "class_weight": ("none", "class_weight"),
    "random_cuts": (False, "random cuts"),
    "monotonic": ((), "monotonic_cst"),
    "interaction_groups": ((), "interaction_cst"),
    "max_interacting": (0, "interaction_cst"),
    "feature_weights": ((), "feature_weights"),
}


def find_obstacle(codes: RankedCodes, columns: Sequence[ColumnFacts], growth: Growth) -> str | None:
    """Name what keeps a forest from being grown on a GPU; None: nothing."""
    if Task.of(codes.n_classes) is Task.REGRESSION:
        return "regression"
    if codes.n_classes > MOST_CLASSES:
        return f"{codes.n_classes} classes, more than {MOST_CLASSES},"
    if growth.criterion not in CRITERIA:
        return f"criterion={growth.criterion!r}"
    return _find_in_growth(codes, columns, growth) or _find_in_columns(columns)


def _find_in_growth(codes: RankedCodes, columns: Sequence[ColumnFacts], growth: Growth) -> str | None:
    if growth.max_features >= len(columns) > MOST_SORTED:
        return f"nodes that consider all of more than {MOST_SORTED} features"
    if has_groups(codes):
        return "groups"
    if not growth.bootstrap and not (codes.bag_arrays()[WHOLE] and codes.line_length < MOST_WHOLE):
        return "fractional sample weights without bootstrap"
    for name, (plain, told) in PLAIN.items():
        if getattr(growth, name) != plain:
            return told
    return None


def _find_in_columns(columns: Sequence[ColumnFacts]) -> str | None:
    if any(column.is_categorical for column in columns):
        return "categorical features"
    if any(column.has_missing for column in columns):
        return "missing values"
    if any(column.n_bits > MOST_BITS for column in columns):
        return f"a feature of more than {2**MOST_BITS:,} codes"
    return None


def has_groups(codes: RankedCodes) -> bool:
    """Return whether groups of rows are drawn together; then bags differ in size."""
    return np.size(codes.bag_arrays()[GROUPS]) > 0


def is_plain_bootstrap(codes: RankedCodes, growth: Growth) -> bool:
    """Return whether the kernels can draw the bags: all rows alike."""
    is_plain = growth.bootstrap and growth.strata == "none" and not growth.draws and not codes.design
    return is_plain and codes.line_length == codes.n_rows and growth.n_draws <= DRAWS_PER_ROW * codes.n_rows
