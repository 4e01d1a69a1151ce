"""What a fit remembers of its columns, so that predictions read theirs in the same way.

    Labeled      a column of labels as it comes: numbers, and the label of each number
    Categories   the labels of a categorical feature, in the order of their numbers
    Schema       the features of a fit: their names and categories, and the unknown categories met since

A category is known by its label. Its number is its place among the labels that the training rows have, sorted (text by
code points), or its place in the declared order of an ordered column.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from weald.data.types import Array, BoolArray, FloatArray, IntArray, Label
from weald.errors import DataError, DataTypeError, ParameterError, warn

FROM_DTYPE = "from_dtype"
NUMBERS, CATEGORIES, ORDERED = "numbers", "categories", "ordered categories"  # what a column may be
DATES, DURATIONS = "dates", "durations"  # which are read as numbers of days, see data/times.py
TIMES = (DATES, DURATIONS)

_COUNTING = threading.Lock()  # predictions may run side by side


class Rules(NamedTuple):
    """What the user said of reading tables."""

    categorical_features: str | Iterable[object] | None
    unknown_category: str
    missing: str


def rules_of(estimator: object) -> Rules:
    """Find what the user said; a subclass may hide some of it."""
    return Rules(
        getattr(estimator, "categorical_features", FROM_DTYPE),
        getattr(estimator, "unknown_category", "missing"),
        getattr(estimator, "missing", "learn"),
    )


class Labeled(NamedTuple):
    """A column of labels as it comes: -1 is a missing value."""

    numbers: IntArray
    labels: Sequence[Label]


# ------------------------------------------------------------------------------------------------ one feature


@dataclass(frozen=True, eq=False)
class Categories:
    """The labels of a categorical feature; ordered ones are cut like numbers."""

    labels: Array
    is_ordered: bool = False

    @cached_property
    def _number_of(self) -> dict[Label, int]:
        return {label: number for number, label in enumerate(self.labels.tolist())}

    def __getstate__(self) -> dict[str, object]:
        """Keep the labels; the table of their numbers is made anew."""
        return {"labels": self.labels, "is_ordered": self.is_ordered}

    def look_up(self, column: Labeled, where: str) -> tuple[FloatArray, BoolArray]:
        """Number a column's labels as the fit did: (numbers, which labels of the column are unknown)."""
        given = list(column.labels)
        self._refuse_other_kinds(given, where)
        found = np.array([self._number_of.get(label, np.nan) for label in given] + [np.nan])  # -1: the last
        is_unknown = np.array([label not in self._number_of for label in given], dtype=bool)
        return found[column.numbers], is_unknown

    def _refuse_other_kinds(self, given: list[Label], where: str) -> None:
        """Text instead of numbers, or numbers instead of text, is another column by the same name."""
        known = {isinstance(label, str) for label in self._number_of}
        found = {isinstance(label, str) for label in given}
        if known and found and not known & found:
            was, now = ("text", "numbers") if True in known else ("numbers", "text")
            raise DataTypeError(
                f"The categories of {where} were {was} when the model was fitted, but now they are {now}, such as "
                f"{given[0]!r}. Give the labels that the model knows, such as {self.labels.tolist()[0]!r}."
            )


def learn_categories(column: Labeled, where: str) -> tuple[FloatArray, Categories]:
    """Number the labels that a column has, in sorted order."""
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
    """Keep numbers as an array of numbers, all else as objects: an array of text forgets trailing zeros."""
    if labels and all(isinstance(label, bool | int | float) for label in labels):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


# ------------------------------------------------------------------------------------------------ all features


@dataclass(frozen=True, eq=False)
class Schema:
    """The features of a fit."""

    names: tuple[str, ...] | None  # None: columns without names
    categories: tuple[Categories | None, ...]  # by feature; None: numbers
    unknown: dict[int, int] = field(default_factory=dict)  # by feature: cells met since the fit
    times: dict[int, str] = field(default_factory=dict)  # features that are dates or durations, as numbers of days

    @property
    def categorical(self) -> frozenset[int]:
        """Features that are cut by sets of categories."""
        return frozenset(f for f, c in enumerate(self.categories) if c is not None and not c.is_ordered)

    def where(self, feature: int) -> str:
        """Name a column in a message."""
        return f"column {self.name(feature)} of X"

    def name(self, feature: int) -> str:
        """Name a column among others: its name in quotes, or its number."""
        return str(feature) if self.names is None else repr(self.names[feature])

    def narrow(self, X: Array) -> "Schema":
        """Forget categories that no row has, and number those that are left anew, in place."""
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
        """Refuse unknown categories, or count them, and say so the first time."""
        cells = np.append(is_unknown, False)[column.numbers]
        n_cells = int(np.count_nonzero(cells))
        if not n_cells:
            return
        row = int(np.argmax(cells))
        label, where = column.labels[column.numbers[row]], self.where(feature)
        if rule == "error":
            raise DataError(
                f"Row {row} of {where} is {label!r}, a category that no training row has. Leave such rows out, or set "
                'unknown_category="missing" to read it as a missing value.'
            )
        with _COUNTING:
            is_first = not self.unknown
            self.unknown[feature] = self.unknown.get(feature, 0) + n_cells
        if is_first:
            warn(
                f"Row {row} of {where} is {label!r}, a category that no training row has, and so are {n_cells} of its "
                "cells. They are read as missing values and counted in unknown_categories_. This is said once."
            )


class TableReader(Protocol):
    """An estimator as far as reading tables goes: what it learned of their columns."""

    schema_: Schema
    n_features_in_: int


def choose_features(given: Iterable[object], names: Sequence[str] | None, n_features: int) -> frozenset[int]:
    """Read `categorical_features`: names, indices, or a mask, as the numbers of features."""
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
                raise ParameterError(f"categorical_features names {entry!r}, which is no column of X. {found}")
            chosen.add(known[entry])
        elif isinstance(entry, int | np.integer) and not isinstance(entry, bool) and 0 <= entry < n_features:
            chosen.add(int(entry))
        else:
            raise ParameterError(
                f"categorical_features has {entry!r}, which is no feature of X. Give names of columns, numbers from 0 "
                f"to {n_features - 1}, or a mask of {n_features} values."
            )
    return frozenset(chosen)


def same_categories(one: Schema, other: Schema) -> bool:
    """Say whether two fits number the categories of all features alike, and read the same ones as dates."""
    if len(one.categories) != len(other.categories) or one.times != other.times:
        return False
    pairs = zip(one.categories, other.categories, strict=True)
    return all(
        a is b is None or (a is not None and b is not None and a.labels.tolist() == b.labels.tolist()) for a, b in pairs
    )


def counts_by_name(schema: Schema) -> dict[str | int, int]:
    """Count the unknown categories met since the fit, by name of the column, or by its number."""
    return {f if schema.names is None else schema.names[f]: n for f, n in sorted(schema.unknown.items())}
