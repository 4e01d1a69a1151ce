"""Predictions to files, piece by piece. A file appears when all of it is written, or not at all."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from weald.cli.failures import BadFile, UserError
from weald.cli.reading import kind_of

Write = Callable[[dict[str, Any]], None]


def check_place(*places: Path | None, read: Sequence[Path | None] = ()) -> None:
    """Refuse places where no file can be written, or where one stands that is read, before any work is done."""
    for place in places:
        if place is not None and not place.parent.is_dir():
            raise UserError(f"There is no folder {place.parent} to write {place.name} to.")
        if place is not None and place.is_dir():
            raise UserError(f"{place} is a folder. Give the name of a file.")
        if any(_is_same(place, file) for file in read):
            raise UserError(f"{place} is the file to be read, and would be lost. Give another name.")


def _is_same(one: Path | None, other: Path | None) -> bool:
    return one is not None and other is not None and one.exists() and other.exists() and one.samefile(other)


@contextmanager
def open_writer(path: Path | None) -> Iterator[Write]:
    """Open a file for columns by name; None is stdout, as csv."""
    if path is None:
        with _Sink("csv", sys.stdout.buffer) as sink:
            yield sink.write
        return
    kind, zipped = kind_of(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        import pyarrow as pa

        with (
            pa.output_stream(str(draft), compression="gzip" if zipped else None) as stream,
            _Sink(kind, stream) as sink,
        ):
            yield sink.write
        os.replace(draft, path)  # noqa: PTH105  (it says what it does)
    finally:
        draft.unlink(missing_ok=True)


class _Sink:
    """Writes tables of one kind; the writer is opened by the first, which knows the columns."""

    def __init__(self, kind: str, stream: Any) -> None:
        self.kind, self.stream = kind, stream
        self.writer: Any = None
        self.schema: Any = None  # that of the first table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()

    def write(self, columns: dict[str, Any]) -> None:
        import pyarrow as pa

        table = pa.table(
            {name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()}
        )
        if self.kind == "json":
            self._write_lines(table)
            return
        if self.writer is None:
            self.schema, self.writer = table.schema, self._open(table.schema)
        try:
            table = table.cast(self.schema)
        except pa.ArrowException as error:
            raise BadFile(f"Later rows hold something else than the first ones: {error}.") from error
        self.writer.write_table(table)

    def _open(self, schema: Any) -> Any:
        from pyarrow import csv, ipc, parquet

        make = {"csv": csv.CSVWriter, "parquet": parquet.ParquetWriter, "feather": ipc.new_file}
        return make[self.kind](self.stream, schema)

    def _write_lines(self, table: Any) -> None:
        import json

        for row in table.to_pylist():
            self.stream.write((json.dumps(row, ensure_ascii=False, default=str) + "\n").encode())
