"""A table that lies in parts: coded part by part, it gives the codes that it would give in one piece.

    read_labels     a part       -> Labels: its categories, classes and weights
    settle_labels   all of them  -> Labels of the whole table
    survey_values   a part       -> Values: the distinct values of its columns, the lowest hashes of its rows
    settle_values   all of them  -> Survey: the columns that must be cut, and the rows to cut them by
    sample_values   a part       -> the sampled values of those columns
    settle_cuts     all of them  -> Cuts: how values become codes

What a part tells is small. What two parts tell can be put together before the rest is known (`join_values`), so that
many parts are asked in rounds. Each step is a pure function: what is lost can be worked out again. `coded_parts.py`
goes on from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.engines.native import NativeEngine
from weald.errors import DataError, DataTypeError
from weald.estimator import TreeModel, unfitted_copy
from weald.model import FloatArray
from weald.objects import LARGEST_EXACT
from weald.schema import Categories, Schema, label_array
from weald.table import Table, read_table, require_one_target
from weald.targets import read_labels as read_labels_of_rows

SAMPLE_SIZE = 1 << 18  # copies of rows from which quantile codes are cut
Hashes = npt.NDArray[np.uint64]
LabelsOfRows = npt.NDArray[Any]


@dataclass(frozen=True)
class Part:
    """Some rows of a table as the user has them."""

    X: Any
    y: Any
    weight: Any = None
    groups: Any = None
    stratify: Any = None

    def is_empty(self) -> bool:
        """Say whether there is nothing to learn from."""
        return len(self.X) == 0 or (self.weight is not None and not np.any(self.weight))

    def kept(self) -> npt.NDArray[np.bool_]:
        """Mark the rows that count."""
        return np.ones(len(self.X), dtype=bool) if self.weight is None else np.asarray(self.weight) > 0

    def labels_of(self, name: str) -> LabelsOfRows | None:
        """Read the groups or strata of the rows that count."""
        given = getattr(self, name)
        return None if given is None else read_labels_of_rows(given, name, len(self.X))[self.kept()]


# ---------------------------------------------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Labels:
    """What numbers stand for, and what rows weigh: of a part, or of the whole table."""

    schema: Schema
    n_features: int
    classes: npt.NDArray[Any] | None  # None: regression
    n_rows: int
    is_weighted: bool
    whole: bool
    total: int  # of whole weights
    largest: float  # of the weights
    groups: LabelsOfRows | None = None  # the labels of groups and strata, in order; None: there are none
    stratify: LabelsOfRows | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; 0: regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def size(self) -> int:
        """How large the table is: the total weight if all are whole, else the rows."""
        return self.total if self.whole else self.n_rows

    def lengths(self, weight: FloatArray | None, n_rows: int) -> Hashes:
        """Lay some rows on the line of weights."""
        if weight is None:
            return np.ones(n_rows, dtype=np.uint64)
        if self.whole:
            return weight.astype(np.uint64)
        shift = 53 - int(np.frexp(self.largest)[1]) - self.n_rows.bit_length()
        return np.maximum(1, np.rint(np.ldexp(weight, shift))).astype(np.uint64)


def read_labels(model: TreeModel, part: Part) -> Labels | None:
    """Find what a part has; None: it has no rows that count."""
    if part.is_empty():
        return None
    groups, stratify = _distinct([part.labels_of("groups")]), _distinct([part.labels_of("stratify")])
    return replace(labels_of(*read_alone(model, part)), groups=groups, stratify=stratify)


def labels_of(table: Table, classes: npt.NDArray[Any] | None, schema: Schema) -> Labels:
    """Tell what a part has, once it is read."""
    weight = np.ones(1) if table.weight is None else table.weight
    return Labels(
        schema=schema,
        n_features=table.n_features,
        classes=classes,
        n_rows=table.n_rows,
        is_weighted=table.weight is not None,
        whole=table.weights_whole,
        total=table.size if table.weights_whole else 0,
        largest=float(weight.max()),
    )


def settle_labels(found: Sequence[Labels | None]) -> Labels:
    """Put together what the parts have."""
    parts = [labels for labels in found if labels is not None]
    if not parts:
        raise DataError("X has no rows, or all of them have zero weight. Give at least one row to learn from.")
    if len({(labels.schema.names, labels.n_features) for labels in parts}) > 1:
        raise DataError("The partitions of X differ in their columns. Give all of them the same, in the same order.")
    total = sum(labels.total for labels in parts)
    classes = None
    if parts[0].classes is not None:
        classes = np.unique(np.concatenate([labels.classes for labels in parts if labels.classes is not None]))
    return Labels(
        schema=Schema(parts[0].schema.names, _join_categories([labels.schema for labels in parts])),
        n_features=parts[0].n_features,
        classes=classes,
        n_rows=sum(labels.n_rows for labels in parts),
        is_weighted=any(labels.is_weighted for labels in parts),
        whole=all(labels.whole for labels in parts) and total <= LARGEST_EXACT,
        total=total,
        largest=max(labels.largest for labels in parts),
        groups=_distinct([labels.groups for labels in parts]),
        stratify=_distinct([labels.stratify for labels in parts]),
    )


def _distinct(found: Sequence[LabelsOfRows | None]) -> LabelsOfRows | None:
    known = [labels for labels in found if labels is not None]
    return np.unique(np.concatenate(known)) if known else None


def _join_categories(schemas: Sequence[Schema]) -> tuple[Categories | None, ...]:
    """Join the categories of each column; a part whose cells are all missing says nothing."""
    joined: list[Categories | None] = []
    for f, of_parts in enumerate(zip(*(schema.categories for schema in schemas), strict=True)):
        known = [categories for categories in of_parts if categories is not None]
        if not known:
            joined.append(None)
        elif known[0].is_ordered:
            if any(categories.labels.tolist() != known[0].labels.tolist() for categories in known):
                raise DataError(f"The partitions differ in the order of the categories of {schemas[0].where(f)}.")
            joined.append(known[0])
        else:
            joined.append(Categories(label_array(sorted({x for c in known for x in c.labels.tolist()}))))
    return tuple(joined)


def read_part(model: TreeModel, part: Part, labels: Labels) -> Table:
    """Read a part in the numbers of the whole table."""
    return replace(
        renumber(*read_alone(model, part), labels),
        groups=_number(part.labels_of("groups"), labels.groups),
        strata=_number(part.labels_of("stratify"), labels.stratify),
    )


def renumber(table: Table, classes: npt.NDArray[Any] | None, schema: Schema, labels: Labels) -> Table:
    """Replace the numbers of a part's own categories and classes by those of the whole table."""
    X, target = table.X, table.target
    for f, categories in enumerate(labels.schema.categories):
        own = schema.categories[f]
        if categories is None or categories.is_ordered:
            continue
        if own is None:
            if not np.isnan(X[:, f]).all():
                raise DataTypeError(f"{labels.schema.where(f)} holds numbers in one partition, and labels in another.")
            continue
        number_of = {label: number for number, label in enumerate(categories.labels.tolist())}
        numbers = np.array([number_of[label] for label in own.labels.tolist()] + [np.nan])
        X[:, f] = numbers[np.where(np.isnan(X[:, f]), len(own.labels), X[:, f]).astype(np.intp)]
    if labels.classes is not None and classes is not None:
        target = np.searchsorted(labels.classes, classes).astype(np.int32)[target]
    weight = table.weight
    if labels.is_weighted and weight is None:
        weight = np.ones(table.n_rows)
    return Table(X, target, labels.n_classes, weight, labels.whole, labels.size, categorical=labels.schema.categorical)


