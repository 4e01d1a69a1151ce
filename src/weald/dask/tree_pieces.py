"""A tree that several workers grow, each one piece.

    Piece        consecutive nodes of a tree in pre-order, in compact form
    make_tree    all pieces -> a forest of one tree

A worker that grows a piece splits the nodes on the way to it, with placeholder leaves for other pieces. The result
is a tree, too, of which only the nodes of the piece are used. Right children may be in later pieces; their numbers are
known when all nodes are concatenated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.dask.joining import Arrays, TreeArrays, join
from weald.data.types import IntArray
from weald.forest.forest import CATEGORICAL, Forest

OF_NODES = ("feature", "threshold", "right", "flags", "size", "weight", "decrease", "value", "impurity")


@dataclass(frozen=True)
class Piece:
    """The nodes `begin` to `end - 1` of a tree."""

    tree: TreeArrays
    begin: int
    end: int

    def __sizeof__(self) -> int:
        return self.tree.__sizeof__()


def make_tree(pieces: Sequence[Piece]) -> Forest:
    """Join the nodes of all pieces to a forest of one tree."""
    trees = [join([piece.tree]) for piece in pieces]
    cut = [_cut(tree, piece.begin, piece.end) for tree, piece in zip(trees, pieces, strict=True)]
    joined = {name: np.concatenate([arrays[name] for arrays in cut]) for name in cut[0]}
    firsts = [0, *accumulate(piece.end - piece.begin for piece in pieces)]
    is_leaf = joined["feature"] < 0
    n_open = np.cumsum(np.where(is_leaf, -1, 1))
    for piece, first, end in zip(pieces, firsts, firsts[1:], strict=False):
        _link(joined["right"], is_leaf, n_open, piece, slice(first, end))
    is_categorical = joined["flags"] & CATEGORICAL != 0
    joined["threshold"][is_categorical] = np.arange(is_categorical.sum())
    joined |= {name: np.append(0, np.cumsum(joined[name], dtype=np.int64)) for name in ("leaf_start", "category_start")}
    arrays: dict[str, Any] = joined | {"tree_start": np.array([0, len(is_leaf)])}
    return replace(trees[0], **arrays)


def _cut(tree: Forest, begin: int, end: int) -> Arrays:
    """Take some nodes of a tree, with their leaf entries and category sets; starts are replaced by lengths."""
    arrays = tree.as_lengths()
    found = {name: arrays[name][begin:end] for name in OF_NODES}  # some may be empty
    for start, contents, has_some in (
        ("leaf_start", ("leaf_class", "leaf_weight"), tree.feature < 0),
        ("category_start", ("category_sets",), tree.flags & CATEGORICAL != 0),
    ):
        lengths = arrays[start]
        first, behind = (int(np.count_nonzero(has_some[:node])) for node in (begin, end))
        found[start] = lengths[first:behind]
        found |= {name: arrays[name][lengths[:first].sum() : lengths[:behind].sum()] for name in contents}
    return found


def _link(right: IntArray, is_leaf: npt.NDArray[np.bool_], n_open: IntArray, piece: Piece, nodes: slice) -> None:
    """Renumber the right children of the nodes of a piece, which have moved.

    `n_open` is the number of open subtrees after each node. Where it is one less than at a node for the first time, the
    left subtree of that node has ended.
    """
    here = right[nodes]
    is_later = here >= piece.end
    here[~is_leaf[nodes]] += nodes.start - piece.begin
    fewest = np.minimum.accumulate(n_open[nodes.stop - 1 :])
    later = nodes.start + np.flatnonzero(is_later)
    right[later] = nodes.stop + np.searchsorted(-fewest, -n_open[later], side="right")
