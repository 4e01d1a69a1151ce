"""Reading data frames: any data frame -> columns of numbers or of labels. Only this module uses data frame libraries.

    as_frame     convert X to a narwhals frame if it is a data frame: pandas, polars, pyarrow and others
    take_stream  read an Arrow stream as a frame
    float_array  a frame of floats as one array, without a copy if possible
    pieces_of    memory addresses of the cells
    cells_of_few the cells of a small frame as Python objects, row by row
    FrameColumn  a column: its kind, numbers and labels

Columns are read one at a time, and labels by the library of the frame, which has codes already or can find them without
a Python object for each cell.
"""

import contextlib
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from weald.data.mmap_checks import piece_of, refuse_cut_pieces, refuse_cut_short
from weald.data.object_columns import (
    ENCODE,
    is_null,
    kind_of_objects,
    labels_of_objects,
    numbers_of_objects,
    warn_of_rounding,
)
from weald.data.schema import CATEGORIES, DATES, DURATIONS, NUMBERS, ORDERED, Labeled
from weald.data.times import days_of_times
from weald.data.types import Array, ColumnLike, Label, Native, TableLike
from weald.errors import DataError, DataTypeError

Frame: TypeAlias = nw.DataFrame[Any]  # a frame of any library
Series: TypeAlias = nw.Series[Any]


def as_frame(X: TableLike, name: str = "X") -> Frame | None:
    """Convert X to a frame if it is a data frame; `name` is its name in messages."""
    if type(X) is np.ndarray:  # fast path for the most frequent case
        return None
    if nw.dependencies.is_pandas_dataframe(X):
        _refuse_duplicates(list(X.columns), name)
    elif nw.dependencies.is_pyarrow_table(X):
        _refuse_duplicates(X.column_names, name)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise DataTypeError(
            f"{name} is a lazy data frame, which has no values yet. Collect it: {name}.collect(), or {name}.df() in "
            "DuckDB."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def take_stream(X: TableLike) -> Frame | None:
    """Read an Arrow stream to its end if X is one: results of queries, and other objects with an Arrow interface.

    Single columns have the interface too, but no schema, and cannot refuse to become arrays.
    """
    if not hasattr(X, "__arrow_c_stream__") or (hasattr(X, "__array__") and not hasattr(X, "schema")):
        return None
    stream = f"X is {type(X).__name__}, a stream of Arrow,"
    backend: Any = next((name for name in ("pyarrow", "polars", "pandas") if find_spec(name)), None)
    if backend is None:
        raise DataTypeError(
            f"{stream} and no library that reads it is installed. Install pyarrow, or give a data frame."
        )
    try:
        frame = nw.DataFrame.from_arrow(X, backend=backend)
    except Exception as error:  # a stream may raise any exception
        raise DataError(f"{stream} that cannot be read: {error}. Give a data frame.") from error
    if not len(frame):
        raise DataError(f"{stream} without rows: 0 sample(s). A stream can be read only once.")
    return frame


def _refuse_duplicates(names: Sequence[object], where: str) -> None:
    """Refuse duplicate column names, which are ambiguous."""
    if len(set(names)) < len(names):
        twin = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"{where} has more than one column named {twin!r}. Give each column a unique name.")


def float_array(frame: Frame) -> Array | None:
    """Return a frame of floats as one array, if possible without a copy; None if it is not a frame of floats."""
    types = {column.dtype for column in frame.iter_columns()}
    return frame.to_numpy() if types in ({nw.Float64()}, {nw.Float32()}) else None


def pieces_of(frame: Frame) -> Iterator[tuple[int, int]]:
    """Return the addresses of the first and last byte of the cells, if the library gives access without a copy."""
    for column in frame.iter_columns():
        native = column.to_native()
        if column.implementation.is_pyarrow():
            for chunk in native.chunks:
                parts = [chunk.indices, chunk.dictionary] if hasattr(chunk, "dictionary") else [chunk]
                buffers = (buffer for part in parts for buffer in part.buffers() if buffer is not None)
                yield from ((buffer.address, buffer.address + buffer.size - 1) for buffer in buffers if buffer.size)
            continue
        array = _cells_in_place(column, native)
        if array is not None and array.size and array.dtype.kind in "biuf":
            yield piece_of(array)


def _cells_in_place(column: Series, native: Native) -> Array | None:
    """Return a column of pandas or polars as an array if no copy is needed."""
    if column.implementation.is_polars():
        with contextlib.suppress(Exception):  # polars raises an error if it would have to copy
            return np.asarray(native.to_physical().to_numpy(allow_copy=False))
        return None
    if isinstance(getattr(native, "dtype", None), np.dtype):
        return np.asarray(native)
    return np.asarray(native.cat.codes) if hasattr(native, "cat") and hasattr(native.cat, "codes") else None


