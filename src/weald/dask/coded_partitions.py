"""Codes as sent between workers: made from a part, and joined to a table on each worker.

    pack                  an array        -> Packed: compressed if worthwhile
    code_part             a part          -> Chunk: its codes, if no column is undecided
    join_chunks           neighbors      -> one chunk of codes
    find_code_maxima      some parts      -> CodeMaxima: the largest value of each code of columns that were cut
    join_code_maxima      several         -> one
    CodeValues            cuts and highs  -> the smallest and largest value of each code
    rank_here             all codes       -> CodedTable: their rows ranked
    open_table            codes, values   -> CodedTable, from which trees can be grown

Codes have one, two or four bytes per cell. Everything else is small.
"""

import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weald.codes.bins import Cuts, light
from weald.codes.partitioned_table import Labels, Rows, count_bytes
from weald.codes.single_buffer import SingleBuffer
from weald.dask.malloc_tuning import keep_memory_beside
from weald.data.table import Table
from weald.data.types import Array, FloatArray, IntArray
from weald.engines.native import NativeEngine
from weald.engines.threads import map_on_threads

TRIED = 1 << 13  # sample size in bytes for the decision to compress
WORTH = 0.5  # maximum compressed size, as a fraction
_OPENING = threading.Lock()  # tasks on one worker share a table

# ------------------------------------------------------------------------------------------------------------- pack


@dataclass(frozen=True)
class Packed:
    """An array, compressed if worthwhile: all first bytes of the numbers, then all second bytes, and so on."""

    content: Array  # bytes if compressed, else the array itself
    dtype: str
    length: int
    is_compressed: bool

    def unpack(self) -> Array:
        """Return the array."""
        if not self.is_compressed:
            return self.content
        planes = np.frombuffer(zlib.decompress(self.content.tobytes()), dtype=np.uint8).reshape(-1, self.length)
        array: Array = np.ascontiguousarray(planes.T).view(self.dtype)[:, 0]
        return array

    @property
    def n_bytes(self) -> int:
        """Number of bytes that are sent."""
        return int(self.content.nbytes)


def keep(array: Array) -> Packed:
    """Wrap an array without compression."""
    return Packed(np.ascontiguousarray(array), array.dtype.str, len(array), is_compressed=False)


