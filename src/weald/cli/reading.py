"""Reading files as tables: csv, tab-separated, parquet, feather (arrow), JSON lines; text files may be gzipped.

Apache Arrow (pyarrow) reads all formats, in chunks if a file is large, and weald reads its tables without conversion.
Errors in a file become a `BadFile` with their location.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from json import loads
from pathlib import Path
from threading import Thread

from weald.cli import arrow
from weald.cli.failures import BadFile, UserError

KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
Types = dict[str, arrow.DataType]  # by column name; None: inferred

BLOCK = 2**22  # bytes of a text file parsed at a time
LONGEST_LINE = 2**25  # maximum bytes of a line of a text file
COLUMN_BLOCK = 2**16  # bytes of a column of a parquet file read at a time


def kind_of(path: Path) -> tuple[str, bool]:
    """Return the format of a file by its extension, and whether it is gzipped."""
    suffixes = [s.lower() for s in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    last = (suffixes[:-1] if zipped else suffixes)[-1:]
    if not last or last[0] not in KINDS or (zipped and KINDS[last[0]] not in ("csv", "json")):
        raise UserError(
            f"{path.name} has no known extension. Use {', '.join(KINDS)}; csv and JSON lines may end in .gz."
        )
    return KINDS[last[0]], zipped


def load_readers(path: Path) -> None:
    """Import the reader of the format, so that imports do not count as reading time."""
    from importlib import import_module

    for name in (
        "pyarrow.compute",
        {"csv": "pyarrow.csv", "json": "pyarrow.json"}.get(kind_of(path)[0], "pyarrow.parquet"),
    ):
        import_module(name)


def read_table(path: Path, types: Mapping[str, arrow.DataType] | None = None) -> arrow.Table:
    """Read a whole file. `types` sets the types of columns; the others are inferred."""
    import pyarrow as pa

    batches = list(read_batches(path, types, rows=None))
    with _blame(path):
        table = pa.Table.from_batches(batches) if batches else None
    if table is None or table.num_rows == 0:
        raise BadFile(f"{path.name} has no rows{' below its header' if table is not None else ''}.")
    _refuse_bytes(table, path)
    return table


def _refuse_bytes(table: arrow.Table, path: Path) -> None:
    """Raise an error for bytes: Arrow reads text that is not UTF-8 as bytes."""
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if str(kind) in ("binary", "large_binary") and kind_of(path)[0] == "csv":
            row = next(i for i, value in enumerate(table.column(name)) if _is_no_text(value.as_py()))
            raise BadFile(f"{path.name} is not UTF-8: column {name!r}, row {row + 1}. Save it as UTF-8.")


def _is_no_text(value: bytes | None) -> bool:
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def read_batches(
    path: Path, types: Mapping[str, arrow.DataType] | None = None, *, rows: int | None = 65_536
) -> Iterator[arrow.Batch]:
    """Read a file in chunks, so that it may be larger than memory.

    `types` sets the types of columns; None infers a type. Other columns of text files are named but not parsed.
    `rows=None` reads everything at once, because the type of a column may depend on all of its values.
    """
    kind, zipped = kind_of(path)
    if not path.exists():
        raise BadFile(f"{path} does not exist.")
    if path.stat().st_size == 0:
        raise BadFile(f"{path.name} is empty.")
    with _blame(path):
        batches = _OPEN[kind](path, zipped, dict(types or {}), rows)
        yield from map(_plain, batches) if kind in ("parquet", "feather") else batches


def _plain(batch: arrow.Batch) -> arrow.Batch:
    """Convert rare encodings of Arrow, which few functions support, to common ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for i, field in enumerate(batch.schema):
        if pa.types.is_run_end_encoded(field.type):
            batch = batch.set_column(i, field.name, pc.run_end_decode(batch.column(i)))
        if str(batch.schema.field(i).type) == "string_view":
            batch = batch.set_column(i, field.name, batch.column(i).cast(pa.string()))
    return batch


