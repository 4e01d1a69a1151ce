"""Truncation: the forest that tighter stopping rules would have grown, made from a grown forest.

    Limits             the stopping rules that only decide whether a split is used
    truncate_forest    the forest under tighter limits
    truncate_forests   all forests of a multi-output model under tighter limits
    keep_splits        the splits of a forest that the limits allow

The split of a node depends on its rows and its path, but not on these limits. So growth with tighter limits makes
the same splits, but fewer of them. Growth limits are applied first, pruning last, as in a fit.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.forest.forest import Forest
from weald.forest.pruning import collapse, prune_forest, scale_decreases


@dataclass(frozen=True)
class Limits:
    """The stopping rules that only decide whether a split is used, in plain numbers."""

    max_depth: int
    min_samples_split: int
    min_impurity_decrease: float
    max_leaf_nodes: int  # 0: no limit
    ccp_alpha: float = 0.0

    def of_growth(self) -> dict[str, Any]:
        """Return the limits that apply while a tree grows, by name."""
        return {name: value for name, value in vars(self).items() if name != "ccp_alpha"}


def truncate_forest(forest: Forest, limits: Limits) -> Forest:
    """Make the forest that a fit with these limits would grow; its own limits must not be tighter."""
    (truncated,) = truncate_forests([forest], limits)
    return truncated


def truncate_forests(forests: Sequence[Forest], limits: Limits) -> tuple[Forest, ...]:
    """Truncate the forests of all targets, which have the same splits."""
    kept = keep_splits(forests[0], limits)
    truncated = (collapse(forest, kept) for forest in forests)
    return tuple(prune_forest(forest, limits.ccp_alpha) if limits.ccp_alpha else forest for forest in truncated)


def keep_splits(forest: Forest, limits: Limits) -> BoolArray:
    """Mark the nodes whose splits the growth limits keep; all nodes above such a node are marked as well."""
    allowed = (forest.feature >= 0) & (forest.size >= limits.min_samples_split)
    if limits.min_impurity_decrease > 0:
        allowed &= ~(scale_decreases(forest, forest.decrease) < limits.min_impurity_decrease)
    right = forest.right_children()
    kept = np.zeros(forest.n_nodes, dtype=np.bool_)
    level, depth = forest.tree_start[:-1], 0
    while len(level := level[allowed[level]]) and depth < limits.max_depth:
        kept[level] = True
        level, depth = np.concatenate([level + 1, right[level]]), depth + 1
    return _keep_best_first(forest, kept, right, limits.max_leaf_nodes) if limits.max_leaf_nodes else kept


def _keep_best_first(forest: Forest, allowed: BoolArray, right: IntArray, max_leaf_nodes: int) -> BoolArray:
    """Keep the splits that best-first growth makes until a tree has this many leaves."""
    kept = np.zeros_like(allowed)
    n_splits = np.add.reduceat(allowed.astype(np.int64), forest.tree_start[:-1])
    for begin, end, n in zip(forest.tree_start[:-1].tolist(), forest.tree_start[1:].tolist(), n_splits, strict=True):
        if n < max_leaf_nodes:
            kept[begin:end] = allowed[begin:end]
        else:
            kept[first_splits(begin, allowed, forest.decrease, right, max_leaf_nodes - 1)] = True
    return kept


def first_splits(root: int, allowed: BoolArray, decrease: FloatArray, right: IntArray, n_splits: int) -> list[int]:
    """List the first splits of best-first growth in order: the largest decrease first, ties by order of creation."""
    made = 0
    waiting = [(-decrease[root], made, root)] if allowed[root] else []
    found: list[int] = []
    while waiting and len(found) < n_splits:
        node = heapq.heappop(waiting)[2]
        found.append(node)
        for child in (node + 1, int(right[node])):
            made += 1
            if allowed[child]:
                heapq.heappush(waiting, (-decrease[child], made, child))
    return found
