"""Mean decrease in impurity, computed from the arrays of a grown forest."""

import numpy as np

from weald.data.types import FloatArray
from weald.forest.forest import Forest


def decreases_of_trees(forest: Forest) -> FloatArray:
    """Fraction of each tree's total decrease that is due to each feature (trees x features); NaN without decreases."""
    found = np.full((forest.n_trees, forest.n_features), np.nan)
    for t, (begin, end) in enumerate(zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True)):
        split = np.flatnonzero(forest.feature[begin:end] >= 0) + begin
        of_tree = np.bincount(forest.feature[split], weights=forest.decrease[split], minlength=forest.n_features)
        if of_tree.sum() > 0:
            found[t] = of_tree / of_tree.sum()
    return found


def mean_decrease(forest: Forest) -> FloatArray:
    """Fraction of the decrease in impurity that is due to each feature, averaged over trees. The fractions sum to 1.

    A tree's decreases are added in node order and divided by their sum; trees are averaged in tree order. A tree
    without decreases (for example a single leaf) does not count; if there are no others, every importance is 0.
    """
    total = np.zeros(forest.n_features)
    for of_tree in decreases_of_trees(forest):
        if not np.isnan(of_tree[0]):
            total += of_tree
    return total / total.sum() if total.sum() > 0 else total
