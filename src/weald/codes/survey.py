"""The first pass over a table in chunks: the contents of its columns, and how their values become codes.

    SampledRows   the rows of lowest hashes so far, from which columns of many values are cut
    Survey        labels, distinct values and sample so far; updated by each chunk
    cuts          the survey of all chunks -> Cuts

Hashes are made from the numbers of classes and categories, which are final only after the last chunk. The survey uses
the numbers known so far. If a later chunk changes them, the chunks before it are sampled again.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from weald.codes.bins import SAMPLE_SIZE, Cuts, Hashes, few_values, hash_values, light, weigh
from weald.codes.partitioned_table import Labels, labels_of, merge_part_labels, renumber
from weald.data.schema import Schema
from weald.data.table import Table
from weald.data.types import Array, FloatArray
from weald.engines.native import NativeEngine


@dataclass(frozen=True)
class SampledRows:
    """The rows with the lowest hashes; equal rows are counted."""

    hashes: Hashes  # ascending
    rows: FloatArray  # rows x features
    weight: FloatArray
    count: npt.NDArray[np.int64]

    @classmethod
    def nothing(cls, n_features: int) -> "SampledRows":
        """Return a sample without rows."""
        return cls(np.empty(0, np.uint64), np.empty((0, n_features)), np.empty(0), np.empty(0, np.int64))

    def add(self, table: Table) -> "SampledRows":
        """Add the rows of a chunk whose hashes are low enough."""
        hashes = hash_values(table)
        low = np.flatnonzero(hashes <= self._highest())
        weight = np.ones(len(low)) if table.weight is None else table.weight[low]
        rows = np.asarray(table.X[low], dtype=np.float64) + 0.0
        both = SampledRows(
            np.concatenate([self.hashes, hashes[low]]),
            np.concatenate([self.rows, rows]),
            np.concatenate([self.weight, weight]),
            np.concatenate([self.count, np.ones(len(low), np.int64)]),
        )
        return both._shortened()

    def _highest(self) -> np.uint64:
        """Find the hash above which no row can be in the sample: there are enough lower ones."""
        enough = int(np.searchsorted(np.cumsum(self.count), SAMPLE_SIZE))
        return self.hashes[enough] if enough < len(self.hashes) else np.uint64(2**64 - 1)

    def _shortened(self) -> "SampledRows":
        """Merge equal rows into counts, and drop those whose hashes are too high."""
        order = np.lexsort((self.weight, self.hashes))
        hashes, rows, weight, count = self.hashes[order], self.rows[order], self.weight[order], self.count[order]
        is_copy = (hashes[1:] == hashes[:-1]) & (weight[1:] == weight[:-1])
        is_copy &= (rows[1:].view(np.uint64) == rows[:-1].view(np.uint64)).all(axis=1)
        first = np.flatnonzero(np.append(True, ~is_copy)[: len(hashes)])
        counts = np.add.reduceat(count, first) if len(first) else count
        found = SampledRows(hashes[first], rows[first], weight[first], counts)
        low = found.hashes <= found._highest()
        return SampledRows(found.hashes[low], found.rows[low], found.weight[low], found.count[low])

    def take(self, labels: Labels) -> tuple[FloatArray, Hashes]:
        """Choose the sample that the contract defines: rows, and the total weight of the copies of each."""
        weight = self.weight if labels.is_weighted else None
        lengths = labels.lengths(weight, len(self.hashes)) * self.count.astype(np.uint64)
        if labels.size <= SAMPLE_SIZE or not len(self.hashes):
            return self.rows, lengths
        copies = np.cumsum(lengths) if labels.whole and labels.is_weighted else np.cumsum(self.count)
        highest = self.hashes[min(int(np.searchsorted(copies, SAMPLE_SIZE)), len(self.hashes) - 1)]
        low = self.hashes <= highest
        return self.rows[low], lengths[low]


@dataclass(frozen=True)
class Survey:
    """Labels, distinct values and sampled rows of the chunks so far."""

    max_bins: int
    labels: Labels | None = None
    distinct: tuple[FloatArray | None, ...] = ()  # by feature; None: more than `max_bins`
    sampled: SampledRows | None = None  # None: no column is cut
    absent: Labels | None = None  # classes of the first chunks without positive weights
    again: int = 0  # chunks before this one were sampled with outdated numbers

    def add(self, number: int, table: Table, classes: Array | None, schema: Schema) -> "Survey":
        """Add the next chunk."""
        own = labels_of(table, classes, schema)
        before, names = [self.labels, self.absent], ["chunks before"] * 2
        labels = merge_part_labels([*before, own], [*names, f"chunk {number}"])
        known = self.distinct or (np.empty(0),) * table.n_features
        distinct = tuple(
            values if values is None else self._join(values, table.X[:, f], categorical=f in labels.schema.categorical)
            for f, values in enumerate(known)
        )
        survey = replace(self, labels=labels, distinct=distinct)
        if self.max_bins == 0:
            return survey
        sampled, again = self.sampled or SampledRows.nothing(table.n_features), self.again
        if self.labels is not None and not _keeps_numbers(self.labels, labels):
            sampled, again = SampledRows.nothing(table.n_features), number
        return replace(survey, sampled=sampled.add(renumber(table, classes, schema, labels)), again=again)

    def add_classes(self, number: int, classes: Labels | None) -> "Survey":
        """Add the classes of the next chunk, whose rows have zero weight."""
        if classes is None:
            return self
        if self.labels is None:
            together = np.unique(np.concatenate([c.classes for c in (self.absent, classes) if c is not None]))
            return replace(self, absent=replace(classes, classes=together))
        labels = merge_part_labels([self.labels, classes], ["chunks before", f"chunk {number}"])
        survey = replace(self, labels=labels)
        if self.sampled is None or _keeps_numbers(self.labels, labels):
            return survey
        nothing = SampledRows.nothing(labels.n_features)
        return replace(survey, sampled=nothing, again=number)

    def sample_again(self, table: Table, classes: Array | None, schema: Schema) -> "Survey":
        """Resample a chunk whose classes or categories have been renumbered since it was sampled."""
        assert self.labels is not None and self.sampled is not None  # noqa: S101, PT018  (for the type checker)
        return replace(self, sampled=self.sampled.add(renumber(table, classes, schema, self.labels)))

    def _join(self, known: FloatArray, column: Array, *, categorical: bool) -> FloatArray | None:
        if categorical:
            return known
        here = _distinct_values(column, self.max_bins)
        return None if here is None else few_values(np.union1d(known, here.astype(np.float64)), self.max_bins)

    def cuts(self) -> Cuts:
        """Return the cuts."""
        assert self.labels is not None  # noqa: S101  (for the type checker: there was a chunk)
        starts: list[FloatArray] = []
        many = frozenset(f for f, values in enumerate(self.distinct) if values is None)
        rows, lengths = (self.sampled or SampledRows.nothing(0)).take(self.labels)
        for f, values in enumerate(self.distinct):
            categories = self.labels.schema.categories[f]
            if categories is not None and not categories.is_ordered:
                starts.append(np.arange(len(categories.labels), dtype=np.float64))
            elif values is not None:
                starts.append(values)
            else:
                here = ~np.isnan(rows[:, f])
                found, weights = weigh(rows[here, f], lengths[here])
                cut = NativeEngine().cut_quantiles(found, weights, self.max_bins)
                starts.append(cut if len(cut) else np.array([-np.inf]))
        return Cuts(starts, many)


def _keeps_numbers(before: Labels, after: Labels) -> bool:
    """Return whether all known classes and categories keep their numbers."""
    pairs = [
        (None if c is None else c.labels, None if d is None else d.labels)
        for c, d in zip(before.schema.categories, after.schema.categories, strict=True)
    ]
    pairs.append((before.classes, after.classes))
    return all(a is None or (b is not None and a.tolist() == b[: len(a)].tolist()) for a, b in pairs)


def _distinct_values(column: Array, max_bins: int) -> FloatArray | None:
    """Find the distinct values of a column; None: more than `max_bins`, which the first rows often show."""
    for n_rows in ([2 * max_bins] if 0 < 2 * max_bins < len(column) else []) + [len(column)]:
        values = column[:n_rows]
        found = np.unique(values[~np.isnan(values)] + values.dtype.type(0))  # -0.0 becomes 0.0
        if max_bins and len(found) > max_bins:
            return None
    return light(found)
