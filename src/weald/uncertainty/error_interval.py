"""The variance of an out-of-bag error, by the delta method after the bootstrap.

delta_variance    out-of-bag estimates and their training data  ->  the variance of the error

An out-of-bag error depends on a training row twice: the error is measured on it, and trees are grown from it. The
usual interval knows only the first. Let E_k be the loss of unit k (a row, or a group), Err the mean loss, and N_bk how
often k was drawn for tree b. Let f_i be the out-of-bag prediction of row i from its B_i trees, t_bi that of tree b, and
L' the derivative of the loss. The influence of unit k on the error is

    D_k = (E_k - Err) / n + sum_b N_bk g_b,    g_b = sum over i outside bag b of L'(y_i, f_i) (t_bi - f_i) / (n B_i)

The variance is sum_k D_k^2, less the noise of a finite number of trees, sum_k Var_b(N_bk) * sum_b g_b^2. For single
trees instead of the forest this is the standard error of the leave-one-out bootstrap (Efron and Tibshirani 1997). The
misclassification rate has no derivative: it is smoothed by a normal density over the margins, with Silverman's
bandwidth.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weald.data.task import Task
from weald.data.types import BoolArray, FloatArray, IntArray
from weald.estimators.calibration.arithmetic import add_up, exp, ln
from weald.estimators.prediction import voting_of

if TYPE_CHECKING:
    from weald.estimators.error_surface import RowsToScore
    from weald.estimators.out_of_bag import OutOfBag

BATCH_BYTES = 2**26  # memory limit for bags and predictions
ROOT_TWO_PI = 2.5066282746310002


def delta_variance(found: "OutOfBag", rows: "RowsToScore") -> float:
    """Estimate the variance of the out-of-bag error; it may be negative if there are few trees."""
    table = rows.reading.table
    order = rows.engine.order(rows.codes).astype(np.int64)  # type: ignore[arg-type]  # training data has codes
    sample = _Sample.of(found, rows, order)
    drawn, squares = np.zeros(len(order)), np.zeros(len(order))
    influence = sample.share * (sample.loss - add_up(sample.share * sample.loss))
    noise_of_trees = 0.0
    for trees in _batches(rows):
        origins = rows.model.forest_.take(trees).origins
        counts = rows.engine.bags(rows.codes, rows.model.growth_, origins, 1)[:, order]  # type: ignore[arg-type]
        votes = _votes(rows, trees, order, sample.other)
        away = np.where((counts == 0) & sample.is_seen, votes - sample.prediction, 0.0)
        gradients = np.cumsum(away * sample.slope, axis=1)[:, -1]
        for bag, gradient in zip(counts / sample.copies, gradients.tolist(), strict=True):
            influence = influence + bag * gradient * sample.is_counted
            drawn += bag
            squares += bag * bag
            noise_of_trees += gradient * gradient
    n_trees = rows.model.forest_.n_trees
    noise = add_up((squares / n_trees - (drawn / n_trees) ** 2) / sample.weight * sample.is_counted) * noise_of_trees
    if table.groups is not None:
        influence = np.bincount(table.groups[order], weights=influence).astype(np.float64)
    of_units = influence * influence / (sample.weight if table.groups is None else 1.0)
    return add_up(of_units) - noise


@dataclass(frozen=True)
class _Sample:
    """The training rows, in rank order."""

    is_seen: BoolArray  # rows out of at least one bag
    share: FloatArray  # weight of the rows with out-of-bag predictions, as a fraction
    prediction: FloatArray  # out-of-bag prediction: the mean, or the margin
    loss: FloatArray
    slope: FloatArray  # share * L' / number of trees
    other: IntArray  # the best class other than the true one
    copies: FloatArray  # counts in a bag per draw of the unit
    weight: FloatArray  # whole weights are copies of rows, drawn one by one
    is_counted: FloatArray  # 1, or 0 for all rows of a group but one

    @classmethod
    def of(cls, found: "OutOfBag", rows: "RowsToScore", order: IntArray) -> "_Sample":
        table, kept = rows.reading.table, rows.reading.kept
        weight = np.ones(len(order)) if table.weight is None else table.weight[order]
        averages: FloatArray = found.predictions if found.classes is None else found.probabilities
        at = order if kept is None else np.flatnonzero(kept)[order]
        averages, counts = averages[at], found.counts[at]
        is_seen = counts > 0
        share = np.where(is_seen, weight, 0.0)
        share = share / add_up(share)
        target = table.target[order]
        prediction, loss, slope, other = (
            _of_classes(averages, target, is_seen)
            if table.task is Task.CLASSIFICATION
            else _of_numbers(averages, target, is_seen)
        )
        slope = share * slope / np.maximum(counts, 1)
        copies, of_rows, is_counted = np.ones(len(order)), np.ones(len(order)), np.ones(len(order))
        if table.groups is not None:
            is_counted[:] = 0.0
            is_counted[np.unique(table.groups[order], return_index=True)[1]] = 1.0
            copies = weight
        elif table.weights_whole:
            of_rows = weight
        return cls(is_seen, share, prediction, loss, slope, other, copies, of_rows, is_counted)


def _of_numbers(
    means: FloatArray, target: FloatArray, is_seen: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Predictions, squared errors and their derivatives."""
    prediction = np.where(is_seen, means, 0.0)
    away = np.where(is_seen, prediction - target, 0.0)
    return prediction, away * away, 2.0 * away, np.zeros(len(target), dtype=np.int64)


def _of_classes(
    probabilities: FloatArray, target: IntArray, is_seen: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Margins, errors and the derivatives of the smoothed errors."""
    at = np.arange(len(target))
    known = np.where(is_seen[:, None], probabilities, 0.0)
    others = known.copy()
    others[at, target] = -1.0
    other = others.argmax(axis=1)
    margin = known[at, target] - (known[at, other] if known.shape[1] > 1 else 0.0)
    wrong = ((known.argmax(axis=1) != target) & is_seen).astype(np.float64)
    seen = margin[is_seen]
    mean = add_up(seen) / len(seen)
    spread = math.sqrt(add_up((seen - mean) ** 2) / len(seen))
    if not spread:
        return margin, wrong, np.zeros(len(margin)), other
    width = 1.06 * spread * float(exp(-0.2 * ln(np.array([float(len(seen))])))[0])
    slope = -exp(-0.5 * (margin / width) ** 2) / (ROOT_TWO_PI * width)
    return margin, wrong, slope, other


def _batches(rows: "RowsToScore") -> Iterator[range]:
    """Divide the trees into batches."""
    forest, n_rows = rows.model.forest_, rows.reading.table.n_rows
    width = forest.n_classes if forest.task is Task.CLASSIFICATION else 1
    step = max(1, BATCH_BYTES // (8 * n_rows * width))
    for begin in range(0, forest.n_trees, step):
        yield range(begin, min(begin + step, forest.n_trees))


def _votes(rows: "RowsToScore", trees: range, order: IntArray, other: IntArray) -> FloatArray:
    """Predict all rows by each tree: means, or margins (trees x rows)."""
    model, table = rows.model, rows.reading.table
    X, voting, at = table.in_memory().X, voting_of(model), np.arange(len(order))
    found = []
    for tree in trees:
        votes = rows.engine.sum_votes(model.forest_.take([tree]), X, voting, 1, None)[order]
        if table.task is Task.CLASSIFICATION:
            votes = votes[at, table.target[order]] - (votes[at, other] if votes.shape[1] > 1 else 0.0)
        found.append(votes)
    return np.stack(found)
