"""Compression of the arrays of a file.

The bytes of numbers are reordered by position (all first bytes, all second bytes, ...), which compresses better, and
compressed by zlib. Arrays that compress by more than MOST_TIMES are stored uncompressed: then a reader can refuse
larger sizes, and no small file can require much memory. Leaf marks are not compressed either, because they determine
the number of nodes.
"""

import math
import zlib
from collections.abc import Sequence

import numpy as np

from weald.data.types import Array
from weald.engines.threads import count_threads, map_on_threads
from weald.errors import FormatError
from weald.io.container import TYPES, Json, is_numbers, require
from weald.io.streams import Arrays

LEVEL = 6
MOST_TIMES = 64
LEAST_BYTES = 256  # shorter arrays are not compressed
LARGE_BYTES = 2**20  # larger arrays are decompressed on several threads
NEVER = ("node.leaf",)


def zip_arrays(arrays: Arrays) -> tuple[Arrays, dict[str, Json]]:
    """Compress arrays that become smaller; also return the type and shape of each compressed array."""
    stored, zipped = dict(arrays), {}
    for name, array in arrays.items():
        if _plain_name(name) in NEVER or array.nbytes < LEAST_BYTES:
            continue
        short = zlib.compress(_by_place(array).tobytes(), LEVEL)
        if array.nbytes / MOST_TIMES < len(short) < 0.95 * array.nbytes:
            stored[name] = np.frombuffer(short, dtype=np.uint8)
            zipped[name] = [array.dtype.newbyteorder("<").str, list(array.shape)]
    return stored, zipped


def _plain_name(name: str) -> str:
    """Remove the number of the target from a name."""
    return name.rpartition("/")[2]


def _by_place(array: Array) -> Array:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return np.ascontiguousarray(little.reshape(-1).view(np.uint8).reshape(-1, _width(array.dtype, array.shape)).T)


def _width(dtype: np.dtype[np.generic], shape: Sequence[int]) -> int:
    """Number of bytes of an element: of a number, or of a truncated double."""
    return int(shape[1]) if dtype == np.uint8 and len(shape) == 2 else dtype.itemsize


def unzip(arrays: Arrays, zipped: Json, limit: int) -> Arrays:
    """Decompress arrays, if all of them together do not exceed the limit."""
    require(isinstance(zipped, dict) and zipped.keys() <= arrays.keys(), "The list of compressed arrays is invalid.")
    sizes = {name: _size_of(name, entry, len(arrays[name])) for name, entry in zipped.items()}
    total = sum(sizes.values())
    require(total <= limit, f"Its arrays take {total:,} bytes of memory; {limit:,} are allowed.")
    n_threads = count_threads(None) if total >= LARGE_BYTES else 1  # zlib needs no lock of Python's
    made = map_on_threads(lambda name: _unzip(arrays[name], name, zipped[name], sizes[name]), zipped, n_threads)
    return {**arrays, **dict(zip(zipped, made, strict=True))}


def _size_of(name: str, entry: Json, n_bytes: int) -> int:
    """Check the metadata of a compressed array; return its size in bytes."""
    proper = isinstance(entry, list) and len(entry) == 2 and entry[0] in TYPES.values() and is_numbers(entry[1])
    require(
        proper and _plain_name(name) not in NEVER and 1 <= len(entry[1]) <= 4,
        f"The metadata of the compressed array {name!r} are invalid.",
    )
    size: int = math.prod(entry[1]) * np.dtype(entry[0]).itemsize
    require(0 < size < MOST_TIMES * n_bytes, f"The array {name!r} has {size:,} bytes in {n_bytes:,} compressed bytes.")
    return size


def _unzip(short: Array, name: str, entry: Json, size: int) -> Array:
    require(short.dtype == np.uint8 and short.ndim == 1, f"The compressed array {name!r} is not an array of bytes.")
    engine = zlib.decompressobj()
    try:
        found = engine.decompress(short.tobytes(), size)
        rest = engine.decompress(engine.unconsumed_tail, 1)  # reads the end marker, if it remains
    except zlib.error as error:
        raise FormatError(f"The array {name!r} cannot be decompressed: {error}.") from None
    whole = len(found) == size and not rest and engine.eof and not engine.unused_data
    require(whole, f"The array {name!r} has the wrong length.")
    dtype = np.dtype(entry[0])
    by_place = np.frombuffer(found, dtype=np.uint8).reshape(_width(dtype, entry[1]), -1)
    array: Array = np.ascontiguousarray(by_place.T).reshape(-1).view(dtype).reshape(entry[1])
    return array
