"""The nodes of a tree as a table, and errors of a tree.

list_nodes        all nodes, one row each, as columns
total_impurity    the mean impurity of the leaves
training_error    the error on the tree's training rows
"""

import numpy as np

from weald.data.task import OF_MEDIANS, Task
from weald.data.types import Array, FloatArray, Label
from weald.errors import ParameterError
from weald.forest.describe.conditions import SIDES, FittedTree, Names, questions
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, Forest
from weald.forest.pruning import scale_decreases

NONE = -1  # no parent, no child


def list_nodes(model: FittedTree, names: Names) -> dict[str, Array | list[Label]]:
    """List the nodes of a fitted tree in pre-order: columns by name, arrays or lists of one entry for each node."""
    forest = model.forest_
    cut = forest.feature >= 0
    asked = questions(forest, names)
    decrease, share = scale_decreases(forest, forest.decrease), forest.weight / _total_weight(forest)
    value, prediction = _node_predictions(model, names)
    return {
        "node": np.arange(forest.n_nodes),
        "depth": forest.depth().astype(np.int64),
        "parent": forest.parents(),
        "left": np.where(cut, forest.left(), NONE).astype(np.int64),
        "right": np.where(cut, forest.right, NONE).astype(np.int64),
        "split": [None if q is None else q.left for q in asked],
        "feature": [None if q is None else q.name for q in asked],
        "threshold": np.where(cut & (forest.flags & CATEGORICAL == 0), forest.threshold, np.nan),
        "categories": [None if q is None else q.named for q in asked],
        "missing": [SIDES[0 if m else 1] if c else None for c, m in zip(cut, forest.flags & MISSING_LEFT, strict=True)],
        "samples": forest.size.astype(np.int64),
        "share": share,
        "impurity": model.tree_.impurity,
        "gain": decrease / np.where(share > 0, share, 1.0),
        "decrease": decrease,
        "value": value,
        "prediction": prediction,
        "error": errors(model),
    }


def _node_predictions(model: FittedTree, names: Names) -> tuple[FloatArray, Array]:
    """The prediction of each node, as if it were a leaf: probabilities and class, or the mean."""
    if names.classes is None:
        value: FloatArray = model.tree_.value[:, 0, 0]
        return value, value
    shares: FloatArray = model.tree_.value[:, 0, :]
    prediction: Array = names.classes[shares.argmax(axis=1)]
    return shares, prediction


def errors(model: FittedTree) -> FloatArray:
    """The error of each node as a leaf: misclassification rate, mean squared error, or for medians mean absolute error.

    NaN for medians that were moved by shrinkage, and in a regression tree with monotonic constraints: the predictions
    of its nodes may differ from their means, which are not stored.
    """
    forest = model.forest_
    if forest.task is Task.CLASSIFICATION:
        return _wrong(model) / np.where(forest.weight > 0, forest.weight, 1.0)
    if any(model.growth_.monotonic):
        return np.full(forest.n_nodes, np.nan)
    moved = model.tree_.value[:, 0, 0] - forest.value  # shrinkage has moved the predictions
    if model.growth_.criterion in OF_MEDIANS:
        return np.where(moved == 0, forest.impurity, np.nan)
    found: FloatArray = forest.impurity + moved * moved
    return found


def _total_weight(forest: Forest) -> float:
    """Weight of the root; 1 if the bag is empty, to avoid a division by 0."""
    return float(forest.weight[0]) or 1.0


def _wrong(model: FittedTree) -> FloatArray:
    """Weight of the rows of each node that are not of its class."""
    predicted = model.tree_.value[:, 0, :].argmax(axis=1)
    wrong: FloatArray = model.forest_.weight - model.forest_.class_weights()[np.arange(len(predicted)), predicted]
    return wrong


def total_impurity(model: FittedTree) -> float:
    """Return the mean impurity of the leaves, by weight."""
    forest = model.forest_
    leaf = forest.feature < 0
    return float((forest.weight[leaf] / _total_weight(forest)) @ model.tree_.impurity[leaf])


def training_error(model: FittedTree) -> float:
    """Misclassification rate by weight, or mean squared (of medians: absolute) error, on the tree's training rows."""
    forest = model.forest_
    if forest.task is Task.REGRESSION:
        if any(model.growth_.monotonic):
            raise ParameterError(
                "The training error of a regression tree with monotonic_cst is unknown: predictions of its leaves may "
                "differ from their means, which are not stored. Compute it from the rows: mean_squared_error(y, "
                "tree.predict(X))."
            )
        leaf = forest.feature < 0
        return float((forest.weight[leaf] / _total_weight(forest)) @ errors(model)[leaf])
    return float(_wrong(model)[forest.feature < 0].sum() / _total_weight(forest))
