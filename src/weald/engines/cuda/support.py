"""What the kernels support. The native engine grows all other forests, which are the same."""

from collections.abc import Sequence

from weald.data.task import Task
from weald.engines.cuda.table import ColumnFacts, RankedCodes
from weald.engines.params import Growth

MOST_CLASSES = 8
MOST_BITS = 16  # of a code
DRAWS_PER_ROW = 16  # a byte counts how often a row was drawn; with more draws it might not suffice
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
    if growth.max_features >= len(columns):
        return "nodes that consider all features"
    if not growth.bootstrap or growth.strata != "none" or growth.draws or codes.design:
        return "bags other than a bootstrap sample of all rows"
    if codes.line_length != codes.n_rows:
        return "sample weights"
    if growth.n_draws > DRAWS_PER_ROW * codes.n_rows:
        return f"bags of more than {DRAWS_PER_ROW} draws per row"
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
