"""Sending trees, and joining them to one forest as they arrive.

    TreeArrays      trees in a compact form for sending: a third of their size in a forest
    Joining    a forest that is filled with trees

Compressing trees as in model files would make them smaller still, but takes longer than sending them. Each array of a
forest is contiguous: joining all trees at the end, when all workers are idle, would take as long as receiving them
again.
"""

import dataclasses
import mmap
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weald.data.types import Array, IntArray
from weald.forest.forest import CATEGORICAL, Forest, Origin, merge_origins
from weald.io.streams import narrow

Arrays = dict[str, Array]

SPARE = 1.05  # margin on the expected size: unwritten pages take no memory
# For each array of starts, the array that they index. They are sent as lengths.
STARTS = {"tree_start": "feature", "leaf_start": "leaf_class", "category_start": "category_sets"}
OF_SPLITS = ("feature", "threshold", "right", "flags", "decrease")  # constant in leaves
WHOLE = ("feature", "right", "size", "leaf_class", "category_sets", *STARTS)


@dataclass(frozen=True)
class TreeArrays:
    """Trees in compact form: constant entries of leaves are left out, and numbers are as narrow as possible."""

    head: dict[str, Any]  # fields of the forest that are not arrays
    arrays: Arrays
    types: dict[str, np.dtype[Any]]  # types of the arrays in a forest
    is_leaf: npt.NDArray[np.uint8]  # one bit per node
    n_nodes: int

    @classmethod
    def of(cls, forest: Forest) -> Self:
        """Make the compact form of a forest."""
        arrays = forest.as_lengths()
        types = {name: array.dtype for name, array in arrays.items()}
        is_leaf = forest.feature < 0
        splits = np.flatnonzero(~is_leaf)
        arrays |= {name: arrays[name][splits] for name in OF_SPLITS}
        if np.array_equal(arrays["weight"], arrays["size"]):
            del arrays["weight"]
        arrays |= {name: narrow(arrays[name]) for name in WHOLE}
        arrays["leaf_weight"] = _narrow_if_whole(arrays["leaf_weight"])
        fields = {field.name: getattr(forest, field.name) for field in dataclasses.fields(forest)}
        head = {name: value for name, value in fields.items() if name not in types}
        return cls(head, arrays, types, np.packbits(is_leaf), forest.n_nodes)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.arrays["tree_start"])

    def array(self, name: str) -> Array:
        """Return an array; weights that were left out equal the sizes."""
        return self.arrays["size"] if name == "weight" and name not in self.arrays else self.arrays[name]

    def splits(self) -> IntArray:
        """Return the numbers of the split nodes."""
        return np.flatnonzero(np.unpackbits(self.is_leaf, count=self.n_nodes) == 0)

    def __sizeof__(self) -> int:
        return self.is_leaf.nbytes + sum(array.nbytes for array in self.arrays.values())


def _narrow_if_whole(weights: Array) -> Array:
    if not len(weights) or weights.max() >= 2**32:
        return weights
    whole = weights.astype(np.uint32)
    return narrow(whole) if np.array_equal(whole, weights) else weights


class Joining:
    """A forest that is filled part by part; `n_trees` are expected.

    Many parts may arrive at the end, when all workers are idle. So threads copy parts whose position is known.
    """

    def __init__(self, n_trees: int, n_threads: int = 1) -> None:
        self._n_expected, self._n_trees, self._n_parts = n_trees, 0, 0
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._filling: list[Future[None]] = []
        self._head: dict[str, Any] = {}
        self._rooms: Arrays = {}
        self._filled: dict[str, int] = {}
        self._origins: list[Origin] = []
        self._early: dict[int, TreeArrays] = {}

    def add(self, number: int, trees: TreeArrays) -> None:
        """Add a part of the forest; parts may arrive in any order."""
        self._early[number] = trees
        while self._n_parts in self._early:
            self._append(self._early.pop(self._n_parts))
            self._n_parts += 1

    def forest(self) -> Forest:
        """Return the forest; all parts must have been added."""
        assert self._n_parts  # noqa: S101  (no part was added)
        assert not self._early  # noqa: S101  (a part is missing)
        self._wait()
        arrays = {name: room[: self._filled[name] + (name in STARTS)] for name, room in self._rooms.items()}
        return Forest(**{**self._head, **arrays, "origins": merge_origins(self._origins)})

    def close(self) -> None:
        """Stop the threads."""
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def _append(self, trees: TreeArrays) -> None:
        self._head = self._head or trees.head
        self._n_trees += trees.n_trees
        self._origins += trees.head["origins"]
        before = {name: self._filled.get(name, 0) for name in trees.types}
        places = {
            name: self._extend(name, dtype, trees.n_nodes if name in OF_SPLITS else len(trees.array(name)))
            for name, dtype in trees.types.items()
        }
        if self._pool:
            self._filling.append(self._pool.submit(_fill, trees, places, before))
        else:
            _fill(trees, places, before)

    def _wait(self) -> None:
        for filled in self._filling:
            filled.result()
        self._filling.clear()

    def _extend(self, name: str, dtype: np.dtype[Any], length: int) -> Array:
        """Extend an array and return its new end; for starts, including the entry before."""
        begin = self._filled.get(name, 0)
        end = self._filled[name] = begin + length
        room, first = self._rooms.get(name), int(name in STARTS)
        if room is None or end + first > len(room):
            self._wait()
            larger = _zeros(first + int(SPARE * end * max(1, self._n_expected / self._n_trees)), dtype)
            if room is not None:
                larger[: begin + first] = room[: begin + first]
            self._rooms[name] = room = larger
        return room[begin : end + first]


def _fill(trees: TreeArrays, places: Arrays, before: dict[str, int]) -> None:
    """Copy trees to their places in a forest; `before` has the length of each array before them."""
    splits = trees.splits()
    for name, there in places.items():
        array = trees.array(name)
        if name in STARTS:
            np.cumsum(array, out=there[1:])
            there[1:] += before[STARTS[name]]
        elif name in OF_SPLITS:
            there[...] = -1 if name == "feature" else 0
            there[splits] = array
        else:
            there[...] = array
        if name == "threshold" and before["category_start"]:
            there[splits[trees.arrays["flags"] & CATEGORICAL != 0]] += before["category_start"]


def _zeros(length: int, dtype: np.dtype[Any]) -> Array:
    """Allocate memory page by page: NumPy asks for large pages, for which the system may have to move others."""
    own = {"flags": mmap.MAP_PRIVATE} if hasattr(mmap, "MAP_PRIVATE") else {}  # not on Windows
    return np.frombuffer(mmap.mmap(-1, max(1, length * dtype.itemsize), **own), dtype, length)


def join(parts: Sequence[TreeArrays]) -> Forest:
    """Concatenate trees."""
    joining = Joining(sum(trees.n_trees for trees in parts))
    for number, trees in enumerate(parts):
        joining.add(number, trees)
    return joining.forest()
