"""Codes that travel: what is made of a part, what of the whole table, and how a worker makes a table of it again.

    pack            an array        -> Packed: compressed where that pays
    code_part       a part          -> CodedPart: its codes, the rest of its rows, the largest value of each code
    join_chunks     neighbours      -> one chunk of codes
    join_rows       all of them     -> Rows of the whole table: target, weight, groups, strata
    settle_values   cuts and highs  -> CodeValues: the smallest and largest value of each code
    open_table      all of that     -> CodedTable, from which any number of trees can be grown

Codes are one, two or four bytes a cell. All else is small.
"""

import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.engines.native import NativeEngine
from weald.model import FloatArray, IntArray
from weald.parts import Cuts, Labels, light
from weald.table import Table

Array = npt.NDArray[Any]

TRIED = 1 << 16  # bytes by which it is found out whether an array is worth compressing
WORTH = 0.75  # of its length, or less
_OPENING = threading.Lock()  # tasks of one worker share a table

# ------------------------------------------------------------------------------------------------------------- pack


@dataclass(frozen=True)
class Packed:
    """An array, compressed where that pays: its bytes, first those of one place, then those of the next."""

    content: Array  # of bytes if compressed; else the array itself
    dtype: str
    length: int
    is_compressed: bool

    def unpack(self) -> Array:
        """Give the array."""
        if not self.is_compressed:
            return self.content
        planes = np.frombuffer(zlib.decompress(self.content.tobytes()), dtype=np.uint8).reshape(-1, self.length)
        array: Array = np.ascontiguousarray(planes.T).view(self.dtype)[:, 0]
        return array

    @property
    def n_bytes(self) -> int:
        """How much travels."""
        return int(self.content.nbytes)


