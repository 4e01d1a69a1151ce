"""Partial dependence in engines: the features that vary, their points, and the sums that engines compute.

    FreeFeatures      groups of features that vary, their points, and the position of each split among the points
    LocalBins         the rows that count at each step between two points
    DependenceSums    sums over leaves at these points

Consider a leaf and a group with a feature on its path. The rows that meet all other conditions of the path reach the
leaf at all points of the group that meet the remaining conditions. The leaf adds its value times the weight of these
rows, which is an integer, to these points, in the order of trees and leaves.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from weald.data.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LocalBins:
    """Bins of the rows by feature. A row counts at a step only if it is in the bin of the step."""

    of_row: npt.NDArray[np.uint16]  # features x rows; NO_BIN: in none
    of_step: npt.NDArray[np.uint16]  # by feature and point: the bin of the step to this point; NO_BIN: none


NO_BIN = 2**16 - 1
MOST_BINS = 2**15


@dataclass(frozen=True)
class FreeFeatures:
    """Groups of one or two features, and their points.

    Points of a numeric feature are ascending. A categorical feature has a point for each category, then a place for
    values that apply to all categories. The last place of every feature, `n_points + 1`, is for missing values.
    """

    groups: tuple[tuple[int, ...], ...]
    n_points: npt.NDArray[np.uint32]  # indexed by feature
    has_categories: BoolArray  # by feature: whether it is split by sets
    place: npt.NDArray[np.int32]  # by node: number of points up to the threshold, for splits by thresholds

    def shape(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """Number of places of each feature of a group."""
        return tuple(int(self.n_points[feature]) + 2 for feature in group)

    def n_places(self) -> IntArray:
        """Number of places of each group."""
        return np.array([int(np.prod(self.shape(group))) for group in self.groups], dtype=np.int64)


class DependenceSums(NamedTuple):
    """Sums over leaves: value of the leaf times weight of its rows."""

    steps: FloatArray  # (places of all groups) x width; of numbers, differences from one point to the next
    on_path: FloatArray  # groups x width: sums over the rows' own leaves whose path has a feature of the group
    total: FloatArray  # width: sums over the rows' own leaves

    def add(self, other: "DependenceSums") -> "DependenceSums":
        """Add the sums of other rows."""
        return DependenceSums(*(a + b for a, b in zip(self, other, strict=True)))
