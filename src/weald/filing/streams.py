"""Arrays in few bytes, and back bit for bit.

    narrow           whole numbers in the smallest type that holds them
    pack_floats      doubles as they are, without what is zero in all of them, or as numbers of their distinct values
    pack_residual    doubles as what they differ, in units of the last place, from a guess that the reader can make too

A packed thing is some arrays under one name: `name`, `name.values`, `name.raw`. What is all zeros is left out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.filing.container import require
from weald.model import FloatArray, IntArray

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)


def narrow(numbers: IntArray) -> IntArray:
    """Keep whole numbers from 0 in the smallest unsigned type."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype(next(kind for kind in UNSIGNED if largest <= np.iinfo(kind).max))


def read_numbers(arrays: Arrays, name: str, length: int, below: int = 2**63, default: int | None = None) -> IntArray:
    """Take whole numbers below a limit from the arrays; `default` stands for an array that was left out."""
    if default is not None and name not in arrays:
        return np.full(length, default, dtype=np.int64)
    require(name in arrays, f"The array {name!r} is missing.")
    found = arrays.pop(name)
    require(found.dtype.kind == "u" and found.shape == (length,), f"The array {name!r} is not {length} numbers from 0.")
    require(not length or int(found.max()) < below, f"The array {name!r} has a number that is not below {below}.")
    return found.astype(np.int64)


# ------------------------------------------------------------------------------------------------------------ doubles


def order_of_bits(values: FloatArray) -> npt.NDArray[np.uint64]:
    """Map doubles to whole numbers of the same order: -0.0 stands before 0.0."""
    bits = values.view(np.uint64)
    top = np.uint64(2**63)
    return np.where(bits & top, ~bits, bits | top)


def shorten(values: FloatArray) -> AnyArray:
    """Write doubles as float32 where all of them are, or without the last bytes where these are zero in all of them."""
    values = np.ascontiguousarray(values)
    with np.errstate(all="ignore"):
        short = values.astype(np.float32)
    if np.array_equal(short.astype(np.float64).view(np.uint64), values.view(np.uint64)):
        return short
    by_byte = values.astype("<f8").view(np.uint8).reshape(-1, 8)
    n_zero = int(np.argmax(by_byte.any(axis=0)))
    return np.ascontiguousarray(by_byte[:, n_zero:]) if n_zero else values


def is_doubles(array: AnyArray) -> bool:
    """Say whether an array is what `shorten` makes of doubles."""
    is_short = array.ndim == 2 and array.dtype == np.uint8 and 0 < array.shape[1] < 8
    return is_short or (array.ndim == 1 and array.dtype in (np.float32, np.float64))


def lengthen(array: AnyArray) -> FloatArray:
    """Make doubles of what `shorten` made of them."""
    if array.ndim == 1:
        return array.astype(np.float64)
    by_byte = np.zeros((len(array), 8), dtype=np.uint8)
    by_byte[:, 8 - array.shape[1] :] = array
    return by_byte.reshape(-1).view("<f8").astype(np.float64)


def pack_floats(name: str, values: FloatArray, group: IntArray | None = None, n_groups: int = 1) -> Arrays:
    """Write doubles in the shortest of three ways.

    Distinct values are listed by group (the thresholds of a feature, say), each list ascending, and a value is its
    place in the list of its group.
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


def read_floats(arrays: Arrays, name: str, length: int, group: IntArray | None = None, n_groups: int = 1) -> FloatArray:
    """Take doubles from the arrays."""
    require(name in arrays, f"The array {name!r} is missing.")
    if is_doubles(arrays[name]):
        found = arrays.pop(name)
        require(len(found) == length, f"The array {name!r} is not {length} numbers.")
        return lengthen(found)
    place = read_numbers(arrays, name, length)
    counts = read_numbers(arrays, f"{name}.counts", n_groups, below=2**32)
    distinct = arrays.pop(f"{name}.values", np.empty(0))
    proper = is_doubles(distinct) and len(distinct) == int(counts.sum())
    require(proper, f"The array '{name}.values' is not as long as its lists are.")
    of = np.zeros(length, dtype=np.int64) if group is None else group
    require(np.all(place < counts[of]), f"The array {name!r} points beyond the end of its list.")
    first = np.concatenate([[0], np.cumsum(counts)])
    return lengthen(distinct)[first[of] + place]


# ---------------------------------------------------------------------------------------------------------- residuals


def pack_residual(name: str, values: FloatArray, guess: FloatArray) -> Arrays:
    """Write what doubles differ from a guess: nothing, a byte or two each, or the doubles as they are."""
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


def read_residual(arrays: Arrays, name: str, length: int) -> Callable[..., FloatArray]:
    """Take residuals from the arrays: a function of (guess, which of the doubles: all) gives the doubles."""
    near = arrays.pop(name, None)
    is_far = np.zeros(length, dtype=bool)
    difference = np.zeros(length, dtype=np.int64)
    if near is not None:
        proper = near.dtype in (np.int8, np.int16) and near.shape == (length,)
        require(proper, f"The array {name!r} is not {length} small numbers.")
        is_far, difference = near == np.iinfo(near.dtype).min, near.astype(np.int64)
    elif f"{name}.raw" in arrays:
        is_far = ~is_far
    raw = arrays.pop(f"{name}.raw", np.empty(0))
    n_far = int(np.count_nonzero(is_far))
    require(raw.dtype == np.float64 and raw.shape == (n_far,), f"The array '{name}.raw' is not {n_far} numbers.")
    values = np.zeros(length)
    values[is_far] = raw

    def restore(guess: FloatArray, which: Any = slice(None)) -> FloatArray:
        near_ones = (_tidy(guess).view(np.int64) + difference[which]).view(np.float64)
        restored: FloatArray = np.where(is_far[which], values[which], near_ones)
        return restored

    return restore


def _tidy(guess: FloatArray) -> FloatArray:
    """Make a guess of NaN 0: its bits differ from machine to machine."""
    return np.ascontiguousarray(np.where(np.isnan(guess), 0.0, guess))
