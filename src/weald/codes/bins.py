"""Codes for the values of a table in parts: the same as for the whole table.

    survey_part         a part        -> PartSurvey: its target and weights, and the low hashes of its rows
    find_highest_hash   all surveys   -> the highest hash of the sample
    join_rows           all surveys   -> Rows: target, weights and groups of the whole table
    sample_values       a part        -> SampledColumns: its sampled values
    cut_columns         all samples   -> ColumnCuts: how values of some columns become codes
    join_cuts           all cuts      -> Cuts of all columns; some columns may be undecided
    find_distinct       a part        -> the distinct values of undecided columns
    resolve_cuts        all of them   -> Cuts without undecided columns

A large table is cut by a sample: the rows of lowest hashes. A column with more than `max_bins` distinct values in the
sample is cut. If the sample has fewer, the distinct values of all rows are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weald.codes.partitioned_table import Labels, Rows, count_bytes
from weald.codes.single_buffer import SingleBuffer
from weald.data.table import Table
from weald.data.task import Task
from weald.data.types import Array, FloatArray
from weald.engines.native import NativeEngine, Weighed

SAMPLE_SIZE = 1 << 18  # copies of rows from which quantile codes are cut
SPARE = 1 << 12  # margin of the sample size: eight standard deviations
NO_LIMIT = (1 << 64) - 1
Hashes = npt.NDArray[np.uint64]
Distinct = list[FloatArray | None]  # distinct values of columns, ascending; None: more than `max_bins`

# ----------------------------------------------------------------------------------------------------------- sample


@dataclass(frozen=True)
class PartSurvey:
    """The target and weights of a part, and the hashes of rows that may be sampled."""

    rows: Rows
    hashes: Hashes  # distinct, ascending; empty: all rows are sampled
    copies: Hashes  # for each hash: number of rows that have it, or their total weight if weights are whole

    def __sizeof__(self) -> int:
        return count_bytes(self.hashes, self.copies) + self.rows.__sizeof__()


def is_sampled(labels: Labels, max_bins: int) -> bool:
    """Return whether only some rows are sampled."""
    return max_bins > 0 and labels.size > SAMPLE_SIZE


def limit_hashes(labels: Labels, times: int) -> int:
    """Return the highest hash worth sending. Hashes are uniform, unless many rows are equal."""
    return min(NO_LIMIT, ((SAMPLE_SIZE + SPARE) << 64) // labels.size * times)


def survey_part(table: Table, labels: Labels, max_bins: int, limit: int, n_threads: int = 1) -> PartSurvey:
    """Find the low hashes of a part, and sum all of them."""
    hashes, nothing = hash_values(table, n_threads), np.empty(0, np.uint64)
    rows = Rows(table.target, table.weight, table.groups, table.strata, sum_hashes(hashes, table.weight, labels))
    if not is_sampled(labels, max_bins):
        return PartSurvey(rows, nothing, nothing)
    is_low = hashes <= np.uint64(limit)
    weight = None if table.weight is None or not labels.whole else table.weight[is_low]
    return PartSurvey(rows, *weigh(hashes[is_low], labels.lengths(weight, int(is_low.sum()))))


def find_highest_hash(found: Sequence[PartSurvey], labels: Labels, max_bins: int, limit: int) -> int | None:
    """Find the highest hash of the sample, from the low hashes of all parts; None: they are too few."""
    if not is_sampled(labels, max_bins):
        return NO_LIMIT
    hashes, copies = weigh(*(np.concatenate([getattr(part, name) for part in found]) for name in ("hashes", "copies")))
    enough = int(np.searchsorted(np.cumsum(copies), SAMPLE_SIZE))
    if enough < len(hashes):
        return int(hashes[enough])
    return NO_LIMIT if limit == NO_LIMIT else None


def join_rows(found: Sequence[PartSurvey]) -> Rows:
    """Join targets, weights and groups of all parts."""
    return Rows.join([part.rows for part in found])


def hash_values(table: Table, n_threads: int = 1) -> Hashes:
    """Hash the rows of a part by their values: the hash that chooses the sample."""
    target = table.target.astype(np.uint64) if table.task is Task.CLASSIFICATION else _bits(table.target)
    return NativeEngine().hash_values(table.X, target, n_threads)


def sum_hashes(hashes: Hashes, weight: FloatArray | None, labels: Labels) -> int:
    """Sum the hashes of rows, for the fingerprint of the values. Whole weights are copies."""
    copies = labels.lengths(weight, len(hashes)) if labels.whole else np.ones(len(hashes), np.uint64)
    return int((copies * hashes).sum(dtype=np.uint64))  # modulo 2^64


def _bits(values: Array) -> Hashes:
    """View numbers as bits; all missing values have the same bits."""
    doubles = values.astype(np.float64) + 0.0
    bits: Hashes = doubles.view(np.uint64)
    bits[np.isnan(doubles)] = 0x7FF8000000000000
    return bits


@dataclass(frozen=True)
class SampledColumns(SingleBuffer):
    """The sampled values of a part: the distinct values of each column, ascending, and their total weights."""

    columns: list[Weighed]

    def __sizeof__(self) -> int:
        return sum(count_bytes(*column) for column in self.columns)


def sample_values(table: Table, labels: Labels, highest: int | None, n_threads: int = 1) -> SampledColumns:
    """Take the sampled values of all numeric columns; none if the sample is not known yet."""
    sampled = None
    if highest is None:
        sampled = np.empty(0, np.uint32)
    elif highest != NO_LIMIT:
        sampled = np.flatnonzero(hash_values(table, n_threads) <= np.uint64(highest)).astype(np.uint32)
    lengths = None if table.weight is None else labels.lengths(table.weight, table.n_rows)
    numbers = [f for f in range(table.n_features) if f not in table.categorical]
    found: list[Weighed] = [(np.empty(0), np.empty(0, np.uint8))] * table.n_features
    weighed = NativeEngine().weigh_values(table.X, numbers, sampled, lengths, n_threads)
    for f, (values, weights) in zip(numbers, weighed, strict=True):
        found[f] = light(values), weights
    return SampledColumns(found)


def weigh(values: Array, lengths: Hashes) -> tuple[Array, Hashes]:
    """Sum the weights of equal values."""
    if not len(values):
        return values, lengths
    if (lengths == 1).all():
        distinct, counts = np.unique(values, return_counts=True)
        return distinct, counts.astype(np.uint64)
    order = np.argsort(values, kind="stable")
    values, lengths = values[order], lengths[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.add.reduceat(lengths, first)


def light(values: FloatArray) -> FloatArray:
    """Store numbers in four bytes if that is exact, to halve the data to send."""
    if values.dtype == np.float32:
        return values
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    return short if np.array_equal(short.astype(np.float64), values) else values  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------------- cuts


@dataclass(frozen=True)
class Cuts(SingleBuffer):
    """How values become codes: the smallest value of each code, by feature."""

    starts: list[FloatArray]
    many: frozenset[int]  # features whose codes cover several values
    doubtful: frozenset[int] = frozenset()  # features that may have few enough distinct values to need no cuts

    def widths(self) -> list[int]:
        """Bytes of a code, by feature. The largest code is reserved for missing values, even if there are none."""
        return [1 if len(starts) <= 0xFF else 2 if len(starts) <= 0xFFFF else 4 for starts in self.starts]

    def columns(self) -> "ColumnCuts":
        """Return the same cuts by column."""
        columns = enumerate(self.starts)
        return ColumnCuts([(starts, f in self.many, f in self.doubtful) for f, starts in columns])

    def outline(self) -> "Outline":
        """Return the small part of the cuts."""
        return Outline(self.widths(), len(self.many), sorted(self.doubtful))

    def __sizeof__(self) -> int:
        return count_bytes(*self.starts)


@dataclass(frozen=True)
class Outline:
    """The part of the cuts that the client needs."""

    widths: list[int]
    n_cut: int
    doubtful: list[int]


@dataclass(frozen=True)
class ColumnCuts(SingleBuffer):
    """The cuts of some columns: starts; whether codes cover several values; whether the column is undecided."""

    columns: list[tuple[FloatArray, bool, bool]]

    def __sizeof__(self) -> int:
        return count_bytes(*(starts for starts, _, _ in self.columns))


def cut_columns(
    found: Sequence[SampledColumns], columns: Sequence[int], labels: Labels, max_bins: int, n_threads: int = 1
) -> ColumnCuts:
    """Cut the columns that have more distinct values than `max_bins`."""
    sampled = is_sampled(labels, max_bins)
    pieces = [[part.columns[f] for part in found] for f in columns]
    cut = NativeEngine().cut_columns(pieces, max_bins, not sampled, n_threads)
    return ColumnCuts(
        [
            (light(starts if len(starts) or not is_cut else np.array([-np.inf])), is_cut, is_cut and is_few)
            for starts, is_few in cut
            for is_cut in [sampled or not is_few]
        ]
    )


def join_cuts(found: Sequence[ColumnCuts], labels: Labels) -> Cuts:
    """Join the cuts of all columns; without a sample, all columns are undecided."""
    columns = [column for block in found for column in block.columns]
    columns = columns or [(np.array([-np.inf]), True, True)] * labels.n_features
    numbers = set(range(labels.n_features)) - labels.schema.categorical
    starts = [
        starts if f in numbers else np.arange(labels.n_categories(f), dtype=np.float64)
        for f, (starts, _, _) in enumerate(columns)
    ]
    many, doubtful = (frozenset(f for f in numbers if columns[f][k]) for k in (1, 2))
    return Cuts(starts, many, doubtful)


def find_distinct(table: Table, features: Sequence[int], max_bins: int, n_threads: int = 1) -> Distinct:
    """Find the distinct values of some columns of a part."""
    weighed = NativeEngine().weigh_values(table.X, features, None, None, n_threads)
    return [few_values(light(values), max_bins) for values, _ in weighed]


def join_distinct(found: Sequence[Distinct], max_bins: int) -> Distinct:
    """Join the distinct values of some parts."""
    joined: Distinct = []
    for of_parts in zip(*found, strict=True):
        known = [values for values in of_parts if values is not None]
        joined.append(few_values(np.unique(np.concatenate(known)), max_bins) if len(known) == len(of_parts) else None)
    return joined


def few_values(values: FloatArray, max_bins: int) -> FloatArray | None:
    """Return the distinct values; None: more than `max_bins`."""
    return None if max_bins and len(values) > max_bins else values


def resolve_cuts(cuts: Cuts, found: Distinct) -> Cuts:
    """Undo the cuts of columns that have few distinct values."""
    starts, many = list(cuts.starts), set(cuts.many)
    for f, values in zip(sorted(cuts.doubtful), found, strict=True):
        if values is not None:
            starts[f] = light(values)
            many.discard(f)
    return Cuts(starts, frozenset(many))
