"""A table that lies in parts: coded part by part, it gives the codes that it would give in one piece.

    read_labels     a part       -> Labels: its categories, classes and weights
    settle_labels   all of them  -> Labels of the whole table
    survey_values   a part       -> Values: the distinct values of its columns, the lowest hashes of its rows
    settle_values   all of them  -> Survey: the columns that must be cut, and the rows to cut them by
    sample_values   a part       -> the sampled values of those columns
    settle_cuts     all of them  -> Cuts: how values become codes
    code_part       a part       -> CodedPart
    join_parts      all of them  -> CodedTable, from which any number of trees can be grown, anywhere

What a part tells is small; only its codes are as long as the part. Each step is a pure function, so what is lost can be
worked out again.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.engines import reference
from weald.engines.native import NativeEngine
from weald.errors import DataError, DataTypeError
from weald.estimator import TreeModel, unfitted_copy
from weald.model import FloatArray, IntArray
from weald.objects import LARGEST_EXACT
from weald.schema import Categories, Schema, label_array
from weald.table import Table, read_table, require_one_target

MISSING = 0xFFFFFFFF  # the code of a missing value, in four bytes
SAMPLE_SIZE = 1 << 18  # copies of rows from which quantile codes are cut
Hashes = npt.NDArray[np.uint64]

_RANKING = threading.Lock()  # tasks of one worker share a table


@dataclass(frozen=True)
class Part:
    """Some rows of a table as the user has them."""

    X: Any
    y: Any
    weight: Any = None

    def is_empty(self) -> bool:
        """Say whether there is nothing to learn from."""
        return len(self.X) == 0 or (self.weight is not None and not np.any(self.weight))


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
    table, classes, schema = _read(model, part)
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
    )


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
    table, classes, schema = _read(model, part)
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


def _read(model: TreeModel, part: Part) -> tuple[Table, npt.NDArray[Any] | None, Schema]:
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
    lengths: Hashes  # of their rows


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
            distinct.append(_few(np.unique(_present(table.X[:, f])), max_bins))
    if max_bins == 0 or labels.size <= SAMPLE_SIZE:
        return Values(distinct, np.empty(0, np.uint64), np.empty(0, np.uint64))
    hashes, lengths = hash_values(table), labels.lengths(table.weight, table.n_rows)
    return Values(distinct, *_lowest(hashes, lengths))


def settle_values(found: Sequence[Values], labels: Labels, max_bins: int) -> Survey:
    """Put together what the parts have."""
    distinct: list[FloatArray | None] = []
    for f, of_parts in enumerate(zip(*(values.distinct for values in found), strict=True)):
        known = [values for values in of_parts if values is not None]
        limit = 0 if f in labels.schema.categorical else max_bins
        distinct.append(_few(np.unique(np.concatenate(known)), limit) if len(known) == len(of_parts) else None)
    hashes, lengths = _lowest(*(np.concatenate([getattr(v, name) for v in found]) for name in ("hashes", "lengths")))
    if not len(hashes):
        return Survey(distinct, (1 << 64) - 1)
    copies = np.cumsum(lengths) if labels.whole and labels.is_weighted else np.arange(1, len(hashes) + 1)
    return Survey(distinct, int(hashes[min(int(np.searchsorted(copies, SAMPLE_SIZE)), len(hashes) - 1)]))


def _few(values: FloatArray, max_bins: int) -> FloatArray | None:
    return None if max_bins and len(values) > max_bins else values


def _present(column: npt.NDArray[Any]) -> FloatArray:
    """Keep what is not missing; -0.0 becomes 0.0."""
    values: FloatArray = column[~np.isnan(column)].astype(np.float64) + 0.0
    return values


def _lowest(hashes: Hashes, lengths: Hashes) -> tuple[Hashes, Hashes]:
    """Keep the lowest hashes, as many as a sample may have rows."""
    order = np.argsort(hashes, kind="stable")[:SAMPLE_SIZE]
    return hashes[order], lengths[order]


def hash_values(table: Table) -> Hashes:
    """Hash the rows of a part by their values: the hash that chooses the sample."""
    target = table.target.astype(np.uint64) if table.n_classes else _bits(table.target)
    sums = mix64(target)
    for f in range(table.n_features):
        sums += mix64(_bits(table.X[:, f]) + np.uint64(reference.mix64(f + 1)))
    return mix64(sums)


def _bits(values: npt.NDArray[Any]) -> Hashes:
    """See numbers as bits; all missing values are alike."""
    doubles = values.astype(np.float64) + 0.0
    bits: Hashes = doubles.view(np.uint64)
    bits[np.isnan(doubles)] = 0x7FF8000000000000
    return bits


def mix64(x: Hashes) -> Hashes:
    """Apply `reference.mix64` to each of many numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# ------------------------------------------------------------------------------------------------------------ cuts

Weighed = list[tuple[FloatArray, Hashes]]  # distinct values of some columns, ascending, and what they weigh


