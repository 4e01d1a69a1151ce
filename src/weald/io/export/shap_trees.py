"""A forest as the dictionary of arrays for shap.TreeExplainer.

write_shap    fitted model -> dictionary, checked by shap's own predictions
"""

from typing import TYPE_CHECKING

import numpy as np

from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, TableLike
from weald.errors import ExportError
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, Forest
from weald.forest.shrinkage import find_classes, predict_nodes
from weald.io.export.leaf_values import refuse_overflow, require_exportable, votes_are_hard
from weald.io.export.packages import require
from weald.io.export.parity import Export, Parity, answer, compare, compared_values, not_compared, rows_to_compare

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LOST = ("how the model was fitted", "names of features and labels of classes")
TOLERANCE = 1e-14  # relative: values are divided by the number of trees before they are summed, not after


def write_shap(model: "TreeModel", X: TableLike, *, check: bool) -> Export:
    """Write a model for shap; with `check`, let shap predict and compare."""
    forest = require_exportable(model, "to_shap")
    refuse_overflow(forest)
    _refuse_sets(model, forest)
    is_of_classes = forest.task is Task.CLASSIFICATION
    made = {
        "trees": _trees(forest, _values(model, forest)),
        "base_offset": 0.0,
        "tree_output": "probability" if is_of_classes else "raw_value",
        "objective": "binary_crossentropy" if is_of_classes else "squared_error",
        "input_dtype": np.float64,
        "internal_dtype": np.float64,
    }
    parity = _compare(made, model, X) if check else not_compared(*LOST)
    return Export(made, parity)


def _refuse_sets(model: "TreeModel", forest: Forest) -> None:
    """Refuse splits on sets of categories: shap supports only thresholds."""
    by_set = forest.flags & CATEGORICAL != 0
    if by_set.any():
        where = model.schema_.where(int(forest.feature[np.argmax(by_set)]))
        raise ExportError(
            f"shap supports only thresholds, but {where} is split into sets of categories. Fit with "
            "categorical_features=None and categories encoded as numbers or as columns of 0 and 1."
        )


def _values(model: "TreeModel", forest: Forest) -> FloatArray:
    """Return the value of each node (nodes x classes, or nodes x 1), divided by the number of trees."""
    says = predict_nodes(forest)
    if forest.task is Task.REGRESSION:
        return says / forest.n_trees
    if votes_are_hard(model):
        says = np.eye(forest.n_classes)[find_classes(forest)]
    weight = forest.tree_weight if len(forest.tree_weight) else np.ones(forest.n_trees)
    return says * np.repeat(weight / forest.vote_total, np.diff(forest.tree_start))[:, np.newaxis]


def _trees(forest: Forest, values: FloatArray) -> list[dict[str, Array]]:
    is_leaf = forest.feature < 0
    left, right = (_or_nothing(is_leaf, child) for child in (forest.left(), forest.right))
    arrays = {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(forest.flags & MISSING_LEFT != 0, left, right),
        "features": _or_nothing(is_leaf, forest.feature),
        "thresholds": forest.threshold,
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
        f"shap {shap.__version__}", compared_values(model.forest_), answer(model, rows), theirs, TOLERANCE, *LOST
    )
