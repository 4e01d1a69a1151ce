"""Cost-complexity pruning: the smallest subtree of minimal cost, for every alpha.

The cost of a subtree is its impurity plus alpha for each leaf. T_alpha is the smallest subtree of minimal cost; it
shrinks as alpha grows, from the whole tree to its root.

    link_strengths    the alpha at which each split is pruned
    stronger_splits   the splits of T_alpha for one alpha
    list_subtrees     every T_alpha: its alpha, leaves, impurity and error
    prune_forest      T_alpha of every tree
    collapse          the forest without some splits

A branch with k splits has k leaves more than the node that would replace it, and lowers the impurity by the sum of its
decreases. So it is kept until alpha reaches the mean of its decreases: its strength. But the splits below may be pruned
earlier. Hence the pass from the leaves to the root: a split joins the strongest group of splits below it as long as
that group is at least as strong as its own; the mean of the group is then the strength of the branch. Each group is
joined once, so the pass takes nearly linear time, however large the tree.
"""

import heapq
import math
from fractions import Fraction

import numpy as np

from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.forest.forest import CATEGORICAL, Forest

Mask = BoolArray
Heap = list[tuple[int, int]]

# Decreases are summed as integers, so the order of addition does not matter. The largest has this many bits, or more if
# the smallest would lose bits.
SUM_BITS = 128
DOUBLE_BITS = 53
ROUNDING = 2.0**-50  # relative rounding error of a sum of doubles, per level of the tree
TINY = 2.0**-1000  # bound on the error of all subnormal numbers
# Two different means of fewer than 2^32 integers differ by more than 2^-64.
MEAN_BITS = 64
# Class weights are summed in a table of nodes x classes if it is at most this many times as large as the entries.
DENSE = 8
SPLIT_FIELDS = ("feature", "threshold", "right", "flags", "decrease")  # fields that a leaf does not have


# ------------------------------------------------------------------------------------------------------- strengths


def link_strengths(forest: Forest) -> FloatArray:
    """Return the alpha at which each split is pruned, by node and in the user's units; -inf in leaves.

    T_alpha keeps the splits that are stronger than alpha. No split is stronger than one above it, so the kept splits
    are connected, and a larger alpha keeps fewer of them: the subtrees are nested.
    """
    strengths = np.full(forest.n_nodes, -np.inf)
    for begin, end in zip(forest.tree_start[:-1].tolist(), forest.tree_start[1:].tolist(), strict=True):
        tree = slice(begin, end)
        strengths[tree] = strengths_of_tree(forest.feature[tree], forest.right[tree], forest.decrease[tree])
    return scale_decreases(forest, strengths)


def scale_decreases(forest: Forest, decreases: FloatArray) -> FloatArray:
    """Convert decreases to the user's units: in regression they are stored in integer units of the target."""
    with np.errstate(over="ignore"):  # overflows with very large targets
        return np.ldexp(decreases, -2 * forest.target_exponent)


def _strengths_of_branch(forest: Forest, node: int, right: IntArray) -> FloatArray:
    """Return the strengths of the nodes of a branch as if it were a tree, in the user's units."""
    last = node
    while forest.feature[last] >= 0:
        last = int(right[last])
    branch = slice(node, last + 1)
    return scale_decreases(
        forest, strengths_of_tree(forest.feature[branch], right[branch] - node, forest.decrease[branch])
    )


def strengths_of_tree(feature: IntArray, right: IntArray, decrease: FloatArray) -> FloatArray:
    """Return the alpha at which each split of one tree is pruned, in units of decreases; feature -1 marks leaves."""
    strengths = np.full(len(feature), -np.inf)
    splits = np.flatnonzero(feature >= 0).tolist()
    if not splits:
        return strengths
    rights = right.tolist()
    positive = decrease[decrease > 0]
    exponents = np.frexp(positive)[1].tolist() or [0]
    shift = max(SUM_BITS - max(exponents), DOUBLE_BITS - min(exponents))
    means = _mean_branches(splits, rights, [_shifted(d, shift) for d in decrease.tolist()])
    for node in splits:  # a node comes before its children
        for child in (node + 1, rights[node]):
            means[child] = min(means[child], means[node])  # a branch is pruned with the branch that contains it
    one = 1 << (shift + MEAN_BITS) if shift + MEAN_BITS > 0 else Fraction(1, 1 << -(shift + MEAN_BITS))
    strengths[splits] = [float(means[node] / one) for node in splits]  # rounded once
    return strengths


