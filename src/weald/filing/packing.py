"""A forest as few small arrays, and back, bit for bit.

    pack      Forest -> head (a few numbers) and arrays
    unpack    head and arrays -> Forest, with every index checked before it is used

What follows from the rest is left out: links from the leaf marks, sizes and weights of splits from the leaves, the
decrease of impurity from the weights of the classes. Where it does not follow exactly, the difference is kept
(`streams.py`), so nothing is lost. docs/files.md lists the arrays.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.filing import guesses
from weald.filing.container import require
from weald.filing.guesses import Sums
from weald.filing.shape import MOST_DEPTH, MOST_LEVELS, Shape, find_shape, starts_of
from weald.filing.streams import (
    Arrays,
    narrow,
    pack_floats,
    pack_residual,
    read_floats,
    read_numbers,
    read_residual,
    shorten,
)
from weald.model import CATEGORICAL, FloatArray, Forest, IntArray, Origin

AS_THEY_ARE = "none"  # decreases are not foretold
SQUARED_ERROR = "squared_error"
BYTES_PER_NODE = 160  # at most, of a forest and of what reading one takes meanwhile


@dataclass(frozen=True)
class Head:
    """What a reader must know of a forest before it looks at the arrays."""

    n_features: int
    n_classes: int
    n_trees: int
    n_nodes: int
    target_center: float
    target_exponent: int
    decrease: str  # by which rule decreases are foretold
    is_bound: bool  # nodes of two classes say what monotonic constraints let them
    origins: tuple[Origin, ...]


# --------------------------------------------------------------------------------------------------------------- pack


def pack(forest: Forest) -> tuple[Head, Arrays]:
    """Write a forest as small arrays."""
    shape = find_shape(forest.tree_start, forest.feature < 0)
    rule = _choose_rule(forest)
    arrays: Arrays = {
        "tree.nodes": narrow(np.diff(forest.tree_start)),
        "node.leaf": np.packbits(shape.is_leaf, bitorder="little"),
        **_pack_splits(forest, shape),
        **(_pack_classes(forest) if forest.n_classes else _pack_means(forest, shape)),
        **_pack_weights(forest, shape),
        **_pack_said(forest, shape, rule),
    }
    if len(forest.tree_weight):
        arrays["tree.weight"] = forest.tree_weight
    return head_of(forest, rule), {name: array for name, array in arrays.items() if array.size}


def head_of(forest: Forest, rule: str) -> Head:
    """Say what a reader must know first."""
    return Head(
        forest.n_features, forest.n_classes, forest.n_trees, forest.n_nodes, float(forest.target_center),
        int(forest.target_exponent), rule, bool(forest.n_classes and len(forest.value)), forest.origins,
    )  # fmt: skip


def _pack_splits(forest: Forest, shape: Shape) -> Arrays:
    """Features, thresholds, flags and sets of categories."""
    splits = shape.splits
    feature = forest.feature[splits]
    by_number = forest.flags[splits] & CATEGORICAL == 0
    arrays = pack_floats("split.threshold", forest.threshold[splits][by_number], feature[by_number], forest.n_features)
    arrays["split.feature"] = narrow(feature)
    flags = forest.flags[splits] ^ guesses.flags(shape, forest.weight)
    if flags.any():
        arrays["split.flags"] = flags
    if not by_number.all():
        arrays["set.length"] = narrow(np.diff(forest.category_start))
        arrays["set.category"] = narrow(forest.category_sets)
    return arrays


def _pack_classes(forest: Forest) -> Arrays:
    """Classes of leaves."""
    arrays = {"leaf.class": narrow(forest.leaf_class), "leaf.weight": _whole_or_not(forest.leaf_weight)}
    lengths = np.diff(forest.leaf_start)
    if np.any(lengths != 1):
        arrays["leaf.length"] = narrow(lengths)
    return arrays


def _pack_means(forest: Forest, shape: Shape) -> Arrays:
    """Means of leaves, and their weights where sizes do not tell them."""
    arrays = pack_floats("leaf.value", forest.value[shape.leaves])
    weight = forest.weight[shape.leaves]
    if not np.array_equal(weight, forest.size[shape.leaves]):
        arrays["leaf.weight"] = _whole_or_not(weight)
    return arrays


def _pack_weights(forest: Forest, shape: Shape) -> Arrays:
    """Sizes of leaves where weights do not tell them; weights and sizes of splits where those of leaves do not."""
    of_leaves = _leaf_totals(forest) if forest.n_classes else forest.weight[shape.leaves]
    arrays = pack_residual("node.weight", forest.weight, guesses.weights(shape, of_leaves))
    size = forest.size.astype(np.int64)
    if not forest.n_classes or not np.array_equal(size[shape.leaves], guesses.to_whole(of_leaves)):
        arrays["leaf.size"] = narrow(size[shape.leaves])
    if not np.array_equal(shape.sums(size[shape.leaves]), size):
        arrays["split.size"] = narrow(size[shape.splits])
    return arrays


def _pack_said(forest: Forest, shape: Shape, rule: str) -> Arrays:
    """Decreases, and what nodes say by `value` and `impurity`."""
    splits, decrease = shape.splits, forest.decrease[shape.splits]
    if forest.n_classes:
        guess = _guess_class_decreases(rule, shape, forest.weight, forest)
        arrays = pack_residual("split.decrease", decrease, guess)
        if len(forest.value):
            second = _guess_shares(shape, forest.weight, forest)
            arrays |= pack_residual("node.value", forest.value, second)
        return arrays
    sums = Sums(shape, forest.weight, forest.value, forest.target_center, forest.target_exponent)
    impurity = guesses.impurities(shape, forest.weight, decrease, forest.impurity, forest.target_exponent)
    foretold = rule != AS_THEY_ARE
    none = np.zeros(len(splits))
    return {
        **pack_residual("split.decrease", decrease, sums.decreases() if foretold else none),
        **pack_residual("split.value", forest.value[splits], sums.values()),
        **pack_residual("split.impurity", forest.impurity[splits], impurity() if foretold else none),
        **pack_residual("leaf.impurity", forest.impurity[shape.leaves], np.zeros(len(shape.leaves))),
    }


def _choose_rule(forest: Forest) -> str:
    """Find the rule that foretells decreases best, from the first tree."""
    if not forest.n_classes:
        return SQUARED_ERROR if int(forest.depth().max()) <= MOST_LEVELS else AS_THEY_ARE
    if forest.n_classes > guesses.MOST_CLASSES:
        return AS_THEY_ARE
    tree = forest.take([0])
    shape = find_shape(tree.tree_start, tree.feature < 0)
    actual = tree.decrease[shape.splits]

    def misses(rule: str) -> int:
        return int(np.count_nonzero(_guess_class_decreases(rule, shape, tree.weight, tree) != actual))

    return min(guesses.TERMS, key=misses)


def _leaf_totals(leaves: Any) -> FloatArray:
    """Weight of each leaf, added up from those of its classes."""
    totals: FloatArray = np.add.reduceat(leaves.leaf_weight, leaves.leaf_start[:-1])
    return totals


def _guess_class_decreases(rule: str, shape: Shape, weight: FloatArray, leaves: Any) -> FloatArray:
    """`leaves` has leaf_start, leaf_class and leaf_weight, as a forest has."""
    if rule == AS_THEY_ARE:
        return np.zeros(len(shape.splits))
    classes = [_class_of_leaves(leaves, k) for k in range(leaves.n_classes)]
    return guesses.class_decreases(rule, shape, weight, classes)


def _class_of_leaves(leaves: Any, k: int) -> IntArray:
    """Weight of a class in each leaf."""
    of_entry = np.repeat(np.arange(len(leaves.leaf_start) - 1), np.diff(leaves.leaf_start))
    mine = leaves.leaf_class == k
    found = np.zeros(len(leaves.leaf_start) - 1, dtype=np.int64)
    found[of_entry[mine]] = guesses.to_whole(leaves.leaf_weight[mine])
    return found


def _guess_shares(shape: Shape, weight: FloatArray, leaves: Any) -> FloatArray:
    """Guess what nodes of two classes say where nothing binds them: the share of the second class."""
    second = shape.sums(_class_of_leaves(leaves, 1)).astype(np.float64)
    with np.errstate(all="ignore"):
        share: FloatArray = second / weight
    return share


def _whole_or_not(weights: FloatArray) -> Any:
    """Keep weights as whole numbers where they are."""
    whole = guesses.to_whole(weights)
    return narrow(whole) if np.array_equal(whole, weights) and whole.min(initial=0) >= 0 else shorten(weights)


# ------------------------------------------------------------------------------------------------------------- unpack


@dataclass(frozen=True)
class _Leaves:
    n_classes: int
    leaf_start: IntArray
    leaf_class: IntArray
    leaf_weight: FloatArray


def unpack(head: Head, arrays: Arrays) -> Forest:
    """Make the forest again. The arrays are used up: one that is left over belongs to no forest."""
    check_head(head)
    arrays = dict(arrays)
    shape = _read_shape(head, arrays)
    n_leaves = len(shape.leaves)
    leaves = _read_leaves(head, arrays, n_leaves)
    size_of_leaves, weight = _read_weights(head, arrays, shape, leaves)
    sizes = shape.sums(size_of_leaves)
    if "split.size" in arrays:
        sizes[shape.splits] = read_numbers(arrays, "split.size", len(shape.splits), below=2**32)
    require(int(sizes.max()) < 2**32 and int(sizes.min()) >= 0, "The sizes of the leaves add up to too much.")
    splits = _read_splits(head, arrays, shape, weight)
    said = (
        _read_class_decreases(head, arrays, shape, weight, leaves)
        if head.n_classes
        else _read_means(head, arrays, shape, weight)
    )
    tree_weight = read_doubles(arrays, "tree.weight", head.n_trees) if "tree.weight" in arrays else np.empty(0)
    require(np.all(tree_weight >= 0) and (not len(tree_weight) or tree_weight.any()), "Votes weigh less than nothing.")
    require(not arrays, f"The file has arrays that belong to no forest: {', '.join(sorted(arrays))}.")
    return Forest(
        head.n_features, head.n_classes, head.target_center, head.target_exponent, shape.tree_start,
        right=shape.right(), size=sizes.astype(np.uint32), weight=weight, leaf_start=leaves.leaf_start,
        leaf_class=leaves.leaf_class.astype(np.int32), leaf_weight=leaves.leaf_weight,
        tree_weight=tree_weight, origins=head.origins, **splits, **said,
    )  # fmt: skip


def check_head(head: Head) -> None:
    """Refuse numbers that no forest has."""
    require(1 <= head.n_features < 2**30, f"{head.n_features} is no number of features.")
    require(0 <= head.n_classes < 2**30, f"{head.n_classes} is no number of classes.")
    require(1 <= head.n_trees <= head.n_nodes < 2**40, f"{head.n_trees} trees cannot have {head.n_nodes} nodes.")
    require(np.isfinite(head.target_center), "The centre of the target is no number.")
    require(abs(head.target_exponent) < 2**16, f"{head.target_exponent} is no exponent of the target.")
    rules = (AS_THEY_ARE, *(guesses.TERMS if head.n_classes else (SQUARED_ERROR,)))
    require(head.decrease in rules, f"{head.decrease!r} is no rule for decreases here.")
    many = head.n_classes > guesses.MOST_CLASSES and head.decrease != AS_THEY_ARE
    require(not many, f"{head.n_classes} classes are too many for the rule {head.decrease!r}.")
    if head.origins:
        n_trees = sum(origin.n_trees for origin in head.origins)
        proper = n_trees == head.n_trees and all(o.n_trees > 0 <= o.first_tree for o in head.origins)
        require(proper, f"The {head.n_trees} trees have {n_trees} origins.")


def read_doubles(arrays: Arrays, name: str, length: int) -> FloatArray:
    """Take finite doubles from the arrays."""
    found = read_floats(arrays, name, length)
    require(np.all(np.isfinite(found)), f"The array {name!r} has something that is no number.")
    return found


def _read_shape(head: Head, arrays: Arrays) -> Shape:
    n_nodes = read_numbers(arrays, "tree.nodes", head.n_trees, below=2**31)
    require(n_nodes.min() > 0 and int(n_nodes.sum()) == head.n_nodes, "The trees have other numbers of nodes.")
    marks = arrays.pop("node.leaf", np.empty(0))
    proper = marks.dtype == np.uint8 and marks.shape == ((head.n_nodes + 7) // 8,)
    require(proper, f"The array 'node.leaf' is not {head.n_nodes} bits.")
    is_leaf = np.unpackbits(marks, count=head.n_nodes, bitorder="little").astype(bool)
    shape = find_shape(starts_of(n_nodes), is_leaf)
    require(int(shape.depth.max()) <= MOST_DEPTH, f"A tree is deeper than {MOST_DEPTH}.")
    return shape


def _read_leaves(head: Head, arrays: Arrays, n_leaves: int) -> _Leaves:
    """Classes of leaves."""
    if not head.n_classes:
        return _Leaves(0, np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
    lengths = read_numbers(arrays, "leaf.length", n_leaves, below=head.n_classes + 1, default=1)
    require(lengths.min() > 0, "A leaf has no class.")
    start = starts_of(lengths)
    n_entries = int(start[-1])
    of_class = read_numbers(arrays, "leaf.class", n_entries, below=head.n_classes)
    rising = np.diff(of_class) > 0
    rising[start[1:-1] - 1] = True  # a leaf ends here
    require(rising.all(), "The classes of a leaf do not ascend.")
    weight = _read_weight(arrays, "leaf.weight", n_entries)
    return _Leaves(head.n_classes, start, of_class.astype(np.int32), weight)


def _read_weight(arrays: Arrays, name: str, length: int) -> FloatArray:
    """Take weights from the arrays: above 0."""
    is_whole = name in arrays and arrays[name].dtype.kind == "u"
    found = read_numbers(arrays, name, length, below=2**53 + 1) if is_whole else read_doubles(arrays, name, length)
    require(np.all(found > 0), f"The array {name!r} has a weight that is not above 0.")
    return found.astype(np.float64)


def _read_weights(head: Head, arrays: Arrays, shape: Shape, leaves: _Leaves) -> tuple[IntArray, FloatArray]:
    """Sizes of leaves, and weights of nodes."""
    n_leaves = len(shape.leaves)
    if head.n_classes:
        of_leaves = _leaf_totals(leaves)
        told = guesses.to_whole(of_leaves) if "leaf.size" not in arrays else None
        size = read_numbers(arrays, "leaf.size", n_leaves, below=2**32) if told is None else told
    else:
        size = read_numbers(arrays, "leaf.size", n_leaves, below=2**32)
        is_told = "leaf.weight" not in arrays
        of_leaves = size.astype(np.float64) if is_told else _read_weight(arrays, "leaf.weight", n_leaves)
    guess = guesses.weights(shape, of_leaves)
    weight = read_residual(arrays, "node.weight", head.n_nodes)(guess)
    require(np.all(np.isfinite(weight)) and np.all(weight > 0), "A node has a weight that is not above 0.")
    return size, weight


def _read_splits(head: Head, arrays: Arrays, shape: Shape, weight: FloatArray) -> dict[str, Any]:
    """Features, thresholds, flags and sets of categories."""
    splits, n_splits = shape.splits, len(shape.splits)
    of_split = read_numbers(arrays, "split.feature", n_splits, below=head.n_features) if n_splits else splits
    flags_of_split = guesses.flags(shape, weight) ^ read_numbers(
        arrays, "split.flags", n_splits, below=8, default=0
    ).astype(np.uint8)
    by_set = flags_of_split & CATEGORICAL != 0
    require(np.all(by_set | (flags_of_split < 2)), "A split by a number has the flags of a set.")
    n_sets = int(np.count_nonzero(by_set))
    threshold_of_split = np.zeros(n_splits)
    threshold_of_split[by_set] = np.arange(n_sets)
    if n_sets < n_splits:
        given = read_floats(arrays, "split.threshold", n_splits - n_sets, of_split[~by_set], head.n_features)
        require(not np.isnan(given).any(), "A threshold is no number.")
        threshold_of_split[~by_set] = given
    feature = np.full(head.n_nodes, -1, dtype=np.int32)
    threshold, flags = np.zeros(head.n_nodes), np.zeros(head.n_nodes, dtype=np.uint8)
    feature[splits], threshold[splits], flags[splits] = of_split, threshold_of_split, flags_of_split
    return {"feature": feature, "threshold": threshold, "flags": flags, **_read_sets(arrays, n_sets)}


def _read_sets(arrays: Arrays, n_sets: int) -> dict[str, Any]:
    """Sets of categories: what each holds ascends."""
    lengths = read_numbers(arrays, "set.length", n_sets, below=2**32, default=None if n_sets else 0)
    start = starts_of(lengths)
    length = int(start[-1])
    held = read_numbers(arrays, "set.category", length, below=2**32, default=None if length else 0)
    rising = np.diff(held) > 0
    ends = start[1:-1]
    rising[ends[(ends > 0) & (ends < length)] - 1] = True
    require(rising.all(), "The categories of a set do not ascend.")
    return {"category_start": start, "category_sets": held.astype(np.uint32)}


def _read_class_decreases(
    head: Head, arrays: Arrays, shape: Shape, weight: FloatArray, leaves: _Leaves
) -> dict[str, Any]:
    """Decreases of splits, and what nodes say that are bound."""
    guess = _guess_class_decreases(head.decrease, shape, weight, leaves)
    of_split = read_residual(arrays, "split.decrease", len(shape.splits))(guess)
    value = np.empty(0)
    if head.is_bound:
        require(head.n_classes == 2, "Only nodes of two classes are bound.")
        value = read_residual(arrays, "node.value", head.n_nodes)(_guess_shares(shape, weight, leaves))
        require(np.all((value >= 0) & (value <= 1)), "A node says a share that is none.")
    return {"decrease": _spread_decreases(shape, of_split), "value": value, "impurity": np.empty(0)}


def _read_means(head: Head, arrays: Arrays, shape: Shape, weight: FloatArray) -> dict[str, Any]:
    """Decreases of splits, means and impurities of nodes."""
    n_splits, n_leaves = len(shape.splits), len(shape.leaves)
    value, impurity = np.zeros(head.n_nodes), np.zeros(head.n_nodes)
    value[shape.leaves] = read_doubles(arrays, "leaf.value", n_leaves)
    impurity[shape.leaves] = read_residual(arrays, "leaf.impurity", n_leaves)(np.zeros(n_leaves))
    sums = Sums(shape, weight, value, head.target_center, head.target_exponent)
    value[shape.splits] = read_residual(arrays, "split.value", n_splits)(sums.values())
    foretold = head.decrease != AS_THEY_ARE
    guess = sums.decreases() if foretold else np.zeros(n_splits)
    decrease = read_residual(arrays, "split.decrease", n_splits)(guess)
    restore = read_residual(arrays, "split.impurity", n_splits)
    if foretold:
        require(int(shape.depth.max()) <= MOST_LEVELS, f"A tree is deeper than {MOST_LEVELS}.")
        guess_of = guesses.impurities(shape, weight, decrease, impurity, head.target_exponent)
        for which in shape.levels_up():
            impurity[shape.splits[which]] = restore(guess_of(which), which)
    else:
        impurity[shape.splits] = restore(np.zeros(n_splits))
    require(np.all(np.isfinite(value)) and np.all(impurity >= 0), "A node has a mean or an impurity that is none.")
    return {"decrease": _spread_decreases(shape, decrease), "value": value, "impurity": impurity}


def _spread_decreases(shape: Shape, of_splits: FloatArray) -> FloatArray:
    require(np.all(of_splits >= 0), "A split does not lower the impurity.")
    decrease = np.zeros(len(shape.is_leaf))
    decrease[shape.splits] = of_splits
    return decrease
