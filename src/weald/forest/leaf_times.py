"""The times in the leaves of a survival forest: what survival functions are computed from.

LeafTimes    distinct times, and the weights of events and of censored rows at each of them, leaf by leaf
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from weald.data.types import Array, FloatArray, IntArray
from weald.forest.forest import Forest


@dataclass(frozen=True, eq=False)
class LeafTimes:
    """How many rows of each leaf had the event at which time, and how many were censored."""

    forest: Forest  # whose leaves they are
    time: FloatArray  # the distinct times of the training table, ascending
    start: IntArray  # by node of all trees, and the end: its first entry; splits have none
    place: IntArray  # by entry: a place in `time`, ascending in each leaf
    events: Array  # by entry: weight of the rows with the event
    censored: Array  # by entry: weight of the rows that were censored

    @property
    def n_bytes(self) -> int:
        """Memory in bytes."""
        return sum(part.nbytes for part in (self.time, self.start, self.place, self.events, self.censored))

    def take(self, trees: Sequence[int], forest: Forest) -> "LeafTimes":
        """Return those of some trees, which are the trees of `forest`."""
        first = self.forest.tree_start
        nodes = np.concatenate([np.arange(first[tree], first[tree + 1]) for tree in trees])
        entries = np.concatenate([np.arange(self.start[first[t]], self.start[first[t + 1]]) for t in trees])
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[nodes])])
        return LeafTimes(forest, self.time, start, self.place[entries], self.events[entries], self.censored[entries])

    def join(self, other: "LeafTimes", forest: Forest) -> "LeafTimes":
        """Return these followed by those of another forest with the same times."""
        start = np.concatenate([self.start, other.start[1:] + self.start[-1]])
        pairs = [(getattr(self, name), getattr(other, name)) for name in ("place", "events", "censored")]
        return LeafTimes(forest, self.time, start, *map(np.concatenate, pairs))

    @cached_property
    def leaf(self) -> IntArray:
        """By entry: the node that it belongs to."""
        sizes = np.diff(self.start)
        return np.repeat(np.arange(len(sizes)), sizes)

    @cached_property
    def at_risk(self) -> FloatArray:
        """By entry: weight of the rows of the leaf that are observed at least until this time."""
        leaving = np.concatenate([[0.0], np.cumsum(self.events.astype(np.float64) + self.censored)])
        risk: FloatArray = leaving[self.start[1:]][self.leaf] - leaving[:-1]
        return risk

    @cached_property
    def hazard_steps(self) -> sparse.csr_array:
        """Steps of the cumulative hazard of each node (nodes x times), by Nelson and Aalen."""
        return self._matrix(self.events / self.at_risk)

    @cached_property
    def survival_steps(self) -> sparse.csr_array:
        """Steps of the survival function of each node (nodes x times), by Kaplan and Meier; none is positive."""
        stays = 1.0 - self.events / self.at_risk
        sizes, after = np.diff(self.start), stays.copy()
        entries = self.start[:-1][sizes > 1]
        ends = self.start[1:][sizes > 1]
        while len(entries):  # the next time of every leaf that has one
            after[entries + 1] *= after[entries]
            entries, ends = entries[entries + 2 < ends] + 1, ends[entries + 2 < ends]
        before = np.concatenate([[1.0], after[:-1]])
        before[self.start[:-1][sizes > 0]] = 1.0
        return self._matrix(after - before)

    def _matrix(self, steps: FloatArray) -> sparse.csr_array:
        shape = (len(self.start) - 1, len(self.time))
        found = sparse.csr_array((steps, self.place.astype(np.int32), self.start), shape=shape, copy=True)
        found.eliminate_zeros()
        return found

    def __getstate__(self) -> dict[str, object]:
        """Leave out what can be computed again."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __repr__(self) -> str:
        return f"LeafTimes({len(self.time):,} times, {len(self.place):,} entries, {self.n_bytes / 2**20:.1f} MiB)"
