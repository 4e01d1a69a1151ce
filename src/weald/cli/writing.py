"""Writing predictions to files, chunk by chunk. A file appears when it is complete, or not at all."""

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeAlias

from weald.cli import arrow
from weald.cli.failures import BadFile, UserError
from weald.cli.reading import kind_of
from weald.cli.screen import is_terminal
from weald.forest.describe.markup import legible

Columns: TypeAlias = dict[str, Iterable[object]]  # arrays, lists or columns of Arrow
Write = Callable[[Columns], None]


def check_place(*places: Path | None, read: Sequence[Path | None] = ()) -> None:
    """Check before any work that files can be written, and that no needed file would be overwritten."""
    written: list[Path] = []
    for place in filter(None, places):
        if not place.parent.is_dir():
            raise UserError(f"There is no folder {place.parent} to write {place.name} to.")
        if place.is_dir():
            raise UserError(f"{place} is a folder. Give the name of a file.")
        if any(_is_same(place, file) for file in filter(None, read)):
            raise UserError(f"{place} is an input file and would be overwritten. Give another name.")
        if any(_is_same(place, other) for other in written):
            raise UserError(f"{place} would be written twice. Give two names.")
        written.append(place)


def _is_same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other) and one.is_file()  # the null device may be given more than once
    return os.path.realpath(one) == os.path.realpath(other)


@contextmanager
def open_writer(path: Path | None) -> Iterator[Write]:
    """Open a writer of columns by name; None: csv on stdout."""
    if path is None:
        if sys.stdout is None:
            raise UserError("stdout is closed. Give a file with --out.")
        with _Sink("csv", _Screen() if is_terminal(sys.stdout) else sys.stdout.buffer) as sink:
            yield sink.write
        return
    from gzip import GzipFile

    from weald.io.atomic import open_new

    kind, zipped = kind_of(path)
    with (
        open_new(path) as file,
        GzipFile("", "wb", 6, file) if zipped else nullcontext(file) as stream,
        _Sink(kind, stream) as sink,
    ):
        yield sink.write


class _Screen(io.RawIOBase):
    """The terminal as a file: control characters in labels and row names are replaced."""

    def writable(self) -> bool:
        return True

    def write(self, text: Any) -> int:  # bytes or a memoryview; Buffer comes with Python 3.12
        sys.stdout.write("\n".join(map(legible, str(text, "utf-8").split("\n"))))
        return len(text)


class _Sink:
    """Writes tables of one format; the first table, which has the column types, opens the writer."""

    def __init__(self, kind: str, stream: BinaryIO | io.RawIOBase | io.BufferedIOBase) -> None:
        self.kind, self.stream = kind, stream
        self.writer: arrow.Stream = None
        self.schema: arrow.Schema = None  # schema of the first table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.writer is not None:
            self.writer.close()

    def write(self, columns: Columns) -> None:
        import pyarrow as pa

        table = pa.table(
            {name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()}
        )
        if self.kind == "json":
            self._write_lines(table)
            return
        try:
            if self.writer is None:
                self.schema, self.writer = table.schema, self._open(table.schema)
            self.writer.write_table(table.cast(self.schema))
        except pa.ArrowException as error:
            if self.schema not in (None, table.schema):
                raise BadFile(
                    f"Later rows have other types than the first ones: {error}. Write a .jsonl file."
                ) from error
            raise UserError(
                f"A column cannot be written as {self.kind}: {error}. Give another --id, or write a .jsonl file."
            ) from error

    def _open(self, schema: arrow.Schema) -> arrow.Stream:
        from pyarrow import csv, ipc, parquet

        make = {"csv": csv.CSVWriter, "parquet": parquet.ParquetWriter, "feather": ipc.new_file}
        return make[self.kind](self.stream, schema)

    def _write_lines(self, table: arrow.Table) -> None:
        import json

        for row in table.to_pylist():
            self.stream.write((json.dumps(row, ensure_ascii=False, default=str) + "\n").encode())
