"""A training table as the kernels read it: a row of packed codes for each rank, and the values of the codes.

RankedCodes    what is read of the codes of the core
PackedTable   the arrays
pack_table    codes -> PackedTable
place_fields  where each feature is in a row

Features lie in words of 32 bits, wide ones first, so that few bits are left over: a row of covertype's 54 columns has
20 bytes.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from weald.data.types import FloatArray, IntArray

WORD_BITS = 32
NOTHING = 0xFFFFFFFF  # no code is as large
FIELD = np.dtype([("word", "<u4"), ("shift", "<u4"), ("mask", "<u4"), ("missing", "<u4")])


class RankedCodes(Protocol):
    """What is read of the codes of the core."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def line_length(self) -> int:
        """Length of the line from which bags are drawn."""

    @property
    def design(self) -> int:
        """Fingerprint of strata and groups; 0: there are none."""

    def bag_arrays(self) -> tuple[IntArray, ...]:
        """Return what bags are drawn from: at 2 the classes by rank."""


@dataclass(frozen=True)
class PackedTable:
    """Codes by row in rank order."""

    rows: IntArray  # uint32: rows x stride
    fields: npt.NDArray[np.void]  # by feature: FIELD
    row_words: int
    row_stride: int
    classes: IntArray  # uint8, by rank
    lows: FloatArray  # smallest value of each code, feature by feature
    highs: FloatArray
    first_value: IntArray  # by feature, and the end: its first code in them


@dataclass(frozen=True)
class ColumnFacts:
    """What the core says of a column."""

    n_codes: int
    has_missing: bool
    is_categorical: bool

    @property
    def n_bits(self) -> int:
        """Bits of a code; a missing value is one more."""
        return max(1, (self.n_codes + self.has_missing - 1).bit_length())


def describe_columns(core: ModuleType, codes: RankedCodes, n_threads: int) -> list[ColumnFacts]:
    """Ask the core about the columns of a coded table."""
    return [ColumnFacts(*facts) for facts in core.column_facts(codes, n_threads)]


def place_fields(columns: list[ColumnFacts]) -> tuple[npt.NDArray[np.void], int]:
    """Place features into words, wide ones first, each into the first word with room. Returns the number of words."""
    fields = np.zeros(len(columns), dtype=FIELD)
    used: list[int] = []  # bits of each word
    open_from = 0  # words before it are full
    for f in sorted(range(len(columns)), key=lambda f: -columns[f].n_bits):
        n_bits = columns[f].n_bits
        word = next((w for w in range(open_from, len(used)) if used[w] + n_bits <= WORD_BITS), len(used))
        if word == len(used):
            used.append(0)
        missing = columns[f].n_codes if columns[f].has_missing else NOTHING
        fields[f] = (word, used[word], (1 << n_bits) - 1, missing)
        used[word] += n_bits
        while open_from < len(used) and used[open_from] == WORD_BITS:
            open_from += 1
    return fields, len(used)


def count_words(n_words: int) -> int:
    """Round a row up to 16, 32 bytes, or whole sectors of 32 bytes."""
    return 4 if n_words <= 4 else -(-n_words // 8) * 8


def pack_table(core: ModuleType, codes: RankedCodes, columns: list[ColumnFacts], n_threads: int) -> PackedTable:
    """Pack the codes of a table."""
    fields, row_words = place_fields(columns)
    stride = count_words(row_words)
    words, shifts = (np.ascontiguousarray(fields[name]) for name in ("word", "shift"))
    values = [core.values_of(codes, f) for f in range(len(columns))]
    return PackedTable(
        rows=core.pack_rows(codes, words, shifts, stride, n_threads),
        fields=fields,
        row_words=row_words,
        row_stride=stride,
        classes=np.asarray(codes.bag_arrays()[2]).astype(np.uint8),
        lows=np.concatenate([low for low, _ in values]),
        highs=np.concatenate([high for _, high in values]),
        first_value=np.cumsum([0, *(column.n_codes for column in columns)]).astype(np.uint32),
    )
