"""A forest as a few small arrays, and back, bit for bit.

    pack      Forest -> head (a few numbers) and arrays
    unpack    head and arrays -> Forest, with every number checked before it is used (core/files/decode.cpp)

Numbers that can be computed from others are left out: links from the leaf marks, sizes and weights of splits from the
leaves, the decrease in impurity from the weights of the classes. If the computation is not exact, the difference is
stored (`streams.py`), so nothing is lost. docs/deployment/model-files.md lists the arrays.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weald import _core
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.bagging import MAX_DRAWS
from weald.engines.threads import count_threads
from weald.errors import FormatError
from weald.forest.forest import CATEGORICAL, CONTRACT_VERSION, Bags, Forest, Origin
from weald.io import derived_values
from weald.io.container import require
from weald.io.derived_values import Sums
from weald.io.streams import Arrays, narrow, pack_floats, pack_residual, shorten
from weald.io.tree_shape import MOST_DEPTH, MOST_LEVELS, Shape, find_shape

AS_THEY_ARE = "none"  # decreases are stored, not predicted
SQUARED_ERROR = "squared_error"
STRATA = ("none", "class", "given")
SCALE = "tree.weight_scale"  # only if weights are not in the user's units
LARGEST_WHOLE = 2**53  # largest weight stored as a whole number
TINY, HUGE = 5e-324, float(np.finfo(np.float64).max)  # the smallest and the largest positive finite number
NOT_DECODED = ("origins", "contract")  # fields of the head that arrays do not depend on
BYTES_PER_NODE = 160  # upper bound of the memory of a forest and of reading it


@dataclass(frozen=True)
class Head:
    """The numbers that a reader needs before it reads the arrays."""

    n_features: int
    n_classes: int
    n_trees: int
    n_nodes: int
    target_center: float
    target_exponent: int
    decrease: str  # rule that predicts decreases
    is_bound: bool  # nodes of two classes have values within monotonic constraints
    origins: tuple[Origin, ...]
    contract: int = 1  # added in format 1.1

    @property
    def task(self) -> Task:
        """The kind of target."""
        return Task.of(self.n_classes)


# --------------------------------------------------------------------------------------------------------------- pack


def pack(forest: Forest) -> tuple[Head, Arrays]:
    """Write a forest as small arrays."""
    check_forest(forest)
    shape = find_shape(forest.tree_start, forest.feature < 0)
    rule = _choose_rule(forest)
    arrays: Arrays = {
        "tree.nodes": narrow(np.diff(forest.tree_start)),
        "node.leaf": np.packbits(shape.is_leaf, bitorder="little"),
        **_pack_splits(forest, shape),
        **(_pack_classes(forest) if forest.task is Task.CLASSIFICATION else _pack_means(forest, shape)),
        **_pack_weights(forest, shape),
        **_pack_values(forest, shape, rule),
    }
    if len(forest.tree_weight):
        arrays["tree.weight"] = forest.tree_weight
    if len(forest.weight_scale):
        arrays[SCALE] = forest.weight_scale
    return head_of(forest, rule), {name: array for name, array in arrays.items() if array.size}


def head_of(forest: Forest, rule: str) -> Head:
    """Return the head of a forest."""
    return Head(
        forest.n_features, forest.n_classes, forest.n_trees, forest.n_nodes, float(forest.target_center),
        int(forest.target_exponent), rule, forest.task is Task.CLASSIFICATION and len(forest.value) > 0, forest.origins,
        forest.contract,
    )  # fmt: skip


def check_forest(forest: Forest) -> None:
    """Refuse a forest that `unpack` would refuse. All numbers are checked; comparisons with NaN are false."""
    check_head(head_of(forest, AS_THEY_ARE))
    n_nodes = np.diff(forest.tree_start)
    require(_all_within(n_nodes, 1, 2**31 - 1), "A tree has too many nodes, or none.")
    deep = n_nodes.max() > 2 * MOST_DEPTH and int(forest.depth().max()) > MOST_DEPTH
    require(not deep, f"A tree is deeper than {MOST_DEPTH} levels.")
    require(_all_within(forest.feature, -1, forest.n_features - 1), "A feature is out of range.")
    require(_all_within(forest.threshold, -np.inf, np.inf), "A threshold is NaN.")
    by_number = forest.flags & CATEGORICAL == 0
    require(_all_within(forest.flags, 0, 7) and np.all(forest.flags[by_number] < 2), "A split has unknown flags.")
    require(
        _ascends_inside(forest.category_sets, forest.category_start),
        "The categories of a set are not in ascending order.",
    )
    weight = np.delete(forest.weight, forest.tree_start[:-1][_is_empty(forest)])
    require(_all_within(weight, TINY, HUGE), "The weight of a node must be positive and finite.")
    require(_all_within(forest.decrease, 0, np.inf), "The decrease in impurity of a split must not be negative.")
    if forest.task is Task.CLASSIFICATION:
        _check_classes(forest)
    else:
        proper = _all_within(forest.value, -HUGE, HUGE) and _all_within(forest.impurity, 0, np.inf)
        require(proper, "The mean or the impurity of a node is invalid.")
    votes = forest.tree_weight
    proper = _all_within(votes, 0, HUGE) and len(votes) in (0, forest.n_trees) and (not len(votes) or bool(votes.any()))
    require(proper, "Votes need one finite weight of at least 0 for each tree, not all 0.")
    _check_scales(forest.weight_scale, forest.n_trees)


def _check_scales(scales: Array, n_trees: int) -> None:
    proper = scales.dtype == np.float64 and scales.shape in ((0,), (n_trees,)) and _all_within(scales, TINY, HUGE)
    require(proper, "Weight scales must be one positive, finite number for each tree.")


def _check_classes(forest: Forest) -> None:
    n_classes = np.diff(forest.leaf_start)
    of_empty = (forest.tree_start[:-1] + np.arange(forest.n_trees))[
        _is_empty(forest)
    ] // 2  # trees that are a single leaf
    proper = not n_classes[of_empty].any() and not forest.size[forest.tree_start[:-1][_is_empty(forest)]].any()
    require(proper, "A tree without weight must not have rows or classes.")
    require(
        _all_within(np.delete(n_classes, of_empty), 1, forest.n_classes),
        "The number of classes of a leaf is out of range.",
    )
    require(_all_within(forest.leaf_class, 0, forest.n_classes - 1), "A class of a leaf is out of range.")
    require(_ascends_inside(forest.leaf_class, forest.leaf_start), "The classes of a leaf are not in ascending order.")
    require(_all_within(forest.leaf_weight, TINY, HUGE), "The weight of a leaf must be positive and finite.")
    proper = not len(forest.value) or (forest.n_classes == 2 and _all_within(forest.value, 0, 1))
    require(proper, "The probability of a node is out of range.")


def _is_empty(forest: Forest) -> BoolArray:
    """Mark the trees with an empty bag: a single root without class weights."""
    if forest.task is Task.REGRESSION:
        return np.zeros(forest.n_trees, dtype=bool)
    is_empty: BoolArray = (np.diff(forest.tree_start) == 1) & (forest.root_weight() == 0)
    return is_empty


def _all_within(values: Array, low: float, high: float) -> bool:
    return not len(values) or bool(values.min() >= low and values.max() <= high)


def _ascends_inside(numbers: IntArray, start: IntArray) -> bool:
    """Return whether numbers are ascending within each list; list i begins at start[i]."""
    falls = np.flatnonzero(numbers[1:] <= numbers[:-1]) + 1
    return bool(np.isin(falls, start).all()) if len(falls) else True


def _pack_splits(forest: Forest, shape: Shape) -> Arrays:
    """Features, thresholds, flags and sets of categories."""
    splits = shape.splits
    feature = forest.feature[splits]
    by_number = forest.flags[splits] & CATEGORICAL == 0
    arrays = pack_floats("split.threshold", forest.threshold[splits][by_number], feature[by_number], forest.n_features)
    arrays["split.feature"] = narrow(feature)
    flags = forest.flags[splits] ^ derived_values.flags(shape, forest.weight)
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
    """Means of leaves, and their weights if they cannot be computed from sizes."""
    arrays = pack_floats("leaf.value", forest.value[shape.leaves])
    weight = forest.weight[shape.leaves]
    if not np.array_equal(weight, forest.size[shape.leaves]):
        arrays["leaf.weight"] = _whole_or_not(weight)
    return arrays


def _pack_weights(forest: Forest, shape: Shape) -> Arrays:
    """Sizes of leaves if they differ from weights; weights and sizes of splits if they are not sums of leaves."""
    of_leaves = _leaf_totals(forest) if forest.task is Task.CLASSIFICATION else forest.weight[shape.leaves]
    arrays = pack_residual("node.weight", forest.weight, derived_values.weights(shape, of_leaves))
    size = forest.size.astype(np.int64)
    if forest.task is Task.REGRESSION or not np.array_equal(size[shape.leaves], derived_values.to_whole(of_leaves)):
        arrays["leaf.size"] = narrow(size[shape.leaves])
    if not np.array_equal(shape.sums(size[shape.leaves]), size):
        arrays["split.size"] = narrow(size[shape.splits])
    return arrays


def _pack_values(forest: Forest, shape: Shape, rule: str) -> Arrays:
    """Decreases, and `value` and `impurity` of nodes."""
    splits, decrease = shape.splits, forest.decrease[shape.splits]
    if forest.task is Task.CLASSIFICATION:
        guess = _guess_class_decreases(rule, shape, forest.weight, forest)
        arrays = pack_residual("split.decrease", decrease, guess)
        if len(forest.value):
            second = _guess_probabilities(shape, forest.weight, forest)
            arrays |= pack_residual("node.value", forest.value, second)
        return arrays
    sums = Sums(shape, forest.weight, forest.value, forest.target_center, forest.target_exponent)
    impurity = derived_values.impurities(shape, forest.weight, decrease, forest.impurity, forest.target_exponent)
    foretold = rule != AS_THEY_ARE
    none = np.zeros(len(splits))
    return {
        **pack_residual("split.decrease", decrease, sums.decreases() if foretold else none),
        **pack_residual("split.value", forest.value[splits], sums.values()),
        **pack_residual("split.impurity", forest.impurity[splits], impurity if foretold else none),
        **pack_residual("leaf.impurity", forest.impurity[shape.leaves], np.zeros(len(shape.leaves))),
    }


def _choose_rule(forest: Forest) -> str:
    """Find the rule that predicts decreases best, from the first tree."""
    if forest.task is Task.REGRESSION:
        return SQUARED_ERROR if int(forest.depth().max()) <= MOST_LEVELS else AS_THEY_ARE
    if forest.n_classes > derived_values.MOST_CLASSES:
        return AS_THEY_ARE
    tree = forest.take([0])
    shape = find_shape(tree.tree_start, tree.feature < 0)
    actual = tree.decrease[shape.splits]

    def misses(rule: str) -> int:
        return int(np.count_nonzero(_guess_class_decreases(rule, shape, tree.weight, tree) != actual))

    return min(derived_values.TERMS, key=misses)


def _leaf_totals(leaves: Forest) -> FloatArray:
    """Weight of each leaf: the sum of the weights of its classes."""
    start, lengths = leaves.leaf_start[:-1], np.diff(leaves.leaf_start)
    totals = np.zeros(len(start))
    for place in range(int(lengths.max())):  # class by class, since NumPy would sum in another order
        longer = np.flatnonzero(lengths > place)
        totals[longer] += leaves.leaf_weight[start[longer] + place]
    return totals


def _guess_class_decreases(rule: str, shape: Shape, weight: FloatArray, leaves: Forest) -> FloatArray:
    if rule == AS_THEY_ARE:
        return np.zeros(len(shape.splits))
    classes = [_class_of_leaves(leaves, k) for k in range(leaves.n_classes)]
    return derived_values.class_decreases(rule, shape, weight, classes)


def _class_of_leaves(leaves: Forest, k: int) -> IntArray:
    """Weight of a class in each leaf."""
    of_entry = np.repeat(np.arange(len(leaves.leaf_start) - 1), np.diff(leaves.leaf_start))
    mine = leaves.leaf_class == k
    found = np.zeros(len(leaves.leaf_start) - 1, dtype=np.int64)
    found[of_entry[mine]] = derived_values.to_whole(leaves.leaf_weight[mine])
    return found


def _guess_probabilities(shape: Shape, weight: FloatArray, leaves: Forest) -> FloatArray:
    """Predict the values of unconstrained nodes of two classes: the probability of the second class."""
    second = shape.sums(_class_of_leaves(leaves, 1)).astype(np.float64)
    share: FloatArray = np.zeros(len(weight))
    with np.errstate(all="ignore"):
        np.divide(second, weight, out=share, where=weight != 0)
    return share


def _whole_or_not(weights: FloatArray) -> Array:
    """Store weights as whole numbers if possible, up to the largest that a reader accepts."""
    whole = derived_values.to_whole(weights)
    fits = np.array_equal(whole, weights) and whole.min(initial=0) >= 0 and whole.max(initial=0) <= LARGEST_WHOLE
    return narrow(whole) if fits else shorten(weights)


# ------------------------------------------------------------------------------------------------------------- unpack


def unpack(head: Head, arrays: Arrays) -> Forest:
    """Create the forest again. Raise an error for unused arrays."""
    check_head(head)
    told = {f.name: getattr(head, f.name) for f in dataclasses.fields(head) if f.name not in NOT_DECODED}
    scales = arrays.get(SCALE, np.empty(0))
    _check_scales(scales, head.n_trees)
    arrays = {name: array for name, array in arrays.items() if name != SCALE}
    try:
        made = _core.decode(**told, most_depth=MOST_DEPTH, arrays=arrays, n_threads=count_threads(None))
    except (ValueError, TypeError, RuntimeError) as error:
        raise FormatError(str(error)) from None
    whole = (head.n_features, head.n_classes, head.target_center, head.target_exponent)
    forest = Forest(*whole, **made, weight_scale=scales, origins=head.origins, contract=head.contract)
    _check_draws(forest)
    check_numbers(forest)
    return forest


def check_numbers(forest: Forest) -> None:
    """Refuse numbers that are infinite or NaN where no forest has such numbers."""
    for name in ("weight", "decrease", "leaf_weight", "value", "impurity", "tree_weight"):
        require(np.isfinite(getattr(forest, name)).all(), f"A {name.replace('_', ' ')} is not finite.")


def _check_draws(forest: Forest) -> None:
    """Check that no tree has a larger bag than its origin allows."""
    for _, bags, sizes in _bags_of(forest):
        require(sizes.max() <= bags.n_draws, f"Its bags have {bags.n_draws:,} draws, but some trees have larger bags.")


def check_fewest_draws(forests: Sequence[Forest]) -> None:
    """Check that no bag is smaller than its number of draws: each draw adds at least one row to the root's size.

    Rows of classes of weight 0 leave the bag. Then these classes are in no leaf of one of the targets.
    """
    of_classes = [forest for forest in forests if forest.task is Task.CLASSIFICATION]
    if not all(np.bincount(forest.leaf_class, minlength=forest.n_classes).all() for forest in of_classes):
        return
    for forest in forests:
        for n_draws, _, sizes in _bags_of(forest):
            require(n_draws <= sizes.min(), f"Its bags have {n_draws:,} draws, but some trees have smaller bags.")


def _bags_of(forest: Forest) -> Iterator[tuple[int, Bags, IntArray]]:
    """Yield the number of draws, their design and the bag sizes, for each origin."""
    sizes, first = forest.size[forest.tree_start[:-1]], 0
    for origin in forest.origins:
        bags = origin.bags
        if bags.bootstrap:
            yield sum(bags.draws) if bags.draws else bags.n_draws, bags, sizes[first : first + origin.n_trees]
        first += origin.n_trees


def check_head(head: Head) -> None:
    """Refuse numbers that are invalid for every forest."""
    known = f"the versions 1 to {CONTRACT_VERSION}" if CONTRACT_VERSION > 1 else "version 1"
    message = f"Its trees were grown under version {head.contract} of the contract; this weald knows {known}."
    require(1 <= head.contract <= CONTRACT_VERSION, message)
    require(1 <= head.n_features < 2**30, f"{head.n_features} features are out of range.")
    require(0 <= head.n_classes < 2**30, f"{head.n_classes} classes are out of range.")
    require(1 <= head.n_trees <= head.n_nodes < 2**40, f"{head.n_trees} trees cannot have {head.n_nodes} nodes.")
    require(np.isfinite(head.target_center), "The center of the target must be finite.")
    require(abs(head.target_exponent) < 2**16, f"The exponent {head.target_exponent} of the target is out of range.")
    rules = (AS_THEY_ARE, *(derived_values.TERMS if head.task is Task.CLASSIFICATION else (SQUARED_ERROR,)))
    require(head.decrease in rules, f"The rule {head.decrease!r} for decreases is unknown.")
    many = head.n_classes > derived_values.MOST_CLASSES and head.decrease != AS_THEY_ARE
    require(not many, f"{head.n_classes} classes are too many for the rule {head.decrease!r}.")
    if head.origins:
        n_trees = sum(origin.n_trees for origin in head.origins)
        proper = n_trees == head.n_trees and all(o.n_trees > 0 <= o.first_tree for o in head.origins)
        require(proper, f"The {head.n_trees} trees do not match their origins, which have {n_trees}.")
    for origin in head.origins:
        _check_origin(origin)


def _check_origin(origin: Origin) -> None:
    """Refuse origins and bags that no fit produces."""
    bags = origin.bags
    numbers = (origin.seed, origin.first_tree + origin.n_trees, origin.data, bags.design)
    require(all(0 <= number < 2**64 for number in numbers), "The origin of the trees is out of range.")
    proper = 0 < bags.n_draws <= MAX_DRAWS and all(n >= 0 for n in bags.draws) and sum(bags.draws) <= bags.n_draws
    require(proper and bags.strata in STRATA, f"The parameters of the bags are invalid: {bags}.")
