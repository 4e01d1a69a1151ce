"""The forests of a multi-output model in one file: they have the same trees, so shared arrays are written once.

gather        arrays of each forest -> arrays of all, and the names of arrays equal to those of the first
part_of       arrays of all -> arrays of one forest
check_trees   refuse forests with different trees
"""

from collections.abc import Sequence

import numpy as np

from weald.data.types import Array
from weald.forest.forest import Forest
from weald.io.container import Json, require
from weald.io.streams import Arrays

OF_TREES = ("tree_start", "feature", "threshold", "right", "flags", "category_start", "category_sets")


def gather(packed: Sequence[Arrays]) -> tuple[Arrays, list[list[str]]]:
    """Collect the arrays: those of target i are called `i/NAME`, unless they equal those of the first target."""
    first, *others = packed
    arrays, shared = dict(first), []
    for number, mine in enumerate(others, start=1):
        same = sorted(name for name in mine if name in first and _equal(mine[name], first[name]))
        arrays |= {f"{number}/{name}": array for name, array in mine.items() if name not in same}
        shared.append(same)
    return arrays, shared


def _equal(one: Array, other: Array) -> bool:
    same = one.dtype == other.dtype and one.shape == other.shape
    return same and np.array_equal(one.view(np.uint8), other.view(np.uint8))


def part_of(arrays: Arrays, number: int, same: Json) -> Arrays:
    """Return the arrays of a target other than the first."""
    listed = isinstance(same, list) and all(isinstance(name, str) for name in same)
    require(listed and "/" not in "".join(same) and set(same) <= arrays.keys(), "The list of shared arrays is invalid.")
    prefix = f"{number}/"
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    require(not own.keys() & set(same), "A target has its own copy of a shared array.")
    return {**own, **{name: arrays[name] for name in same}}


def check_trees(forests: Sequence[Forest]) -> None:
    """Refuse forests with different trees."""
    first, *others = forests
    for forest in others:
        pairs = ((getattr(first, name), getattr(forest, name)) for name in OF_TREES)
        require(
            all(one is other or np.array_equal(one, other) for one, other in pairs), "The targets have different trees."
        )