def _number(of_rows: LabelsOfRows | None, labels: LabelsOfRows | None) -> npt.NDArray[np.int32] | None:
    return None if of_rows is None or labels is None else np.searchsorted(labels, of_rows).astype(np.int32)


def read_alone(model: TreeModel, part: Part) -> tuple[Table, npt.NDArray[Any] | None, Schema]:
    """Read a part by itself: its table, its classes, its columns."""
    reader = unfitted_copy(model)
    reading = read_table(reader, part.X, part.y, part.weight, classify=model._task == "classification")  # noqa: SLF001
    require_one_target(reading, "a cluster")
    return reading.table, reading.classes, reader.schema_


# ---------------------------------------------------------------------------------------------------------- values


@dataclass(frozen=True)
class Values:
    """The distinct values of the columns of a part, and the lowest hashes of its rows."""

    distinct: list[FloatArray | None]  # by feature; None: more than there may be codes
    hashes: Hashes  # ascending; empty: all rows are sampled
    lengths: Hashes  # of their rows, where they weigh differently


@dataclass(frozen=True)
class Survey:
    """The distinct values of columns that have few; of the rows by which others are cut, the highest hash."""

    distinct: list[FloatArray | None]
    highest: int

    def many(self) -> list[int]:
        """List the columns that have to be cut."""
        return [f for f, values in enumerate(self.distinct) if values is None]


