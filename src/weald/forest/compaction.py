"""Smaller forests: without splits that do not affect predictions, or with fewer trees.

compact_forest   removes splits that change no prediction
choose_trees     number of first trees to keep
Thinning         what was kept, and its effect on the out-of-bag error
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

# ------------------------------------------------------------------------------------------------ splits without effect


def compact_forest(forest: Forest) -> Forest:
    """Remove every split whose two sides give the same prediction for every row.

    A branch whose leaves all have the same value becomes a leaf, and of two equal sibling branches one is kept.
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
    """Value of the first leaf below each node, or of the node itself if it is a leaf; branch means are rounded."""
    leaves = np.flatnonzero(forest.feature < 0)
    values: FloatArray = forest.value[leaves[np.searchsorted(leaves, np.arange(forest.n_nodes))]]
    return values


def _is_left(forest: Forest, decides: BoolArray) -> BoolArray:
    """Mark the nodes that remain when branches with a single value become leaves."""
    is_left = np.zeros(forest.n_nodes, dtype=np.bool_)
    splits = np.flatnonzero(decides & (forest.feature >= 0))
    is_left[forest.tree_start[:-1]] = is_left[splits + 1] = is_left[forest.right_children()[splits]] = True
    return is_left


def _number_branches(forest: Forest) -> list[int]:
    """Number the branches below nodes: equal numbers mean equal predictions. Leaves have the lowest numbers."""
    numbers = np.full(forest.n_nodes, -1)
    numbers[forest.feature < 0] = answers = _number_answers(forest)
    n_answers = max(answers) + 1
    found = numbers.tolist()
    known: dict[Hashable, int] = {}
    features, flags, rights = forest.feature.tolist(), forest.flags.tolist(), forest.right_children().tolist()
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
    """Remove splits whose sides are equal branches; the remaining branch gets the counts of both."""
    rights, is_split = forest.right_children().tolist(), (forest.feature >= 0).tolist()
    is_idle = [is_split[node] and numbers[node + 1] == numbers[rights[node]] for node in range(forest.n_nodes)]
    if not any(is_idle):
        return forest
    owner = list(range(forest.n_nodes))  # by node: the node that replaces it

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
    for node in range(forest.n_nodes):  # a node comes before the nodes that it replaces
        owner[node] = owner[owner[node]]
    return _owned(forest, np.array(owner), np.array(is_idle))


def _owned(forest: Forest, owner: IntArray, is_idle: BoolArray) -> Forest:
    """Make the forest of the nodes that are not replaced, without splits that have no effect."""
    alive = (owner == np.arange(len(owner))) & ~is_idle
    number = (np.cumsum(alive) - 1)[owner]
    first = np.cumsum(np.append(0, alive))[forest.tree_start]
    counted = ~is_idle

    def total(of_nodes: Array) -> FloatArray:
        sums = np.bincount(number[counted], weights=of_nodes[counted], minlength=int(alive.sum()))
        return sums.astype(np.float64, copy=False)  # they are floats, but NumPy's type hints say integers

    weight = total(forest.weight)
    fields: dict[str, Array] = {name: getattr(forest, name)[alive] for name in ("feature", "threshold", "flags")}
    fields |= {"tree_start": first, "weight": weight, "decrease": total(forest.decrease)}
    fields["size"] = total(forest.size).astype(np.uint32)
    splits = np.flatnonzero(alive & (forest.feature >= 0))
    right = forest.right_children()[splits]
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
        inner = several & (fields["feature"] >= 0)  # leaf values do not change
        part = forest.weight / weight[number]
        with np.errstate(over="ignore"):  # huge targets overflow
            fields["value"][inner] = np.clip(total(part * forest.value), -LARGEST, LARGEST)[inner]
            off = forest.value - fields["value"][number]
            spread = np.minimum(total(part * (forest.impurity + off * off)), LARGEST)
        fields["impurity"] = np.where(several, spread, forest.impurity[alive])
    return forest.with_arrays(fields)


