"""Compact encodings of arrays. core/files/encoded.h decodes them, bit for bit.

    narrow           whole numbers in the smallest possible type
    pack_floats      doubles as such, without bytes that are always zero, or as indices of distinct values
    pack_residual    differences of doubles, in units of the last place, from a prediction that the reader computes too

A packed array consists of several arrays: `name`, `name.values`, `name.raw`. Arrays of zeros are left out.
"""

import numpy as np
import numpy.typing as npt

from weald.data.types import Array, FloatArray, IntArray

Arrays = dict[str, Array]

UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)


def narrow(numbers: IntArray) -> IntArray:
    """Store nonnegative whole numbers in the smallest unsigned type."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype(next(kind for kind in UNSIGNED if largest <= np.iinfo(kind).max))


# ------------------------------------------------------------------------------------------------------------ doubles


def order_of_bits(values: FloatArray) -> npt.NDArray[np.uint64]:
    """Map doubles to whole numbers of the same order: -0.0 comes before 0.0."""
    bits = values.view(np.uint64)
    top = np.uint64(2**63)
    return np.where(bits & top, ~bits, bits | top)


def shorten(values: FloatArray) -> Array:
    """Write doubles as float32 if this is exact for all, or without the last bytes if these are always zero."""
    values = np.ascontiguousarray(values)
    with np.errstate(all="ignore"):
        short = values.astype(np.float32)
    if np.array_equal(short.astype(np.float64).view(np.uint64), values.view(np.uint64)):
        return short
    by_byte = values.astype("<f8").view(np.uint8).reshape(-1, 8)
    n_zero = int(np.argmax(by_byte.any(axis=0)))
    return np.ascontiguousarray(by_byte[:, n_zero:]) if n_zero else values


def pack_floats(name: str, values: FloatArray, group: IntArray | None = None, n_groups: int = 1) -> Arrays:
    """Write doubles in the shortest of three ways.

    Distinct values are listed by group (for example the thresholds of a feature), each list ascending, and a value is
    its index in the list of its group.
    """
    plain = shorten(values)
    of = np.zeros(len(values), dtype=np.int64) if group is None else group.astype(np.int64)
    keys = order_of_bits(np.ascontiguousarray(values))
    order = np.lexsort((keys, of))
    is_new = np.ones(len(values), dtype=bool)
    is_new[1:] = (np.diff(of[order]) != 0) | (keys[order][1:] != keys[order][:-1])
    distinct = shorten(values[order][is_new])
    counts = np.bincount(of[order][is_new], minlength=n_groups)
    first = np.concatenate([[0], np.cumsum(counts)])
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.cumsum(is_new) - 1
    place -= first[of]
    listed = {name: narrow(place), f"{name}.values": distinct, f"{name}.counts": narrow(counts)}
    return listed if sum(a.nbytes for a in listed.values()) < plain.nbytes else {name: plain}


# ---------------------------------------------------------------------------------------------------------- residuals


def pack_residual(name: str, values: FloatArray, guess: FloatArray) -> Arrays:
    """Store the differences of doubles from predictions: nothing, one or two bytes each, or the doubles themselves."""
    values = np.ascontiguousarray(values)
    difference = values.view(np.int64) - _tidy(guess).view(np.int64)
    if not difference.any():
        return {}
    ways: list[Arrays] = [{f"{name}.raw": values}]
    for kind in (np.int8, np.int16):
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        is_far = (difference <= least) | (difference > most)
        near = np.where(is_far, least, difference).astype(kind)
        ways.append({name: near, f"{name}.raw": values[is_far]} if is_far.any() else {name: near})
    return min(ways, key=lambda way: sum(array.nbytes for array in way.values()))


def _tidy(guess: FloatArray) -> FloatArray:
    """Replace predictions of NaN by 0: its bits differ between machines."""
    return np.ascontiguousarray(np.where(np.isnan(guess), 0.0, guess))
