"""Making a code store from chunks of a table: survey all chunks, then code them, then rank the rows.

    StoreRules   how to read and code the rows
    make         chunks -> a store on disk

    scan     each chunk -> contents of the columns (`survey.py`)
    code     each chunk -> files of codes in row order
    rank     the codes -> the rank of each row
    order    each column -> files of codes in rank order
    close    all files -> one file with digests; temporary files are deleted

Progress is saved every few seconds in `making/`, beside the store. If the process is killed, only the work since the
last save is lost: the same call of `make` continues there. A checksum of each chunk verifies that the chunks are the
same.
"""

import json
import mmap
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt

from weald.codes.bins import Cuts, hash_values, sum_hashes
from weald.codes.partitioned_table import Labels, Part, read_alone, read_classes, renumber
from weald.codes.resident_memory import release_many, watch_pages
from weald.codes.store import FILE, FORMAT, SAME, About, CodeStore, load_store
from weald.codes.survey import SampledRows, Survey
from weald.data.schema import Categories, Schema
from weald.data.table import Table
from weald.data.types import Array, FloatArray
from weald.engines.native import NativeEngine
from weald.engines.threads import map_on_threads
from weald.errors import DataError, FormatError
from weald.estimators.base import TreeModel
from weald.estimators.chunked_prediction import RowProgress
from weald.io import container
from weald.io.atomic import write_file
from weald.io.values import Reader, Writer

SAVE_EVERY = 10.0  # seconds between saves of the progress
ROWS_AT_ONCE = 1 << 20  # rows sorted at a time
MAKING = "making"
BY_ROW = "row-"  # prefix of the names of columns in row order

Chunks = Callable[[int], Iterable[Part]]  # starting at a given chunk
ReadAlone = tuple[Table, "Array | None", Schema]


@dataclass(frozen=True)
class StoreRules:
    """How to read and code the rows of a store."""

    model: TreeModel  # reads the chunks, as a fit would
    max_bins: int
    source: object = None  # description of the source, if known
    n_rows: int | None = None  # if known in advance
    n_threads: int = 1
    verbose: int = 0
    keep_values: bool = False  # keep the values of columns that are cut

    def about(self, prints: list[list[int]]) -> About:
        """Return the metadata that are known before anything is read."""
        nothing = Schema(None, ())
        rules = (self.model.missing, self.model.categorical_features)
        return About(nothing, None, True, 0, 0, self.max_bins, *rules, self.source, prints, self.keep_values)


@dataclass(frozen=True)
class CodedChunk:
    """The codes of a chunk by column, and its target and weights."""

    values: Array  # by row, unchanged
    columns: list[Array]
    extremes: dict[int, tuple[FloatArray, FloatArray]]  # for codes that cover several values: min and max in this chunk
    target: Array
    weight: FloatArray | None
    value_print: int  # contribution of its rows to the fingerprint of the values


def code_chunk(table: Table, cuts: Cuts, labels: Labels, n_threads: int) -> CodedChunk:
    """Replace the values of a chunk by codes, one column per thread."""
    engine = NativeEngine()

    def code(f: int) -> tuple[Array, tuple[FloatArray, FloatArray] | None]:
        starts = cuts.starts[f].astype(np.float64)
        (codes,) = engine.code_values(table.X, [f], [starts])
        if f not in cuts.many:
            return codes, None
        ((highs, starts[0]),) = engine.find_code_maxima(
            table.X, [f], [codes], [len(starts)]
        )  # other codes start at a value
        return codes, (starts, highs.astype(np.float64))

    found = map_on_threads(code, range(len(cuts.starts)), n_threads)
    extremes = {f: of_cut for f, (_, of_cut) in enumerate(found) if of_cut is not None}
    value_print = sum_hashes(hash_values(table, n_threads), table.weight, labels)
    return CodedChunk(table.X, [codes for codes, _ in found], extremes, table.target, table.weight, value_print)


@dataclass(frozen=True)
class Progressed:
    """Saved progress of making a store."""

    survey: Survey
    n_looked: int = 0  # chunks
    prints: tuple[tuple[int, int], ...] = ()  # for each chunk: rows and checksum
    is_looked: bool = False
    is_narrow: bool = True  # all values are float32
    n_again: int = 0  # chunks that were sampled again
    n_coded: int = 0  # chunks
    n_rows: int = 0  # coded
    lows: tuple[FloatArray, ...] = ()  # for columns that are cut: min and max of each code so far
    highs: tuple[FloatArray, ...] = ()
    values: int | None = None  # fingerprint of the values coded so far; None: unknown


