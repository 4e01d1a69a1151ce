"""Standard errors of predictions: their variation over training tables of the same size.

predict_standard_error    a forest, rows, and the training data again  ->  standard errors

Both methods (Wager, Hastie, Efron 2014) compare the predictions t_b of the trees with their bags, which are drawn
again. d_b is t_b minus the prediction, B the number of trees, N_bi how often unit i was drawn for tree b. A unit is a
row, or a group. The variance is a sum over units, less a correction of the noise of a finite number of trees:

    infinitesimal jackknife    sum over i of (sum over b of N_bi d_b / B)^2
    jackknife                  (n - 1) / n * sum over i of (mean of d_b over the trees without i)^2

With e_bi for N_bi, or for "N_bi is 0", both are sum_i scale_i (sum_b e_bi d_b)^2. Where there are fewer trees than
units, this is d' G d with G = sum_i scale_i e_i e_i'. Sums of doubles have a fixed order, all others are of whole
numbers, so the result has the same bits for every engine, number of threads and order of rows.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import OneOf, check_argument
from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import FloatArray, IntArray, TableLike
from weald.errors import DataError, ParameterError, warn
from weald.estimators.calibration.arithmetic import add_up
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.features import RowBlocks, Rows
from weald.estimators.multi_output import is_multi_output, one_target_only
from weald.estimators.prediction import read_rows, voting_of
from weald.estimators.training_data import TrainingData, read_again
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.forest_base import RandomForest

METHODS = ("infinitesimal-jackknife", "jackknife")
BLOCK_BYTES = 2**26  # memory limit for predictions of trees
BATCH_BYTES = 2**27  # memory limit for bags as doubles
CACHE_BYTES = 2**18  # size of blocks of sums, so that they stay in the processor cache
FEW_ROWS = 1000  # up to here, one thread predicts
HUGE = 2.0**500  # squares of larger numbers overflow

Entries = Callable[[IntArray], FloatArray]  # counts of bags (trees x units) -> e


def predict_standard_error(model: "RandomForest", X: TableLike, data: TrainingArguments, method: str) -> FloatArray:
    """Estimate standard errors; see `RandomForest.predict_standard_error`."""
    check_is_fitted(model)
    check_argument("method", method, (OneOf(METHODS),))
    if is_multi_output(model):
        raise one_target_only(model.n_outputs_)
    require_uncalibrated(model, "predict_standard_error")
    if data.X is None:
        raise DataError("predict_standard_error draws the bags again. Give the training data: X_train and y_train.")
    rows = read_rows(model, X)
    training = read_again(model, data)
    voters = np.flatnonzero(model.forest_.has_vote())
    if len(voters) < 2:
        raise ParameterError(
            "Standard errors compare trees, and this forest has one. Grow many: about one for each row."
        )
    units = _Units.of(training)
    influence = (
        _infinitesimal(training, units, voters) if method == METHODS[0] else _leaving_out(training, units, voters)
    )
    trees = [model.forest_.take([int(tree)]) for tree in voters]
    found = [influence.deviations(votes) for votes in _votes_of_trees(model, training, trees, rows)]
    return _in_shape(_without_negative(np.concatenate(found)), model.forest_.n_classes, model.forest_.task)


@dataclass(frozen=True)
class _Units:
    """The units that bags draw: rows or groups, in rank order. `row` is one row of each unit."""

    row: IntArray
    copies: FloatArray  # draws of the unit per count of that row
    weight: FloatArray  # whole weights are copies of rows, drawn one by one
    stratum: IntArray  # strata, drawn separately
    are_weighted: bool

    @classmethod
    def of(cls, training: TrainingData) -> "_Units":
        table = training.reading.table
        weight = training.weight
        stratum, order = _strata(training), training.order().astype(np.int64)
        if table.groups is not None:
            row = order[np.sort(np.unique(table.groups[order], return_index=True)[1])]
            return cls(row, weight[row], np.ones(len(row)), stratum[row], are_weighted=False)
        copies = weight if table.weights_whole else np.ones(len(weight))
        is_weighted = bool((weight != weight[0]).any() or (table.weights_whole and weight[0] != 1))
        return cls(order, np.ones(len(weight)), copies[order], stratum[order], is_weighted)

    def counts(self, training: TrainingData, trees: IntArray) -> IntArray:
        """Count how often each unit was drawn (trees x units)."""
        first, last = int(trees[0]), int(trees[-1])
        bags = training.bags(range(first, last + 1))[trees - first]
        drawn: IntArray = np.rint(bags[:, self.row] / self.copies).astype(np.int64)
        return drawn


def _strata(training: TrainingData) -> IntArray:
    """Number the strata of the bags, by row."""
    table = training.reading.table
    kinds = {origin.bags.strata for origin in training.forest.origins}
    if len(kinds) > 1:
        raise ParameterError(
            "These trees were merged from forests that draw bags from different strata. Estimate the standard errors "
            "of each forest by itself."
        )
    if kinds == {"class"}:
        return table.target.astype(np.int64)
    if kinds == {"given"} and table.strata is not None:
        return table.strata.astype(np.int64)
    return np.zeros(table.n_rows, dtype=np.int64)


@dataclass(frozen=True)
class _Influence:
    """sum_i scale_i (sum_b e_bi d_b)^2, and the noise for each unit of the variance between trees."""

    matrix: FloatArray | IntArray  # e (trees x units), or G (trees x trees)
    scale: FloatArray | None  # by unit; None: the matrix is G
    noise: float
    n_threads: int

    def deviations(self, votes: FloatArray) -> FloatArray:
        """Estimate variances from the predictions of the trees (trees x rows)."""
        n_trees, n_rows = votes.shape
        largest = float(np.abs(votes).max(initial=0.0))
        shrink = 2.0 ** -int(np.frexp(largest)[1]) if largest > HUGE else 1.0  # a power of two: exact
        votes = votes * shrink
        away = np.ascontiguousarray((votes - _added(votes) / n_trees).T)
        step = max(1, CACHE_BYTES // (8 * self.matrix.shape[1]))
        parts = [away[begin : begin + step] for begin in range(0, n_rows, step)]
        with ThreadPoolExecutor(self.n_threads) as pool:
            raw = np.concatenate([*pool.map(self._variances, parts)])
        noise = _added(away.T * away.T) / n_trees * self.noise
        signed = raw - noise
        found: FloatArray = np.where(signed < 0, -1.0, np.sqrt(np.abs(signed))) / shrink
        return found

    def _variances(self, away: FloatArray) -> FloatArray:
        mixed = np.zeros((len(away), self.matrix.shape[1]))
        term = np.empty_like(mixed)
        for tree in range(away.shape[1]):  # summed in tree order
            np.multiply(away[:, tree, None], self.matrix[tree], out=term)
            np.add(mixed, term, out=mixed)
        products = mixed * away if self.scale is None else mixed * mixed * self.scale
        found: FloatArray = np.cumsum(products, axis=1)[:, -1]
        return found


def _added(values: FloatArray) -> FloatArray:
    """Add up over trees, in order."""
    total = np.zeros(values.shape[1])
    for of_tree in values:
        total = total + of_tree
    return total


# ---------------------------------------------------------------------------------------------------------- methods


def _infinitesimal(training: TrainingData, units: _Units, trees: IntArray) -> _Influence:
    """Correlate predictions with the number of draws of each unit."""
    n_trees = len(trees)
    total, squares = np.zeros(len(units.row)), np.zeros(len(units.row))
    for counts in _batches(training, units, trees):
        total += counts.sum(axis=0)
        squares += (counts * counts).sum(axis=0)
    mean = total / n_trees
    noise = add_up((squares / n_trees - mean * mean) / units.weight) / n_trees
    middle = np.rint(mean)  # does not change the result, since the d sum to 0, but keeps numbers small
    scale = 1.0 / units.weight / (n_trees * n_trees)
    return _influence(training, (units, trees), lambda counts: counts.astype(np.float64) - middle, scale, noise)


def _leaving_out(training: TrainingData, units: _Units, trees: IntArray) -> _Influence:
    """Compare the predictions of all trees with those of the trees without a unit."""
    if units.are_weighted:
        raise ParameterError(
            'method="jackknife" leaves out one row at a time, and these rows have weights. Use '
            'method="infinitesimal-jackknife".'
        )
    without = np.zeros(len(units.row))
    for counts in _batches(training, units, trees):
        without += (counts == 0).sum(axis=0)
    if not without.all():
        raise DataError(
            f"{int((without == 0).sum())} of {len(without)} rows or groups are in the bag of every tree, so no trees "
            'are left without them. Grow more trees, or use method="infinitesimal-jackknife".'
        )
    size = np.bincount(units.stratum)[units.stratum].astype(np.float64)
    factor = (size - 1.0) / size
    noise = add_up(factor * (1.0 / without - 1.0 / len(trees)))
    scale = factor / (without * without)
    return _influence(training, (units, trees), lambda counts: (counts == 0).astype(np.float64), scale, noise)


def _influence(
    training: TrainingData, drawn: tuple[_Units, IntArray], entries: Entries, scale: FloatArray, noise: float
) -> _Influence:
    """Store e if there are fewer units than trees, else G."""
    units, trees = drawn
    if len(units.row) <= len(trees):
        e = np.concatenate([entries(counts) for counts in _batches(training, units, trees)])
        return _Influence(e, scale, noise, training.n_threads)
    groups = [np.flatnonzero(scale == value) for value in np.unique(scale)]
    gram = np.zeros((len(trees), len(trees)))
    begin = 0
    for first in _batches(training, units, trees):
        left, end, begin_other = entries(first), begin + len(first), begin
        for second in _batches(training, units, trees[begin:]):
            right, end_other = entries(second), begin_other + len(second)
            product = np.zeros((len(left), len(right)))
            for group in groups:  # products of whole numbers: exact in any order of addition
                product = product + (left[:, group] @ right[:, group].T) * scale[group[0]]
            gram[begin:end, begin_other:end_other] = product
            gram[begin_other:end_other, begin:end] = product.T
            begin_other = end_other
        begin = end
    return _Influence(gram, None, noise, training.n_threads)


def _batches(training: TrainingData, units: _Units, trees: IntArray) -> Iterator[IntArray]:
    """Draw the bags of the trees, in batches."""
    step = max(1, BATCH_BYTES // (8 * training.n_rows))
    for begin in range(0, len(trees), step):
        yield units.counts(training, trees[begin : begin + step])


# ------------------------------------------------------------------------------------------------------ predictions


def _votes_of_trees(
    model: "RandomForest", training: TrainingData, trees: list[Forest], rows: Rows
) -> Iterator[FloatArray]:
    """Predict blocks of rows by each tree (trees x numbers); with two classes, only the second."""
    voting, n_classes = voting_of(model), model.forest_.n_classes
    width = n_classes if model.task is Task.CLASSIFICATION else 1
    step = max(1, BLOCK_BYTES // (8 * len(trees) * width))
    for block in rows.row_blocks() if isinstance(rows, RowBlocks) else (rows,):
        for begin in range(0, block.shape[0], step):
            part = block[begin : begin + step]
            n_threads = training.n_threads if part.shape[0] > FEW_ROWS else 1
            votes = np.stack([training.engine.sum_votes(tree, part, voting, n_threads, None) for tree in trees])
            if votes.ndim == 3 and n_classes == 2:
                votes = votes[:, :, 1]
            yield votes.reshape(len(trees), -1)


def _in_shape(found: FloatArray, n_classes: int, task: Task) -> FloatArray:
    """Return one column for each class, or one number for each row."""
    if task is Task.REGRESSION:
        return found
    return np.column_stack([found, found]) if n_classes == 2 else found.reshape(-1, n_classes)


def _without_negative(found: FloatArray) -> FloatArray:
    """Replace variances below 0 by NaN."""
    is_negative = found < 0
    if is_negative.any():
        warn(
            f"{int(is_negative.sum()):,} of {len(found):,} variances were estimated to be negative, and their standard "
            "errors are NaN: there are too few trees to tell them from noise. Grow more, about one for each row."
        )
    return np.where(is_negative, np.nan, found)