def survey_values(table: Table, labels: Labels, max_bins: int) -> Values:
    """Find the distinct values of a part, and the lowest hashes of its rows."""
    distinct: list[FloatArray | None] = []
    for f in range(table.n_features):
        if f in table.categorical:
            categories = labels.schema.categories[f]
            assert categories is not None  # noqa: S101  (for the type checker: it is categorical)
            distinct.append(np.arange(len(categories.labels), dtype=np.float64))
        else:
            distinct.append(distinct_values(table.X[:, f], max_bins))
    if max_bins == 0 or labels.size <= SAMPLE_SIZE:
        return Values(distinct, np.empty(0, np.uint64), np.empty(0, np.uint64))
    lengths = labels.lengths(table.weight, table.n_rows) if labels.is_weighted else np.empty(0, np.uint64)
    return Values(distinct, *_lowest(hash_values(table), lengths))


def distinct_values(column: npt.NDArray[Any], max_bins: int) -> FloatArray | None:
    """Find the distinct values of a column; None: more than there may be codes. The first rows often show that."""
    for n_rows in ([2 * max_bins] if 0 < 2 * max_bins < len(column) else []) + [len(column)]:
        values = column[:n_rows]
        found = np.unique(values[~np.isnan(values)] + values.dtype.type(0))  # -0.0 becomes 0.0
        if max_bins and len(found) > max_bins:
            return None
    return light(found.astype(np.float64))


def join_values(found: Sequence[Values], labels: Labels, max_bins: int) -> Values:
    """Put together what some parts have."""
    distinct: list[FloatArray | None] = []
    for f, of_parts in enumerate(zip(*(values.distinct for values in found), strict=True)):
        known = [values for values in of_parts if values is not None]
        limit = 0 if f in labels.schema.categorical else max_bins
        distinct.append(few_values(np.unique(np.concatenate(known)), limit) if len(known) == len(of_parts) else None)
    hashes, lengths = (np.concatenate([getattr(v, name) for v in found]) for name in ("hashes", "lengths"))
    return Values(distinct, *_lowest(hashes, lengths))


def settle_values(values: Values, labels: Labels) -> Survey:
    """Say which columns must be cut, and by which rows, from what all parts have."""
    hashes = values.hashes
    if not len(hashes):
        return Survey(values.distinct, (1 << 64) - 1)
    copies = np.cumsum(values.lengths) if labels.whole and labels.is_weighted else np.arange(1, len(hashes) + 1)
    return Survey(values.distinct, int(hashes[min(int(np.searchsorted(copies, SAMPLE_SIZE)), len(hashes) - 1)]))