RECORDS: dict[str, type] = {
    kind.__name__: kind for kind in (About, Categories, Labels, Progressed, SampledRows, Schema, Survey)
}


def make(folder: Path, chunks: Chunks, recipe: StoreRules) -> CodeStore:
    """Make a store, or continue an interrupted call."""
    if (folder / FILE).exists():
        return _open_finished(folder, chunks, recipe)
    making = StoreWriter(folder, chunks, recipe)
    making.scan()
    making.scan_again()
    cuts = making.code()
    positions, fingerprint = making.rank(cuts)
    making.order(cuts, positions)
    making.close(cuts, fingerprint)
    return load_store(folder, check=False)


def _open_finished(folder: Path, chunks: Chunks, recipe: StoreRules) -> CodeStore:
    """Open a finished store if it was made from the same rows."""
    store = load_store(folder)
    shutil.rmtree(folder / MAKING, ignore_errors=True)
    first = next(iter(chunks(0)), None)
    prints = [] if first is None else [list(_print_of(_read_alone(recipe.model, first)))]
    if not store.is_of(recipe.about(prints)):
        raise FormatError(
            f"{folder} holds a store of other rows, or one made with other options. Give another folder, or delete "
            f"{folder / FILE}."
        )
    return store


class StoreWriter:
    """Makes a store step by step."""

    def __init__(self, folder: Path, chunks: Chunks, recipe: StoreRules) -> None:
        self.folder, self.making, self.chunks, self.recipe = folder, folder / MAKING, chunks, recipe
        self.making.mkdir(parents=True, exist_ok=True)
        self.saved_at = time.monotonic()
        self.done = self._load()

    # ------------------------------------------------------------------------------------------------- notes

    @property
    def labels(self) -> Labels:
        """The labels of all rows."""
        assert self.done.survey.labels is not None  # noqa: S101  (for the type checker: all chunks were surveyed)
        return self.done.survey.labels

    def _about(self) -> About:
        return self.recipe.about([])

    def _load(self) -> Progressed:
        """Read the saved progress."""
        path = self.making / "notes.weald"
        if not path.exists():
            return Progressed(Survey(self.recipe.max_bins))
        contents = container.read(path.read_bytes())
        written = container.parse_json(contents.metadata["weald.notes"])
        reader = Reader(dict(contents.arrays), RECORDS)
        about, done = reader.read(written["about"]), reader.read(written["done"])
        if any(getattr(about, name) != getattr(self._about(), name) for name in SAME):
            raise FormatError(
                f"{self.folder} holds an unfinished store of other rows, or one with other options. Give another "
                f"folder, or delete {self.making}."
            )
        found: Progressed = done
        return found

    def save(self, *, now: bool = False) -> None:
        """Save the progress, unless the last save was a moment ago."""
        if not now and time.monotonic() - self.saved_at < SAVE_EVERY:
            return
        writer = Writer()
        notes = json.dumps({"about": writer.write(self._about()), "done": writer.write(self.done)}, allow_nan=False)
        write_file(self.making / "notes.weald", container.write({"weald.notes": notes}, writer.arrays))
        self.saved_at = time.monotonic()

    def _read(self, number: int, part: Part) -> ReadAlone | None:
        """Read a chunk and check that it is the one of the first pass; None: it is empty."""
        alone = _read_alone(self.recipe.model, part)
        print_of = _print_of(alone)
        if number < len(self.done.prints) and self.done.prints[number] != print_of:
            raise DataError(
                f"Chunk {number} differs from the chunk read in the first pass. Give the same chunks in the same order "
                f"in each pass; if they have changed, delete {self.making} and start again."
            )
        if number == len(self.done.prints):
            self.done = replace(self.done, prints=(*self.done.prints, print_of))
        return alone

    def _show(self, words: str, n_rows: int | None) -> "StoreProgress | None":
        return StoreProgress(n_rows, words) if self.recipe.verbose else None

    def _each(
        self, words: str, begin: int, end: int | None, n_rows: int | None
    ) -> Iterator[tuple[int, ReadAlone | None, Part]]:
        """Read chunks begin, begin + 1 ... and show progress."""
        watch = self._show(words, n_rows)
        n_done = sum(n for n, _ in self.done.prints[:begin])
        try:
            for number, part in enumerate(islice(self.chunks(begin), None if end is None else end - begin), begin):
                alone = self._read(number, part)
                yield number, alone, part
                n_done += 0 if alone is None else alone[0].n_rows
                if watch:
                    watch.rows(n_done)
        finally:
            if watch:
                watch.stop()

    # ------------------------------------------------------------------------------------------------- steps

    def scan(self) -> None:
        """Find the contents of the columns."""
        if self.done.is_looked:
            return
        for number, alone, part in self._each("surveyed", self.done.n_looked, None, self.recipe.n_rows):
            if alone is None:
                classes = read_classes(self.recipe.model, part)
                self.done = replace(self.done, survey=self.done.survey.add_classes(number, classes))
            else:
                is_narrow = self.done.is_narrow and alone[0].X.dtype == np.float32
                self.done = replace(self.done, survey=self.done.survey.add(number, *alone), is_narrow=is_narrow)
            self.done = replace(self.done, n_looked=number + 1)
            self.save()
        if self.done.survey.labels is None:
            raise DataError("There are no rows, or all of them have zero weight. Give at least one row to learn from.")
        self.done = replace(self.done, is_looked=True)
        self.save(now=True)

    def scan_again(self) -> None:
        """Sample the chunks again in which classes or categories had other numbers."""
        again = self.done.survey.again
        if self.done.n_again >= again:
            return
        n_rows = sum(n for n, _ in self.done.prints[:again])
        for number, alone, _ in self._each("sampled again", self.done.n_again, again, n_rows):
            survey = self.done.survey if alone is None else self.done.survey.sample_again(*alone)
            self.done = replace(self.done, survey=survey, n_again=number + 1)
            self.save()
        self.save(now=True)

    def code(self) -> Cuts:
        """Replace values by codes, and write them to one file per column."""
        cuts, n_chunks = self.done.survey.cuts(), len(self.done.prints)
        if not self.done.lows:
            sizes = [len(cuts.starts[f]) for f in sorted(cuts.many)]
            lows, highs = ([np.full(size, end) for size in sizes] for end in (np.inf, -np.inf))
            self.done = replace(self.done, lows=tuple(lows), highs=tuple(highs))
        if self.done.n_coded == n_chunks:
            return cuts
        with Files(self.making, self._types(cuts), self.done.n_rows) as files:
            for number, alone, _ in self._each("coded", self.done.n_coded, None, self.labels.n_rows):
                if alone is not None:
                    self._add(files, code_chunk(self._renumber(alone), cuts, self.labels, self.recipe.n_threads), cuts)
                self.done = replace(self.done, n_coded=number + 1)
                if time.monotonic() - self.saved_at >= SAVE_EVERY or number + 1 == n_chunks:
                    files.flush()
                    self.save(now=True)
        if self.done.n_coded != n_chunks or self.done.n_rows != self.labels.n_rows:
            raise DataError(
                f"There were {n_chunks} chunks in the first pass, but {self.done.n_coded} in the second. Give the same "
                "chunks in each pass."
            )
        return cuts

    def _types(self, cuts: Cuts) -> dict[str, npt.DTypeLike]:
        """Return the types of the arrays stored for each row."""
        types = {BY_ROW + name: dtype for name, dtype in self._column_types(cuts).items()}
        return (
            types | {"target": target_type(self.labels)} | ({"weight": np.float64} if self.labels.is_weighted else {})
        )

    def _column_types(self, cuts: Cuts) -> dict[str, npt.DTypeLike]:
        """Return the types of the arrays in rank order: codes, and kept values."""
        codes: dict[str, npt.DTypeLike] = {f"codes.{f}": dtype for f, dtype in enumerate(code_types(cuts))}
        kept = sorted(cuts.many) if self.recipe.keep_values else []
        return codes | dict.fromkeys((f"values.{f}" for f in kept), np.float32 if self.done.is_narrow else np.float64)

    def _renumber(self, alone: ReadAlone) -> Table:
        return renumber(*alone, self.labels)

    def _add(self, files: "Files", part: CodedChunk, cuts: Cuts) -> None:
        files.write(part)
        many = sorted(cuts.many)
        lows = (np.minimum(known, part.extremes[f][0]) for f, known in zip(many, self.done.lows, strict=True))
        highs = (np.maximum(known, part.extremes[f][1]) for f, known in zip(many, self.done.highs, strict=True))
        n_rows = self.done.n_rows + len(part.target)
        before = 0 if self.done.n_rows == 0 else self.done.values  # missing in progress saved by earlier versions
        values = None if before is None else (before + part.value_print) % 2**64
        self.done = replace(self.done, lows=tuple(lows), highs=tuple(highs), n_rows=n_rows, values=values)

    def columns(self, cuts: Cuts) -> list[tuple[FloatArray, FloatArray]]:
        """The minimum and maximum of each code, by feature."""
        many = sorted(cuts.many)
        of_cut = {f: (self.done.lows[i], self.done.highs[i]) for i, f in enumerate(many)}
        return [of_cut.get(f, (starts, starts)) for f, starts in enumerate(cuts.starts)]

    def rank(self, cuts: Cuts) -> tuple[npt.NDArray[np.uint32], int]:
        """Find the row at each rank."""
        path = self.making / "positions"
        about = self.making / "fingerprint"
        if about.exists():
            return np.fromfile(path, np.uint32), int(about.read_text())
        if self.recipe.verbose:
            StoreProgress(self.labels.n_rows, "ranked").rows(self.labels.n_rows)
        labels, codes = self.labels, code_types(cuts)
        values = self.columns(cuts)
        columns = [(self._map(f"{BY_ROW}codes.{f}", codes[f]), *values[f], False) for f in range(len(codes))]
        maps = _maps_of([column for column, _, _, _ in columns])
        target, weight = self._target(), self._weight()
        targets = (target.astype(np.int32), None) if labels.classes is not None else (None, np.asarray(target))
        n_threads = self.recipe.n_threads
        positions, fingerprint = NativeEngine().core.find_ranks(
            *(columns, *targets, labels.n_classes, weight, labels.whole, n_threads),
            watch_pages(maps),
        )
        write_file(path, [positions])
        write_file(about, [str(fingerprint).encode()])
        return positions, int(fingerprint)

    def order(self, cuts: Cuts, positions: npt.NDArray[np.uint32]) -> None:
        """Sort the codes of each column, and the kept values, by rank."""
        watch = self._show("sorted", self.labels.n_rows)
        types = self._column_types(cuts)
        for n_done, (name, dtype) in enumerate(types.items(), 1):
            path = self.making / name
            if not path.exists():
                by_row = self._map(BY_ROW + name, dtype)
                ends = range(0, len(positions), ROWS_AT_ONCE)
                write_file(path, (by_row[positions[begin : begin + ROWS_AT_ONCE]] for begin in ends))
                del by_row
            (self.making / (BY_ROW + name)).unlink(missing_ok=True)
            if watch:
                watch.rows(self.labels.n_rows * n_done // len(types))

    def close(self, cuts: Cuts, fingerprint: int) -> None:
        """Write the store."""
        labels = self.labels
        arrays: dict[str, Array] = {"target": self._target(), "positions": self._map("positions", np.uint32)}
        if labels.is_weighted:
            arrays["weight"] = self._map("weight", np.float64)
        for f, (lows, highs) in enumerate(self.columns(cuts)):
            arrays |= {f"lows.{f}": lows, f"highs.{f}": highs}
        arrays |= {name: self._map(name, dtype) for name, dtype in self._column_types(cuts).items()}
        about = replace(
            self.recipe.about([list(one) for one in self.done.prints]),
            schema=labels.schema, classes=labels.classes, whole=labels.whole, size=labels.size, fingerprint=fingerprint,
            values=self.done.values,
        )  # fmt: skip
        writer = Writer()
        notes = json.dumps({"about": writer.write(about)}, allow_nan=False)
        texts = {"weald.codes": FORMAT, "weald.notes": notes}
        release_memory = partial(release_many, _maps_of(arrays.values()))
        pieces = container.write(texts, {**arrays, **writer.arrays}, release_memory)
        write_file(self.folder / FILE, _copied(container.in_slices(pieces, release_memory)))
        shutil.rmtree(self.making)

    def _map(self, name: str, dtype: npt.DTypeLike) -> Array:
        return np.memmap(self.making / name, dtype, mode="r")

    def _target(self) -> Array:
        return self._map("target", target_type(self.labels))

    def _weight(self) -> Array | None:
        return self._map("weight", np.float64) if self.labels.is_weighted else None


# ------------------------------------------------------------------------------------------------------------- files


class Files:
    """Append-only files of codes, targets, weights and values, in row order."""

    def __init__(self, folder: Path, types: dict[str, npt.DTypeLike], n_rows: int) -> None:
        """Open the files; rows beyond `n_rows` are overwritten."""
        self.types = types
        self.files: dict[str, BinaryIO] = {}
        for name, dtype in self.types.items():
            file = (folder / name).open("r+b" if (folder / name).exists() else "w+b")
            file.truncate(n_rows * np.dtype(dtype).itemsize)
            file.seek(0, os.SEEK_END)
            self.files[name] = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.close()

    def write(self, part: CodedChunk) -> None:
        """Append the rows of a chunk."""
        arrays = {f"{BY_ROW}codes.{f}": codes for f, codes in enumerate(part.columns)}
        arrays |= {"target": part.target} | ({} if part.weight is None else {"weight": part.weight})
        arrays |= {f"{BY_ROW}values.{f}": part.values[:, f] for f in range(len(part.columns))}
        for name, file in self.files.items():
            column: Array = np.ascontiguousarray(arrays[name], dtype=self.types[name])
            file.write(column.data)

    def flush(self) -> None:
        """Flush all files to disk."""
        for file in self.files.values():
            file.flush()
            os.fsync(file.fileno())


def _maps_of(arrays: Iterable[Array]) -> list[mmap.mmap]:
    """List the memory maps among arrays; the base of a NumPy map is the map itself."""
    bases: list[object] = [array.base for array in arrays]
    return [base for base in bases if isinstance(base, mmap.mmap)]


def code_types(cuts: Cuts) -> list[npt.DTypeLike]:
    """Find the type of the codes of each column."""
    return [{1: np.uint8, 2: np.uint16, 4: np.uint32}[width] for width in cuts.widths()]


def target_type(labels: Labels) -> npt.DTypeLike:
    """Return the type of the target: the smallest integer type that holds the classes, or double."""
    n = labels.n_classes
    return np.float64 if labels.classes is None else np.uint8 if n <= 0x100 else np.uint16 if n <= 0x10000 else np.int32


def _read_alone(model: TreeModel, part: Part) -> ReadAlone | None:
    return None if part.is_empty() else read_alone(model, part)


def _print_of(alone: ReadAlone | None) -> tuple[int, int]:
    """Count the rows of a chunk, and compute a checksum of its values."""
    if alone is None:
        return 0, 0
    table = alone[0]
    X: Array = table.X if table.X.flags.c_contiguous else np.ascontiguousarray(table.X.T)
    checksum = zlib.crc32(np.ascontiguousarray(table.target).data, zlib.crc32(X.data))
    return table.n_rows, checksum if table.weight is None else zlib.crc32(table.weight.data, checksum)


def _copied(slices: Iterable[bytes | memoryview]) -> Iterator[memoryview]:
    """Copy mapped memory to a buffer before it is written.

    If the source of a write is not in memory yet, Linux writes in small steps and keeps the new file in small pages,
    which makes later memory maps of it four times as slow.
    """
    room = memoryview(bytearray(container.SLICE))
    for piece in slices:
        room[: len(piece)] = piece
        yield room[: len(piece)]


class StoreProgress(RowProgress):
    """Progress of a step, in rows."""

    def __init__(self, n_rows: int | None, words: str) -> None:
        super().__init__(n_rows or 0)
        self.words = words

    def rows(self, n_done: int) -> None:
        """Report how many rows are done."""
        self.n_done = n_done
        if self.n_trees:
            self(n_done / self.n_trees)
        else:  # the total is unknown: report whenever the number has doubled
            self(1 - 1 / (1 + n_done.bit_length() / 10) if n_done else 0.0)

    def line(self, share: float, seconds: float) -> str:
        """Format the progress line."""
        if self.n_trees:
            return f"{super().line(share, seconds)}  {self.words}"
        return f"weald  {self.n_done:,} rows  {seconds:.1f} s  {self.words}"
