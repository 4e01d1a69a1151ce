"""A forest's arrays uncompressed, so that a file can be mapped into memory.

pack           Forest -> head and arrays
unpack         head and arrays -> Forest
MappedForest   a forest whose arrays are checked on first access

The file also contains the packed forest (`packed.MARK.small`, `packed.MARK.large`), so that processes share it, too.
MARK identifies the layout: a version of weald with a different layout packs the forest again.
"""

import dataclasses

import numpy as np

from weald.data.task import Task
from weald.data.types import Array, FloatArray, IntArray
from weald.engines.native import PACKED_SIZES, NativeEngine
from weald.errors import FormatError
from weald.forest.forest import CATEGORICAL, Forest
from weald.io import packing
from weald.io.container import LINE, PACKED, ascends, require
from weald.io.packing import AS_THEY_ARE, Head
from weald.io.streams import Arrays
from weald.io.tree_shape import find_shape

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
MAY_LACK = "weight_scale"  # missing in files of earlier versions, and of trees whose weights are in the user's units


def pack(forest: Forest) -> tuple[Head, Arrays]:
    """Store the arrays as they are."""
    packing.check_forest(forest)
    arrays = {PREFIX + name: getattr(forest, name) for name in (*BY_NODE, *OTHERS)}
    if len(forest.weight_scale):
        arrays[PREFIX + MAY_LACK] = forest.weight_scale
    return packing.head_of(forest, AS_THEY_ARE), arrays | _walked(forest)


def _walked(forest: Forest) -> Arrays:
    """Pack the forest for prediction: each form fills whole cache lines, padded with zeros."""
    found = {}
    for size, buffer in NativeEngine().packed_buffers(forest).items():
        found[_name_of(size)] = np.append(buffer, np.zeros(-len(buffer) % LINE, dtype=np.uint8))
    return found


def _name_of(size: str) -> str:
    return f"{PACKED}{NativeEngine().packed_mark}.{size}"


def unpack(head: Head, arrays: Arrays, *, mapped: bool) -> Forest:
    """Create the forest again."""
    packing.check_head(head)
    kinds = BY_NODE | OTHERS
    if PREFIX + MAY_LACK in arrays:
        kinds = kinds | {MAY_LACK: np.float64}
    plain = {name for name in arrays if not name.startswith(PACKED)}
    require(plain == {PREFIX + name for name in kinds}, "Arrays of the forest are missing or unknown.")
    found: Arrays = {name: arrays[PREFIX + name] for name in kinds}
    for name, array in found.items():
        proper = array.dtype == kinds[name] and array.ndim == 1 and array.dtype.isnative
        require(proper, f"The array {PREFIX + name!r} has a wrong type or is not one-dimensional.")
        require(name not in BY_NODE or len(array) == head.n_nodes, f"The array {PREFIX + name!r} has a wrong length.")
    require(len(found["tree_start"]) == head.n_trees + 1, "The number of trees is inconsistent.")
    require(len(found["tree_weight"]) in (0, head.n_trees), "The number of tree weights differs from that of trees.")
    proper = len(found.get(MAY_LACK, ())) in (0, head.n_trees)
    require(proper, "The number of weight scales differs from that of trees.")
    found.setdefault(MAY_LACK, np.frombuffer(bytes(8))[:0])  # empty, and read-only like mapped arrays
    make = MappedForest if mapped else Forest
    forest = make(
        head.n_features,
        head.n_classes,
        head.target_center,
        head.target_exponent,
        **found,
        shrinkage=0.0,  # set later, from the notes
        origins=head.origins,
        contract=head.contract,
    )
    if not mapped:
        return _check(forest)
    NativeEngine().find_packed(forest, {size: arrays.get(_name_of(size)) for size in PACKED_SIZES})
    return forest


def _check(forest: Forest) -> Forest:
    """Check a forest by packing and unpacking it: the result must be equal."""
    check_links(forest)
    try:
        again = packing.unpack(*packing.pack(forest))
    except (IndexError, ValueError, OverflowError) as error:
        raise FormatError(f"The arrays are not a forest: {error}") from None
    require(again.fingerprint() == forest.fingerprint(), "The arrays contradict each other.")
    return again