def _shifted(number: float, shift: int) -> int:
    """Return a nonnegative number times 2^shift as an integer; the shift is large enough for all of its bits."""
    mantissa, exponent = math.frexp(number)
    return int(math.ldexp(mantissa, DOUBLE_BITS)) << (exponent + shift - DOUBLE_BITS) if number else 0


def _mean_branches(splits: list[int], rights: list[int], decreases: list[int]) -> list[int]:
    """For each split, the mean decrease, times 2^MEAN_BITS, of the branch below it when it is pruned."""
    means = [-1] * len(rights)
    totals, counts = decreases.copy(), [1] * len(rights)
    below: dict[int, Heap] = {}  # for each group that is not joined yet: the groups below it, strongest first
    for node in reversed(splits):
        total, count = totals[node], 1
        heap = sorted((-means[child], child) for child in (node + 1, rights[node]) if child in below)
        while heap and -heap[0][0] >= (total << MEAN_BITS) // count:
            _, group = heapq.heappop(heap)
            total, count = total + totals[group], count + counts[group]
            heap = _meld(heap, below.pop(group))
        totals[node], counts[node], below[node] = total, count, heap
        means[node] = (total << MEAN_BITS) // count
    return means


def _meld(one: Heap, other: Heap) -> Heap:
    """Merge the smaller heap into the larger one."""
    small, large = sorted((one, other), key=len)
    for entry in small:
        heapq.heappush(large, entry)
    return large


# -------------------------------------------------------------------------------------------------------- subtrees


def list_subtrees(forest: Forest, costs: dict[str, FloatArray]) -> dict[str, Array]:
    """List every T_alpha of a single tree, alpha ascending from 0.

    `costs` has, by name, the cost per unit of weight of each node as a leaf; each becomes a column.
    """
    strengths = link_strengths(forest)
    splits = np.flatnonzero(forest.feature >= 0)
    going = splits[np.argsort(strengths[splits], kind="stable")]
    alphas = np.unique(np.maximum(0.0, np.append(strengths[splits], 0.0)))
    n_gone = np.searchsorted(strengths[going], alphas, side="right")
    subtrees: dict[str, Array] = {"alpha": alphas, "leaves": len(splits) + 1 - n_gone}
    weight = np.ldexp(forest.weight, -np.frexp(forest.weight[0])[1])  # scaled to at most 1, which is exact
    for name, per_weight in costs.items():
        cost = weight * per_weight
        raised = cost[going] - cost[going + 1] - cost[forest.right[going]]  # increase in impurity if a split is removed
        at_start = cost[forest.feature < 0].sum()
        subtrees[name] = (at_start + np.append(0.0, np.cumsum(raised))[n_gone]) / (weight[0] or 1.0)
    return subtrees


def prune_forest(forest: Forest, alpha: float) -> Forest:
    """T_alpha of every tree."""
    return collapse(forest, stronger_splits(forest, alpha))


def stronger_splits(forest: Forest, alpha: float) -> Mask:
    """Return `link_strengths(forest) > alpha`, without the strengths: for one alpha that takes a tenth of the time.

    A branch stays if it lowers the impurity by more than alpha for each of its splits. So from the leaves up, the gain
    of a split is its decrease, minus alpha, plus the gains of its children that are positive. Doubles tell the sign
    of a gain unless it is so small that rounding may have changed it; then the strengths of that branch are computed.
    """
    decrease, right = scale_decreases(forest, forest.decrease), forest.right_children()
    levels = list(forest.levels())
    gain, size, doubt = (np.zeros(forest.n_nodes) for _ in range(3))
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are undecided
        for level in reversed(levels):
            children = level + 1, right[level]
            gain[level] = decrease[level] - alpha + sum(np.maximum(gain[child], 0.0) for child in children)
            size[level] = decrease[level] + alpha + sum(size[child] for child in children)
            is_branch = sum(size[child] for child in children) > 0  # the sign of a single difference is exact
            doubt[level] = np.where(is_branch, size[level] * (len(levels) * ROUNDING) + TINY, 0.0)
    kept = np.zeros(forest.n_nodes, dtype=np.bool_)
    level = forest.tree_start[:-1]
    while len(level := level[forest.feature[level] >= 0]):
        is_clear = np.abs(gain[level]) > doubt[level]
        for node in level[~is_clear & (doubt[level] > 0)].tolist():
            strengths = _strengths_of_branch(forest, node, right)
            kept[node : node + len(strengths)] = strengths > alpha
        level = level[is_clear & (gain[level] > 0)]
        kept[level] = True
        level = np.concatenate([level + 1, right[level]])
    return kept


