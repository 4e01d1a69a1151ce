"""Isotonic calibration: the nondecreasing function of the score with the least squared error.

Isotonic       the function: linear between thresholds
merge_close    count scores that differ by rounding as one
pool           merge neighbors until their means ascend
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from weald.data.types import FloatArray
from weald.estimators.calibration.outcomes import Outcomes

CLOSE = 1e-15  # scores that differ by less are merged


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A function of the score: linear between thresholds, constant outside. scikit-learn's IsotonicRegression."""

    threshold: FloatArray  # ascending
    value: FloatArray  # nondecreasing

    @classmethod
    def fit(cls, outcomes: Outcomes) -> Self:
        """Fit to outcomes. Thresholds inside constant segments are left out."""
        outcomes = merge_close(outcomes)
        value = pool(outcomes)
        is_kept = np.ones(len(value), dtype=np.bool_)
        is_kept[1:-1] = (value[1:-1] != value[:-2]) | (value[1:-1] != value[2:])
        return cls(outcomes.score[is_kept], value[is_kept])

    def __call__(self, score: FloatArray) -> FloatArray:
        """Map scores to probabilities."""
        if len(self.threshold) == 1:
            return np.full(len(score), self.value[0])
        left = np.clip(np.searchsorted(self.threshold, score, side="right") - 1, 0, len(self.threshold) - 2)
        low, high = self.threshold[left], self.threshold[left + 1]
        part = np.clip((score - low) / (high - low), 0.0, 1.0)
        begin, end = self.value[left], self.value[left + 1]
        found: FloatArray = np.clip(begin + part * (end - begin), begin, end)
        return found


def merge_close(outcomes: Outcomes) -> Outcomes:
    """Merge scores that differ only by rounding into the smallest of them, as scikit-learn does."""
    score = outcomes.score
    if (np.diff(score) >= CLOSE).all():
        return outcomes
    first = [0]
    for i in range(1, len(score)):
        if score[i] - score[first[-1]] >= CLOSE:
            first.append(i)
    total, hits = (np.add.reduceat(counts, first) for counts in (outcomes.total, outcomes.hits))
    return Outcomes(score[first], total, hits, outcomes.unit)


def pool(outcomes: Outcomes) -> FloatArray:
    """Merge neighboring scores while their frequencies do not ascend; return the frequency at each score.

    Counts are whole numbers of Python, so comparisons are exact.
    """
    blocks: list[tuple[int, int, int]] = []  # hits, total, number of scores
    for hits, total in zip(map(int, outcomes.hits), map(int, outcomes.total), strict=True):
        hits_of, total_of, n_scores = hits, total, 1
        while blocks and blocks[-1][0] * total_of >= hits_of * blocks[-1][1]:
            before = blocks.pop()
            hits_of, total_of, n_scores = hits_of + before[0], total_of + before[1], n_scores + before[2]
        blocks.append((hits_of, total_of, n_scores))
    return np.repeat([hits / total for hits, total, _ in blocks], [n for _, _, n in blocks])