def _csv(path: Path, zipped: bool, types: Types, rows: int | None) -> Iterator[arrow.Batch]:
    from pyarrow import csv

    _check_header(path, zipped)
    is_tabs = [s.lower() for s in path.suffixes if s.lower() != ".gz"][-1:] == [".tsv"]
    parse = csv.ParseOptions(delimiter="\t" if is_tabs else ",")
    if rows is None:
        table = _apart(csv.read_csv, _stream(path, zipped), _serially(csv), parse, _as_types(csv, types))
        yield from table.to_batches() or [_empty(table)]
    else:
        yield from _sliced(_csv_pieces(_stream(path, zipped), path, parse, types), rows)


def _apart(read: Callable[..., arrow.Table], *given: object) -> arrow.Table:
    """Read on a separate thread. On the main thread, Arrow handles Ctrl-C itself and may lose it while it finishes.

    The reading thread cannot be stopped, but the main thread can exit the process.
    """
    found: Future[arrow.Table] = Future()

    def work() -> None:
        try:
            found.set_result(read(*given))
        except Exception as error:  # noqa: BLE001  (raised again on the main thread)
            found.set_exception(error)

    Thread(target=work, daemon=True).start()
    return found.result()


def _serially(reader: arrow.Module, **given: object) -> arrow.Options:
    """Read on one thread: after an error, conversions that wait for a thread would block the exit of the process."""
    return reader.ReadOptions(use_threads=False, block_size=LONGEST_LINE, **given)


def _as_types(csv: arrow.Module, types: Types) -> arrow.Options:
    return csv.ConvertOptions(column_types=types, strings_can_be_null=True)


def _csv_pieces(stream: arrow.Stream, path: Path, parse: arrow.Options, types: Types) -> Iterator[arrow.Batch]:
    """Read some lines at a time. The columns of the first lines apply to all."""
    import pyarrow as pa
    from pyarrow import csv

    names: list[str] = []
    for lines in _lines(stream, path):
        if not names:
            header = pa.BufferReader(lines.partition(b"\n")[0] + b"\n")
            found = _apart(csv.read_csv, header, _serially(csv), parse).column_names
            convert = _as_types(
                csv, dict.fromkeys(found, pa.string()) | {n: k for n, k in types.items() if k is not None}
            )
        read = _serially(csv, column_names=names)  # no skipped lines: the names are in the first line
        yield from _apart(csv.read_csv, pa.BufferReader(lines), read, parse, convert).to_batches()
        names = found


def _empty(table: arrow.Table) -> arrow.Batch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([], t) for t in table.schema.types], names=table.column_names)


def _sliced(batches: Iterable[arrow.Batch], rows: int | None) -> Iterator[arrow.Batch]:
    for batch in batches:
        step = rows or max(batch.num_rows, 1)
        for at in range(0, batch.num_rows, step):
            yield batch.slice(at, step)


def _stream(path: Path, zipped: bool) -> arrow.Stream:
    import pyarrow as pa

    return pa.input_stream(str(path), compression="gzip" if zipped else None)


