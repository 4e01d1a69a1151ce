"""The input of calibration maps: distinct scores, and for each the number of rows and of rows of the class.

Outcomes    distinct scores with counts
count       scores, classes and weights of rows -> Outcomes

Weights are whole numbers whose sums are exact, so the order of rows does not matter, and a row of weight k counts as k
rows.
"""

from typing import NamedTuple

import numpy as np

from weald.data.types import BoolArray, FloatArray

LARGEST_SUM = 2.0**53  # sums of whole numbers are exact up to this


class Outcomes(NamedTuple):
    """Distinct scores, ascending, with whole weights of all rows and of the rows of the class."""

    score: FloatArray
    total: FloatArray
    hits: FloatArray
    unit: float  # weight of one row

    @property
    def are_all_alike(self) -> bool:
        """Whether no row is of the class, or all are."""
        n_hits = self.hits.sum()
        return bool(n_hits == 0 or n_hits == self.total.sum())


def count(score: FloatArray, is_hit: BoolArray, weight: FloatArray) -> Outcomes:
    """Count the rows at each distinct score, by weight."""
    whole, unit = whole_weights(weight)
    distinct, place = np.unique(score, return_inverse=True)
    total = np.bincount(place, weights=whole).astype(np.float64)
    hits = np.bincount(place, weights=whole * is_hit).astype(np.float64)
    return Outcomes(distinct, total, hits, unit)


def whole_weights(weight: FloatArray) -> tuple[FloatArray, float]:
    """Return weights as whole numbers, and the weight of one row.

    Whole weights are copies of rows. Other weights are converted to fixed point; one row has the mean weight.
    """
    if (weight == np.floor(weight)).all() and weight.sum() < LARGEST_SUM:
        return weight, 1.0
    exponent = int(np.frexp(weight.max())[1])
    fixed = np.maximum(1.0, np.rint(np.ldexp(weight, 52 - exponent - len(weight).bit_length())))
    return fixed, max(1.0, float(np.rint(fixed.sum() / len(fixed))))