def pack(array: Array) -> Packed:
    """Compress an array if compression of a sample is worthwhile."""
    piece = _planes(array[: TRIED // array.itemsize])
    if not len(array) or len(zlib.compress(piece, 1)) > WORTH * len(piece):
        return keep(array)
    content = np.frombuffer(zlib.compress(_planes(array), 1), dtype=np.uint8)
    return Packed(content, array.dtype.str, len(array), is_compressed=True)


def _planes(array: Array) -> bytes:
    as_bytes = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.itemsize)
    return as_bytes.T.tobytes()


# ------------------------------------------------------------------------------------------------------------ parts


@dataclass
class Chunk(SingleBuffer):
    """The codes of consecutive rows, by feature."""

    n_rows: int
    columns: list[Packed]

    @property
    def n_bytes(self) -> int:
        """Number of bytes that are sent."""
        return sum(column.n_bytes for column in self.columns)

    def __sizeof__(self) -> int:
        return self.n_bytes


def code_part(table: Table, cuts: Cuts, n_threads: int = 1) -> Chunk | None:
    """Replace the values of a part by codes; None: columns are undecided, and more values of all parts are needed."""
    if cuts.doubtful:
        return None
    coded = NativeEngine().code_values(table.X, range(len(cuts.starts)), cuts.starts, n_threads)
    # Codes of a column that was cut are uniform and do not compress.
    others = [f for f in range(len(coded)) if f not in cuts.many]
    # Compression releases Python's global lock.
    packed = dict(zip(others, map_on_threads(pack, [coded[f] for f in others], n_threads), strict=True))
    return Chunk(table.n_rows, [packed[f] if f in packed else keep(codes) for f, codes in enumerate(coded)])


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Join several chunks: a few large objects cost the cluster less than many small ones."""
    of_features = zip(*(chunk.columns for chunk in chunks), strict=True)
    joined = [
        (pack if pieces[0].is_compressed else keep)(np.concatenate([piece.unpack() for piece in pieces]))
        for pieces in of_features
    ]
    return Chunk(sum(chunk.n_rows for chunk in chunks), joined)


# ----------------------------------------------------------------------------------------------------- code values


@dataclass(frozen=True)
class CodeMaxima(SingleBuffer):
    """For some parts and each feature that was cut: the largest value of each code, and the minimum of the column."""

    highs: dict[int, FloatArray]
    least: dict[int, float]

    def __sizeof__(self) -> int:
        return count_bytes(*self.highs.values())


def find_code_maxima(tables: Sequence[Table], chunks: Sequence[Chunk], cuts: Cuts, n_threads: int = 1) -> CodeMaxima:
    """Find the maxima of some parts on one worker: the result has the same size for any number of parts."""
    return join_code_maxima(
        [_code_maxima_of(table, chunk, cuts, n_threads) for table, chunk in zip(tables, chunks, strict=True)]
    )


def _code_maxima_of(table: Table, chunk: Chunk, cuts: Cuts, n_threads: int) -> CodeMaxima:
    many = sorted(cuts.many)
    codes, n_codes = [chunk.columns[f].unpack() for f in many], [len(cuts.starts[f]) for f in many]
    found = dict(zip(many, NativeEngine().find_code_maxima(table.X, many, codes, n_codes, n_threads), strict=True))
    return CodeMaxima(
        {f: light(highs) for f, (highs, _) in found.items()}, {f: least for f, (_, least) in found.items()}
    )


def join_code_maxima(found: Sequence[CodeMaxima]) -> CodeMaxima:
    """Join the maxima of parts."""
    first, *rest = found
    highs, least = dict(first.highs), dict(first.least)
    for part in rest:
        for f, values in part.highs.items():
            highs[f], least[f] = np.maximum(highs[f], values), min(least[f], part.least[f])
    return CodeMaxima(highs, least)


class CodeValues:
    """The smallest and largest value of each code, by feature."""

    def __init__(self, cuts: Cuts, found: CodeMaxima) -> None:
        """Combine cuts and maxima. A code starts at a value of the table; the first code includes lower values."""
        self.lows, self.highs = list(cuts.starts), found.highs  # highs has the features that were cut
        for f, least in found.least.items():
            self.lows[f] = np.append(light(np.array([least])), cuts.starts[f][1:])


# ------------------------------------------------------------------------------------------------------------ table


class CodedTable:
    """A whole table as codes with ranked rows: the input of tree growth, without the values of the codes."""

    def __init__(self, chunks: Sequence[Chunk], cuts: Cuts, rows: Rows, labels: Labels, n_threads: int = 1) -> None:
        pieces = zip(*(chunk.columns for chunk in chunks), strict=True)
        columns = [
            ([piece.unpack() for piece in of_feature], cuts.starts[f], f in labels.schema.categorical)
            for f, of_feature in enumerate(pieces)
        ]
        self.ranked = NativeEngine().rank(
            columns,
            rows.target,
            labels.n_classes,
            rows.weight,
            labels.whole,
            n_threads,
            strata=rows.strata,
            groups=rows.groups,
            values=rows.values,
        )
        self.values: CodeValues | None = None  # not known yet

    @cached_property
    def ranks(self) -> IntArray:
        """The rank of each row."""
        return NativeEngine().ranks(self.ranked)

    def learn_values(self, values: CodeValues) -> None:
        """Set the values of the codes."""
        for f, highs in values.highs.items():
            NativeEngine().give_values(self.ranked, f, values.lows[f], highs)
        self.values = values


def rank_here(chunks: Sequence[Chunk], cuts: Cuts, rows: Rows, labels: Labels, n_threads: int = 1) -> CodedTable:
    """Make the table of this worker, once for all tasks. It is freed with the first chunk."""
    with _OPENING:
        kept = vars(chunks[0])
        if "_table" not in kept:
            kept["_table"] = CodedTable(chunks, cuts, rows, labels, n_threads)
            keep_memory_beside(kept["_table"])  # tasks that grow its trees use the same memory in turn
        table: CodedTable = kept["_table"]
        return table


def open_table(
    chunks: Sequence[Chunk], cuts: Cuts, highs: CodeMaxima, rows: Rows, labels: Labels, n_threads: int = 1
) -> CodedTable:
    """Make a table from which trees can be grown."""
    table = rank_here(chunks, cuts, rows, labels, n_threads)
    with _OPENING:
        if table.values is None:
            table.learn_values(CodeValues(cuts, highs))
    return table


def read_block(chunks: Sequence[Chunk], values: CodeValues, begin: int, end: int) -> FloatArray:
    """Return values for the codes of some rows: the minimum for a code that covers several values.

    In-bag rows take the same paths. An out-of-bag row may have a code that a node has not seen, whose values may lie on
    both sides of the threshold.
    """
    X = np.empty((end - begin, len(values.lows)))
    for f in range(X.shape[1]):
        lows = np.append(values.lows[f], np.nan)
        X[:, f] = lows[np.minimum(_codes(chunks, f, begin, end), len(lows) - 1)]
    return X


def _codes(chunks: Sequence[Chunk], feature: int, begin: int, end: int) -> IntArray:
    """Take the codes of some rows from the chunks."""
    pieces, first = [], 0
    for chunk in chunks:
        last = first + chunk.n_rows
        if first < end and last > begin:
            pieces.append(chunk.columns[feature].unpack()[max(0, begin - first) : end - first])
        first = last
    return np.concatenate(pieces)
