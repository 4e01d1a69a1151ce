"""Trees that come one after the other, put into the arrays of one forest as they come.

A forest has its arrays in one piece each. To join all trees at the end, when everybody waits for it, would take as long
as to receive them once more.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from weald.model import Forest, Origin

SPARE = 1.05  # of what is expected: pages that nobody writes to take no memory


class Joining:
    """A forest of which some trees are there; `n_trees` are expected."""

    def __init__(self, n_trees: int) -> None:
        self._n_expected, self._n_trees = n_trees, 0
        self._first: Forest | None = None
        self._rooms: dict[str, npt.NDArray[Any]] = {}
        self._filled: dict[str, int] = {}
        self._origins: list[Origin] = []
        self._early: dict[int, Forest] = {}

    def add(self, number: int, forest: Forest) -> None:
        """Take a part of the forest; parts may come in any order."""
        self._early[number] = forest
        while len(self._origins) in self._early:
            self._append(self._early.pop(len(self._origins)))

    def forest(self) -> Forest:
        """Give the forest, all parts of which have come."""
        assert self._first is not None  # noqa: S101  (for the type checker)
        assert not self._early  # noqa: S101  (a part was never given)
        return self._first.with_lengths(
            {name: room[: self._filled[name]] for name, room in self._rooms.items()}, self._origins
        )

    def _append(self, part: Forest) -> None:
        self._first = self._first or part
        self._n_trees += part.n_trees
        (origin,) = part.origins  # of one fit
        self._origins.append(origin)
        for name, array in part.as_lengths().items():
            begin = self._filled.get(name, 0)
            end = self._filled[name] = begin + len(array)
            self._room(name, array.dtype, begin, end)[begin:end] = array

    def _room(self, name: str, dtype: Any, begin: int, end: int) -> npt.NDArray[Any]:
        """Find room for an array up to `end`; what is there already is moved if that is too small."""
        room = self._rooms.get(name)
        if room is None or end > len(room):
            larger = np.empty(int(SPARE * end * max(1, self._n_expected / self._n_trees)), dtype)
            if room is not None:
                larger[:begin] = room[:begin]
            self._rooms[name] = room = larger
        return room