def _number_answers(forest: Forest) -> list[int]:
    """Number the values of leaves: equal numbers mean equal values, to the last bit."""
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
            else ()  # an empty bag has no value
            for a, b in itertools.pairwise(starts)
        ]
    return [known.setdefault(key, len(known)) for key in keys]


def _adds_exactly(forest: Forest) -> bool:
    """Return whether sums of class weights are exact. Those of imported trees may not be."""
    return bool((forest.leaf_weight == np.rint(forest.leaf_weight)).all() and forest.weight.max() <= 2.0**53)


def _shares(classes: list[int], weights: list[float]) -> tuple[tuple[int, int], ...]:
    """Write probabilities in lowest terms: if those of two leaves are equal, so are those of both together."""
    wholes = [int(weight) for weight in weights]
    divisor = math.gcd(*wholes)
    return tuple((k, weight // divisor) for k, weight in zip(classes, wholes, strict=True))


def _alone(_classes: list[int], _weights: list[float]) -> Hashable:
    """Give each leaf a number of its own: merging leaves would round their probabilities again."""
    return object()


# ------------------------------------------------------------------------------------------------------- fewer trees


@dataclass(frozen=True)
class Thinning:
    """The effect of removing trees. Errors are out of bag; None if they are unknown."""

    n_trees_before: int
    n_trees: int
    bytes_before: int
    bytes: int
    error_before: float | None
    error: float | None

    def __str__(self) -> str:
        kept = f"{self.n_trees} of {self.n_trees_before} trees, {self.bytes:,} of {self.bytes_before:,} bytes"
        if self.error is None or self.error_before is None:
            return f"{kept}; the out-of-bag error is unknown"
        return f"{kept}; out-of-bag error {self.error:.4g} instead of {self.error_before:.4g}"


def tree_bytes(forest: Forest) -> IntArray:
    """Bytes that the arrays of each tree take."""
    return np.array([forest.take([t]).n_bytes for t in range(forest.n_trees)], dtype=np.int64)


def choose_trees(
    forest: Forest, errors: FloatArray | None, n_trees: int | None, max_bytes: int | None, tolerance: float | None
) -> Thinning:
    """Return the number of first trees to keep, and the effect."""
    given = [
        name
        for name, value in (("n_trees", n_trees), ("max_bytes", max_bytes), ("tolerance", tolerance))
        if value is not None
    ]
    if len(given) != 1:
        raise ParameterError(
            f"thin() got {' and '.join(given) or 'no argument'}. Give one of n_trees, max_bytes, tolerance."
        )
    sizes = np.cumsum(tree_bytes(forest))
    if n_trees is not None:
        check_argument("n_trees", n_trees, (WholeNumber(1, forest.n_trees),))
        n_kept = int(n_trees)
    elif max_bytes is not None:
        check_argument("max_bytes", max_bytes, (WholeNumber(1),))
        n_kept = int(np.searchsorted(sizes, max_bytes, side="right"))
        if n_kept == 0:
            raise ParameterError(
                f"max_bytes={max_bytes} is too small for a tree: the first has {sizes[0]} bytes. Give more."
            )
    else:
        assert tolerance is not None  # noqa: S101  (for the type checker: one of the three was given)
        check_argument("tolerance", tolerance, (RealNumber(0.0),))
        n_kept = _fewest_within(errors, tolerance)
    cost = (None, None) if errors is None else (float(errors[-1]), float(errors[n_kept - 1]))
    return Thinning(forest.n_trees, n_kept, int(sizes[-1]), int(sizes[n_kept - 1]), *cost)


def _fewest_within(errors: FloatArray | None, tolerance: float) -> int:
    """Return the number of trees after which the error stays within that fraction of the final error."""
    if errors is None:
        raise DataError(
            "thin(tolerance=...) needs the out-of-bag error. Fit with oob_score=True, or give n_trees or max_bytes."
        )
    above = np.flatnonzero(~(errors <= errors[-1] * (1 + tolerance)))
    return int(above[-1]) + 2 if len(above) else 1
