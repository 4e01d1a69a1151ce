"""A table in parts: read part by part, with the classes and categories of the whole table.

    read_labels         a part       -> Labels: its categories, classes and weights
    merge_part_labels   all of them  -> Labels of the whole table
    read_parts          neighbors   -> Table, its classes and categories numbered as in the whole table

Labels are small. Each step is a pure function, so lost results can be computed again. `bins.py` has the next steps,
then `coded_partitions.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples

from weald.data.object_columns import LARGEST_EXACT
from weald.data.schema import Categories, Schema, label_array
from weald.data.table import Table, read_table, require_one_target
from weald.data.targets import number_target, read_target
from weald.data.targets import read_labels as read_labels_of_rows
from weald.data.task import Task
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray, TableLike
from weald.engines.native import NativeEngine
from weald.errors import DataError, DataTypeError, shown
from weald.estimators.base import TreeModel
from weald.estimators.fit import unfitted_copy

LabelsOfRows = Array


@dataclass(frozen=True)
class Part:
    """Some rows of the input data."""

    X: TableLike
    y: ColumnLike
    weight: ColumnLike = None
    groups: ColumnLike = None
    stratify: ColumnLike = None

    @property
    def n_rows(self) -> int:
        """Number of rows, including those of zero weight."""
        n_rows: int = _num_samples(self.X)
        return n_rows

    def is_empty(self) -> bool:
        """Return whether there are no rows with weight."""
        return self.n_rows == 0 or (self.weight is not None and not np.asarray(self.weight).any())

    def kept(self) -> BoolArray:
        """Mark the rows with weight."""
        return np.ones(self.n_rows, dtype=np.bool_) if self.weight is None else np.asarray(self.weight) > 0

    def labels_of(self, name: str) -> LabelsOfRows | None:
        """Read the groups or strata of the rows with weight."""
        given = getattr(self, name)
        return None if given is None else read_labels_of_rows(given, name, self.n_rows)[self.kept()]


@dataclass(frozen=True)
class Rows:
    """Target, weights, groups and strata of rows: of a part, or of the whole table."""

    target: Array
    weight: FloatArray | None
    groups: npt.NDArray[np.int32] | None = None
    strata: npt.NDArray[np.int32] | None = None
    values: int | None = None  # fingerprint of the feature values; None if unknown

    @classmethod
    def join(cls, parts: "Sequence[Rows]") -> "Rows":
        """Concatenate the rows of all parts."""
        known = [part.values for part in parts if part.values is not None]
        return cls(
            target=np.concatenate([part.target for part in parts]),
            weight=_join([part.weight for part in parts]),
            groups=_join([part.groups for part in parts]),
            strata=_join([part.strata for part in parts]),
            values=sum(known) % 2**64 if len(known) == len(parts) else None,
        )

    def table(self, labels: "Labels") -> Table:
        """Make a table without features, for functions that read only target, weights and groups."""
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

    def __sizeof__(self) -> int:
        return count_bytes(self.target, self.weight, self.groups, self.strata)


def _join(pieces: Sequence[Array | None]) -> Array | None:
    """Concatenate the arrays of all parts; None: there are none."""
    given = [piece for piece in pieces if piece is not None]
    return np.concatenate(given) if given else None


def count_bytes(*arrays: Array | None) -> int:
    """Count the bytes of arrays. Dask uses the size to schedule tasks close to their data."""
    return sum(array.nbytes for array in arrays if array is not None)


# ---------------------------------------------------------------------------------------------------------- labels


@dataclass(frozen=True)
class Labels:
    """Names, classes and categories of a part or of the whole table, and its total weight."""

    schema: Schema
    n_features: int
    classes: Array | None  # None: regression
    n_rows: int
    is_weighted: bool
    whole: bool
    total: int  # total weight, if all weights are whole
    largest: float  # weight
    groups: LabelsOfRows | None = None  # sorted distinct labels of groups and strata; None: not given
    stratify: LabelsOfRows | None = None
    by_part: tuple[int, ...] = ()  # rows of each part, if there are several

    @property
    def n_classes(self) -> int:
        """Number of classes; 0: regression."""
        return 0 if self.classes is None else len(self.classes)

    @property
    def task(self) -> Task:
        """The kind of target."""
        return Task.REGRESSION if self.classes is None else Task.CLASSIFICATION

    @property
    def size(self) -> int:
        """Size of the table: the total weight if all weights are whole, else the number of rows."""
        return self.total if self.whole else self.n_rows

    def n_categories(self, feature: int) -> int:
        """Count the categories of a feature."""
        categories = self.schema.categories[feature]
        return 0 if categories is None else len(categories.labels)

    def lengths(self, weight: FloatArray | None, n_rows: int) -> npt.NDArray[np.uint64]:
        """Return the integer weights of rows, from which bags are drawn."""
        if weight is None:
            return np.ones(n_rows, dtype=np.uint64)
        if self.whole:
            return weight.astype(np.uint64)
        shift = 53 - int(np.frexp(self.largest)[1]) - self.n_rows.bit_length()
        return np.maximum(1, np.rint(np.ldexp(weight, shift))).astype(np.uint64)


def read_labels(model: TreeModel, part: Part) -> Labels | None:
    """Find the labels of a part; None: it has neither rows with weight nor classes."""
    if part.is_empty():
        return read_classes(model, part)
    groups, stratify = (_distinct([part.labels_of(name)], name, [""]) for name in ("groups", "stratify"))
    return replace(labels_of(*read_alone(model, part)), groups=groups, stratify=stratify)


def read_classes(model: TreeModel, part: Part) -> Labels | None:
    """Find the classes of a part without rows of positive weight; None: there are none."""
    if part.n_rows == 0 or model.task is Task.REGRESSION:
        return None
    target = number_target(read_target(part.y, n_rows=part.n_rows, classify=True), classify=True)
    if target.targets is not None:
        return None  # parts that have rows with weight refuse multi-output targets
    return Labels(
        schema=Schema(None, ()), n_features=0, classes=target.classes, n_rows=0, is_weighted=True, whole=True, total=0,
        largest=0.0,
    )  # fmt: skip


def labels_of(table: Table, classes: Array | None, schema: Schema) -> Labels:
    """Return the labels of a part that has been read."""
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


def merge_part_labels(found: Sequence[Labels | None], places: Sequence[str] | None = None) -> Labels:
    """Join the labels of all parts; `places` are the names of the parts in messages."""
    named = places or [f"partition {number}" for number in range(len(found))]
    known = [(labels, place) for labels, place in zip(found, named, strict=True) if labels is not None]
    parts = [labels for labels, _ in known if labels.n_rows]
    places = [place for labels, place in known if labels.n_rows]
    if not parts:
        raise DataError("X has no rows, or all of them have zero weight. Give at least one row to learn from.")
    if len({(labels.schema.names, labels.n_features) for labels in parts}) > 1:
        raise DataError("The partitions of X differ in their columns. Give all of them the same columns in one order.")
    total = sum(labels.total for labels in parts)
    return Labels(
        schema=Schema(
            parts[0].schema.names,
            _join_categories([labels.schema for labels in parts], places),
            times=_join_times([labels.schema for labels in parts], places),
        ),
        n_features=parts[0].n_features,
        classes=_distinct([labels.classes for labels, _ in known], "y", [place for _, place in known]),
        n_rows=sum(labels.n_rows for labels in parts),
        is_weighted=any(labels.is_weighted for labels in parts),
        whole=all(labels.whole for labels in parts) and total <= LARGEST_EXACT,
        total=total,
        largest=max(labels.largest for labels in parts),
        groups=_distinct([labels.groups for labels in parts], "groups", places),
        stratify=_distinct([labels.stratify for labels in parts], "stratify", places),
        by_part=tuple(0 if labels is None else labels.n_rows for labels in found),
    )


def _distinct(found: Sequence[LabelsOfRows | None], name: str, places: Sequence[str]) -> LabelsOfRows | None:
    """Sort the distinct labels of all parts; None: there are none."""
    known = [labels for labels in found if labels is not None]
    if not known:
        return None
    _refuse_other_kinds([labels[:1].tolist() for labels in known], name, places)
    return np.unique(np.concatenate(known))


def _refuse_other_kinds(first: Sequence[Sequence[object]], name: str, places: Sequence[str]) -> None:
    """Raise an error if one part has text and another has numbers: NumPy would convert both to text."""
    kinds = {_kind_of(labels[0]): (place, labels[0]) for place, labels in zip(places, first, strict=True) if labels}
    if len(kinds) > 1:
        (kind, (place, label)), (other_kind, (other_place, other)) = list(kinds.items())[:2]
        raise DataTypeError(
            f"{name} holds {kind} in {place}, such as {shown(label)}, and {other_kind} in {other_place}, "
            f"such as {shown(other)}. Use labels of one type."
        )


def _kind_of(label: object) -> str:
    return "text" if isinstance(label, str) else "numbers" if isinstance(label, int | float) else type(label).__name__


def _join_categories(schemas: Sequence[Schema], places: Sequence[str]) -> tuple[Categories | None, ...]:
    """Join the categories of each column; a part whose cells are all missing has none."""
    joined: list[Categories | None] = []
    for f, of_parts in enumerate(zip(*(schema.categories for schema in schemas), strict=True)):
        known = [categories for categories in of_parts if categories is not None]
        if not known:
            joined.append(None)
        elif known[0].is_ordered:
            if any(categories.labels.tolist() != known[0].labels.tolist() for categories in known):
                raise DataError(
                    f"The partitions differ in the order of the categories of {schemas[0].where(f)}. Use one order in "
                    "all partitions."
                )
            joined.append(known[0])
        else:
            first = [[] if c is None else c.labels[:1].tolist() for c in of_parts]
            _refuse_other_kinds(first, schemas[0].where(f), places)
            joined.append(Categories(label_array(sorted({x for c in known for x in c.labels.tolist()}))))
    return tuple(joined)


def _join_times(schemas: Sequence[Schema], places: Sequence[str]) -> dict[int, str]:
    """Join the columns of dates and durations; numbers in other parts are found when their rows are read."""
    joined: dict[int, str] = {}
    for schema, place in zip(schemas, places, strict=True):
        for f, kind in schema.times.items():
            if joined.setdefault(f, kind) != kind:
                raise DataTypeError(
                    f"{schema.where(f)} holds {kind} in {place}, and {joined[f]} in an earlier one. Use one type."
                )
    return joined


def read_parts(model: TreeModel, given: Sequence[Part], labels: Labels, n_threads: int = 1) -> Table:
    """Read consecutive parts as one, with the numbers of the whole table. They have rows of positive weight."""
    tables = [renumber(*read_alone(model, part), labels) for part in given]
    rows = Rows.join(
        [
            Rows(
                table.target,
                table.weight,
                _number(part.labels_of("groups"), labels.groups),
                _number(part.labels_of("stratify"), labels.stratify),
            )
            for part, table in zip(given, tables, strict=True)
        ]
    )
    return replace(
        tables[0],
        X=_by_column([table.X for table in tables], n_threads),
        target=rows.target,
        weight=rows.weight,
        groups=rows.groups,
        strata=rows.strata,
    )


def _by_column(pieces: Sequence[Array], n_threads: int) -> Array:
    """Store the table by column, since columns are coded one by one."""
    if len(pieces) == 1 and pieces[0].flags.f_contiguous:
        return pieces[0]
    return NativeEngine().store_by_column(pieces, n_threads)


def renumber(table: Table, classes: Array | None, schema: Schema, labels: Labels) -> Table:
    """Replace the numbers of a part's own categories and classes by those of the whole table."""
    X, target = table.X, table.target
    for f, categories in enumerate(labels.schema.categories):
        own = schema.categories[f]
        known, found = labels.schema.times.get(f), schema.times.get(f)
        if known != found and not np.isnan(X[:, f]).all():
            where, holds = labels.schema.where(f), found or "numbers or labels"
            raise DataTypeError(f"{where} holds {holds} in one partition, and {known} in another. Use one type.")
        if categories is None or categories.is_ordered:
            continue
        if own is None:
            if not np.isnan(X[:, f]).all():
                raise DataTypeError(
                    f"{labels.schema.where(f)} holds numbers in one partition, and labels in another. Use one type."
                )
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


def read_alone(model: TreeModel, part: Part) -> tuple[Table, Array | None, Schema]:
    """Read one part: table, classes and schema."""
    reader = unfitted_copy(model)
    reading = read_table(reader, part.X, part.y, part.weight, classify=model.task is Task.CLASSIFICATION)
    require_one_target(reading, "a cluster")
    return reading.table, reading.classes, reader.schema_
