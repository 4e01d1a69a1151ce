"""The nodes that rows reach in a tree under many settings of the stopping rules, in one pass over the full tree.

    TreePaths    one tree, and what the stopping rules compare along its paths

A row ends in the first node on its path whose split is not used. So the leaf of the full tree determines the node under
every setting.
"""

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.forest.forest import Forest
from weald.forest.pruning import scale_decreases, strengths_of_tree
from weald.forest.truncation import Limits, first_splits


class TreePaths:
    """One tree, and what the stopping rules compare along its paths. Results for tied settings are computed once."""

    def __init__(self, tree: Forest, most_leaves: int) -> None:
        self.tree = tree
        self.is_split = tree.feature >= 0
        self.parent = np.maximum(tree.parents(), 0)
        self.depth = tree.depth()
        self.lowest = self._lowest_decreases()
        self.most_leaves = most_leaves  # maximum over the settings to come
        self.growth: dict[object, BoolArray] = {}
        self.ranks: dict[object, IntArray] = {}
        self.strengths: dict[object, FloatArray] = {}

    def _lowest_decreases(self) -> FloatArray:
        """Find the smallest decrease of the splits from the root to each node, including the node."""
        lowest = scale_decreases(self.tree, self.tree.decrease).astype(np.float64)
        order = np.argsort(self.depth, kind="stable")
        for level in np.split(order, np.cumsum(np.bincount(self.depth))[:-1])[1:]:
            lowest[level] = np.minimum(lowest[level], lowest[self.parent[level]])
        return lowest

    def keep_splits(self, limits: Limits) -> BoolArray:
        """Return which splits these limits keep: those made by growth, best-first if requested, and not pruned."""
        key: tuple[object, ...] = (limits.max_depth, limits.min_samples_split, limits.min_impurity_decrease)
        if key not in self.growth:
            self.growth[key] = self._keep_by_growth(limits)
        kept = self.growth[key]
        if limits.max_leaf_nodes:
            if key not in self.ranks:
                self.ranks[key] = self._rank(kept)
            kept = self.ranks[key] < limits.max_leaf_nodes - 1
        if limits.ccp_alpha:
            key = (*key, limits.max_leaf_nodes)
            if key not in self.strengths:
                self.strengths[key] = self._strengths(kept)
            kept = self.strengths[key] > limits.ccp_alpha
        return kept

    def _keep_by_growth(self, limits: Limits) -> BoolArray:
        """Sizes and smallest decreases decrease along a path, so if a node is kept, so are all nodes above it."""
        kept = self.is_split & (self.depth < limits.max_depth) & (self.tree.size >= limits.min_samples_split)
        if limits.min_impurity_decrease > 0:
            kept &= ~(self.lowest < limits.min_impurity_decrease)
        return kept

    def _rank(self, allowed: BoolArray) -> IntArray:
        """Number the splits in the order of best-first growth; all others come last."""
        found = first_splits(0, allowed, self.tree.decrease, self.tree.right, self.most_leaves - 1)
        ranks = np.full(self.tree.n_nodes, np.iinfo(np.int64).max)
        ranks[found] = np.arange(len(found))
        return ranks

    def _strengths(self, kept: BoolArray) -> FloatArray:
        """Return the alpha at which each split is pruned, in the tree of the kept splits."""
        strengths = strengths_of_tree(
            np.where(kept, self.tree.feature, -1), self.tree.right, np.where(kept, self.tree.decrease, 0.0)
        )
        return scale_decreases(self.tree, strengths)

    def ends(self, kept: BoolArray) -> IntArray:
        """For each node, the node in which its rows end: the nodes below a leaf directly follow it."""
        alive = kept[self.parent]
        alive[0] = True
        ends: IntArray = np.maximum.accumulate(np.where(alive, np.arange(len(alive)), 0))
        return ends
