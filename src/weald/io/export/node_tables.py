"""A forest as tables of conditions and nodes, for programs that walk over them: C and JavaScript.

    NodeTables    conditions, nodes and roots
    tables_of     computes them from a forest and its leaf values

Only splits are nodes. Equal conditions are stored once.
"""

from typing import NamedTuple

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.forest.forest import Forest
from weald.io.export.leaf_values import LeafValues


class NodeTables(NamedTuple):
    """The splits of a forest. Children and roots below `n_places` are nodes, others `n_places` + a leaf value."""

    n_places: int  # number of nodes, at least 1: a forest of leaves has an unused node
    threshold: FloatArray  # thresholds of conditions; for sets of categories, the number of the set
    feature: IntArray
    flags: IntArray
    nodes: IntArray  # nodes x 3: condition, left, right
    roots: IntArray


def tables_of(forest: Forest, answers: LeafValues) -> NodeTables:
    """Compute the tables."""
    is_split = forest.feature >= 0
    split = np.flatnonzero(is_split)
    n_places = max(1, len(split))
    asked, first = _distinct_conditions(forest, is_split)
    # Each node's number: that of a split among the splits, or the number of places plus that of a leaf value.
    at = np.empty(forest.n_nodes, dtype=np.int64)
    at[is_split] = np.arange(len(split))
    at[~is_split] = n_places + answers.number
    nodes = np.column_stack([asked, at[split + 1], at[forest.right_children()[split]]])
    threshold = forest.threshold[split][first] + 0.0  # -0.0 splits like 0.0
    return NodeTables(
        n_places, threshold, forest.feature[split][first], forest.flags[split][first], nodes, at[forest.tree_start[:-1]]
    )


def _distinct_conditions(forest: Forest, is_split: BoolArray) -> tuple[IntArray, IntArray]:
    """Number the distinct conditions: the number for each split, and the first split with each number."""
    feature, flags = forest.feature[is_split], forest.flags[is_split]
    threshold = forest.threshold[is_split] + 0.0
    order = np.lexsort([flags, threshold, feature])
    columns = [array[order] for array in (threshold, feature, flags)]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return number, order[is_new]
