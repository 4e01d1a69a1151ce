"""Smaller forests: without splits that decide nothing, or with fewer trees.

compact_forest   takes away splits that change no prediction
choose_trees     how many of the first trees to keep
Thinning         what was kept, and what it costs out of bag
"""

import dataclasses
import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from weald.data.arguments import RealNumber, WholeNumber, check_argument
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.errors import DataError, ParameterError
from weald.forest.forest import CATEGORICAL, Forest
from weald.forest.pruning import collapse, keep_sets, merge_leaves

LARGEST = np.finfo(np.float64).max

# ------------------------------------------------------------------------------------------------ splits for nothing


def compact_forest(forest: Forest) -> Forest:
    """Take away every split whose two sides say the same of every row.

    A branch whose leaves all say the same becomes a leaf, and of two equal branches side by side one is left.
    """
    numbers = _number_branches(forest)
    n_answers = max(numbers[node] for node in np.flatnonzero(forest.feature < 0).tolist()) + 1
    decides = np.array(numbers) >= n_answers
    kept = np.flatnonzero(_is_left(forest, decides))
    smaller = collapse(forest, decides & (forest.feature >= 0))
    if len(forest.value):
        value = np.where(smaller.feature < 0, _of_leaf(forest)[kept], smaller.value)
        smaller = dataclasses.replace(smaller, value=value)
    return _merge_equal_siblings(smaller, [numbers[node] for node in kept.tolist()])


def _of_leaf(forest: Forest) -> FloatArray:
    """Value of the first leaf below each node, or its own in a leaf: the mean of a branch is rounded by itself."""
    leaves = np.flatnonzero(forest.feature < 0)
    values: FloatArray = forest.value[leaves[np.searchsorted(leaves, np.arange(forest.n_nodes))]]
    return values


def _is_left(forest: Forest, decides: BoolArray) -> BoolArray:
    """Find the nodes that are left when branches that say one thing are leaves."""
    is_left = np.zeros(forest.n_nodes, dtype=np.bool_)
    splits = np.flatnonzero(decides & (forest.feature >= 0))
    is_left[forest.tree_start[:-1]] = is_left[splits + 1] = is_left[_right_of(forest)[splits]] = True
    return is_left


def _right_of(forest: Forest) -> IntArray:
    """Right child of each node among the nodes of all trees; a leaf has its root."""
    roots = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    right: IntArray = roots + forest.right
    return right


def _number_branches(forest: Forest) -> list[int]:
    """Number the branch below each node: the same number, the same answers to every row. Leaves have the lowest."""
    numbers = np.full(forest.n_nodes, -1)
    numbers[forest.feature < 0] = answers = _number_answers(forest)
    n_answers = max(answers) + 1
    found = numbers.tolist()
    known: dict[Hashable, int] = {}
    features, flags, rights = forest.feature.tolist(), forest.flags.tolist(), _right_of(forest).tolist()
    thresholds = forest.threshold.tolist()
    for node in np.flatnonzero(forest.feature >= 0)[::-1].tolist():  # children come before their parents
        left, right = found[node + 1], found[rights[node]]
        if left == right:
            found[node] = left
            continue
        by_set = flags[node] & CATEGORICAL
        cut = tuple(forest.category_set(node).tolist()) if by_set else thresholds[node]
        key = (features[node], cut, flags[node], left, right)
        found[node] = known.setdefault(key, n_answers + len(known))
    return found


def _merge_equal_siblings(forest: Forest, numbers: list[int]) -> Forest:
    """Take away splits both of whose sides are the same branch; what is left of it counts the rows of both."""
    rights, is_split = _right_of(forest).tolist(), (forest.feature >= 0).tolist()
    is_idle = [is_split[node] and numbers[node + 1] == numbers[rights[node]] for node in range(forest.n_nodes)]
    if not any(is_idle):
        return forest
    owner = list(range(forest.n_nodes))  # of each node: the one that takes its place

    def pass_over(node: int) -> int:
        while is_idle[node]:
            node += 1
        return node

    for idle in reversed([node for node, so in enumerate(is_idle) if so]):
        pairs = [(idle + 1, rights[idle])]
        while pairs:
            one, other = (pass_over(node) for node in pairs.pop())
            owner[other] = one
            if is_split[one]:
                pairs += [(one + 1, other + 1), (rights[one], rights[other])]
    for node in range(forest.n_nodes):  # an owner stands before what it owns
        owner[node] = owner[owner[node]]
    return _owned(forest, np.array(owner), np.array(is_idle))


