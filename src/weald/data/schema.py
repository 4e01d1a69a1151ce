"""Names, types and categories of the columns of a fit: predictions read columns in the same way.

    Labeled      a column of labels: codes, and the label of each code
    Categories   the labels of a categorical feature, by code
    Schema       the features of a fit: names, categories, and counts of unknown categories in predictions

A category is identified by its label. Its code is the position among the labels of the training rows, sorted (text by
code points), or the position in the declared order of an ordered column.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from weald.data.short_repr import short_repr
from weald.data.types import Array, BoolArray, FloatArray, IntArray, Label
from weald.errors import DataError, DataTypeError, ParameterError, warn

FROM_DTYPE = "from_dtype"
NUMBERS, CATEGORIES, ORDERED = "numbers", "categories", "ordered categories"  # kinds of columns
DATES, DURATIONS = "dates", "durations"  # read as numbers of days, see data/times.py
TIMES = (DATES, DURATIONS)

_COUNTING = threading.Lock()  # predictions may run in several threads


class Rules(NamedTuple):
    """Parameters that control how tables are read."""

    categorical_features: str | Iterable[object] | None
    unknown_category: str
    missing: str


def rules_of(estimator: object) -> Rules:
    """Return the parameters for reading tables; a subclass may hide some of them."""
    return Rules(
        getattr(estimator, "categorical_features", FROM_DTYPE),
        getattr(estimator, "unknown_category", "missing"),
        getattr(estimator, "missing", "learn"),
    )


class Labeled(NamedTuple):
    """A column of labels: codes, where -1 is a missing value."""

    numbers: IntArray
    labels: Sequence[Label]


# ------------------------------------------------------------------------------------------------ one feature


@dataclass(frozen=True, eq=False)
class Categories:
    """The labels of a categorical feature; ordered ones are split like numbers."""

    labels: Array
    is_ordered: bool = False

    @cached_property
    def _number_of(self) -> dict[Label, int]:
        return {label: number for number, label in enumerate(self.labels.tolist())}

    @cached_property
    def _kinds(self) -> frozenset[bool]:
        """Whether labels are text: True, False or both."""
        return frozenset(isinstance(label, str) for label in self._number_of)

    def code_of(self, label: Label) -> float | None:
        """Return the code that a label had in the fit; None if it is unknown."""
        return self._number_of.get(label)

    def has_kind_of(self, label: Label) -> bool:
        """Return whether a label is text or a number like labels of the fit."""
        is_text = isinstance(label, str)
        return is_text in self._kinds and (is_text or isinstance(label, bool | int | float | np.bool_ | np.number))

    def __getstate__(self) -> dict[str, object]:
        """Pickle the labels; the table of codes is built again."""
        return {"labels": self.labels, "is_ordered": self.is_ordered}

    def look_up(self, column: Labeled, where: str) -> tuple[FloatArray, BoolArray]:
        """Return a column's codes by the labels of the fit, and the labels that are unknown."""
        given = list(column.labels)
        self._refuse_other_kinds(given, where)
        # Code -1 selects the last entry
        found = np.array([self._number_of.get(label, np.nan) for label in given] + [np.nan])
        is_unknown = np.array([label not in self._number_of for label in given], dtype=bool)
        return found[column.numbers], is_unknown

    def _refuse_other_kinds(self, given: list[Label], where: str) -> None:
        """Refuse text instead of numbers and numbers instead of text: it is a different column with the same name."""
        known = self._kinds
        found = {isinstance(label, str) for label in given}
        if known and found and not known & found:
            was, now = ("text", "numbers") if True in known else ("numbers", "text")
            raise DataTypeError(
                f"The categories of {where} were {was} when the model was fitted, but now they are {now}, such as "
                f"{given[0]!r}. Give labels as in the fit, such as {self.labels.tolist()[0]!r}."
            )


def learn_categories(column: Labeled, where: str) -> tuple[FloatArray, Categories]:
    """Assign codes to the labels of a column, in sorted order."""
    labels = list(column.labels)
    is_there = np.zeros(len(labels) + 1, dtype=bool)
    is_there[column.numbers] = True
    used = [i for i in range(len(labels)) if is_there[i]]
    try:
        used.sort(key=labels.__getitem__)
    except TypeError as error:
        kinds = sorted({type(labels[i]).__name__ for i in used})
        raise DataTypeError(
            f"The labels of {where} cannot be sorted: {', '.join(kinds)}. Give labels of one kind, for example text."
        ) from error
    number_of = np.full(len(labels) + 1, np.nan)
    number_of[used] = np.arange(len(used))
    return number_of[column.numbers], Categories(label_array([labels[i] for i in used]))


