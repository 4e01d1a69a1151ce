"""Scores of survival models.

concordance_index          fraction of comparable pairs of rows that risks put in the right order (Harrell)
brier_score                mean squared error of survival probabilities at some times, weighted by inverse probability
                           of censoring (Graf et al. 1999)
integrated_brier_score     its mean over a range of times
CensoringDistribution      the probability of not being censored yet, by Kaplan and Meier
"""

from dataclasses import dataclass

import numpy as np

from weald.data.survival import Survival
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.errors import DataError


def concordance_index(survival: Survival, risk: FloatArray, weight: FloatArray | None = None) -> float:
    """Return the fraction of comparable pairs in which the row with the earlier event has the higher risk.

    A pair is comparable if the row with the earlier time had the event; of two rows with equal times, if one had the
    event and the other was censored. Equal risks count half. A pair weighs the product of its weights. NaN: no pair is
    comparable.
    """
    weight = np.ones(len(risk)) if weight is None else weight
    _, rank = np.unique(risk, return_inverse=True)
    _, place = np.unique(survival.time, return_inverse=True)
    # The longest times first. At a time: rows that are censored, then questions about events, then rows with events.
    events = np.flatnonzero(survival.event)
    rows = np.concatenate([np.arange(len(risk)), events])
    asks = np.concatenate([np.zeros(len(risk), dtype=np.bool_), np.ones(len(events), dtype=np.bool_)])
    turn = np.where(asks, 1, np.where(survival.event[rows], 2, 0))
    order = np.lexsort((turn, -place[rows]))
    rows, asks = rows[order], asks[order]
    lower, equal, all_ = _count_before(rank[rows], asks, weight[rows])
    pairs = float(np.dot(weight[rows[asks]], all_))
    right = float(np.dot(weight[rows[asks]], lower + 0.5 * equal))
    return right / pairs if pairs else np.nan


def _count_before(rank: IntArray, asks: BoolArray, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each question in a sequence, add up the weights of the rows before it: of lower rank, of equal rank, of all.

    Neighboring blocks of the sequence are compared, then blocks of twice the size, and so on.
    """
    n = len(rank)
    added = np.where(asks, 0.0, weight)
    before = np.concatenate([[0.0], np.cumsum(added)])[:-1]
    lower, equal, place = np.zeros(n), np.zeros(n), np.arange(n)
    by_rank = np.argsort(rank, kind="stable")
    n_ranks = int(rank.max()) + 1 if n else 0
    for shift in range(max(n - 1, 0).bit_length()):
        order = by_rank[np.argsort(place[by_rank] >> (shift + 1), kind="stable")]  # by block, then by rank
        block, is_right = place[order] >> (shift + 1), (place[order] >> shift & 1).astype(np.bool_)
        of_left = np.concatenate([[0.0], np.cumsum(np.where(is_right, 0.0, added[order]))])
        key = block * n_ranks + rank[order]
        first, last = np.searchsorted(key, key, "left"), np.searchsorted(key, key, "right")
        begin = np.searchsorted(block, block, "left")
        asked = is_right & asks[order]
        lower[order[asked]] += (of_left[first] - of_left[begin])[asked]
        equal[order[asked]] += (of_left[last] - of_left[first])[asked]
    return lower[asks], equal[asks], before[asks]


@dataclass(frozen=True)
class CensoringDistribution:
    """The probability of not being censored up to a time: a step function. Events at a time come before censoring."""

    time: FloatArray
    probability: FloatArray

    @classmethod
    def of(cls, survival: Survival, weight: FloatArray | None = None) -> "CensoringDistribution":
        """Estimate it from rows."""
        weight = np.ones(len(survival)) if weight is None else weight
        time, place = np.unique(survival.time, return_inverse=True)
        events = np.bincount(place, weights=weight * survival.event, minlength=len(time)).astype(np.float64)
        censored = np.bincount(place, weights=weight * ~survival.event, minlength=len(time)).astype(np.float64)
        at_risk = np.cumsum((events + censored)[::-1])[::-1] - events
        stays = np.where(censored > 0, 1.0 - censored / np.where(at_risk > 0, at_risk, 1.0), 1.0)
        probability = np.cumprod(stays).astype(np.float64)
        return cls(time, probability)

    def at(self, time: Array) -> FloatArray:
        """Return the probability at some times."""
        place = np.searchsorted(self.time, time, side="right")
        return np.concatenate([[1.0], self.probability])[place]


def brier_score(
    survival: Survival,
    predicted: FloatArray,
    times: FloatArray,
    censoring: CensoringDistribution,
    weight: FloatArray | None = None,
) -> FloatArray:
    """Return the Brier score of survival probabilities (rows x times) at each time."""
    weight = np.ones(len(survival)) if weight is None else weight
    at_rows, at_times = censoring.at(survival.time), censoring.at(times)
    if (at_times <= 0).any():
        raise DataError(
            f"At time {times[np.argmax(at_times <= 0)]:g} no row is left that could have been censored later, so the "
            "Brier score is not defined there. Give earlier times."
        )
    has_died = survival.event[:, None] & (survival.time[:, None] <= times)
    is_alive = survival.time[:, None] > times
    with np.errstate(divide="ignore"):
        of_dead = np.where(has_died, predicted**2 / np.where(at_rows > 0, at_rows, np.inf)[:, None], 0.0)
    of_alive = np.where(is_alive, (1.0 - predicted) ** 2 / at_times, 0.0)
    score: FloatArray = np.average(of_dead + of_alive, axis=0, weights=weight)
    return score


def integrate(times: FloatArray, scores: FloatArray) -> float:
    """Average scores over a range of times, by trapezoids."""
    if len(times) < 2:
        raise DataError("The integrated Brier score needs at least two times.")
    return float(np.trapezoid(scores, times) / (times[-1] - times[0]))
