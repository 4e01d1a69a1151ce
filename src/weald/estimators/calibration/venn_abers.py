"""Venn-Abers calibration: two isotonic regressions of the score, with the new row as either class.

VennAbers    the two probabilities of a new row, and the probability between them

Inductive Venn-Abers prediction (Vovk, Petej, Fedorova 2015). To compute `high` at a score, add one row of the
class with this score and fit an isotonic regression to all rows: `high` is its value there. For `low`, the added row is
of another class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from weald.data.types import FloatArray
from weald.estimators.calibration.outcomes import Outcomes

Points = list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class VennAbers:
    """Two step functions of the score."""

    threshold: FloatArray  # distinct scores, ascending
    low: FloatArray
    high: FloatArray

    @classmethod
    def fit(cls, outcomes: Outcomes) -> Self:
        """Fit to outcomes; thresholds inside a range of equal values are left out."""
        total, hits = ([int(count) for count in counts] for counts in (outcomes.total, outcomes.hits))
        unit = int(outcomes.unit)
        high = np.array([a / b for a, b in _with_a_hit(total, hits, unit)])
        misses = [all_rows - of_class for all_rows, of_class in zip(total, hits, strict=True)]
        mirrored = _with_a_hit(total[::-1], misses[::-1], unit)[::-1]
        low = np.array([(b - a) / b for a, b in mirrored])
        changes = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        is_kept = np.ones(len(low), dtype=np.bool_)
        is_kept[1:-1] = changes[:-1] | changes[1:]
        return cls(outcomes.score[is_kept], low[is_kept], high[is_kept])

    def bounds(self, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both probabilities: if the new row is of another class, and if it is of the class."""
        low = np.concatenate([[0.0], self.low])[np.searchsorted(self.threshold, score, side="right")]
        high = np.concatenate([self.high, [1.0]])[np.searchsorted(self.threshold, score, side="left")]
        return low, high

    def __call__(self, score: FloatArray) -> FloatArray:
        """Map scores to the probability between the two that minimizes the larger regret."""
        low, high = self.bounds(score)
        found: FloatArray = high / ((1.0 - low) + high)
        return found


def _with_a_hit(total: Sequence[int], hits: Sequence[int], unit: int) -> Points:
    """Find the isotonic regression at each score with one more row of the class there: hits and rows of its block.

    The regression is the slope of the greatest convex minorant of the cumulated counts. Shift the points before score i
    by (-unit, -unit): then the value is the slope of the edge that joins them to the points from i on. From score to
    score its left end stays, or becomes the last point before the score; its right end moves right only, along the
    minorant of the points from the score on.
    """
    points: Points = [(0, 0)]
    for rows, of_class in zip(total, hits, strict=True):
        points.append((points[-1][0] + rows, points[-1][1] + of_class))
    following = _minorants(points)
    found: Points = []
    left, right = (-unit, -unit), 1
    for i in range(1, len(points)):
        shifted = (points[i - 1][0] - unit, points[i - 1][1] - unit)
        if i == 1 or right < i or _is_below(shifted, left, points[right]):
            left, right = shifted, max(right, i)
            while following[right] and not _is_below(points[right], left, points[following[right]]):
                right = following[right]
        found.append((points[right][1] - left[1], points[right][0] - left[0]))
    return found


def _minorants(points: Points) -> list[int]:
    """For each point, find the next vertex of the convex minorant of the points from it on; 0 for the last point."""
    following = [0] * len(points)
    for i in range(len(points) - 2, -1, -1):
        after = i + 1
        while following[after] and not _is_below(points[after], points[i], points[following[after]]):
            after = following[after]
        following[i] = after
    return following


def _is_below(point: tuple[int, int], begin: tuple[int, int], end: tuple[int, int]) -> bool:
    """Return whether a point lies below the line through two others, the first of them to the left."""
    return (point[1] - begin[1]) * (end[0] - begin[0]) < (end[1] - begin[1]) * (point[0] - begin[0])
