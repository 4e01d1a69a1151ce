"""How much each feature lowered the impurity: read from the arrays of a grown forest."""

import numpy as np

from weald.model import FloatArray, Forest


def mean_decrease(forest: Forest) -> FloatArray:
    """Share of each feature in the decrease of impurity, averaged over trees; they add up to 1.

    A tree's decreases are added in node order and divided by their sum, trees are averaged in tree order. A tree that
    lowered nothing (a single leaf, say) contributes nothing; if all are so, every importance is 0.
    """
    total = np.zeros(forest.n_features)
    for begin, end in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True):
        split = np.flatnonzero(forest.feature[begin:end] >= 0) + begin
        of_tree = np.bincount(forest.feature[split], weights=forest.decrease[split], minlength=forest.n_features)
        if of_tree.sum() > 0:
            total += of_tree / of_tree.sum()
    return total / total.sum() if total.sum() > 0 else total
