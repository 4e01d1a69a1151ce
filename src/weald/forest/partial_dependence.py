"""Partial dependence of a tree by recursion: the mean prediction if some features had given values.

average_paths    a tree, values of some features    ->    a mean for each row of values
leaf_shares      a forest  ->  the fraction of its tree's weight that each leaf gets if no feature is known

The tree is walked from the root. A split by one of the given features sends a row to one side; any other split sends
it to both, in proportion to the training weight of the children. No table is needed.
"""

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest


def average_paths(tree: Forest, leaf_values: FloatArray, values: FloatArray, features: IntArray) -> FloatArray:
    """Average the leaves that rows of values reach: rows x outputs.

    Parameters
    ----------
    tree : Forest
        A single tree.
    leaf_values : array of shape (n_nodes, n_outputs)
        Prediction of each node.
    values : array of shape (n_rows, n_given)
        Values of the given features; categories as codes, NaN where missing.
    features : array of shape (n_given,)
        The numbers of these features.
    """
    found = np.zeros((len(values), leaf_values.shape[1]))
    column_of = {int(feature): column for column, feature in enumerate(features)}
    waiting = [(0, np.ones(len(values)))]
    while waiting:
        node, share = waiting.pop()
        if tree.feature[node] < 0:
            found += share[:, np.newaxis] * leaf_values[node]
            continue
        left, right = node + 1, int(tree.right[node])
        column = column_of.get(int(tree.feature[node]))
        if column is None:
            total = tree.weight[left] + tree.weight[right]
            to_left = share * (tree.weight[left] / total)
            to_right = share * (tree.weight[right] / total)
        else:
            is_left = goes_left(tree, node, values[:, column])
            to_left, to_right = np.where(is_left, share, 0.0), np.where(is_left, 0.0, share)
        waiting += [(child, part) for child, part in ((right, to_right), (left, to_left)) if part.any()]
    return found


def goes_left(tree: Forest, node: int, values: FloatArray) -> BoolArray:
    """Return which values of the feature of a split go left."""
    flags = int(tree.flags[node])
    if flags & CATEGORICAL:
        is_left = np.isin(values, tree.category_set(node)) != bool(flags & OTHERS_LEFT)
    else:
        is_left = values <= tree.threshold[node]
    return np.where(np.isnan(values), bool(flags & MISSING_LEFT), is_left)


def leaf_shares(forest: Forest) -> FloatArray:
    """Return the product of the fractions of the weight along the path to each leaf; 0 for splits.

    Without weights below a split, its sides have halves.
    """
    shares, right_children = np.ones(forest.n_nodes), forest.right_children()
    for nodes in forest.levels():
        left, right = nodes + 1, right_children[nodes]
        total = forest.weight[left] + forest.weight[right]
        with np.errstate(invalid="ignore"):
            to_left = np.where(total > 0, forest.weight[left] / total, 0.5)
            to_right = np.where(total > 0, forest.weight[right] / total, 0.5)
        shares[left], shares[right] = shares[nodes] * to_left, shares[nodes] * to_right
    shares[forest.feature >= 0] = 0.0
    return shares