def _owned(forest: Forest, owner: IntArray, is_idle: BoolArray) -> Forest:
    """Make the forest of the nodes that own themselves, without the idle ones."""
    alive = (owner == np.arange(len(owner))) & ~is_idle
    number = (np.cumsum(alive) - 1)[owner]
    first = np.cumsum(np.append(0, alive))[forest.tree_start]
    counted = ~is_idle

    def total(of_nodes: Array) -> FloatArray:
        sums = np.bincount(number[counted], weights=of_nodes[counted], minlength=int(alive.sum()))
        return sums.astype(np.float64, copy=False)  # which they are, but NumPy declares integers

    weight = total(forest.weight)
    fields: dict[str, Array] = {name: getattr(forest, name)[alive] for name in ("feature", "threshold", "flags")}
    fields |= {"tree_start": first, "weight": weight, "decrease": total(forest.decrease)}
    fields["size"] = total(forest.size).astype(np.uint32)
    splits = np.flatnonzero(alive & (forest.feature >= 0))
    right = _right_of(forest)[splits]
    while is_idle[right].any():
        right = np.where(is_idle[right], right + 1, right)
    fields["right"] = np.zeros(len(weight), dtype=np.int32)
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))[splits]
    fields["right"][number[splits]] = number[right] - first[tree]
    fields |= keep_sets(forest, splits)
    is_categorical = fields["flags"] & CATEGORICAL != 0
    fields["threshold"][is_categorical] = np.arange(is_categorical.sum())
    if forest.task is Task.CLASSIFICATION:
        fields |= merge_leaves(forest, number, fields["feature"])
    if len(forest.value):
        fields["value"] = forest.value[alive]
    if len(forest.impurity):
        several = np.bincount(number[counted], minlength=len(weight)) > 1
        inner = several & (fields["feature"] >= 0)  # leaves say what they said
        part = forest.weight / weight[number]
        with np.errstate(over="ignore"):  # of huge targets
            fields["value"][inner] = np.clip(total(part * forest.value), -LARGEST, LARGEST)[inner]
            off = forest.value - fields["value"][number]
            spread = np.minimum(total(part * (forest.impurity + off * off)), LARGEST)
        fields["impurity"] = np.where(several, spread, forest.impurity[alive])
    return forest.with_arrays(fields)


def _number_answers(forest: Forest) -> list[int]:
    """Number what each leaf says: the same number, the same answer to the last bit."""
    known: dict[Hashable, int] = {}
    if len(forest.value):
        keys: list[Hashable] = [value.hex() for value in forest.value[forest.feature < 0].tolist()]
    else:
        classes, weights = forest.leaf_class.tolist(), forest.leaf_weight.tolist()
        starts, write = forest.leaf_start.tolist(), _shares if _adds_exactly(forest) else _alone
        keys = [
            classes[a]
            if b - a == 1
            else write(classes[a:b], weights[a:b])
            if b > a
            else ()  # an empty bag says nothing
            for a, b in itertools.pairwise(starts)
        ]
    return [known.setdefault(key, len(known)) for key in keys]


def _adds_exactly(forest: Forest) -> bool:
    """Whether sums of class weights are exact. Those of imported trees may not be."""
    return bool((forest.leaf_weight == np.rint(forest.leaf_weight)).all() and forest.weight.max() <= 2.0**53)


def _shares(classes: list[int], weights: list[float]) -> tuple[tuple[int, int], ...]:
    """Write shares in lowest terms: where those are equal, so are the shares of both leaves together."""
    wholes = [int(weight) for weight in weights]
    divisor = math.gcd(*wholes)
    return tuple((k, weight // divisor) for k, weight in zip(classes, wholes, strict=True))


def _alone(_classes: list[int], _weights: list[float]) -> Hashable:
    """Make a leaf equal to no other: merging two would round their probabilities once more."""
    return object()


# ------------------------------------------------------------------------------------------------------- fewer trees


@dataclass(frozen=True)
class Thinning:
    """What a forest lost with its trees. Errors are out of bag; None where they are not known."""

    n_trees_before: int
    n_trees: int
    bytes_before: int
    bytes: int
    error_before: float | None
    error: float | None

    def __str__(self) -> str:
        kept = f"{self.n_trees} of {self.n_trees_before} trees, {self.bytes:,} of {self.bytes_before:,} bytes"
        if self.error is None or self.error_before is None:
            return f"{kept}; the out-of-bag error is not known"
        return f"{kept}; out-of-bag error {self.error:.4g} instead of {self.error_before:.4g}"


def tree_bytes(forest: Forest) -> IntArray:
    """Bytes that the arrays of each tree take."""
    return np.array([forest.take([t]).n_bytes for t in range(forest.n_trees)], dtype=np.int64)


def choose_trees(
    forest: Forest, errors: FloatArray | None, n_trees: int | None, max_bytes: int | None, tolerance: float | None
) -> Thinning:
    """Say how many of the first trees to keep, and what it costs."""
    given = [
        name
        for name, value in (("n_trees", n_trees), ("max_bytes", max_bytes), ("tolerance", tolerance))
        if value is not None
    ]
    if len(given) != 1:
        raise ParameterError(
            f"thin() was given {' and '.join(given) or 'nothing'}. Give one of n_trees, max_bytes, tolerance."
        )
    sizes = np.cumsum(tree_bytes(forest))
    if n_trees is not None:
        check_argument("n_trees", n_trees, (WholeNumber(1, forest.n_trees),))
        n_kept = int(n_trees)
    elif max_bytes is not None:
        check_argument("max_bytes", max_bytes, (WholeNumber(1),))
        n_kept = int(np.searchsorted(sizes, max_bytes, side="right"))
        if n_kept == 0:
            raise ParameterError(f"max_bytes={max_bytes} has no room for a tree: the first has {sizes[0]} bytes.")
    else:
        assert tolerance is not None  # noqa: S101  (for the type checker: one of the three was given)
        check_argument("tolerance", tolerance, (RealNumber(0.0),))
        n_kept = _fewest_within(errors, tolerance)
    cost = (None, None) if errors is None else (float(errors[-1]), float(errors[n_kept - 1]))
    return Thinning(forest.n_trees, n_kept, int(sizes[-1]), int(sizes[n_kept - 1]), *cost)


def _fewest_within(errors: FloatArray | None, tolerance: float) -> int:
    """Count the trees after which the error is never again more than that share above what it is in the end."""
    if errors is None:
        raise DataError(
            "thin(tolerance=...) looks at the out-of-bag error, which is not known. Fit with oob_score=True, or give "
            "n_trees or max_bytes."
        )
    above = np.flatnonzero(~(errors <= errors[-1] * (1 + tolerance)))
    return int(above[-1]) + 2 if len(above) else 1
