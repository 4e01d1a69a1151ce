"""The training targets in the leaves of a regression forest: what quantiles are computed from.

LeafTargets    distinct target values, and their weights in each leaf
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weald.data.types import Array, FloatArray, IntArray
from weald.forest.forest import Forest


@dataclass(frozen=True, eq=False)
class LeafTargets:
    """The distinct target values of the training rows, and their weights in each leaf of a forest."""

    forest: Forest  # the forest that the leaves belong to
    value: FloatArray  # the distinct values, ascending
    start: IntArray  # by node of all trees, and the end: its first entry; splits have none
    place: IntArray  # by entry: a place in `value`, ascending in each leaf
    weight: Array  # by entry: how often rows with this value were drawn; without bags, their weight

    @property
    def n_bytes(self) -> int:
        """Memory in bytes."""
        return sum(part.nbytes for part in (self.value, self.start, self.place, self.weight))

    @cached_property
    def share(self) -> FloatArray:
        """By entry: the weight of the value in its leaf, over the weight of the leaf."""
        sizes = np.diff(self.start)
        leaf = np.repeat(np.arange(len(sizes)), sizes)
        share: FloatArray = self.weight / np.bincount(leaf, weights=self.weight, minlength=len(sizes))[leaf]
        return share

    def take(self, trees: Sequence[int], forest: Forest) -> "LeafTargets":
        """Return the leaf targets of some trees; `forest` consists of these trees."""
        first = self.forest.tree_start
        nodes = np.concatenate([np.arange(first[tree], first[tree + 1]) for tree in trees])
        at = [np.arange(self.start[first[tree]], self.start[first[tree + 1]]) for tree in trees]
        entries = np.concatenate(at)
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[nodes])])
        used, place = np.unique(self.place[entries], return_inverse=True)
        return LeafTargets(forest, self.value[used], start, place.astype(self.place.dtype), self.weight[entries])

    def __getstate__(self) -> dict[str, object]:
        """Pickle without the arrays that can be computed again."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        return f"LeafTargets({len(self.value):,} values, {len(self.place):,} entries, {self.n_bytes / 2**20:.1f} MiB)"