def collapse(forest: Forest, kept: Mask) -> Forest:
    """Make the forest with only the splits `kept`; above a kept split all must be kept.

    The nodes below a removed split are consecutive in pre-order, directly behind the leaf that replaces it.
    """
    right = forest.right_children()
    cuts = np.flatnonzero(kept & (forest.feature >= 0))
    alive = np.zeros(forest.n_nodes, dtype=np.bool_)
    alive[forest.tree_start[:-1]] = True
    alive[cuts + 1] = True
    alive[right[cuts]] = True
    number = np.cumsum(alive) - 1  # number of a kept node, or of the leaf that replaces it
    fields: dict[str, Array] = {name: np.zeros_like(getattr(forest, name)) for name in SPLIT_FIELDS}
    fields["feature"][:] = -1
    for name in SPLIT_FIELDS:
        fields[name][cuts] = getattr(forest, name)[cuts]
    roots = right[cuts] - forest.right[cuts]
    fields["right"][cuts] = number[right[cuts]] - number[roots]
    fields = {name: values[alive] for name, values in fields.items()}
    fields |= {name: getattr(forest, name)[alive] for name in ("size", "weight")}
    fields |= keep_sets(forest, cuts)
    is_categorical = fields["flags"] & CATEGORICAL != 0
    fields["threshold"][is_categorical] = np.arange(is_categorical.sum())
    fields["tree_start"] = np.append(number[forest.tree_start[:-1]], alive.sum()).astype(np.int64)
    if forest.task is Task.CLASSIFICATION:
        fields |= merge_leaves(forest, number, fields["feature"])
    fields |= {name: getattr(forest, name)[alive] for name in ("value", "impurity") if len(getattr(forest, name))}
    return forest.with_arrays(fields)


def keep_sets(forest: Forest, cuts: IntArray) -> dict[str, Array]:
    """Keep the category sets of some splits, which are ascending."""
    by_set = cuts[forest.flags[cuts] & CATEGORICAL != 0]
    sets = [forest.category_set(node) for node in by_set]
    return {
        "category_start": np.append(0, np.cumsum([len(kept) for kept in sets])).astype(np.int64),
        "category_sets": np.concatenate([forest.category_sets[:0], *sets]),
    }


def merge_leaves(forest: Forest, number: IntArray, feature: IntArray) -> dict[str, Array]:
    """Sum the class weights of the leaves that became one."""
    owner = np.repeat(number[forest.feature < 0], np.diff(forest.leaf_start))
    key_of_entry = owner * forest.n_classes + forest.leaf_class
    if len(feature) * forest.n_classes <= DENSE * len(owner):
        sums = np.bincount(key_of_entry, weights=forest.leaf_weight, minlength=len(feature) * forest.n_classes)
        is_present = np.zeros(len(sums), dtype=np.bool_)
        is_present[key_of_entry] = True
        n_entries = is_present.reshape(len(feature), forest.n_classes).sum(axis=1)[feature < 0]
        keys = np.flatnonzero(is_present)
        return _leaf_arrays(forest, n_entries, keys, sums[keys])
    keys, entry = np.unique(key_of_entry, return_inverse=True)
    n_entries = np.bincount(keys // forest.n_classes, minlength=len(feature))[feature < 0]
    return _leaf_arrays(forest, n_entries, keys, np.bincount(entry, weights=forest.leaf_weight, minlength=len(keys)))


def _leaf_arrays(forest: Forest, n_entries: IntArray, keys: IntArray, weights: Array) -> dict[str, Array]:
    return {
        "leaf_start": np.append(0, np.cumsum(n_entries)).astype(np.int64),
        "leaf_class": (keys % forest.n_classes).astype(np.int32),
        "leaf_weight": weights,
    }
