"""Conditional permutation importance: cells of rows with similar values of correlated features (Strobl et al. 2008).

Permuting a feature that is correlated with others creates rows that cannot occur. Conditional importance permutes it
only among rows that lie between the same thresholds of the correlated features. These are thresholds of the tree: those
of its largest nodes, 1, 2, 4 ... of them as long as non-empty cells have `ROWS_PER_CELL` rows on average. (A fully
grown tree has so many thresholds that cells of all of them would have one row each, and nothing could be permuted.)

    rank_correlation    Spearman's, of all pairs of features
    Cells               the cells of rows, by tree and group
"""

import numpy as np
from scipy.stats import rankdata

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.estimators.training_data import TrainingData
from weald.forest.forest import CATEGORICAL
from weald.inspection.importance_request import Groups

CORRELATED = 0.5  # minimum rank correlation of features to condition on
ROWS_PER_CELL = 10
MOST_CUTS = 256
MOST_ROWS = 10_000  # used to compute correlations


def rank_correlation(training: TrainingData) -> FloatArray:
    """Spearman's rank correlation of all pairs of features; a missing value has the mean rank.

    The correlation of a constant or a categorical feature with others is 0.
    """
    rows = training.order()
    rows = rows[:: 1 + (len(rows) - 1) // MOST_ROWS]
    ranks = np.zeros((len(rows), training.reading.table.n_features))
    for f in range(ranks.shape[1]):
        values = training.reading.table.X[rows, f]
        known = ~np.isnan(values)
        if known.any() and f not in training.reading.table.categorical:
            ranks[known, f] = rankdata(values[known])
            ranks[known, f] -= ranks[known, f].mean()
    length = np.sqrt((ranks**2).sum(axis=0))
    ranks /= np.where(length > 0, length, 1.0)
    return ranks.T @ ranks


class Cells:
    """Cells of rows with similar values of the features correlated with a group."""

    def __init__(self, training: TrainingData, groups: Groups) -> None:
        self.training = training
        together = np.abs(rank_correlation(training)) >= CORRELATED
        self.partners = []  # by group: features that are correlated with it but not in it
        for members in groups.members:
            partners = np.flatnonzero(together[list(members)].any(axis=0))
            self.partners.append(partners[~np.isin(partners, members)])

    def of_trees(self, trees: range, is_new: BoolArray) -> IntArray:
        """Number the cells of the rows that are new to some trees (trees x groups x rows)."""
        cells = np.zeros((len(trees), len(self.partners), self.training.n_rows), dtype=np.int32)
        for i, tree in enumerate(trees):
            rows = np.flatnonzero(is_new[i])
            for group, partners in enumerate(self.partners):
                if len(partners):
                    cells[i, group, rows] = self._divide(tree, partners, rows)
        return cells

    def _divide(self, tree: int, partners: IntArray, rows: IntArray) -> IntArray:
        """Divide rows by the thresholds of a tree's largest nodes, as many as leave cells large enough."""
        feature, threshold = self._cuts(tree, partners)
        cells: IntArray = np.zeros(len(rows), dtype=np.int64)
        n_cuts = 1
        while n_cuts <= MOST_CUTS and n_cuts <= len(feature):
            finer = self._between(feature[:n_cuts], threshold[:n_cuts], rows)
            if len(rows) < ROWS_PER_CELL * (finer.max(initial=0) + 1):
                break
            cells = finer
            n_cuts *= 2
        return cells

    def _cuts(self, tree: int, partners: IntArray) -> tuple[IntArray, FloatArray]:
        """List the thresholds of a tree for some features, those of the largest nodes first."""
        forest = self.training.forest
        nodes = slice(int(forest.tree_start[tree]), int(forest.tree_start[tree + 1]))
        is_cut = np.isin(forest.feature[nodes], partners) & (forest.flags[nodes] & CATEGORICAL == 0)
        found = np.flatnonzero(is_cut) + nodes.start
        found = found[np.argsort(-forest.size[found].astype(np.int64), kind="stable")]
        return forest.feature[found], forest.threshold[found]

    def _between(self, feature: IntArray, threshold: FloatArray, rows: IntArray) -> IntArray:
        """Number the cells between thresholds: rows of one cell lie between the same thresholds of every feature."""
        cells = np.zeros(len(rows), dtype=np.int64)
        for f in np.unique(feature):
            cuts = np.sort(threshold[feature == f])
            values = self.training.reading.table.X[rows, f].astype(np.float64)
            place = np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values))  # x <= t is left of t
            cells = np.unique(cells * (len(cuts) + 2) + place, return_inverse=True)[1]
        return cells
