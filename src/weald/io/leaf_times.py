"""The times in the leaves of a survival forest as arrays of a file (word `survival`), and back.

pack      LeafTimes -> arrays
take      arrays of a file -> the arrays of leaf times, and all others
unpack    arrays and the forest -> LeafTimes, with every number checked unless the file is mapped
"""

import numpy as np

from weald.data.types import Array, BoolArray
from weald.forest.forest import Forest
from weald.forest.leaf_times import LeafTimes
from weald.io.container import require
from weald.io.streams import Arrays, narrow

TIME, LENGTH, AT, EVENTS, EXITS = (
    "survival.time",
    "survival.length",
    "survival.at",
    "survival.events",
    "survival.exits",
)
MAPPABLE = {
    TIME: "forest.survival_time",
    LENGTH: "forest.survival_start",
    AT: "forest.survival_at",
    EVENTS: "forest.survival_events",
    EXITS: "forest.survival_exits",
}
LARGEST_WHOLE = 2**53  # largest weight stored as a whole number


def pack(times: LeafTimes, *, mappable: bool) -> Arrays:
    """Write the times of each leaf. Leaves are in the order of nodes."""
    sizes = np.diff(times.start)[times.forest.feature < 0]
    if mappable:
        start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        weights = (times.events.astype(np.float64), times.censored.astype(np.float64))
        parts = (times.time, start, times.place.astype(np.uint32), *weights)
        return dict(zip(MAPPABLE.values(), parts, strict=True))
    events, exits = (narrow(w.astype(np.int64)) if _are_whole(w) else w for w in (times.events, times.censored))
    return {TIME: times.time, LENGTH: narrow(sizes), AT: narrow(times.place), EVENTS: events, EXITS: exits}


def take(arrays: Arrays, *, mappable: bool) -> tuple[Arrays, Arrays]:
    """Divide the arrays of a file into those of leaf times, by their names in small files, and the others."""
    names = MAPPABLE if mappable else {name: name for name in MAPPABLE}
    missing = [name for name in names.values() if name not in arrays]
    require(not missing, f"The times of leaves lack {', '.join(missing)}.")
    own = {name: arrays[there] for name, there in names.items()}
    return own, {name: array for name, array in arrays.items() if name not in names.values()}


def unpack(arrays: Arrays, forest: Forest, *, mappable: bool, mapped: bool) -> LeafTimes:
    """Restore the times of each leaf."""
    time, lengths, place, events, exits = (arrays[name] for name in MAPPABLE)
    require(all(array.ndim == 1 for array in arrays.values()), "The times of leaves must be one-dimensional arrays.")
    require(time.dtype == np.float64, "The times must be doubles.")
    require(lengths.dtype.kind in "iu" and place.dtype.kind == "u", "The places of times must be whole numbers.")
    proper = all(weight.dtype.kind == "u" or weight.dtype == np.float64 for weight in (events, exits))
    require(proper, "The weights of times have a wrong type.")
    is_leaf = forest.feature < 0
    n_leaves = int(np.count_nonzero(is_leaf))
    if mappable:
        require(len(lengths) == n_leaves + 1, "The number of leaves is inconsistent.")
        require(lengths[0] == 0 and np.all(lengths[1:] > lengths[:-1]), "A leaf has no times.")
        lengths = np.diff(lengths)
    require(len(lengths) == n_leaves, "The number of leaves is inconsistent.")
    require(len(lengths) and lengths.max() <= len(place), "A leaf has too many times.")
    sizes = np.zeros(forest.n_nodes, dtype=np.int64)
    sizes[is_leaf] = lengths
    start = np.concatenate([[0], np.cumsum(sizes)])
    require(start[-1] == len(place) == len(events) == len(exits), "The number of times is inconsistent.")
    found = LeafTimes(forest, time, start, place, events, exits)
    if not mapped:
        _check(found, is_leaf)
    return found


def _check(times: LeafTimes, is_leaf: BoolArray) -> None:
    time, start, place = times.time, times.start, times.place
    require(
        0 < len(time) < 2**32 and np.isfinite(time).all() and time[0] >= 0 and (np.diff(time) > 0).all(),
        "The times are not in ascending order from 0.",
    )
    require(not np.signbit(time[0]), "A time is -0.0.")
    require(np.diff(start)[is_leaf].min() > 0, "A leaf has no times.")
    require(place.max() < len(time), "A leaf has an unknown time.")
    first = start[:-1][is_leaf][1:]
    rises = place[1:] > place[:-1]
    rises[first - 1] = True  # from one leaf to the next
    require(rises.all(), "The times of a leaf are not in ascending order.")
    weights = (times.events, times.censored)
    proper = all(np.isfinite(weight).all() and (weight >= 0).all() for weight in weights)
    total = times.events.astype(np.float64) + times.censored
    require(proper and (total > 0).all(), "The weights of a time must be finite and not negative, and not both 0.")
    if all(map(_are_whole, weights)) and not len(times.forest.weight_scale):
        sums = np.bincount(times.leaf, weights=total, minlength=len(start) - 1)[is_leaf]
        require(
            np.array_equal(sums, times.forest.weight[is_leaf]),
            "Events and censored rows do not add up to the weights of the leaves.",
        )


def _are_whole(weight: Array) -> bool:
    return bool((weight == np.floor(weight)).all() and weight.max() < LARGEST_WHOLE)