def _check_header(path: Path, zipped: bool) -> None:
    """Check the first line: it must be text and have names."""
    with _stream(path, zipped) as stream:
        head = stream.read(2**22)
    line = head.split(b"\n", 1)[0].rstrip(b"\r")
    if b"\x00" in head[:4096]:
        raise BadFile(f"{path.name} is not a text file: it contains zero bytes. Save it as UTF-8.")
    try:
        words = str(line, "utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(f"{path.name} is not UTF-8: byte {error.start} of its first line. Save it as UTF-8.") from error
    if not words.strip():
        raise BadFile(f"{path.name} has no header: its first line is blank. Put the names of the columns there.")


def _parquet(path: Path, zipped: bool, types: Types, rows: int | None) -> Iterator[arrow.Batch]:
    from pyarrow import parquet

    with parquet.ParquetFile(path, buffer_size=COLUMN_BLOCK) as file:
        for group in range(file.num_row_groups):  # threads would read ahead without limit
            yield from file.iter_batches(batch_size=rows or 2**17, row_groups=[group])


def _feather(path: Path, zipped: bool, types: Types, rows: int | None) -> Iterator[arrow.Batch]:
    import pyarrow as pa

    with pa.OSFile(str(path)) as source, pa.ipc.open_file(source) as file:
        for i in range(file.num_record_batches):
            yield from _sliced([file.get_batch(i)], rows)


def _json(path: Path, zipped: bool, types: Types, rows: int | None) -> Iterator[arrow.Batch]:
    import pyarrow as pa
    from pyarrow import json

    first = _first_values(path, zipped)
    kept = {name: _kind(first[name], kind) for name, kind in types.items() if name in first}
    beside = [name for name in first if name not in kept]  # other columns are named but not parsed
    parse = json.ParseOptions(
        explicit_schema=pa.schema(list(kept.items())), unexpected_field_behavior="infer" if rows is None else "ignore"
    )
    stream = _stream(path, zipped)
    for block in [stream] if rows is None else map(pa.BufferReader, _lines(stream, path)):
        found = _apart(json.read_json, block, _serially(json), parse)
        for name in beside if rows is not None else ():
            found = found.append_column(name, pa.nulls(found.num_rows))
        yield from _sliced(found.combine_chunks().to_batches(), rows)


def _first_values(path: Path, zipped: bool) -> dict[str, object]:
    """Return the fields of the first lines, with a value of each. The parser reports malformed lines."""
    with _stream(path, zipped) as stream:
        lines = stream.read(BLOCK).split(b"\n")[:100]
    found: dict[str, object] = {}
    for line in lines:
        with suppress(ValueError):
            row = loads(line)
            found |= {key: value for key, value in row.items() if found.get(key) is None} if type(row) is dict else {}
    return found


def _kind(value: object, kind: arrow.DataType) -> arrow.DataType:
    """Return the type of a field: the given one, or that of a value."""
    import pyarrow as pa

    return kind if kind is not None else pa.string() if value is None else pa.scalar(value).type


def _lines(stream: arrow.Stream, path: Path) -> Iterator[bytes]:
    """Read many whole lines at a time."""
    rest = b""
    while block := stream.read(BLOCK):
        lines, end, after = block.rpartition(b"\n")
        rest += lines + end
        if end:
            yield rest
            rest = b""
        rest += after
        if len(rest) > LONGEST_LINE:
            raise BadFile(_too_long(path))
    if rest.strip():
        yield rest


_OPEN = {"csv": _csv, "parquet": _parquet, "feather": _feather, "json": _json}


@contextmanager
def _blame(path: Path) -> Iterator[None]:
    """Convert Arrow's errors to messages about the file."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        raise BadFile(_word(path, str(error))) from error
    except RecursionError as error:
        raise BadFile(f"{path.name} cannot be read: its values are nested too deeply.") from error
    except (pa.ArrowException, EOFError, OSError) as error:
        if isinstance(error, OSError) and not isinstance(error, pa.ArrowException) and error.filename:
            raise
        raise BadFile(f"{path.name} cannot be read: {_short(str(error))}") from error


def _too_long(path: Path) -> str:
    return (
        f"{path.name} has a line of more than {LONGEST_LINE:,} bytes, which is the limit. Leave the long text out, "
        "or save the table as parquet."
    )


def _word(path: Path, found: str) -> str:
    if "straddl" in found:
        return _too_long(path)
    ragged = re.search(r"Expected (\d+) columns, got (\d+): (.*)", found, re.DOTALL)
    if ragged:
        columns, there, text = ragged.groups()
        return (
            f"The lines of {path.name} differ in length: the header has {columns} columns, but the line "
            f"{_short(text)[:60]!r} has {there}. Correct that line; a value with a comma in it must be in quotes."
        )
    if "UTF8" in found or "UTF-8" in found:
        return f"{path.name} is not UTF-8: {_short(found)}. Save it as UTF-8."
    typed = re.search(r"In CSV column #(\d+): CSV conversion error to (\w+): invalid value '(.*)'", found, re.DOTALL)
    if typed:
        return (
            f"{path.name}: column {typed.group(1)} (from 0) should hold numbers, as in the training data, but it "
            f"has {typed.group(3)[:60]!r}."
        )
    return f"{path.name} cannot be read: {_short(found)}"


def _short(words: str) -> str:
    return words.splitlines()[0][:200] if words else "it is broken"