def pack(array: Array) -> Packed:
    """Compress an array if a piece of it shows that it pays."""
    piece = _planes(array[: TRIED // array.itemsize])
    if not len(array) or len(zlib.compress(piece, 1)) > WORTH * len(piece):
        return Packed(np.ascontiguousarray(array), array.dtype.str, len(array), is_compressed=False)
    content = np.frombuffer(zlib.compress(_planes(array), 1), dtype=np.uint8)
    return Packed(content, array.dtype.str, len(array), is_compressed=True)


def _planes(array: Array) -> bytes:
    as_bytes = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.itemsize)
    return as_bytes.T.tobytes()


# ------------------------------------------------------------------------------------------------------------ parts


@dataclass(frozen=True)
class Rows:
    """What is known of rows beside their features: of a part, or of the whole table."""

    target: Array
    weight: FloatArray | None
    groups: Array | None = None
    strata: Array | None = None

    def table(self, labels: Labels) -> Table:
        """Make a table without features, for those who only ask for the rest."""
        return Table(
            np.empty((len(self.target), 0)),
            self.target,
            labels.n_classes,
            self.weight,
            labels.whole,
            labels.size,
            groups=self.groups,
            strata=self.strata,
        )


@dataclass
class Chunk:
    """The codes of some rows that follow one another, feature by feature."""

    n_rows: int
    columns: list[Packed]

    @property
    def n_bytes(self) -> int:
        """How much travels."""
        return sum(column.n_bytes for column in self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the table that is kept here: it is made anew where the chunk arrives."""
        return {"n_rows": self.n_rows, "columns": self.columns}


@dataclass(frozen=True)
class CodedPart:
    """What a part is made into."""

    chunk: Chunk
    rows: Rows
    highs: dict[int, Packed]  # of features whose codes hold several values: the largest of each code in this part
    least: dict[int, float]  # their smallest value in this part


def code_part(table: Table, cuts: Cuts) -> CodedPart:
    """Replace the values of a part by codes."""
    columns, highs, least = [], {}, {}
    engine = NativeEngine()
    for f, starts in enumerate(cuts.starts):
        is_cut = f in cuts.many
        codes, lows, largest = engine.code_values(table.X, f, starts.astype(np.float64), extremes=is_cut)
        columns.append(pack(codes))
        if is_cut:
            highs[f], least[f] = pack(light(largest)), float(lows[0])
    rows = Rows(table.target, table.weight, table.groups, table.strata)
    return CodedPart(Chunk(table.n_rows, columns), rows, highs, least)


def chunk_of(part: CodedPart) -> Chunk:
    """Take the codes of a part."""
    return part.chunk


def rows_of(part: CodedPart) -> Rows:
    """Take the rest of its rows."""
    return part.rows


def join_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Make one chunk of several: a cluster has few large things to remember rather than many small ones."""
    of_features = zip(*(chunk.columns for chunk in chunks), strict=True)
    joined = [pack(np.concatenate([piece.unpack() for piece in pieces])) for pieces in of_features]
    return Chunk(sum(chunk.n_rows for chunk in chunks), joined)


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Put the rows of all parts behind one another."""

    def join(name: str) -> Any:
        pieces = [getattr(part, name) for part in parts]
        return None if pieces[0] is None else np.concatenate(pieces)

    return Rows(*(join(name) for name in ("target", "weight", "groups", "strata")))


# ----------------------------------------------------------------------------------------------------- code values


@dataclass(frozen=True)
class Highs:
    """The largest value of each code, and the smallest of all, of features that were cut; in some parts."""

    highs: dict[int, Packed]
    least: dict[int, float]


def highs_of(part: CodedPart) -> Highs:
    """Take those of one part."""
    return Highs(part.highs, part.least)


def join_highs(found: Sequence[Highs]) -> Highs:
    """Find those of several parts."""
    highs = {f: np.max([part.highs[f].unpack() for part in found], axis=0) for f in found[0].highs}
    least = {f: min(part.least[f] for part in found) for f in highs}
    return Highs({f: pack(values) for f, values in highs.items()}, least)


@dataclass(frozen=True)
class CodeValues:
    """The smallest and largest value of each code, by feature, and which features are categories."""

    lows: list[Packed]
    highs: list[Packed | None]  # None: each code has one value
    categorical: frozenset[int]

    def n_cut(self) -> int:
        """Count the features whose codes stand for several values."""
        return sum(highs is not None for highs in self.highs)

    def of(self, feature: int) -> tuple[FloatArray, FloatArray]:
        """Give both for a feature."""
        highs = self.highs[feature]
        lows = self.lows[feature].unpack().astype(np.float64)
        return lows, lows if highs is None else highs.unpack().astype(np.float64)


def settle_values(cuts: Cuts, found: Highs, labels: Labels) -> CodeValues:
    """Say what codes stand for. Each starts at a value of the table; only the first also takes what is below it."""
    lows = [starts.astype(np.float64) for starts in cuts.starts]
    for f, least in found.least.items():
        lows[f][0] = min(least, lows[f][0]) if np.isfinite(lows[f][0]) else least
    highs = [found.highs.get(f) for f in range(len(lows))]
    return CodeValues([pack(light(values)) for values in lows], highs, labels.schema.categorical)


# ------------------------------------------------------------------------------------------------------------ table


class CodedTable:
    """A whole table as codes, its rows ranked: all that trees are grown from."""

    def __init__(self, chunks: Sequence[Chunk], values: CodeValues, rows: Rows, labels: Labels) -> None:
        pieces = zip(*(chunk.columns for chunk in chunks), strict=True)
        columns = [
            ([piece.unpack() for piece in of_feature], *values.of(f), f in values.categorical)
            for f, of_feature in enumerate(pieces)
        ]
        self.ranked = NativeEngine().rank(
            columns,
            rows.target,
            labels.n_classes,
            rows.weight,
            labels.whole,
            strata=rows.strata,
            groups=rows.groups,
        )


def open_table(chunks: Sequence[Chunk], values: CodeValues, rows: Rows, labels: Labels) -> CodedTable:
    """Make a table of what has arrived here; once, however many trees are grown. It is freed with the first chunk."""
    with _OPENING:
        kept = vars(chunks[0])
        if "_table" not in kept:
            kept["_table"] = CodedTable(chunks, values, rows, labels)
        table: CodedTable = kept["_table"]
        return table


def read_block(chunks: Sequence[Chunk], values: CodeValues, begin: int, end: int) -> FloatArray:
    """Write values for the codes of some rows: of a code that stands for several, the smallest.

    They go the same way in the bags of the trees. Outside them a code may come that a node has not seen, and its values
    may lie on both sides of the cut.
    """
    X = np.empty((end - begin, len(values.lows)))
    for f in range(X.shape[1]):
        lows = np.append(values.of(f)[0], np.nan)
        X[:, f] = lows[np.minimum(_codes(chunks, f, begin, end), len(lows) - 1)]
    return X


def _codes(chunks: Sequence[Chunk], feature: int, begin: int, end: int) -> IntArray:
    """Pick the codes of some rows out of the chunks."""
    pieces, first = [], 0
    for chunk in chunks:
        last = first + chunk.n_rows
        if first < end and last > begin:
            pieces.append(chunk.columns[feature].unpack()[max(0, begin - first) : end - first])
        first = last
    return np.concatenate(pieces)


def bytes_on_a_worker(n_rows: int, widths: Sequence[int], n_threads: int) -> int:
    """Estimate how much memory a worker needs: the codes as they came, ranked, and by row; then what is made of them.

    The codes by row have two bytes a cell, and are left out where some have four. Ranking takes 110 bytes a row, of
    which 50 stay; a tree that grows takes 48, and each thread grows one. (Measured at 1,000,000 x 28.)
    """
    padded = -(-len(widths) // 8) * 8
    by_row = 0 if max(widths) == 4 else 2 * padded
    return n_rows * (2 * sum(widths) + by_row + max(110, 50 + 48 * n_threads))