def label_array(labels: Sequence[Label]) -> Array:
    """Store numbers as an array of numbers, everything else as objects: an array of text would lose trailing zeros."""
    if labels and all(isinstance(label, bool | int | float) for label in labels):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


# ------------------------------------------------------------------------------------------------ all features


@dataclass(frozen=True, eq=False, repr=False)
class Schema:
    """The features of a fit."""

    names: tuple[str, ...] | None  # None: columns without names
    categories: tuple[Categories | None, ...]  # by feature; None: numbers
    unknown: dict[int, int] = field(default_factory=dict)  # by feature: number of unknown cells since the fit
    times: dict[int, str] = field(default_factory=dict)  # features that are dates or durations, as numbers of days

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def categorical(self) -> frozenset[int]:
        """Features that are split by sets of categories."""
        return frozenset(f for f, c in enumerate(self.categories) if c is not None and not c.is_ordered)

    def where(self, feature: int) -> str:
        """Return the name of a column for messages."""
        return f"column {self.name(feature)} of X"

    def name(self, feature: int) -> str:
        """Return the name of a column in quotes, or its number."""
        return str(feature) if self.names is None else repr(self.names[feature])

    def narrow(self, X: Array) -> "Schema":
        """Remove categories that no row has, and renumber the others, in place."""
        narrowed = list(self.categories)
        for f, categories in enumerate(self.categories):
            if categories is None or categories.is_ordered:
                continue
            present = ~np.isnan(X[:, f])
            used, numbers = np.unique(X[present, f], return_inverse=True)
            X[present, f] = numbers
            narrowed[f] = Categories(categories.labels[used.astype(np.intp)])
        return Schema(self.names, tuple(narrowed), times=self.times)

    def count_unknown(self, feature: int, column: Labeled, is_unknown: BoolArray, rule: str) -> None:
        """Refuse unknown categories, or count them and warn the first time."""
        cells = np.append(is_unknown, False)[column.numbers]
        n_cells = int(np.count_nonzero(cells))
        if not n_cells:
            return
        row = int(np.argmax(cells))
        label, where = column.labels[column.numbers[row]], self.where(feature)
        if rule == "error":
            raise DataError(
                f"Row {row} of {where} is {label!r}, a category that does not occur in the training data. Leave such "
                'rows out, or set unknown_category="missing" to read it as a missing value.'
            )
        with _COUNTING:
            is_first = not self.unknown
            self.unknown[feature] = self.unknown.get(feature, 0) + n_cells
        if is_first:
            warn(
                f"Row {row} of {where} is {label!r}, a category that does not occur in the training data. The "
                f"column has {n_cells} {'cell' if n_cells == 1 else 'cells'} with such values. They are read as "
                "missing values and counted in unknown_categories_. This warning is given once."
            )


class TableReader(Protocol):
    """The attributes of an estimator that are needed to read tables."""

    schema_: Schema
    n_features_in_: int


def choose_features(given: Iterable[object], names: Sequence[str] | None, n_features: int) -> frozenset[int]:
    """Read `categorical_features`: names, indices or a mask, as feature numbers."""
    entries = list(given)
    if entries and all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != n_features:
            raise ParameterError(
                f"categorical_features is a mask of {len(entries)} values, but X has {n_features} features. Give one "
                "True or False for each feature."
            )
        return frozenset(f for f, entry in enumerate(entries) if entry)
    chosen = set()
    known = {} if names is None else {name: f for f, name in enumerate(names)}
    for entry in entries:
        if isinstance(entry, str):
            if entry not in known:
                found = f"The columns of X are {list(known)}." if known else "X has no column names: give indices."
                raise ParameterError(f"categorical_features names {entry!r}, which is not a column of X. {found}")
            chosen.add(known[entry])
        elif isinstance(entry, int | np.integer) and not isinstance(entry, bool) and 0 <= entry < n_features:
            chosen.add(int(entry))
        else:
            raise ParameterError(
                f"categorical_features has {entry!r}, which is not a feature of X. Give names of columns, numbers from "
                f"0 to {n_features - 1}, or a mask of {n_features} values."
            )
    return frozenset(chosen)


def same_categories(one: Schema, other: Schema) -> bool:
    """Return whether two fits have the same categories with the same codes, and the same dates."""
    if len(one.categories) != len(other.categories) or one.times != other.times:
        return False
    pairs = zip(one.categories, other.categories, strict=True)
    return all(
        a is b is None or (a is not None and b is not None and a.labels.tolist() == b.labels.tolist()) for a, b in pairs
    )


def counts_by_name(schema: Schema) -> dict[str | int, int]:
    """Return the number of unknown cells since the fit, by column name or number."""
    return {f if schema.names is None else schema.names[f]: n for f, n in sorted(schema.unknown.items())}
