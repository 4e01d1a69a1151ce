"""The shape of trees from their leaf marks alone.

Nodes are in pre-order, so leaf marks determine a tree: a subtree ends where it has one leaf more than splits. All trees
of a forest are processed together, without a loop.

    Shape         positions of nodes, their subtrees and their right children
    find_shape    from leaf marks to a Shape; refuses marks that are not a tree
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.io.container import require

MOST_DEPTH = 2**20
MOST_LEVELS = 4096  # for deeper regression trees, numbers are stored unpredicted


@dataclass(frozen=True)
class Shape:
    """The shape of trees. Nodes are numbered across all trees."""

    tree_start: IntArray
    is_leaf: BoolArray
    end: IntArray  # by node: where its subtree ends

    @cached_property
    def splits(self) -> IntArray:
        """Nodes that are not leaves. Their left child is the next node."""
        return np.flatnonzero(~self.is_leaf)

    @cached_property
    def leaves(self) -> IntArray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.is_leaf)

    @cached_property
    def right_of_splits(self) -> IntArray:
        """The right child of each split."""
        right: IntArray = self.end[self.splits + 1]
        return right

    @cached_property
    def root_of_splits(self) -> IntArray:
        """The root above each split."""
        roots = np.repeat(self.tree_start[:-1], np.diff(self.tree_start))
        return roots[self.splits]

    @cached_property
    def depth(self) -> IntArray:
        """Number of splits above each node."""
        n = len(self.is_leaf)
        change = np.zeros(n + 1, dtype=np.int32)
        change[1:] += ~self.is_leaf  # a subtree begins below a split ...
        change -= np.bincount(self.end[self.splits], minlength=n + 1).astype(np.int32)  # ... and ends
        return np.cumsum(change[:-1], dtype=np.int32)

    def right(self) -> IntArray:
        """Right children as stored in a forest: numbers within their trees, 0 in leaves."""
        right = np.zeros(len(self.is_leaf), dtype=np.int32)
        right[self.splits] = self.right_of_splits - self.root_of_splits
        return right

    def sums(self, of_leaves: IntArray) -> IntArray:
        """Sum whole numbers over the leaves below each node."""
        before = np.zeros(len(self.is_leaf) + 1, dtype=np.int64)
        before[1:][self.is_leaf] = of_leaves
        np.cumsum(before, out=before)
        sums: IntArray = before[self.end] - before[:-1]
        return sums


def find_shape(tree_start: IntArray, is_leaf: BoolArray) -> Shape:
    """Find the end of each subtree.

    A split opens a bracket and a leaf closes one. The level of a node is the number of brackets open before it, and its
    subtree ends with the next leaf of the same level.
    """
    n_nodes = np.diff(tree_start)
    steps = np.where(is_leaf, -1, 1)
    after = np.cumsum(steps) + np.repeat(np.arange(len(n_nodes)), n_nodes)
    level = after - steps
    closed = np.array_equal(after[tree_start[1:] - 1], np.full(len(n_nodes), -1))
    require(closed and (not len(level) or level.min() >= 0), "The leaf marks do not form trees.")
    narrow = (
        level.astype(np.int16) if not len(level) or level.max() < 2**15 else level
    )  # the smaller type sorts much faster
    order = np.argsort(narrow, kind="stable")
    place = np.where(is_leaf[order], np.arange(len(level)), len(level))
    next_leaf = np.minimum.accumulate(place[::-1])[::-1]
    end = np.empty(len(level), dtype=np.int64)
    end[order] = order[next_leaf] + 1
    return Shape(tree_start, is_leaf, end)


def halves(weight: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Values of the left and of the right child of each split."""
    return weight[shape.splits + 1], weight[shape.right_of_splits]
