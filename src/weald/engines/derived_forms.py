"""Caches of what engines derive from a forest.

A forest consists of its arrays. Forms derived from them are stored here by its id until it is freed. They are not part
of its pickle, its copies or its fingerprint.

DerivedForms   the forms of one forest
forms_of       the forms of a forest, empty at first
"""

import weakref
from typing import TYPE_CHECKING

from weald.data.types import IntArray
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald._core import Packed, PathForest, Predictor


class DerivedForms:
    """The derived forms of one forest.

    Threads may derive the same form at the same time: `setdefault` keeps the first for both. There is no lock,
    so a forked process cannot wait for a lock that no thread will release.
    """

    __slots__ = ("mapped", "packed", "paths", "predictors", "trees", "was_walked", "watch")

    def __init__(self) -> None:
        self.packed: dict[tuple[str, str], Packed | None] = {}  # by size of nodes and instruction set; None: too large
        self.mapped: dict[str, IntArray] = {}  # by size of nodes: packed forms in a mapped file, unchecked
        self.paths: dict[str, PathForest] = {}  # by instruction set
        self.predictors: dict[str, Predictor] = {}  # by instruction set
        self.trees: list[Forest] = []  # single trees, without weights of votes; empty: not derived yet
        self.was_walked = False  # packed in parts, for a forest that is used once
        self.watch: weakref.ref[Forest] | None = None  # drops this entry when the forest is freed


_BY_ID: dict[int, DerivedForms] = {}


def forms_of(forest: Forest) -> DerivedForms:
    """Return the derived forms of a forest."""
    return _BY_ID.get(id(forest)) or _start(forest)


def _start(forest: Forest) -> DerivedForms:
    """Store empty forms. Python calls `drop` before the memory of the forest, and so its identity, is reused."""
    key, forms, drop = id(forest), DerivedForms(), _BY_ID.pop
    forms.watch = weakref.ref(forest, lambda _: drop(key, None))
    return _BY_ID.setdefault(key, forms)
