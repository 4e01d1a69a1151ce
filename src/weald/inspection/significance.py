"""Uncertainty of importances: standard errors over trees or rows, and p-values.

Standard errors over trees show how precise a value is for this number of trees, not whether the feature would be
important in another sample. That is tested by the p-value: a one-sided t-test over rows, whose null hypothesis is that
the mean loss of a row is not larger without the feature. Each row is compared with itself, as in Watson and Wright
(2021) for a given model.
"""

import numpy as np
from scipy import stats

from weald.data.types import FloatArray

OVER_TREES = "over trees: standard deviation of the trees' values, divided by the square root of their number"
OVER_ROWS = "over rows: standard deviation of the rows' differences, divided by the square root of their number"
BETWEEN_ROWS = "one-sided t-test over rows: is the out-of-bag loss of a row larger without the feature?"


def error_over_trees(by_tree: FloatArray) -> FloatArray:
    """Standard error of the mean over trees, without those that have no value (NaN)."""
    known = ~np.isnan(by_tree).any(axis=1)
    n_trees = int(known.sum())
    if n_trees < 2:
        return np.full(by_tree.shape[1], np.nan)
    error: FloatArray = by_tree[known].std(axis=0, ddof=1) / np.sqrt(n_trees)
    return error


def compare_rows(losses: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Average columns of differences by weight: means, standard errors over rows, p-values for a mean above 0."""
    known = ~np.isnan(losses).any(axis=1)
    n_rows = int(known.sum())
    if n_rows < 2:
        nothing = np.full(losses.shape[1], np.nan)
        return nothing, nothing, nothing
    losses, weight = losses[known], weight[known] / weight[known].sum()
    mean = weight @ losses
    error = np.sqrt(weight**2 @ (losses - mean) ** 2 * (n_rows / (n_rows - 1)))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.where(error > 0, mean / error, np.where(mean > 0, np.inf, 0.0))
    return mean, error, stats.t.sf(statistic, df=n_rows - 1)