FEW_CELLS = 1024


def cells_of_few(X: TableLike, names: Sequence[str]) -> Sequence[Sequence[Label]] | None:
    """Return the rows of a small frame with these columns in this order; None if X is anything else."""
    if nw.dependencies.is_pandas_dataframe(X):
        return _cells_of_pandas(X, names)
    table: Native = X
    is_arrow = nw.dependencies.is_pyarrow_table(X)
    if not is_arrow and not nw.dependencies.is_polars_dataframe(X):
        return None
    if not _is_few(table, table.column_names if is_arrow else table.columns, names):
        return None
    types = table.schema.types if is_arrow else table.dtypes
    if any(hasattr(kind, "extension_name") or hasattr(kind, "ext_name") for kind in types):  # cells pass as numbers
        return None
    refuse_cut_pieces(pieces_of(nw.from_native(table)), "X")
    return list(zip(*table.to_pydict().values(), strict=True)) if is_arrow else list(table.rows())


def _cells_of_pandas(table: Native, names: Sequence[str]) -> Sequence[Sequence[Label]] | None:
    blocks = getattr(getattr(table, "_mgr", None), "blocks", None)  # columns of one type, without a copy
    if blocks is None or not _is_few(table, table.columns.tolist(), names):
        return None
    for block in blocks:
        refuse_cut_short(getattr(block.values, "codes", block.values), "X")
    return list(table.to_numpy(dtype=object).tolist())


def _is_few(table: Native, columns: Sequence[object], names: Sequence[str]) -> bool:
    n_rows, n_columns = table.shape
    return 0 < n_rows * n_columns <= FEW_CELLS and list(columns) == list(names)


def columns_of(frame: Frame) -> list["FrameColumn"]:
    """List the columns by position, since the names in a pandas frame may be numbers."""
    return [FrameColumn(column) for column in frame.iter_columns()]


# ------------------------------------------------------------------------------------------------- one column


class FrameColumn:
    """A column of a data frame, read on access."""

    def __init__(self, column: Series) -> None:
        native = column.to_native()
        # An Arrow type that pandas only partly supports
        if column.implementation.is_pandas() and _is_dictionary(native.dtype):
            column = nw.from_native(native.array.__arrow_array__(), series_only=True)
        # Narwhals does not support every time zone
        elif getattr(getattr(native, "dtype", None), "tz", None) is not None:
            column = nw.from_native(native.dt.tz_convert("UTC"), series_only=True)
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def kind(self) -> str:
        """Return the kind of the column, by its type."""
        column = self._column
        if column.dtype in (nw.Categorical, nw.Enum):
            # Some versions of polars mark categoricals as ordered by first occurrence.
            by_appearance = column.implementation.is_polars() and column.dtype == nw.Categorical
            return ORDERED if nw.is_ordered_categorical(column) and not by_appearance else CATEGORIES
        if column.dtype == nw.Boolean:
            return CATEGORIES
        if column.dtype == nw.String:
            return NUMBERS if self._is_empty() else CATEGORIES
        if column.dtype in (nw.Datetime, nw.Date):
            return DATES
        if column.dtype == nw.Duration:
            return DURATIONS
        return kind_of_objects(column.to_numpy(), (str, bool, np.bool_)) if column.dtype == nw.Object else NUMBERS

    def _is_empty(self) -> bool:
        return bool(self._column.null_count() == len(self._column))

    def fits_float32(self) -> bool:
        """Return whether float32 represents the column exactly; categories have codes from 0."""
        small = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean, nw.Categorical, nw.Enum, nw.String)
        return self._column.dtype in small and len(self._column) < 2**24

    def numbers(self, where: str) -> Array:
        """Read the column as floats; null is NaN."""
        column = self._column
        if column.dtype == nw.Object:
            return numbers_of_objects(column.to_numpy(), where)
        if column.dtype in (nw.Int128, nw.UInt128):  # NumPy has no such type
            extremes = (column.min() or 0, column.max() or 0)
            warn_of_rounding(np.clip(np.array(extremes, dtype=object), -(2**62), 2**62).astype(np.int64), where)
            return column.cast(nw.Float64).to_numpy()
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            warn_of_rounding(column.to_numpy(), where)
            return column.cast(nw.Float64).to_numpy()
        if str(getattr(column.to_native(), "dtype", "")).startswith("Sparse["):  # pandas does not store zeros in these
            return numbers_of_objects(np.asarray(column.to_native()), where)
        if self._is_empty():
            return np.full(len(column), np.nan)
        found = getattr(column.to_native(), "dtype", column.dtype)  # the type as the user sees it
        message = f"{where[0].upper()}{where[1:]} holds {found}, not numbers."
        if column.dtype == nw.Time:
            raise DataTypeError(
                f"{message} Turn times of the day into numbers first, for example hours since midnight."
            )
        raise DataTypeError(f"{message} {ENCODE}")

    def days(self, where: str) -> Array:
        """Read dates or durations as numbers of days; null is NaN."""
        return days_of_times(self._column.to_numpy(), where)

    def is_empty(self) -> bool:
        """Return whether all values are missing."""
        column = self._column
        return self._is_empty() or (column.dtype == nw.Object and all(map(is_null, column.to_numpy())))

    def labels(self, where: str) -> Labeled:
        """Read the column as codes of labels; null is -1. Labels of an ordered column keep their order."""
        column, native = self._column, self._column.to_native()
        try:
            if column.implementation.is_polars() and column.dtype in (nw.Categorical, nw.Enum, nw.String, nw.Boolean):
                return _labels_of_polars(column)
            if column.implementation.is_pyarrow():
                return _labels_of_arrow(native)
            if hasattr(native, "cat") and hasattr(native.cat, "codes"):
                return Labeled(np.asarray(native.cat.codes), list(native.cat.categories))
            if hasattr(native, "factorize"):
                numbers, labels = native.factorize()
                return Labeled(np.asarray(numbers), list(labels))
        except TypeError as error:  # values that cannot be hashed
            raise DataTypeError(f"{where[0].upper()}{where[1:]} cannot be read as categories: {error}.") from error
        return labels_of_objects(column.to_numpy(), where)


