"""Parameters and notes of a model as JSON and arrays, without executing code when they are read.

    Writer    Python values -> JSON; long lists and arrays are stored as arrays of the file
Reader    JSON -> plain values, NumPy arrays, and known kinds of records

Values that JSON supports are written directly (a list is a list). All others are an object with one name:
{"tuple": [...]}, {"dict": [[key, value], ...]}, {"float": "nan"}, {"int": "0x..."}, {"scalar": [type, value]},
{"array": ...}, {"record": [kind, {...}]}.
"""

import dataclasses
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from weald.data.types import Array, Label
from weald.errors import FormatError
from weald.io.container import MOST_DIGITS, TYPES, Json, is_numbers, require
from weald.io.streams import Arrays, narrow

MANY = 16  # longer lists of numbers or texts are arrays of the file
MOST_DEPTH = 32  # limit for the depth of nested lists
MOST_ROOM = 2**24  # characters of an array of texts, including padding
MOST_BITS = 2**13  # limit for a whole number: Python limits the digits that it prints
LONG = 10 ** (MOST_DIGITS - 1)  # whole numbers from here on, and their negatives, are not written in decimal digits
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # a surrogate pair, which JSON reads as one character
HEX = re.compile("-?0x[0-9a-f]+")
NUMBERS = "biuf"
TIMES = "mM"  # NumPy's dates and durations

Record = type
Hint: TypeAlias = Any  # a declared type: `int`, `FloatArray`, `Array | None`


