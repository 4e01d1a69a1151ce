"""Hierarchical shrinkage: predictions of nodes are pulled toward those of the nodes above them.

    shrink_forest      the forest whose leaves predict shrunk values
    predict_nodes      prediction of each node, as if it were a leaf: class probabilities, or the mean
    find_classes       the most probable class of each node, its vote

A grown forest stores unshrunk statistics and lambda. With u the mean of a node, or the fractions of its
classes, w its weight in the user's units, and p its parent, a node predicts

    v(root) = u(root),    v(node) = v(p) + (u(node) - u(p)) / (1 + lambda / w(p))

from the root down, in doubles. So small nodes, whose means are uncertain, change the prediction little. Nothing
else changes: splits, sizes and impurities are those of the training rows, and another lambda needs no fit.
"""

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray, IntArray
from weald.errors import DataError
from weald.forest.forest import Forest

ONE = 2.0**52  # probabilities of three or more classes are whole multiples of 1 / ONE: sums are exact in any order
MOST_ENTRIES = 2**31  # limit for probabilities in the leaves, with three or more classes


def shrink_forest(forest: Forest) -> Forest:
    """Return the forest whose leaves predict the shrunk values; itself if it is not shrunk."""
    if not forest.shrinkage or forest.n_classes == 1:
        return forest
    if forest.n_classes <= 2:
        values = predict_nodes(forest)
        return forest.with_arrays({"value": values[:, -1].copy()}).with_shrinkage(0.0)
    n_entries = (forest.n_nodes + forest.n_trees) // 2 * forest.n_classes
    if n_entries > MOST_ENTRIES:
        raise DataError(
            f"With shrinkage, each leaf has a probability of each class: {n_entries:,} numbers, more than the "
            f"{MOST_ENTRIES:,} that weald supports. Use fewer or smaller trees, or shrinkage=0."
        )
    trees = [forest.take([tree]) for tree in range(forest.n_trees)]
    return forest.with_arrays(_join_leaves([_shrink_leaves(tree) for tree in trees])).with_shrinkage(0.0)


def predict_nodes(forest: Forest) -> FloatArray:
    """Return the prediction of each node, as if it were a leaf (nodes x classes, or nodes x 1)."""
    unshrunk = forest.value[:, np.newaxis] if forest.task is Task.REGRESSION else forest.probabilities()
    if not forest.shrinkage:
        return unshrunk
    if forest.n_classes != 2:
        shrunk = _shrink(forest, unshrunk)
        return shrunk if forest.task is Task.REGRESSION else _divide(_in_units(shrunk))
    second = _shrink(forest, unshrunk[:, 1:])[:, 0]
    return np.column_stack([1.0 - second, second])


def find_classes(forest: Forest) -> IntArray:
    """Find the class that each node predicts, ties to the first; 0 if the bag is empty."""
    by_weight = not (len(forest.value) or forest.shrinkage)  # different weights may have equal fractions
    classes: IntArray = (forest.class_weights() if by_weight else predict_nodes(forest)).argmax(axis=1)
    return classes


def _shrink(forest: Forest, unshrunk: FloatArray) -> FloatArray:
    """Shrink the values of all nodes, from the roots down."""
    weight = forest.in_user_weights(forest.weight)
    shrunk, right = unshrunk.copy(), forest.right_children()
    with np.errstate(over="ignore", invalid="ignore"):  # overflow: predictions are computed again on a smaller scale
        divisor = (1.0 + forest.shrinkage / np.where(weight > 0, weight, 1.0))[:, np.newaxis]
        for above in forest.levels():
            for below in (above + 1, right[above]):
                shrunk[below] = shrunk[above] + (unshrunk[below] - unshrunk[above]) / divisor[above]
    return shrunk


def _in_units(probabilities: FloatArray) -> FloatArray:
    """Round probabilities to whole multiples of 1 / ONE."""
    units: FloatArray = np.rint(np.maximum(probabilities, 0.0) * ONE)
    return units


def _divide(units: FloatArray) -> FloatArray:
    total = units.sum(axis=1, keepdims=True)
    return units / np.where(total > 0, total, 1.0)  # an empty bag has no classes


def _shrink_leaves(tree: Forest) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the number of classes of each leaf, the classes, and their probabilities in units of 1 / ONE."""
    units = _in_units(_shrink(tree, tree.probabilities())[tree.feature < 0])
    leaf, classes = np.nonzero(units)
    return np.bincount(leaf, minlength=len(units)), classes, units[leaf, classes]


def _join_leaves(trees: list[tuple[IntArray, IntArray, FloatArray]]) -> dict[str, IntArray | FloatArray]:
    lengths, classes, units = (np.concatenate(parts) for parts in zip(*trees, strict=True))
    return {
        "leaf_start": np.append(0, np.cumsum(lengths)).astype(np.int64),
        "leaf_class": classes.astype(np.int32),
        "leaf_weight": units,
    }
