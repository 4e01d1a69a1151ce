"""The contribution of each leaf to a prediction, with voting, tree weights and bounded leaf values resolved.

A program that sums the values of a row's leaves in tree order, in double, and divides by `divisor` predicts the same
bits as weald.

    LeafValues    the number of each leaf's value, and the contribution of each value to each class
    answers_of    computes them from a fitted model
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.task import Task
from weald.data.types import FloatArray, IntArray
from weald.errors import ExportError
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.features import features_of
from weald.estimators.prediction import voting_of
from weald.forest.forest import Forest
from weald.forest.shrinkage import shrink_forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel


@dataclass(frozen=True)
class LeafValues:
    """Leaf value i adds amount[start[i]:start[i + 1]] to the classes which[start[i]:start[i + 1]], ascending.

    In regression, all values belong to class 0.
    """

    number: IntArray  # number of the value of each leaf, in node order
    start: IntArray
    which: IntArray
    amount: FloatArray
    width: int  # number of classes, or 1
    divisor: float  # divisor of the sum over trees

    @property
    def n_answers(self) -> int:
        """Number of distinct leaf values."""
        return len(self.start) - 1

    def dense(self) -> FloatArray:
        """Return all leaf values as an array (values x classes)."""
        table = np.zeros((self.n_answers, self.width))
        table[np.repeat(np.arange(self.n_answers), np.diff(self.start)), self.which] = self.amount
        return table


def answers_of(model: "TreeModel") -> LeafValues:
    """Compute the leaf values of a fitted model."""
    forest = shrink_forest(model.forest_.voters())
    if forest.task is Task.REGRESSION:
        return _numbers(forest)
    if len(forest.value):
        start, which, amount = _bound(forest)
    else:
        start, which, amount = forest.leaf_start, forest.leaf_class, _shares(forest)
    if votes_are_hard(model):
        start, which, amount = _winners(start, which, amount)
    if len(forest.tree_weight):
        n_leaves = (np.diff(forest.tree_start) + 1) // 2  # leaves of each tree: one more than its splits
        amount = np.repeat(np.repeat(forest.tree_weight, n_leaves), np.diff(start)) * amount
    return _shared(start, which, amount, forest.n_classes, forest.vote_total)


def votes_are_hard(model: "TreeModel") -> bool:
    """Return whether each tree votes for a single class."""
    return voting_of(model) == "hard"


def _numbers(forest: Forest) -> LeafValues:
    """Store equal means once."""
    distinct, number = np.unique(forest.value[forest.feature < 0], return_inverse=True)
    start = np.arange(len(distinct) + 1)
    return LeafValues(number, start, np.zeros(len(distinct), dtype=np.int32), distinct, 1, forest.vote_total)


def _bound(forest: Forest) -> tuple[IntArray, IntArray, FloatArray]:
    """Return both probabilities of leaves that store the probability of the second class."""
    second = forest.value[forest.feature < 0]
    amount = np.column_stack([1.0 - second, second]).ravel()
    return np.arange(0, len(amount) + 1, 2), np.tile(np.array([0, 1], dtype=np.int32), len(second)), amount


def _shares(forest: Forest) -> FloatArray:
    """Divide class weights by their sum in each leaf: whole numbers, so their sum is exact in any order."""
    total = np.add.reduceat(forest.leaf_weight, forest.leaf_start[:-1])
    shares: FloatArray = forest.leaf_weight / np.repeat(total, np.diff(forest.leaf_start))
    return shares


def _winners(start: IntArray, which: IntArray, amount: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Give one vote to the most common class of each leaf, ties to the first."""
    length = np.diff(start)
    is_most = amount == np.repeat(np.maximum.reduceat(amount, start[:-1]), length)
    place = np.where(is_most, np.arange(len(amount)), len(amount))
    first = np.minimum.reduceat(place, start[:-1])
    return np.arange(len(first) + 1), which[first], np.ones(len(first))


def _shared(start: IntArray, which: IntArray, amount: FloatArray, n_classes: int, divisor: float) -> LeafValues:
    """Store equal pure leaves once; they are most leaves of a fully grown forest."""
    is_pure = np.diff(start) == 1
    pure = np.column_stack([which[start[:-1][is_pure]], amount[start[:-1][is_pure]]])
    distinct, number_of_pure = np.unique(pure, axis=0, return_inverse=True)
    number = np.empty(len(is_pure), dtype=np.int64)
    number[is_pure] = number_of_pure.ravel()
    number[~is_pure] = len(distinct) + np.arange(np.count_nonzero(~is_pure))
    length = np.concatenate([np.ones(len(distinct), dtype=np.int64), np.diff(start)[~is_pure]])
    is_of_others = np.repeat(~is_pure, np.diff(start))
    return LeafValues(
        number,
        np.concatenate([[0], np.cumsum(length)]),
        np.concatenate([distinct[:, 0].astype(np.int32), which[is_of_others]]),
        np.concatenate([distinct[:, 1], amount[is_of_others]]),
        n_classes,
        divisor,
    )


def require_exportable(model: "TreeModel", export: str) -> Forest:
    """Return the trees that vote; raise an error unless the model is a fitted forest of one target on columns of X."""
    check_is_fitted(model)
    require_uncalibrated(model, export)
    features_of(model).require_table(export)
    if model.n_outputs_ != 1:
        raise ExportError(
            f"{export} supports models of one target, but this one has {model.n_outputs_}. Export the targets one by "
            f"one: model.of_target(0).{export}(...)."
        )
    model.forest_.require_votes()
    return model.forest_.voters()


def refuse_overflow(forest: Forest) -> None:
    """Raise an error if sums overflow: weald scales such sums, other programs do not."""
    if forest.task is Task.REGRESSION and np.abs(forest.value).max() > np.finfo(np.float64).max / forest.n_trees:
        raise ExportError(
            "The sum over trees may exceed the range of doubles: weald scales such sums, other programs do not. Scale "
            "the target down before the fit, for example y / 2**64."
        )


def utf8(text: str, program: str) -> bytes:
    """Encode text as UTF-8; half a character (a surrogate) cannot be encoded."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ExportError(
            f"{text!r} contains half a character (a surrogate) at {error.start}, which {program} does not support. "
            "Replace it in the names and labels of the table, and fit again."
        ) from None