class Writer:
    """Converts values to JSON; `arrays` collects their arrays."""

    def __init__(self, prefix: str = "meta") -> None:
        self.arrays: Arrays = {}
        self._prefix = prefix

    def write(self, value: object) -> Json:  # noqa: PLR0911  (one for each kind)
        """Write one value."""
        if value is None or isinstance(value, bool | str) or type(value) in (int, float):
            return _write_plain(value)
        if isinstance(value, np.generic) and not isinstance(plain := _plain(value), np.generic):
            return {"scalar": [value.dtype.str, self.write(plain)]}
        if isinstance(value, np.ndarray):
            return {"array": self._write_array(value)}
        if isinstance(value, Mapping):
            return {"dict": [[self.write(k), self.write(v)] for k, v in value.items()]}
        if isinstance(value, set | frozenset):
            return {type(value).__name__: self._write_list(sorted(value, key=repr))}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
            kind, written = ("tuple" if type(value) is tuple else "list"), self._write_list(value)
            return written if isinstance(written, list) and kind == "list" else {kind: written}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self.write_record(
                type(value).__name__, {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            )
        if hasattr(value, "__array__"):
            return self.write(np.asarray(value))
        raise FormatError(
            f"A {type(value).__name__} cannot be written to a .weald file, which holds numbers, texts, NumPy's dates "
            "and lists of them. Give one of these, or keep the model with pickle."
        )

    def write_record(self, kind: str, fields: Mapping[str, object]) -> Json:
        """Write named values of a known kind of record."""
        return {"record": [kind, {name: self.write(value) for name, value in fields.items()}]}

    def _write_list(self, values: Sequence[Label]) -> Json:
        kinds = {type(value) for value in values}
        if len(values) > MANY and len(kinds) == 1:
            kind = kinds.pop()
            if kind is str:
                return {"texts": self._add_texts(list(values))}
            if kind is float or (kind is int and all(-(2**63) <= value < 2**63 for value in values)):
                return {"numbers": self._add(np.array(values, dtype=np.float64 if kind is float else np.int64))}
        return [self.write(value) for value in values]

    def _write_array(self, array: Array) -> Json:
        kind = array.dtype.kind
        if kind in NUMBERS and np.dtype(array.dtype).newbyteorder("<").str in TYPES.values():
            return {"dtype": array.dtype.str, "at": self._add(array)}
        if kind in TIMES:
            return {"dtype": array.dtype.str, "at": self._add(array.view(np.int64))}
        if kind == "U" and array.size * (array.dtype.itemsize // 4) > MOST_ROOM:
            return self._write_array(array.astype(object))
        if kind in "UO":
            items = self._write_list(array.ravel().tolist())
            return {"dtype": array.dtype.str if kind == "U" else "O", "shape": list(array.shape), "items": items}
        raise FormatError(
            f"An array of type {array.dtype} cannot be written to a .weald file. Give numbers of up to 64 bits, texts "
            "or dates, or keep the model with pickle."
        )

    def _add(self, array: Array) -> str:
        name = f"{self._prefix}.{len(self.arrays)}"
        self.arrays[name] = array.astype(array.dtype.newbyteorder("<"), copy=False)  # little-endian, as in a file
        return name

    def _add_texts(self, texts: list[str]) -> list[str]:
        coded = [_refuse_pairs(text).encode("utf-8", "surrogatepass") for text in texts]
        lengths = narrow(np.array([len(text) for text in coded], dtype=np.int64))
        return [self._add(np.frombuffer(b"".join(coded), dtype=np.uint8)), self._add(lengths)]


def _plain(value: object) -> object:
    """Convert NumPy's scalars to Python's, and dates to whole numbers."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return int(value.view(np.int64))
    return value.item() if isinstance(value, np.generic) else value


def _write_plain(value: object) -> Json:
    """Write values that JSON supports: numbers, text, true, false and null."""
    if isinstance(value, str):
        return _refuse_pairs(value)
    if type(value) is int:
        return value if -LONG < value < LONG else {"int": _write_long(value)}
    if type(value) is float and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _write_long(number: int) -> str:
    """Write a whole number that is too long for decimal digits."""
    if number.bit_length() > MOST_BITS:
        raise FormatError(
            f"A whole number of {number.bit_length():,} bits cannot be written to a .weald file, which holds up to "
            f"{MOST_BITS:,}. Give a smaller one, or keep the model with pickle."
        )
    return hex(number)


def _refuse_pairs(text: str) -> str:
    """Refuse a surrogate pair: JSON cannot distinguish it from the character that it represents."""
    if PAIR.search(text):
        raise FormatError(
            f"The text {text!a} has a pair of surrogates, which cannot be written to a .weald file. Replace it by its "
            "character: text.encode('utf-16', 'surrogatepass').decode('utf-16')."
        )
    return text


# --------------------------------------------------------------------------------------------------------------- read


class Reader:
    """Converts JSON and arrays to values. Used arrays are removed from `arrays`."""

    def __init__(self, arrays: Arrays, records: dict[str, Record]) -> None:
        self.arrays = arrays
        self._records = records

    def read(self, written: Json, depth: int = 0) -> Json:
        """Read one value."""
        require(depth < MOST_DEPTH, "Lists are nested too deeply.")
        if not isinstance(written, list | dict):
            return written
        if isinstance(written, list):
            return [self.read(value, depth + 1) for value in written]
        require(len(written) == 1, "A value must be an object with exactly one name.")
        ((kind, value),) = written.items()
        read = getattr(self, f"_read_{kind}", None) if kind in KINDS else None
        require(read, f"{kind!r} is not a known kind of value.")
        return read(value, depth + 1)  # type: ignore[misc]

    def read_record(self, written: Json, kind: str) -> dict[str, Json]:
        """Read the named values of a record of a kind."""
        found = isinstance(written, dict) and written.get("record")
        proper = isinstance(found, list) and len(found) == 2 and found[0] == kind and isinstance(found[1], dict)
        require(proper, f"A record of the kind {kind!r} is missing.")
        return {name: self.read(value) for name, value in found[1].items()}  # type: ignore[index]

    def _read_list(self, value: Json, depth: int) -> list[Json]:
        if isinstance(value, list):
            return [self.read(item, depth) for item in value]
        require(isinstance(value, dict) and value.keys() in ({"texts"}, {"numbers"}), "A list is invalid.")
        return self._take_texts(value["texts"]) if "texts" in value else self._take(value["numbers"]).tolist()

    def _read_tuple(self, value: Json, depth: int) -> tuple[Json, ...]:
        return tuple(self._read_list(value, depth))

    def _read_set(self, value: Json, depth: int) -> set[Json]:
        return set(self._hashable(self._read_list(value, depth)))

    def _read_frozenset(self, value: Json, depth: int) -> frozenset[Json]:
        return frozenset(self._hashable(self._read_list(value, depth)))

    def _read_dict(self, value: Json, depth: int) -> dict[Json, Json]:
        pairs = self._read_list(value, depth)
        require(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "A dict must be a list of pairs.")
        keys = self._hashable([key for key, _ in pairs])
        return dict(zip(keys, (item for _, item in pairs), strict=True))

    def _read_float(self, value: Json, depth: int) -> float:
        require(value in ("nan", "inf", "-inf"), f"{value!r} is not a number.")
        return float(value)

    def _read_int(self, value: Json, depth: int) -> int:
        proper = isinstance(value, str) and len(value) <= 3 + MOST_BITS // 4 and HEX.fullmatch(value)
        require(proper, "A whole number is invalid.")
        return int(value, 16)

    def _read_scalar(self, value: Json, depth: int) -> Json:
        proper = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
        require(proper, "A NumPy scalar is invalid.")
        dtype = _dtype(value[0], NUMBERS + TIMES + "U")
        item = self.read(value[1], depth)
        require(isinstance(item, bool | int | float | str), "The value of a NumPy scalar is invalid.")
        require(
            dtype.kind != "U" or dtype.itemsize <= 4 * max(1, len(str(item))),
            "The type of a text is longer than the text.",
        )
        try:
            return np.array(item, dtype=dtype)[()] if dtype.kind not in TIMES else np.int64(item).view(dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise FormatError(f"{item!r} is not a value of type {value[0]}: {error}.") from None

    def _read_array(self, value: Json, depth: int) -> Array:
        require(isinstance(value, dict) and isinstance(value.get("dtype"), str), "An array is invalid.")
        dtype = np.dtype(object) if value["dtype"] == "O" else _dtype(value["dtype"], NUMBERS + TIMES + "U")
        if dtype.kind not in "OU":
            found = self._take(value.get("at"))
            stored = np.dtype(np.int64) if dtype.kind in TIMES else dtype
            require(found.dtype == stored.newbyteorder("="), f"An array is not of the stated type {dtype}.")
            return found.astype(stored).view(dtype) if dtype.kind in TIMES else found.astype(dtype)
        items = self._read_list(value.get("items"), depth)
        shape = value.get("shape")
        require(is_numbers(shape) and math.prod(shape) == len(items), "An array of texts does not fit its shape.")
        if dtype.kind == "U":
            room = dtype.itemsize // 4
            proper = all(isinstance(item, str) and len(item) <= room for item in items)
            require(proper and len(items) * room <= MOST_ROOM, "An array of texts is invalid.")
            return np.array(items, dtype=dtype).reshape(shape)
        return np.fromiter(items, dtype=object, count=len(items)).reshape(shape)

    def _read_record(self, value: Json, depth: int) -> object:
        proper = isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict)
        require(proper, "A record is invalid.")
        kind, fields = value
        record = self._records.get(kind) if isinstance(kind, str) else None
        require(record, f"{kind!r} is not a known kind of record.")
        assert record is not None  # noqa: S101  (for the type checker)
        return make_record(record, {name: self.read(item, depth) for name, item in fields.items()})

    def _take(self, name: Json) -> Array:
        require(isinstance(name, str) and name in self.arrays, f"The array {name!r} is missing.")
        return self.arrays.pop(name)

    def _take_texts(self, names: Json) -> list[str]:
        require(isinstance(names, list) and len(names) == 2, "A list of texts is invalid.")
        joined, lengths = self._take(names[0]), self._take(names[1])
        proper = joined.dtype == np.uint8 and joined.ndim == lengths.ndim == 1 and lengths.dtype.kind == "u"
        require(proper and sum(lengths.tolist()) == len(joined), "The lengths of a list of texts are wrong.")
        ends = np.cumsum(lengths, dtype=np.int64).tolist()
        whole = joined.tobytes()
        try:
            pieces = zip([0, *ends], ends, strict=False)
            return [whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in pieces]
        except UnicodeDecodeError as error:
            raise FormatError(f"A text is not UTF-8: {error}.") from None

    def _hashable(self, values: list[Json]) -> list[Json]:
        proper = all(isinstance(v, str | int | float | np.generic | tuple) or v is None for v in values)
        try:
            require(proper and len(set(values)) == len(values), "A dict or a set has duplicate or invalid entries.")
        except TypeError:
            raise FormatError("A dict or a set has an entry that is not hashable.") from None
        return values


KINDS = ("list", "tuple", "set", "frozenset", "dict", "float", "int", "scalar", "array", "record")


def _dtype(code: str, kinds: str) -> np.dtype[np.generic]:
    """Read a type of numbers, texts or dates."""
    require(len(code) < 16 and code[:1] in "<>|" and code[1:2] in kinds, f"{code!r} is not a type of numbers or texts.")
    try:
        return np.dtype(code)
    except (TypeError, ValueError):
        raise FormatError(f"{code!r} is not a type of numbers or texts.") from None


# ------------------------------------------------------------------------------------------------------------ records


def make_record(kind: Record, fields: Mapping[str, Json]) -> object:
    """Create a record; its fields must have the declared types."""
    hints, needed = _declared(kind)
    known = fields.keys() <= hints.keys() and needed <= fields.keys()
    require(known, f"A record of the kind {kind.__name__!r} has missing or unknown fields.")
    for name, value in fields.items():
        require(fits(value, hints[name]), f"{value!r} is not valid as {name} of a {kind.__name__}.")
    return kind(**{name: float(value) if hints[name] is float else value for name, value in fields.items()})


@cache
def _declared(kind: Record) -> tuple[dict[str, Hint], set[str]]:
    """Return the types of a record's fields, and the required fields."""
    hints = typing.get_type_hints(kind)
    declared = dataclasses.fields(kind)
    return {f.name: hints[f.name] for f in declared}, {f.name for f in declared if not _has_default(f)}


def _has_default(field: "dataclasses.Field[object]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def fits(value: object, hint: Any) -> bool:  # noqa: PLR0911  (one for each kind)
    """Return whether a value is of a declared type."""
    while hasattr(named := typing.get_origin(hint) or hint, "__value__"):
        hint = named.__value__  # a type alias, such as NumPy's NDArray in newer Pythons
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in inside)
    if origin is tuple:
        if len(inside) == 2 and inside[1] is ...:
            return isinstance(value, tuple) and all(fits(item, inside[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(inside) and all(map(fits, value, inside))
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inside[0]) and fits(v, inside[1]) for k, v in value.items())
    if origin is not None:
        return isinstance(value, origin)
    if hint in (int, float, bool):
        return type(value) is hint or (hint is float and type(value) is int)
    return value is None if hint in (None, type(None)) else isinstance(value, hint)
