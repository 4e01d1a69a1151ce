"""Sources of the chunks of a table: parquet files, CSV files, or an iterator.

    parquet_chunks   files -> a function that reads their rows, starting at any chunk
    csv_chunks
    any_chunks       a function that returns an iterator, or a list

Apache Arrow (pyarrow) reads the files.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from weald.codes.partitioned_table import Part
from weald.data.frames import split_frame
from weald.errors import DataError, DataTypeError

Arrow: TypeAlias = Any  # modules, tables, batches and types of pyarrow, which has no static types
Paths: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

CELLS = 1 << 23  # cells per chunk


@dataclass(frozen=True)
class Columns:
    """The columns of a frame by their roles."""

    target: str
    weight: str | None = None
    features: Sequence[str] | None = None  # None: all others

    def split(self, frame: object) -> Part:
        """Split a frame into features, target and weight."""
        return Part(*split_frame(frame, self.target, self.weight, self.features))

    def names(self) -> list[str] | None:
        """List the columns to read; None: all."""
        if self.features is None:
            return None
        return [*self.features, self.target, *([] if self.weight is None else [self.weight])]


@dataclass(frozen=True)
class ChunkSource:
    """Chunks, and what is known about them in advance."""

    chunks: Callable[[int], Iterable[Part]]
    about: Mapping[str, object] | None = None
    n_rows: int | None = None


def _arrow(name: str) -> Arrow:
    try:
        return import_module(name)
    except ImportError as error:
        raise DataError("Reading files into a code store needs pyarrow. Install it: pip install pyarrow.") from error


def list_files(paths: Paths) -> list[Path]:
    """List the files: one path, several, or patterns such as "flights/*.parquet"."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    found = [Path(name) for one in given for name in (sorted(glob(str(one))) if "*" in str(one) else [str(one)])]  # noqa: PTH207  (a pattern may begin anywhere)
    if not found:
        raise FileNotFoundError(f"No files match {paths!r}. Check the path or pattern.")
    for path in found:
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not a file. Check the path.")
    return found


def _about(files: Sequence[Path], columns: Columns, **more: object) -> dict[str, object]:
    """Describe where the rows come from, so that changes are detected."""
    stats = [(str(path), path.stat()) for path in files]
    names = {"target": columns.target, "weight": columns.weight}
    features = None if columns.features is None else list(columns.features)
    return {"files": [[name, s.st_size, s.st_mtime_ns] for name, s in stats], "features": features, **names, **more}


# ------------------------------------------------------------------------------------------------------------ parquet


def parquet_chunks(paths: Paths, columns: Columns, rows: int | None) -> ChunkSource:
    """Read parquet files, some rows at a time."""
    parquet = _arrow("pyarrow.parquet")
    files = list_files(paths)
    counts = []
    for path in files:
        with parquet.ParquetFile(path) as file:
            counts.append(file.metadata.num_rows)
            n_columns = len(columns.names() or file.schema_arrow.names)
    size = rows or max(1, CELLS // max(1, n_columns))
    each = [-(-n // size) for n in counts]

    def read(first: int) -> Iterator[Part]:
        """Read from a given chunk on; files before it are not opened."""
        for path, n_chunks in zip(files, each, strict=True):
            if first >= n_chunks:
                first -= n_chunks
                continue
            with parquet.ParquetFile(path) as file:
                batches = file.iter_batches(batch_size=size, columns=columns.names())
                for batch in islice(_even(batches, size), first, None):
                    yield columns.split(batch)
            first = 0

    return ChunkSource(read, _about(files, columns, rows=size), sum(counts))


def _even(batches: Iterable[Arrow], size: int) -> Iterator[Arrow]:
    """Make tables of `size` rows each, the last one shorter: Arrow's own batches end with row groups."""
    arrow = _arrow("pyarrow")
    waiting: list[Arrow] = []
    n_waiting = 0
    for batch in batches:
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, size - n_waiting)
            waiting.append(piece)
            at, n_waiting = at + piece.num_rows, n_waiting + piece.num_rows
            if n_waiting == size:
                yield arrow.Table.from_batches(waiting)
                waiting, n_waiting = [], 0
    if waiting:
        yield arrow.Table.from_batches(waiting)


# ---------------------------------------------------------------------------------------------------------------- csv


def csv_chunks(paths: Paths, columns: Columns, types: Mapping[str, object] | None, separator: str) -> ChunkSource:
    """Read CSV files, some megabytes at a time. Column types are inferred from the beginning of the first file."""
    csv, arrow = _arrow("pyarrow.csv"), _arrow("pyarrow")
    files = list_files(paths)
    parse = csv.ParseOptions(delimiter=separator)
    known = {
        name: arrow.type_for_alias(kind) if isinstance(kind, str) else kind for name, kind in (types or {}).items()
    }
    convert = csv.ConvertOptions(column_types=known, strings_can_be_null=True, include_columns=columns.names())
    block = csv.ReadOptions(block_size=8 * CELLS)
    with _naming(files[0]), csv.open_csv(files[0], block, parse, convert) as reader:
        settled = {field.name: _settle(arrow, field, known, columns) for field in reader.schema}
    convert = csv.ConvertOptions(column_types=settled, strings_can_be_null=True, include_columns=columns.names())

    def read_all() -> Iterator[Part]:
        for path in files:
            with _naming(path), csv.open_csv(path, block, parse, convert) as reader:
                for batch in reader:
                    yield columns.split(arrow.Table.from_batches([batch]))

    about = _about(files, columns, types={name: str(kind) for name, kind in settled.items()}, separator=separator)
    return ChunkSource(lambda first: islice(read_all(), first, None), about)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the name of the file to Arrow's errors."""
    try:
        yield
    except _arrow("pyarrow").ArrowInvalid as error:
        raise DataError(
            f"{path} cannot be read: {error}. If a column holds text where its first values looked like numbers, set "
            'its type: types={"name": "string"}.'
        ) from error


def _settle(arrow: Arrow, field: Arrow, known: Mapping[str, object], columns: Columns) -> Arrow:
    """Read integers as floats, because later rows may be floats; class labels keep their type."""
    if field.name in known or field.name == columns.target:
        return field.type
    if arrow.types.is_integer(field.type):
        return arrow.float64()
    return arrow.string() if arrow.types.is_null(field.type) else field.type


# ----------------------------------------------------------------------------------------------------------- anything


def any_chunks(chunks: Callable[[], Iterable[object]] | Iterable[object], columns: Columns | None) -> ChunkSource:
    """Return the source for a function that returns an iterator, or for a list of chunks."""
    if not callable(chunks) and (isinstance(chunks, Iterator) or not isinstance(chunks, Iterable)):
        raise DataTypeError(
            "Chunks are read more than once, but an iterator can be read only once. Give a function that returns one: "
            "from_chunks(lambda: ...)."
        )

    def read(first: int) -> Iterator[Part]:
        for chunk in islice(chunks() if callable(chunks) else chunks, first, None):
            yield _part_of(chunk, columns)

    return ChunkSource(read)


def _part_of(chunk: object, columns: Columns | None) -> Part:
    if columns is not None:
        return columns.split(chunk)
    if isinstance(chunk, tuple) and len(chunk) in (2, 3):
        return Part(*chunk)
    raise DataTypeError(
        f"A chunk is {type(chunk).__name__}. Yield tuples (X, y) or (X, y, weight), or yield frames and set target "
        "to the name of a column."
    )
