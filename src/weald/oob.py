"""Out-of-bag estimates: what the trees say of rows that they have not seen.

A row is out of a tree's bag when none of its weight was drawn. The trees whose bags lack a row are a forest for which
the row is new, so their answers estimate the error on new data at no cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score

from weald.errors import warn
from weald.model import FloatArray
from weald.table import Reading

Metric = Callable[[npt.NDArray[Any], npt.NDArray[Any]], float]


@dataclass(frozen=True)
class OutOfBag:
    """Out-of-bag estimates of a forest."""

    averages: FloatArray  # by row that the user gave (rows x classes, or rows); NaN: no tree says anything
    share: float  # of the rows that are out of at least one bag
    error: float  # share of wrong classes, or mean squared error, over those rows by weight
    score: float  # accuracy, R squared, or what the user's metric says


def estimate(averages: FloatArray, reading: Reading, metric: Metric | None) -> OutOfBag:
    """Estimate errors from what trees say of the rows outside their bags on average; NaN: they say nothing."""
    seen = ~np.isnan(averages.reshape(len(averages), -1)[:, 0])
    share = float(seen.mean())
    if share < 1:
        _warn_of_unseen(int((~seen).sum()), len(seen))
    error, score = _judge(averages[seen], seen, reading, metric) if seen.any() else (np.nan, np.nan)
    return OutOfBag(_for_all_rows(averages, reading), share, float(error), float(score))


def _warn_of_unseen(n_unseen: int, n_rows: int) -> None:
    warn(
        f"{n_unseen} of {n_rows} rows are in the bag of every tree, so nothing is known of them out of bag. "
        "Use more trees for a reliable estimate (see oob_share_)."
    )


def _judge(
    averages: FloatArray, seen: npt.NDArray[np.bool_], reading: Reading, metric: Metric | None
) -> tuple[float, float]:
    """Compute error and score of the rows that were seen out of bag."""
    table = reading.table
    weight = np.ones(len(averages)) if table.weight is None else table.weight[seen]
    if reading.classes is None:
        truth, said = table.target[seen], averages
        error, r_squared = _judge_numbers(truth, said, weight)
        score = r_squared if metric is None else metric(truth, said)
    else:
        truth, said = reading.classes[table.target[seen]], reading.classes[averages.argmax(axis=1)]
        error = float(np.average(truth != said, weights=weight))
        score = 1.0 - error if metric is None else metric(truth, said)
    return error, score


def _judge_numbers(truth: FloatArray, said: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Compute mean squared error and R squared on a scale on which no square is too large or too small."""
    exponent = int(np.frexp(max(np.abs(truth).max(), np.abs(said).max()))[1])
    truth, said = np.ldexp(truth, -exponent), np.ldexp(said, -exponent)
    error = np.average((truth - said) ** 2, weights=weight)
    with np.errstate(over="ignore"):  # the error of huge numbers is infinite, their R squared is not
        return float(np.ldexp(error, 2 * exponent)), float(r2_score(truth, said, sample_weight=weight))


def _for_all_rows(averages: FloatArray, reading: Reading) -> FloatArray:
    """Give rows that were left out for their zero weight a place of their own: NaN."""
    if reading.kept is None:
        return averages
    spread = np.full((len(reading.kept), *averages.shape[1:]), np.nan)
    spread[reading.kept] = averages
    return spread