def sample_values(table: Table, labels: Labels, survey: Survey) -> Weighed:
    """Take the sampled values of the columns that have to be cut."""
    many = survey.many()
    if not many:
        return []
    lengths = labels.lengths(table.weight, table.n_rows)
    everything = survey.highest == (1 << 64) - 1
    sampled = np.ones(table.n_rows, dtype=bool) if everything else hash_values(table) <= np.uint64(survey.highest)
    found = []
    for f in many:
        here = sampled & ~np.isnan(table.X[:, f])
        found.append(_weigh(_present(table.X[here, f]), lengths[here]))
    return found


def _weigh(values: FloatArray, lengths: Hashes) -> tuple[FloatArray, Hashes]:
    """Add up what equal values weigh."""
    if not len(values):
        return values, lengths
    order = np.argsort(values, kind="stable")
    values, lengths = values[order], lengths[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.add.reduceat(lengths, first)


@dataclass(frozen=True)
class Cuts:
    """How values become codes: the smallest value of each code, by feature."""

    starts: list[FloatArray]
    many: frozenset[int]  # features whose codes hold several values


def settle_cuts(found: Sequence[Weighed], survey: Survey, max_bins: int) -> Cuts:
    """Cut the columns that have more distinct values than there may be codes."""
    many = survey.many()
    starts = [np.empty(0) if values is None else values for values in survey.distinct]
    for i, f in enumerate(many):
        values, lengths = _weigh(*(np.concatenate([part[i][k] for part in found]) for k in (0, 1)))
        cut = reference.cut_quantiles(values.tolist(), lengths.tolist(), max_bins)
        starts[f] = np.array(cut or [-np.inf])
    return Cuts(starts, frozenset(many))


# ----------------------------------------------------------------------------------------------------------- codes


@dataclass(frozen=True)
class CodedPart:
    """The codes of a part: one, two or four bytes a cell."""

    columns: list[IntArray]
    extremes: dict[int, tuple[FloatArray, FloatArray]]  # of codes that hold several values: smallest and largest here
    target: npt.NDArray[Any]
    weight: FloatArray | None


def code_part(table: Table, cuts: Cuts) -> CodedPart:
    """Replace the values of a part by codes."""
    columns, extremes = [], {}
    for f, starts in enumerate(cuts.starts):
        values = table.X[:, f].astype(np.float64)
        is_missing = np.isnan(values)
        codes = np.maximum(np.searchsorted(starts, values, side="right") - 1, 0)
        columns.append(_narrow(np.where(is_missing, MISSING, codes), len(starts)))
        if f in cuts.many:
            lows, highs = np.full(len(starts), np.inf), np.full(len(starts), -np.inf)
            present = values[~is_missing] + 0.0
            np.minimum.at(lows, codes[~is_missing], present)
            np.maximum.at(highs, codes[~is_missing], present)
            extremes[f] = (lows, highs)
    return CodedPart(columns, extremes, table.target, table.weight)


def _narrow(codes: IntArray, n_codes: int) -> IntArray:
    """Keep codes in as few bytes as they need; all bits stand for a missing value, however many there are."""
    narrow = np.uint8 if n_codes <= 0xFF else np.uint16 if n_codes <= 0xFFFF else np.uint32
    return codes.astype(np.uint32).astype(narrow)


@dataclass(frozen=True)
class CodedTable:
    """A whole table as codes, in the order of its rows: all that trees are grown from. It travels well."""

    columns: list[tuple[IntArray, FloatArray, FloatArray, bool]]  # codes, smallest and largest values, is categorical
    target: npt.NDArray[Any]
    weight: FloatArray | None
    n_classes: int
    whole: bool

    @property
    def n_bytes(self) -> int:
        """How much travels."""
        arrays = [array for column in self.columns for array in column[:3]]
        return sum(int(array.nbytes) for array in (*arrays, self.target, self.weight) if array is not None)

    def ranked(self) -> Any:
        """Give the same to the compiled core, its rows ranked; once, however many trees are grown here."""
        with _RANKING:
            if "_ranked" not in vars(self):
                coded = NativeEngine().rank(self.columns, self.target, self.n_classes, self.weight, self.whole)
                vars(self)["_ranked"] = coded
        return vars(self)["_ranked"]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made anew where it arrives."""
        return {name: value for name, value in vars(self).items() if name != "_ranked"}


def join_parts(parts: Sequence[CodedPart], cuts: Cuts, labels: Labels) -> CodedTable:
    """Put the parts of a table behind one another."""
    columns = []
    for f, starts in enumerate(cuts.starts):
        lows = highs = starts
        if f in cuts.many:
            lows = np.min([part.extremes[f][0] for part in parts], axis=0)
            highs = np.max([part.extremes[f][1] for part in parts], axis=0)
        codes = np.concatenate([part.columns[f] for part in parts])
        columns.append((codes, lows, highs, f in labels.schema.categorical))
    weights = [part.weight for part in parts if part.weight is not None]
    return CodedTable(
        columns,
        np.concatenate([part.target for part in parts]),
        np.concatenate(weights) if weights else None,
        labels.n_classes,
        labels.whole,
    )
