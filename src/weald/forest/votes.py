"""The votes of trees.

average        the mean of the predictions of trees
node_values    what each node contributes to a prediction
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray, IntArray
from weald.forest.forest import Forest
from weald.forest.shrinkage import find_classes, predict_nodes

# Sums the predictions of trees, divided by 2^room, for each row; also returns the number of trees that predict it.
AddUp = Callable[[Forest, int], tuple[FloatArray, int | IntArray]]


def average(forest: Forest, add_up: AddUp) -> FloatArray:
    """Average the predictions of trees for each row; NaN if no tree predicts it.

    Sums of large numbers may overflow although their mean does not. Such rows are summed on a smaller scale; others are
    not, so that the prediction of a row does not depend on the other rows.
    """
    sums, n_trees = add_up(forest, 0)
    fits = np.isfinite(sums)
    averages = _divide(sums, n_trees)
    if fits.all():
        return averages
    room = forest.n_trees.bit_length()
    small = dataclasses.replace(forest, value=np.ldexp(forest.value, -room))
    sums, n_trees = add_up(small, room)
    # The mean of the largest numbers must not be rounded up to infinity
    with np.errstate(over="ignore"):
        of_huge = np.ldexp(_divide(sums, n_trees), room).clip(forest.value.min(), forest.value.max())
    return np.where(fits, averages, of_huge)


def _divide(sums: FloatArray, n_trees: int | IntArray) -> FloatArray:
    counts = np.where(np.asarray(n_trees) > 0, n_trees, np.nan)
    averages: FloatArray = sums / counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    return averages


def node_values(forest: Forest, voting: str) -> FloatArray:
    """Return what each node contributes to a prediction (nodes x classes, or nodes x 1).

    The prediction of a row is the sum of these values over its leaves, up to rounding. With "hard" voting, a node has
    one vote, for its most common class.
    """
    if forest.task is Task.REGRESSION:
        return predict_nodes(forest) / forest.vote_total
    votes = np.eye(forest.n_classes)[find_classes(forest)] if voting == "hard" else predict_nodes(forest)
    weight = forest.tree_weight if len(forest.tree_weight) else np.ones(forest.n_trees)
    weight = np.where(forest.has_vote(), weight, 0.0) / forest.vote_total
    of_node: FloatArray = votes * np.repeat(weight, np.diff(forest.tree_start))[:, None]
    return of_node
