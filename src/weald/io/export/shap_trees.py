"""A forest as the dictionary of arrays for shap.TreeExplainer.

write_shap    fitted model -> dictionary, checked by shap's own predictions
"""

from typing import TYPE_CHECKING

import numpy as np

from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, TableLike
from weald.errors import ExportError
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.forest.shrinkage import find_classes, predict_nodes
from weald.io.export.leaf_values import refuse_overflow, require_exportable, votes_are_hard
from weald.io.export.packages import require
from weald.io.export.parity import (
    Export,
    Parity,
    answer,
    compare,
    compared_values,
    lost_uncertainty,
    not_compared,
    rows_to_compare,
)

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LOST = ("how the model was fitted", "names of features and labels of classes")
TOLERANCE = 1e-14  # relative tolerance: values are divided by the number of trees before they are summed


def write_shap(model: "TreeModel", X: TableLike, *, check: bool) -> Export:
    """Write a model for shap; with `check`, let shap predict and compare."""
    forest = require_exportable(model, "to_shap")
    refuse_overflow(forest)
    cuts = _cut_sets(model, forest)
    is_of_classes = forest.task is Task.CLASSIFICATION
    made = {
        "trees": _trees(forest, cuts, _values(model, forest)),
        "base_offset": 0.0,
        "tree_output": "probability" if is_of_classes else "raw_value",
        "objective": "binary_crossentropy" if is_of_classes else "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }
    parity = _compare(made, model, X) if check else not_compared(*LOST, *lost_uncertainty(model))
    return Export(made, parity)


def _cut_sets(model: "TreeModel", forest: Forest) -> tuple[FloatArray, BoolArray]:
    """Express splits into sets of categories as thresholds on codes: thresholds, and where the sides are swapped.

    shap supports only thresholds. A set is one if it has the first codes or the last ones, as every set of two
    categories has. Other sets are refused.
    """
    threshold, is_swapped = forest.threshold.copy(), np.zeros(forest.n_nodes, dtype=np.bool_)
    for node in np.flatnonzero(forest.flags & CATEGORICAL).tolist():
        categories = model.schema_.categories[forest.feature[node]]
        n_codes = 0 if categories is None else len(categories.labels)
        of_set = np.isin(np.arange(n_codes), forest.category_set(node))
        is_left = of_set != bool(forest.flags[node] & OTHERS_LEFT)
        changes = np.flatnonzero(np.diff(is_left))
        if len(changes) != 1:
            raise ExportError(
                f"shap supports only thresholds, but {model.schema_.where(int(forest.feature[node]))} is split into "
                "sets of categories. Use weald.explain(model, X), which supports them; its result has to_shap(), for "
                "the plots of shap."
            )
        threshold[node], is_swapped[node] = changes[0] + 0.5, not is_left[0]
    return threshold, is_swapped


def _values(model: "TreeModel", forest: Forest) -> FloatArray:
    """Return the value of each node (nodes x classes, or nodes x 1), divided by the number of trees."""
    says = predict_nodes(forest)
    if forest.task is Task.REGRESSION:
        return says / forest.n_trees
    if votes_are_hard(model):
        says = np.eye(forest.n_classes)[find_classes(forest)]
    weight = forest.tree_weight if len(forest.tree_weight) else np.ones(forest.n_trees)
    return says * np.repeat(weight / forest.vote_total, np.diff(forest.tree_start))[:, np.newaxis]


def _trees(forest: Forest, cuts: tuple[FloatArray, BoolArray], values: FloatArray) -> list[dict[str, Array]]:
    is_leaf, (threshold, is_swapped) = forest.feature < 0, cuts
    left, right = (_or_nothing(is_leaf, child) for child in (forest.left(), forest.right))
    arrays = {
        "children_left": np.where(is_swapped, right, left),
        "children_right": np.where(is_swapped, left, right),
        "children_default": np.where(forest.flags & MISSING_LEFT != 0, left, right),
        "features": _or_nothing(is_leaf, forest.feature),
        "thresholds": threshold,
        "values": values,
        "node_sample_weight": forest.weight,
    }
    bounds = zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True)
    # Copies: shap writes into its trees if it has background data, but a forest is read-only.
    return [{name: array[begin:end].copy() for name, array in arrays.items()} for begin, end in bounds]


def _or_nothing(is_leaf: BoolArray, numbers: IntArray) -> IntArray:
    """Write -1 for leaves, as shap does."""
    found: IntArray = np.where(is_leaf, -1, numbers).astype(np.int32)
    return found


def _compare(made: dict[str, object], model: "TreeModel", X: TableLike) -> Parity:
    """Predict rows at the edges of leaves with shap."""
    shap = require("shap", "to_shap", "or set check=False")
    rows = rows_to_compare(model, X)
    theirs = np.asarray(shap.TreeExplainer(made).model.predict(rows)).reshape(len(rows), -1)
    return compare(
        f"shap {shap.__version__}",
        compared_values(model.forest_),
        answer(model, rows),
        theirs,
        TOLERANCE,
        *LOST,
        *lost_uncertainty(model),
    )