def few_values(values: FloatArray, max_bins: int) -> FloatArray | None:
    """Keep distinct values; None: there are more than there may be codes."""
    return None if max_bins and len(values) > max_bins else values


def light(values: FloatArray) -> FloatArray:
    """Keep numbers in four bytes where that loses nothing: half as much travels."""
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    return short if np.array_equal(short.astype(np.float64), values) else values  # type: ignore[return-value]


def _lowest(hashes: Hashes, lengths: Hashes) -> tuple[Hashes, Hashes]:
    """Keep the lowest hashes, as many as a sample may have rows."""
    if not len(lengths):
        return np.sort(
            np.partition(hashes, SAMPLE_SIZE)[:SAMPLE_SIZE] if len(hashes) > SAMPLE_SIZE else hashes
        ), lengths
    order = np.argsort(hashes, kind="stable")[:SAMPLE_SIZE]
    return hashes[order], lengths[order]


def hash_values(table: Table) -> Hashes:
    """Hash the rows of a part by their values: the hash that chooses the sample."""
    target = table.target.astype(np.uint64) if table.n_classes else _bits(table.target)
    return NativeEngine().hash_values(table.X, target)


def _bits(values: npt.NDArray[Any]) -> Hashes:
    """See numbers as bits; all missing values are alike."""
    doubles = values.astype(np.float64) + 0.0
    bits: Hashes = doubles.view(np.uint64)
    bits[np.isnan(doubles)] = 0x7FF8000000000000
    return bits


# ------------------------------------------------------------------------------------------------------------ cuts

Weighed = list[tuple[FloatArray, npt.NDArray[Any]]]  # distinct values of some columns, ascending; what they weigh


def sample_values(table: Table, labels: Labels, survey: Survey) -> Weighed:
    """Take the sampled values of the columns that have to be cut."""
    many = survey.many()
    if not many:
        return []
    lengths = labels.lengths(table.weight, table.n_rows)
    everything = survey.highest == (1 << 64) - 1
    sampled = np.arange(table.n_rows) if everything else np.flatnonzero(hash_values(table) <= np.uint64(survey.highest))
    found = []
    for f in many:
        column = table.X[sampled, f]
        is_there = ~np.isnan(column)
        values, weights = weigh(column[is_there].astype(np.float64) + 0.0, lengths[sampled[is_there]])
        found.append((light(values), weights.astype(np.min_scalar_type(int(weights.max(initial=0))))))
    return found


def weigh(values: FloatArray, lengths: Hashes) -> tuple[FloatArray, Hashes]:
    """Add up what equal values weigh."""
    if not len(values):
        return values, lengths
    if (lengths == 1).all():
        distinct, counts = np.unique(values, return_counts=True)
        return distinct, counts.astype(np.uint64)
    order = np.argsort(values, kind="stable")
    values, lengths = values[order], lengths[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.add.reduceat(lengths, first)


@dataclass(frozen=True)
class Cuts:
    """How values become codes: the smallest value of each code, by feature."""

    starts: list[FloatArray]
    many: frozenset[int]  # features whose codes hold several values

    def widths(self) -> list[int]:
        """Say how many bytes a code takes, by feature. All bits stand for a missing value, even where there is none."""
        return [1 if len(starts) <= 0xFF else 2 if len(starts) <= 0xFFFF else 4 for starts in self.starts]


def settle_cuts(found: Sequence[Weighed], survey: Survey, max_bins: int) -> Cuts:
    """Cut the columns that have more distinct values than there may be codes."""
    many = survey.many()
    starts = [np.empty(0) if values is None else values for values in survey.distinct]
    for i, f in enumerate(many):
        values, lengths = (np.concatenate([part[i][k] for part in found]) for k in (0, 1))
        cut = NativeEngine().cut_quantiles(*weigh(values.astype(np.float64), lengths.astype(np.uint64)), max_bins)
        starts[f] = cut if len(cut) else np.array([-np.inf])
    return Cuts([light(values) for values in starts], frozenset(many))