def check_links(forest: Forest) -> None:
    """Check that every index of a node or an array is valid."""
    n_nodes, n_classes, is_of_classes = forest.n_nodes, forest.n_classes, forest.task is Task.CLASSIFICATION
    _check_starts(forest.tree_start, n_nodes, "tree_start")
    proper = np.all(forest.feature >= -1) and np.all(forest.feature < forest.n_features)
    require(proper, "A feature is out of range.")
    require(not np.isnan(forest.threshold).any(), "A threshold is NaN.")
    shape = find_shape(forest.tree_start, forest.feature < 0)
    require(np.array_equal(forest.right, shape.right()), "The index of a child node is wrong.")
    lengths = (0, n_nodes) if n_classes == 2 else (0,) if is_of_classes else (n_nodes,)
    require(len(forest.value) in lengths, "The number of node values is wrong.")
    require(len(forest.impurity) == (0 if is_of_classes else n_nodes), "The number of node impurities is wrong.")
    n_leaves = len(shape.leaves) if is_of_classes else 0
    require(
        len(forest.leaf_start) == (n_leaves + 1 if is_of_classes else len(forest.leaf_start)),
        "The number of leaves is inconsistent.",
    )
    if is_of_classes:
        _check_starts(forest.leaf_start + np.arange(n_leaves + 1), len(forest.leaf_class) + n_leaves, "leaf_start")
    require(len(forest.leaf_class) == len(forest.leaf_weight), "The classes of leaves must have one weight each.")
    proper = np.all(forest.leaf_class >= 0) and np.all(forest.leaf_class < forest.width)
    require(proper, "A class is out of range.")
    _check_sets(forest)
    packing.check_numbers(forest)


def _check_starts(start: IntArray, length: int, name: str) -> None:
    proper = len(start) and start[0] == 0 and start[-1] == length and ascends(start)
    require(proper, f"{PREFIX + name} is not in ascending order.")


def _check_sets(forest: Forest) -> None:
    """Check that sets of categories are in the order of their nodes, and ascending."""
    by_set = forest.flags & CATEGORICAL != 0
    require(np.all(forest.feature[by_set] >= 0), "A leaf has a set of categories.")
    numbers, start, sets = forest.threshold[by_set], forest.category_start, forest.category_sets
    require(
        np.array_equal(numbers, np.arange(len(numbers))), "The sets of categories are not in the order of their nodes."
    )
    proper = len(start) == len(numbers) + 1 and start[0] == 0 and start[-1] == len(sets)
    require(proper and np.all(start[1:] >= start[:-1]), f"{PREFIX}category_start is not in ascending order.")
    inside = np.ones(len(sets) + 1, dtype=bool)
    inside[start] = False
    require(
        np.all(sets[1:] > sets[:-1], where=inside[1 : len(sets)]), "The categories of a set are not in ascending order."
    )


class MappedForest(Forest):
    """A forest whose arrays are in a mapped file.

    Predictions use the packed form and need none of the arrays. They are checked on first access; from then on this is
    an ordinary forest.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        """Do nothing: mapped arrays are read-only already."""

    def __getattribute__(self, name: str) -> object:
        if name in LOOKED_AT:
            _check_mapped(self)
        return object.__getattribute__(self, name)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(_unchecked(self, "tree_start")) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return len(_unchecked(self, "feature"))

    def root_weight(self) -> FloatArray:
        """Weight of each tree's root; in damaged trees the starts may be invalid."""
        return _unchecked(self, "weight").take(_unchecked(self, "tree_start")[:-1], mode="clip")


LOOKED_AT = frozenset(BY_NODE) | frozenset(OTHERS) - {"tree_weight"}


def _unchecked(forest: MappedForest, name: str) -> Array:
    found: Array = object.__getattribute__(forest, name)
    return found


def _check_mapped(forest: MappedForest) -> None:
    names = (f.name for f in dataclasses.fields(forest))
    try:
        check_links(Forest(**{name: object.__getattribute__(forest, name) for name in names}))
    except FormatError as error:
        raise FormatError(f"The arrays of this forest are damaged. {error} Save the model again.") from None
    object.__setattr__(forest, "__class__", Forest)
