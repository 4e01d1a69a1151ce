"""A forest's arrays as they are, so that a file of them can be mapped into memory.

pack      Forest -> head and arrays
unpack    head and arrays -> Forest; what arrays that are mapped hold is not looked at

Beside them stands the forest as it is walked (`packed.MARK.small`, `packed.MARK.large`), so that processes share that,
too. MARK is the layout: a version of weald that has another one packs the forest anew.
"""

from typing import Any

import numpy as np

from weald.engines.native import PACKED_SIZES, NativeEngine
from weald.errors import FormatError
from weald.filing import packing
from weald.filing.container import LINE, PACKED, ascends, require
from weald.filing.packing import AS_THEY_ARE, Head
from weald.filing.shape import find_shape
from weald.filing.streams import Arrays
from weald.model import Forest

PREFIX = "forest."
BY_NODE = {
    "feature": np.int32,
    "threshold": np.float64,
    "right": np.int32,
    "flags": np.uint8,
    "size": np.uint32,
    "weight": np.float64,
    "decrease": np.float64,
}
OTHERS = {
    "tree_start": np.int64,
    "leaf_start": np.int64,
    "leaf_class": np.int32,
    "leaf_weight": np.float64,
    "value": np.float64,
    "impurity": np.float64,
    "category_start": np.int64,
    "category_sets": np.uint32,
    "tree_weight": np.float64,
}


def pack(forest: Forest) -> tuple[Head, Arrays]:
    """Take the arrays as they are."""
    packing.check_forest(forest)
    arrays = {PREFIX + name: getattr(forest, name) for name in (*BY_NODE, *OTHERS)}
    return packing.head_of(forest, AS_THEY_ARE), arrays | _walked(forest)


def _walked(forest: Forest) -> Arrays:
    """Pack the forest for walking: each way fills whole lines, the rest of the last one being zeros."""
    found = {}
    for size, buffer in NativeEngine().packed_buffers(forest).items():
        found[_name_of(size)] = np.append(buffer, np.zeros(-len(buffer) % LINE, dtype=np.uint8))
    return found


def _name_of(size: str) -> str:
    return f"{PACKED}{NativeEngine().packed_mark}.{size}"


def unpack(head: Head, arrays: Arrays, *, mapped: bool) -> Forest:
    """Make the forest again."""
    packing.check_head(head)
    kinds = BY_NODE | OTHERS
    plain = {name for name in arrays if not name.startswith(PACKED)}
    require(plain == {PREFIX + name for name in kinds}, "The arrays are not those of a forest.")
    found: dict[str, Any] = {name: arrays[PREFIX + name] for name in kinds}
    for name, array in found.items():
        proper = array.dtype == kinds[name] and array.ndim == 1 and array.dtype.isnative
        require(proper, f"The array {PREFIX + name!r} is of another type.")
        require(name not in BY_NODE or len(array) == head.n_nodes, f"The array {PREFIX + name!r} has another length.")
    require(len(found["tree_start"]) == head.n_trees + 1, "The trees are not as many as they should be.")
    forest = Forest(
        head.n_features, head.n_classes, head.target_center, head.target_exponent, **found, origins=head.origins
    )
    if not mapped:
        return _check(forest, head)
    NativeEngine().find_packed(forest, {size: arrays.get(_name_of(size)) for size in PACKED_SIZES})
    return forest


def _check(forest: Forest, head: Head) -> Forest:
    """Pack and unpack a forest: what comes out has been checked, and must be what went in."""
    for name, length in (("tree_start", head.n_nodes), ("leaf_start", len(forest.leaf_class))):
        start = getattr(forest, name)
        proper = len(start) and start[0] == 0 and start[-1] == length and ascends(start)
        require(proper or (name == "leaf_start" and not head.n_classes), f"{PREFIX + name} does not ascend.")
    fits = np.all(forest.feature >= -1) and np.all(forest.feature < head.n_features)
    require(fits, "A feature is out of range.")
    shape = find_shape(forest.tree_start, forest.feature < 0)
    require(np.array_equal(forest.right, shape.right()), "A link leads to another node than it should.")
    try:
        again = packing.unpack(*packing.pack(forest))
    except (IndexError, ValueError, OverflowError) as error:
        raise FormatError(f"The arrays do not make a forest: {error}") from None
    require(again.fingerprint() == forest.fingerprint(), "The arrays contradict one another.")
    return again
