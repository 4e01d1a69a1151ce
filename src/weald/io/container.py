"""The container of a `.weald` file: a safetensors file, written so that equal contents give equal bytes.

    8 bytes     length of the header, little-endian
    header      JSON: texts under "__metadata__", and type, shape and position of each array
    arrays      contiguous, little-endian, no gaps

The metadata contain two digests: `weald.sha256` of the header (its own 64 characters replaced by zeros) and
`weald.data` of the arrays. The former comes first, so the reader finds it before parsing anything. The reader trusts no
number: before it allocates memory, it refuses gaps, overlaps, duplicate names, and a header that is too long.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeGuard

import numpy as np

from weald.data.types import Array, IntArray
from weald.errors import FormatError

MOST_HEADER = 2**22  # bytes; long lists are arrays
MOST_DIGITS = 40  # limit for digits of a whole number in the header

SLICE = 2**26  # bytes that are processed at a time
LINE = 64  # bytes: alignment of the header and size unit of PACKED arrays

METADATA = "__metadata__"
PACKED = "packed."  # prefix of the names of arrays that are used in place
OPENING = b'{"__metadata__":{"weald.sha256":"'
DIGEST = slice(8 + len(OPENING), 8 + len(OPENING) + 64)

Buffer = bytes | memoryview
Json: TypeAlias = Any  # parsed JSON of a file, whose values are checked one by one
Done = Callable[[], None]

TYPES = {
    "F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4",
    "I16": "<i2", "U16": "<u2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(code).newbyteorder("<"): name for name, code in TYPES.items()}


@dataclass(frozen=True)
class Contents:
    """The contents of a container: texts and arrays. The arrays are views of the file's bytes."""

    metadata: dict[str, str]
    arrays: dict[str, Array]


# ------------------------------------------------------------------------------------------------------------- write


def write(metadata: dict[str, str], arrays: dict[str, Array], done: Done | None = None) -> list[Buffer]:
    """Lay out a file as pieces to be written one after the other. `done` is called regularly; see `in_slices`."""
    # This order keeps all arrays aligned. PACKED arrays are used in place, so they come first and begin at a cache
    # line.
    ordered = sorted(arrays.items(), key=lambda item: (PACKED not in item[0], -item[1].dtype.itemsize, item[0]))
    pieces, table, at = [], {}, 0
    for name, array in ordered:
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        place = [at, at + little.nbytes]
        table[name] = {"dtype": NAMES[little.dtype], "shape": list(array.shape), "data_offsets": place}
        pieces.append(little.reshape(-1).view(np.uint8).data)
        at += little.nbytes
    texts = {"weald.sha256": "0" * 64, "weald.data": _digest(in_slices(pieces, done)), **metadata}
    header = json.dumps({METADATA: texts, **table}, separators=(",", ":"), ensure_ascii=True).encode()
    header += b" " * (-(8 + len(header)) % LINE)
    if len(header) > MOST_HEADER:
        raise FormatError(
            f"The parameters and notes of this model take {len(header):,} bytes, but a .weald file has room for "
            f"{MOST_HEADER:,}. Give shorter ones."
        )
    head = bytearray(len(header).to_bytes(8, "little") + header)
    head[DIGEST] = _digest([head]).encode()
    return [bytes(head), *pieces]


def in_slices(pieces: Iterable[Buffer], done: Done | None = None) -> Iterator[Buffer]:
    """Divide long pieces; after each slice `done` may release mapped pages that were read."""
    for piece in pieces:
        view = memoryview(piece)
        for begin in range(0, len(view), SLICE):
            yield view[begin : begin + SLICE]
            if done:
                done()


