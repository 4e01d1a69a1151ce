"""Predict the numbers of a forest from its tree shapes and leaves, so that files need to store only differences.

The predictions need not be exact, but must be the same on every machine. So this module uses only + - * /, whole
numbers, ldexp and rint of doubles. core/files/decode.cpp computes the same predictions when it reads a file.

    weights, flags, decreases, values, impurities
"""

from collections.abc import Callable

import numpy as np

from weald.data.types import FloatArray, IntArray
from weald.forest.forest import MISSING_LEFT
from weald.io.tree_shape import Shape, halves

MOST_CLASSES = 32  # with more classes, decreases are stored unpredicted
LARGEST = 2.0**62


def to_whole(values: FloatArray) -> IntArray:
    """Round doubles to whole numbers; invalid or too large ones are clipped."""
    tidy = np.where(np.isnan(values), 0.0, values)
    whole: IntArray = np.rint(np.clip(tidy, -LARGEST, LARGEST)).astype(np.int64)
    return whole


def weights(shape: Shape, of_leaves: FloatArray) -> FloatArray:
    """The weight of a split is the sum of the weights of its children."""
    return shape.sums(to_whole(of_leaves)).astype(np.float64)


def flags(shape: Shape, weight: FloatArray) -> IntArray:
    """If no value was missing, missing values go to the child with the larger weight; left on a tie."""
    left, right = halves(weight, shape)
    return np.where(left >= right, MISSING_LEFT, 0).astype(np.uint8)


# ---------------------------------------------------------------------------------------------------------- decreases


def _gini(classes: list[FloatArray], weight: FloatArray) -> FloatArray:
    squares = np.zeros(len(weight))
    for count in classes:
        squares += count * count
    return squares / weight


def _entropy(classes: list[FloatArray], weight: FloatArray) -> FloatArray:
    terms = np.zeros(len(weight))
    for count in classes:
        terms += _x_log2(count)
    return terms - _x_log2(weight)


def _misclassification(classes: list[FloatArray], weight: FloatArray) -> FloatArray:
    most = np.zeros(len(weight))
    for count in classes:
        most = np.maximum(most, count)
    return most


def _x_log2(x: FloatArray) -> FloatArray:
    """x·log2(x) by the series of the contract; 0 for 0."""
    m, k = np.frexp(np.where(x > 0, x, 1.0))
    small = m < 0.7071067811865476
    m, k = np.where(small, m * 2.0, m), k - small
    z = (m - 1.0) / (m + 1.0)
    square = z * z
    s = np.full(len(x), 1.0 / 23.0)
    for i in range(21, 0, -2):
        s = s * square + 1.0 / i
    return np.where(x > 0, x * (k + z * s * 2.8853900817779268), 0.0)


TERMS: dict[str, Callable[[list[FloatArray], FloatArray], FloatArray]] = {
    "gini": _gini,
    "entropy": _entropy,
    "misclassification": _misclassification,
}


def class_decreases(rule: str, shape: Shape, weight: FloatArray, classes: list[IntArray]) -> FloatArray:
    """Decrease of each split by the scores of its criterion; `classes` are the weights of each class by leaf."""
    of_nodes = [shape.sums(of_leaves).astype(np.float64) for of_leaves in classes]
    with np.errstate(all="ignore"):
        term = TERMS[rule](of_nodes, weight)
        left, right = halves(term, shape)
        gain = (left + right) - term[shape.splits]
        decrease: FloatArray = np.where(gain > 0, gain, 0.0) / weight[shape.root_of_splits]
    return decrease


class Sums:
    """The integer sums behind the means of a regression tree, as far as known: S of each node, in units of q."""

    def __init__(self, shape: Shape, weight: FloatArray, value: FloatArray, center: float, exponent: int) -> None:
        """Take the values of leaves; those of splits are ignored."""
        self.shape, self.weight = shape, weight
        self.center, self.exponent = center, exponent
        with np.errstate(all="ignore"):
            of_leaves = np.ldexp(value[shape.leaves] - center, exponent) * weight[shape.leaves]
        self.sums = shape.sums(to_whole(of_leaves))

    def values(self) -> FloatArray:
        """Mean of each split."""
        with np.errstate(all="ignore"):
            mean = self.sums[self.shape.splits].astype(np.float64) / self.weight[self.shape.splits]
            return np.ldexp(mean, -self.exponent) + self.center

    def decreases(self) -> FloatArray:
        """Decrease of each split, in units of q²."""
        shape, weight = self.shape, self.weight
        whole = np.maximum(to_whole(weight), 1)
        with np.errstate(all="ignore"):
            middle = self.sums[shape.splits] // whole[shape.splits]

            def term(node: IntArray) -> FloatArray:
                a = (self.sums[node] - whole[node] * middle).astype(np.float64)
                return a * a / weight[node]

            gain = (term(shape.splits + 1) + term(shape.right_of_splits)) - term(shape.splits)
            decrease: FloatArray = np.where(gain > 0, gain, 0.0) / weight[shape.root_of_splits]
        return decrease


def impurities(
    shape: Shape, weight: FloatArray, decrease: FloatArray, impurity: FloatArray, exponent: int
) -> FloatArray:
    """Impurity of each split from those of its children, and from its decrease."""
    node, right = shape.splits, shape.right_of_splits
    with np.errstate(all="ignore"):
        below = weight[node + 1] * impurity[node + 1] + weight[right] * impurity[right]
        own = np.ldexp(decrease * weight[shape.root_of_splits], -2 * exponent)
        found: FloatArray = (below + own) / weight[node]
    return found
