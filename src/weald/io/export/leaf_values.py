"""What each leaf adds to a prediction: voting, tree weights and leaves with value bounds are resolved here once.

A program that adds up the answers of a row's leaves in tree order, in double, and divides by `divisor` predicts the
same bits as weald.

    LeafValues       numbers of answers by leaf, and what each answer adds to which class
    answers_of    make them from a fitted model
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.task import Task
from weald.data.types import FloatArray, IntArray
from weald.errors import ExportError
from weald.estimators.prediction import voting_of
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel


@dataclass(frozen=True)
class LeafValues:
    """Answer i adds amount[start[i]:start[i + 1]] to the classes which[start[i]:start[i + 1]], ascending.

    A number is an answer about class 0, the only one.
    """

    number: IntArray  # by leaf, in the order of nodes: which answer it gives
    start: IntArray
    which: IntArray
    amount: FloatArray
    width: int  # classes, or 1
    divisor: float  # of the sum over trees

    @property
    def n_answers(self) -> int:
        """Number of different answers."""
        return len(self.start) - 1

    def dense(self) -> FloatArray:
        """Write all answers out (answers x classes)."""
        table = np.zeros((self.n_answers, self.width))
        table[np.repeat(np.arange(self.n_answers), np.diff(self.start)), self.which] = self.amount
        return table


def answers_of(model: "TreeModel") -> LeafValues:
    """Find out what the leaves of a fitted model say."""
    forest = model.forest_.voters()
    if forest.task is Task.REGRESSION:
        return _numbers(forest)
    if len(forest.value):
        start, which, amount = _bound(forest)
    else:
        start, which, amount = forest.leaf_start, forest.leaf_class, _shares(forest)
    if votes_are_hard(model):
        start, which, amount = _winners(start, which, amount)
    if len(forest.tree_weight):
        n_leaves = (np.diff(forest.tree_start) + 1) // 2  # of each tree: one more than it has splits
        amount = np.repeat(np.repeat(forest.tree_weight, n_leaves), np.diff(start)) * amount
    return _shared(start, which, amount, forest.n_classes, forest.vote_total)


def votes_are_hard(model: "TreeModel") -> bool:
    """Return whether each tree votes for one class; single trees and regressors have no such parameter."""
    return voting_of(model) == "hard"


def _numbers(forest: Forest) -> LeafValues:
    """Let leaves of the same mean share an answer."""
    distinct, number = np.unique(forest.value[forest.feature < 0], return_inverse=True)
    start = np.arange(len(distinct) + 1)
    return LeafValues(number, start, np.zeros(len(distinct), dtype=np.int32), distinct, 1, forest.vote_total)


def _bound(forest: Forest) -> tuple[IntArray, IntArray, FloatArray]:
    """Write down both shares of leaves whose value is the share of the second class."""
    second = forest.value[forest.feature < 0]
    amount = np.column_stack([1.0 - second, second]).ravel()
    return np.arange(0, len(amount) + 1, 2), np.tile(np.array([0, 1], dtype=np.int32), len(second)), amount


def _shares(forest: Forest) -> FloatArray:
    """Divide class weights by their sum in each leaf: whole numbers, so their sum is exact in any order."""
    total = np.add.reduceat(forest.leaf_weight, forest.leaf_start[:-1])
    shares: FloatArray = forest.leaf_weight / np.repeat(total, np.diff(forest.leaf_start))
    return shares


def _winners(start: IntArray, which: IntArray, amount: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Give one vote to the commonest class of each leaf, ties to the first."""
    length = np.diff(start)
    is_most = amount == np.repeat(np.maximum.reduceat(amount, start[:-1]), length)
    place = np.where(is_most, np.arange(len(amount)), len(amount))
    first = np.minimum.reduceat(place, start[:-1])
    return np.arange(len(first) + 1), which[first], np.ones(len(first))


def _shared(start: IntArray, which: IntArray, amount: FloatArray, n_classes: int, divisor: float) -> LeafValues:
    """Let pure leaves that say the same share an answer; they are most of the leaves of a grown forest."""
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
    """Give the trees that have a vote. Refuse models that are not fitted, or that are more than one forest."""
    check_is_fitted(model)
    if model.n_outputs_ != 1:
        raise ExportError(
            f"{export} takes models of one target, and this one has {model.n_outputs_}. Take one target after the "
            f"other: model.of_target(0).{export}(...)."
        )
    model.forest_.require_votes()
    return model.forest_.voters()


def refuse_overflow(forest: Forest) -> None:
    """Sums of huge numbers need a scale of their own, which other programs do not have."""
    if forest.task is Task.REGRESSION and np.abs(forest.value).max() > np.finfo(np.float64).max / forest.n_trees:
        raise ExportError(
            "The sum over trees may leave the range of doubles: weald adds such numbers up on another scale, other "
            "programs do not. Fit the model to a smaller target, for example y / 2**64."
        )


def utf8(text: str, program: str) -> bytes:
    """Write text as other programs read it; half a character (a surrogate) is none to them."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ExportError(
            f"{text!r} has half a character (a surrogate) at {error.start}, which {program} cannot hold. Replace it in "
            "the names and labels of the table, and fit again."
        ) from None
