"""The training targets of each leaf as arrays of a file (word `leaf_targets`), and back.

pack      LeafTargets -> arrays
take      arrays of a file -> the arrays of leaf targets, and all others
unpack    arrays and the forest -> LeafTargets, with every number checked unless the file is mapped
"""

import numpy as np

from weald.data.types import Array, BoolArray
from weald.forest.forest import Forest
from weald.forest.leaf_targets import LeafTargets
from weald.io.container import require
from weald.io.streams import Arrays, narrow

VALUE, LENGTH, PLACE, WEIGHT = "target.sorted", "target.length", "target.row", "target.weight"
MAPPABLE = {
    VALUE: "forest.y_sorted",
    LENGTH: "forest.target_start",
    PLACE: "forest.target_row",
    WEIGHT: "forest.target_weight",
}
LARGEST_WHOLE = 2**53  # largest weight stored as a whole number


def pack(targets: LeafTargets, *, mappable: bool) -> Arrays:
    """Write the targets of each leaf. Leaves are in the order of nodes."""
    sizes = np.diff(targets.start)[targets.forest.feature < 0]
    if mappable:
        start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        parts = (targets.value, start, targets.place.astype(np.uint32), targets.weight.astype(np.float64))
        return dict(zip(MAPPABLE.values(), parts, strict=True))
    weight = targets.weight
    if _are_whole(weight):
        weight = narrow(weight.astype(np.int64))
    return {VALUE: targets.value, LENGTH: narrow(sizes), PLACE: narrow(targets.place), WEIGHT: weight}


def take(arrays: Arrays, *, mappable: bool) -> tuple[Arrays, Arrays]:
    """Divide the arrays of a file into those of leaf targets, by their names in small files, and the others."""
    names = MAPPABLE if mappable else {name: name for name in MAPPABLE}
    missing = [name for name in names.values() if name not in arrays]
    require(not missing, f"The leaf targets lack {', '.join(missing)}.")
    own = {name: arrays[there] for name, there in names.items()}
    return own, {name: array for name, array in arrays.items() if name not in names.values()}


def unpack(arrays: Arrays, forest: Forest, *, mappable: bool, mapped: bool) -> LeafTargets:
    """Restore the targets of each leaf."""
    value, lengths, place, weight = (arrays[name] for name in MAPPABLE)
    require(all(array.ndim == 1 for array in arrays.values()), "The leaf targets must be one-dimensional arrays.")
    require(value.dtype == np.float64, "The target values must be doubles.")
    require(lengths.dtype.kind in "iu" and place.dtype.kind == "u", "The leaf targets must be whole numbers.")
    require(weight.dtype.kind == "u" or weight.dtype == np.float64, "The weights of targets have a wrong type.")
    is_leaf = forest.feature < 0
    if mappable:
        require(len(lengths) == np.count_nonzero(is_leaf) + 1, "The number of leaves is inconsistent.")
        require(lengths[0] == 0 and np.all(lengths[1:] > lengths[:-1]), "A leaf has no targets.")
        lengths = np.diff(lengths)
    require(len(lengths) == np.count_nonzero(is_leaf), "The number of leaves is inconsistent.")
    require(len(lengths) and lengths.max() <= len(place), "A leaf has too many targets.")
    sizes = np.zeros(forest.n_nodes, dtype=np.int64)
    sizes[is_leaf] = lengths
    start = np.concatenate([[0], np.cumsum(sizes)])
    require(start[-1] == len(place) == len(weight), "The number of leaf targets is inconsistent.")
    targets = LeafTargets(forest, value, start, place, weight)
    if not mapped:
        _check(targets, is_leaf)
    return targets


def _check(targets: LeafTargets, is_leaf: BoolArray) -> None:
    value, start, place, weight = targets.value, targets.start, targets.place, targets.weight
    require(
        0 < len(value) < 2**32 and np.isfinite(value).all() and (np.diff(value) > 0).all(),
        "The target values are not in ascending order.",
    )
    require(not (np.signbit(value) & (value == 0)).any(), "A target value is -0.0.")
    require(np.diff(start)[is_leaf].min() > 0, "A leaf has no targets.")
    require(
        np.array_equal(np.unique(place), np.arange(len(value))),
        "The leaves do not use exactly the listed target values.",
    )
    first = start[:-1][is_leaf][1:]
    rises = place[1:] > place[:-1]
    rises[first - 1] = True  # where the next leaf begins
    require(rises.all(), "The targets of a leaf are not in ascending order.")
    require(np.isfinite(weight).all() and (weight > 0).all(), "The weight of a target must be positive and finite.")
    if _are_whole(weight) and not len(targets.forest.weight_scale):
        leaf = np.repeat(np.arange(len(start) - 1), np.diff(start))
        sums = np.bincount(leaf, weights=weight, minlength=len(start) - 1)[is_leaf]
        require(
            np.array_equal(sums, targets.forest.weight[is_leaf]),
            "The weights of targets do not add up to those of the leaves.",
        )


def _are_whole(weight: Array) -> bool:
    return bool((weight == np.floor(weight)).all() and weight.max() < LARGEST_WHOLE)
