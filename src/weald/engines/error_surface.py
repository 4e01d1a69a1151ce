"""What engines are told about error surfaces, and what they return.

SurfaceSettings   stopping rules, and which votes the nodes have
SurfaceTrees      some trees, the rows that are new to them, and the votes of their nodes
SurfaceSums       sums of votes so far, to which an engine adds
KnownRows         the targets and weights of the rows
SurfaceErrors     the errors after some of the trees
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray
from weald.forest.forest import Forest
from weald.forest.truncation import Limits


@dataclass(frozen=True)
class SurfaceSettings:
    """The settings of a surface."""

    limits: Sequence[Limits]
    votes: Sequence[int]  # index of the votes of nodes

    def __len__(self) -> int:
        return len(self.limits)

    def column(self, name: str) -> FloatArray:
        """Return a rule of all settings; whole numbers, too, are doubles."""
        return np.array([getattr(limits, name) for limits in self.limits], dtype=np.float64)


@dataclass(frozen=True)
class SurfaceTrees:
    """Some trees of a forest."""

    forest: Forest
    outside: BoolArray  # trees x rows: the row is new to the tree
    votes: Sequence[FloatArray]  # nodes x width: what each node adds to the sums
    weight: FloatArray  # weight of each tree's votes; 0 if it has none
    scored: BoolArray  # whether to compute errors after each tree


@dataclass(frozen=True)
class SurfaceSums:
    """Sums of votes, which grow from tree to tree."""

    sums: FloatArray  # rows x width x settings
    weight: FloatArray  # weight of the trees that voted for each row
    leaves: IntArray  # by setting: number of leaves of all trees

    @classmethod
    def empty(cls, n_rows: int, width: int, n_settings: int) -> "SurfaceSums":
        """Return the sums of no trees."""
        return cls(np.zeros((n_rows, width, n_settings)), np.zeros(n_rows), np.zeros(n_settings, dtype=np.int64))


@dataclass(frozen=True)
class KnownRows:
    """The targets and weights of the rows."""

    classes: IntArray | None
    numbers: FloatArray | None  # scaled like the votes of nodes, so that squares do not overflow
    weight: FloatArray


class SurfaceErrors(NamedTuple):
    """The errors after each scored tree, of rows that some tree has voted for."""

    losses: FloatArray  # scored x settings: sum of weight x loss, in the order of `forest.error_sums`
    squares: FloatArray  # scored x settings: sum of weight x (squared error - mean)^2; without entries for classes
    weight: FloatArray  # sum of the weights up to each scored tree
    weight_squares: FloatArray  # sum of the squares of their weights
    n_rows: IntArray
    leaves: IntArray  # scored x settings: number of leaves of all trees so far
