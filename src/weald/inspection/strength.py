"""Strength and correlation of the trees of a forest (Breiman 2001).

Trees that are right more often (strength) and that err on different rows (correlation) make a better forest: its error
is at most `correlation * (1 - strength^2) / strength^2`. Both are estimated out of bag, with one vote per tree.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray, IntArray, TableLike
from weald.errors import ParameterError
from weald.estimators import metrics
from weald.estimators.base import TreeModel
from weald.estimators.forest_base import RandomForest
from weald.estimators.out_of_bag import Bagged
from weald.estimators.training_data import open_bags
from weald.forest.shrinkage import find_classes

TREES_AT_ONCE = 16  # trees whose leaves and bags are in memory at the same time


@dataclass(frozen=True)
class Strength:
    """Strength and correlation of the trees of a forest."""

    strength: float  # mean margin of the forest
    correlation: float  # mean correlation of the trees' raw margins
    bound: float  # upper bound of the error of a forest of such trees; infinite if the strength is not positive
    error: float  # out-of-bag error of the forest, with one vote per tree
    margins: FloatArray  # by row: fraction of votes for the true class minus that for the best other
    deviations: FloatArray  # by tree: standard deviation of its raw margin

    def __repr__(self) -> str:
        return (
            f"<strength {self.strength:.4g}, correlation {self.correlation:.4g}: error {self.error:.4g}, "
            f"at most {self.bound:.4g}>"
        )


def strength(
    forest: TreeModel,
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike = None,
    *,
    groups: ColumnLike = None,
    stratify: ColumnLike = None,
) -> Strength:
    """Compute strength and correlation of a forest, and the bound that they give for its error.

    With Q(x, k) the fraction of votes for class k among the trees whose bags lack x, the margin of a row is Q(x, y)
    minus the largest Q(x, k) of another class. The strength is the mean margin s. A tree's raw margin is 1 if it is
    right, -1 if it predicts the best other class, else 0; the correlation is the variance of the margins over the
    square of the mean standard deviation of raw margins. Rows in the bag of every tree are left out.

    Parameters
    ----------
    forest : RandomForestClassifier
        A fitted forest with bags.
    X, y, sample_weight, groups, stratify
        The training data of the forest.

    Returns
    -------
    Strength

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = weald.RandomForestClassifier(n_estimators=100, random_state=0).fit(X, y)
    >>> found = weald.strength(forest, X, y)
    >>> found.error <= found.bound
    True
    """
    if not (isinstance(forest, RandomForest) and forest.task is Task.CLASSIFICATION):
        raise ParameterError(
            f"strength got a {type(forest).__name__}. Give a fitted weald.RandomForestClassifier: margins are defined "
            "for classes."
        )
    bagged, reading = open_bags(forest, TrainingArguments(X, y, sample_weight, groups, stratify))
    rows, truth = reading.table.in_memory().X, reading.table.target
    weight = np.ones(len(truth)) if reading.table.weight is None else reading.table.weight
    votes = replace(bagged, voting="hard").sum_votes(rows, bagged.forest)
    with np.errstate(invalid="ignore"):  # rows that are in every bag: 0 / 0
        shares = votes.sums / votes.n_trees[:, None]
    seen = votes.n_trees > 0
    margins = metrics.margins(shares, truth)
    mean = float(np.average(margins[seen], weights=weight[seen]))
    variance = float(np.average(margins[seen] ** 2, weights=weight[seen])) - mean * mean
    deviations = np.array([*_deviations(bagged, rows, truth, _best_others(shares, truth), weight)])
    spread = float(np.nanmean(deviations))
    correlation = max(0.0, variance) / spread**2 if spread > 0 else math.nan
    error = float(np.average(shares[seen].argmax(axis=1) != truth[seen], weights=weight[seen]))
    bound = correlation * (1 - mean * mean) / (mean * mean) if mean > 0 else math.inf
    return Strength(mean, correlation, bound, error, _for_all_rows(margins, reading.kept), deviations)


def _best_others(shares: FloatArray, truth: IntArray) -> IntArray:
    """Find the class with the most votes other than the true one."""
    others = np.nan_to_num(shares)
    others[np.arange(len(truth)), truth] = -1.0
    best: IntArray = others.argmax(axis=1)
    return best


def _deviations(bagged: Bagged, rows: Array, truth: IntArray, others: IntArray, weight: FloatArray) -> Iterator[float]:
    """Standard deviation of each tree's raw margin over its out-of-bag rows; NaN if there are none."""
    n_trees = bagged.forest.n_trees
    for first in range(0, n_trees, TREES_AT_ONCE):
        some = bagged.forest.take(range(first, min(first + TREES_AT_ONCE, n_trees)))
        leaves = bagged.engine.leaves(some, rows, bagged.n_threads, None)
        bags = bagged.engine.bags(bagged.codes, bagged.growth, some.origins, bagged.n_threads)
        predicted = find_classes(some)[leaves + some.tree_start[:-1]]
        for t, has_vote in enumerate(some.has_vote()):
            outside = weight * (bags[t] == 0)
            if not (has_vote and outside.any()):
                yield math.nan
                continue
            right = float(np.average(predicted[:, t] == truth, weights=outside))
            other = float(np.average(predicted[:, t] == others, weights=outside))
            yield math.sqrt(max(0.0, right + other - (right - other) ** 2))


def _for_all_rows(margins: FloatArray, kept: BoolArray | None) -> FloatArray:
    """Add rows of weight 0, which were left out of the fit: NaN."""
    if kept is None:
        return margins
    spread = np.full(len(kept), np.nan)
    spread[kept] = margins
    return spread