def _digest(pieces: Iterable[Buffer | bytearray]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


# -------------------------------------------------------------------------------------------------------------- read


def read(buffer: Buffer, *, check_data: bool = True, done: Done | None = None) -> Contents:
    """Read a container; without `check_data` the digest of the arrays is not checked. For `done` see `in_slices`."""
    view = memoryview(buffer)
    end = _find_header(view)
    head = bytearray(view[:end])
    found, head[DIGEST] = bytes(head[DIGEST]), b"0" * 64
    require(found == _digest([head]).encode(), "The header is damaged: its SHA-256 does not match.")
    table = parse_json(bytes(head[8:]))
    metadata = table.pop(METADATA)
    is_text = isinstance(metadata, dict) and all(isinstance(text, str) for text in metadata.values())
    require(is_text, "The metadata must be texts.")
    arrays = _find_arrays(table, view[end:])
    if check_data:
        whole = metadata.get("weald.data") == _digest(in_slices([view[end:]], done))
        require(whole, "The arrays are damaged: their SHA-256 does not match that in the header.")
    return Contents(metadata, arrays)


def _find_header(view: memoryview) -> int:
    """Find the end of the header."""
    require(len(view) >= DIGEST.stop, f"It is not a .weald file: it has only {len(view)} bytes.")
    require(view[8 : DIGEST.start] == OPENING, "It is not a .weald file: its first bytes differ.")
    length = int.from_bytes(view[:8], "little")
    require(length <= MOST_HEADER, f"The header has {length:,} bytes; {MOST_HEADER:,} are allowed.")
    require(DIGEST.stop <= 8 + length <= len(view), f"The file is truncated: it has {len(view)} bytes.")
    return 8 + length


def _find_arrays(table: dict[str, Json], data: memoryview) -> dict[str, Array]:
    """Find the arrays, and check that they fill the rest of the file, one after the other."""
    at, arrays = 0, {}
    for name, entry in sorted(table.items(), key=_place_of):
        dtype, shape, (begin, end) = TYPES.get(entry["dtype"]), entry["shape"], entry["data_offsets"]
        require(dtype is not None, f"Array {name!r} has the unknown type {entry['dtype']!r}.")
        require(is_numbers(shape) and len(shape) <= 4, f"Array {name!r} has an invalid shape.")
        size = math.prod(shape) * np.dtype(dtype).itemsize
        require(begin == at and end - begin == size, f"Array {name!r} has a wrong position or length.")
        require(end <= len(data), f"Array {name!r} extends beyond the end of the file.")
        arrays[name] = np.frombuffer(data[begin:end], dtype=dtype).reshape(shape)
        at = end
    require(at == len(data), f"{len(data) - at} bytes at the end of the file belong to no array.")
    return arrays


def _place_of(item: tuple[str, Json]) -> tuple[int, int]:
    name, entry = item
    proper = isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}
    proper = proper and isinstance(entry["dtype"], str) and is_numbers(entry["data_offsets"])
    require(proper and len(entry["data_offsets"]) == 2, f"The header entry of array {name!r} is invalid.")
    return entry["data_offsets"][0], entry["data_offsets"][1]


def is_numbers(value: object) -> TypeGuard[list[int]]:
    """Return whether a value is a list of nonnegative whole numbers."""
    return isinstance(value, list) and all(type(number) is int and number >= 0 for number in value)


def parse_json(text: bytes | str) -> dict[str, Json]:
    """Read a JSON object without duplicate names, NaN, huge numbers or deep nesting."""
    try:
        parsed = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant, parse_int=_short_int)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"The header is not valid JSON: {error}.") from None
    require(isinstance(parsed, dict), "The header is not a JSON object.")
    return dict(parsed)


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = dict(pairs)
    if len(names) != len(pairs):
        raise ValueError("a name occurs twice")
    return names


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _short_int(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def require(condition: object, message: str) -> None:
    """Raise a FormatError unless the condition holds."""
    if not condition:
        raise FormatError(message)


def ascends(numbers: IntArray) -> bool:
    """Return whether the numbers are strictly ascending. Differences could wrap around."""
    return bool(np.all(numbers[1:] > numbers[:-1]))