def _labels_of_polars(column: Series) -> Labeled:
    """Read a polars column. Its codes do not start at 0 unless the type fixes the labels."""
    if column.dtype == nw.Boolean:
        return Labeled(column.cast(nw.Int64).fill_null(-1).to_numpy(), [False, True])
    coded = column.cast(nw.Categorical) if column.dtype == nw.String else column
    physical = nw.from_native(coded.to_native().to_physical(), series_only=True).cast(nw.Int64).fill_null(-1).to_numpy()
    if isinstance(coded.dtype, nw.Enum):
        return Labeled(physical, list(coded.dtype.categories))
    used, first, numbers = np.unique(physical, return_index=True, return_inverse=True)
    labels = coded[first.tolist()].to_list()
    return Labeled(numbers - 1, labels[1:]) if len(used) and used[0] < 0 else Labeled(numbers, labels)


def _labels_of_arrow(native: Native) -> Labeled:
    """Read an Arrow column by its dictionary."""
    coded = native if _is_dictionary(native.type) else native.dictionary_encode()
    numbers: list[Array] = [np.empty(0, dtype=np.int64)]
    labels: list[Label] = []
    known, first = None, 0
    for chunk in coded.chunks:  # each chunk may have its own dictionary
        if known is None or not chunk.dictionary.equals(known):
            known, first = chunk.dictionary, len(labels)
            labels += known.to_pylist()
        places = chunk.indices.cast("int64").fill_null(-1).to_numpy()
        numbers.append(np.where(places < 0, places, places + first))
    return Labeled(np.concatenate(numbers), labels)


def _is_dictionary(arrow_type: object) -> bool:
    return str(arrow_type).startswith("dictionary")


def split_frame(
    X: TableLike, target: str, weight: str | None, features: Sequence[str] | None
) -> tuple[Native, Native, Native]:
    """Split a frame: features as a frame, target and weights as columns."""
    frame = as_frame(X)
    if frame is None:
        raise DataTypeError(f"A chunk is {type(X).__name__}, which has no column {target!r}. Give data frames.")
    apart = [target] if weight is None else [target, weight]
    wanted = [name for name in frame.columns if name not in apart] if features is None else list(features)
    missing = [name for name in [*wanted, *apart] if name not in frame.columns]
    if missing:
        raise DataError(f"There is no column {missing[0]!r}. The columns are {', '.join(map(repr, frame.columns))}.")
    y, w = frame.get_column(target).to_native(), None if weight is None else frame.get_column(weight).to_native()
    return frame.select(wanted).to_native(), y, w


def kind_of_target(y: ColumnLike) -> str:
    """Return the kind of a target: labels, whole numbers or numbers."""
    column = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        whole, numeric = column.dtype.is_integer(), column.dtype.is_numeric()
    else:
        kind = np.asarray(y).dtype.kind
        whole, numeric = kind in "iu", kind in "iuf"
    return "whole numbers" if whole else "numbers" if numeric else "labels"
