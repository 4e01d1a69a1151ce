"""Smaller forests: without splits that decide nothing, or with fewer trees.

compact_forest   takes away splits that change no prediction
choose_trees     how many of the first trees to keep
Thinning         what was kept, and what it costs out of bag
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.errors import DataError, ParameterError
from weald.model import FloatArray, Forest, IntArray
from weald.params import Number, Whole, check_argument
from weald.prune import collapse

# ------------------------------------------------------------------------------------------------ splits for nothing


def compact_forest(forest: Forest) -> Forest:
    """Make every branch whose leaves all say the same one leaf. No row is told anything else than before."""
    says = _number_answers(forest)
    roots = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    decides = np.zeros(forest.n_nodes, dtype=np.bool_)
    numbers = np.full(forest.n_nodes, -1)
    numbers[forest.feature < 0] = says
    answers = numbers.tolist()
    rights = (roots + forest.right).tolist()
    for node in np.flatnonzero(forest.feature >= 0)[::-1].tolist():  # children come before their parents
        left, right = answers[node + 1], answers[rights[node]]
        answers[node] = left if left == right else -1
        decides[node] = answers[node] < 0
    return collapse(forest, decides)


def _number_answers(forest: Forest) -> list[int]:
    """Number what each leaf says: the same number, the same answer to the last bit."""
    known: dict[Any, int] = {}
    if len(forest.value):
        keys: list[Any] = [value.hex() for value in forest.value[forest.feature < 0].tolist()]
    else:
        classes, weights = forest.leaf_class.tolist(), [int(weight) for weight in forest.leaf_weight.tolist()]
        starts = forest.leaf_start.tolist()
        keys = [_shares(classes[a:b], weights[a:b]) if b - a > 1 else classes[a] for a, b in itertools.pairwise(starts)]
    return [known.setdefault(key, len(known)) for key in keys]


def _shares(classes: list[int], weights: list[int]) -> tuple[tuple[int, int], ...]:
    """Write shares in lowest terms: where those are equal, so are the shares of both leaves together."""
    divisor = math.gcd(*weights)
    return tuple((k, weight // divisor) for k, weight in zip(classes, weights, strict=True))


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


def choose_trees(forest: Forest, errors: FloatArray | None, n_trees: Any, max_bytes: Any, tolerance: Any) -> Thinning:
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
        check_argument("n_trees", n_trees, (Whole(1, forest.n_trees),))
        n_kept = int(n_trees)
    elif max_bytes is not None:
        check_argument("max_bytes", max_bytes, (Whole(1),))
        n_kept = int(np.searchsorted(sizes, max_bytes, side="right"))
        if n_kept == 0:
            raise ParameterError(f"max_bytes={max_bytes} has no room for a tree: the first has {sizes[0]} bytes.")
    else:
        check_argument("tolerance", tolerance, (Number(0.0),))
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
