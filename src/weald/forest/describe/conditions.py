"""Splits as text: the only module that turns a split into words.

    format_number          a number with few digits
    format_labels          a set of categories, shortened
    Names                  the user's names of features and classes
    SplitCondition         the condition of a split, as text for both sides
    describe_predictions   the predictions of nodes as text

Texts, rules, explanations and plots all use this module, so their wording is the same.

Missing values go to the child with the larger weight unless the text says otherwise: the rule for nodes without missing
values in training.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np

from weald.data.targets import labels_of
from weald.data.task import OF_MEDIANS
from weald.data.times import format_time
from weald.data.types import Array, FloatArray, IntArray, Label
from weald.errors import DataError, shown
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest

SIDES = ("left", "right")
MOST_LABELS = 8  # labels of a set of categories that are listed


def format_number(number: float) -> str:
    """Write a number with at least four digits, and always with its whole part.

    Examples
    --------
    >>> from weald.forest.describe.conditions import format_number
    >>> [format_number(x) for x in (0.8, 2.449999, 2015.5, 1234567.0, 0.000012345)]
    ['0.8', '2.45', '2015.5', '1234567', '1.234e-05']
    """
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else str(number)
    power = math.floor(math.log10(abs(number)))
    if not -5 < power < 9:
        return f"{number:.3e}"
    text = f"{number:.{max(1, 3 - power)}f}"
    return text.rstrip("0").rstrip(".")


def format_value(value: float, labels: Array | None, time: str | None) -> str:
    """Write a value of a feature: a number, a date, or the label of an ordered category, which is a code from 0."""
    if not math.isfinite(value) or (labels is None and time is None):
        return format_number(value)
    return str(labels[math.floor(value)]) if labels is not None else format_time(value, time or "")


def format_labels(labels: Sequence[object]) -> str:
    """Write the labels of a set; only the first ones of a large set.

    Examples
    --------
    >>> from weald.forest.describe.conditions import format_labels
    >>> format_labels(["red", "blue"])
    '{red, blue}'
    >>> format_labels(range(100))
    '{0, 1, 2, 3, 4, 5, 6, … 100 in total}'
    """
    if len(labels) <= MOST_LABELS:
        return "{" + ", ".join(map(str, labels)) + "}"
    return "{" + ", ".join(map(str, labels[: MOST_LABELS - 1])) + f", … {len(labels)} in total}}"


class NamedModel(Protocol):
    """A fitted model with names of features and classes, if it has any."""

    n_features_in_: int
    categories_: Sequence[Array | None]


class DescribedModel(NamedModel, Protocol):
    """A fitted tree or forest with its names."""

    forest_: Forest


class NodeArrays(Protocol):
    """Arrays derived from the nodes of a fitted tree, with scikit-learn's names."""

    @property
    def value(self) -> FloatArray:
        """Nodes x targets x classes: probabilities, or means."""

    @property
    def impurity(self) -> FloatArray:
        """Impurity of each node."""

    @property
    def class_weights(self) -> FloatArray:
        """Nodes x classes."""


class GrownWith(Protocol):
    """Growth parameters that descriptions need."""

    @property
    def monotonic(self) -> Sequence[int]:
        """By feature; empty: none is constrained."""

    @property
    def criterion(self) -> str:
        """The criterion of splits."""


class FittedTree(Protocol):
    """The attributes of a fitted tree that descriptions need."""

    forest_: Forest
    tree_: NodeArrays
    growth_: GrownWith


@dataclass(frozen=True)
class Names:
    """Names of features and classes, and labels of categories."""

    features: list[str]
    classes: Array | None  # labels by class code; None: regression
    categories: Sequence[Array | None] = field(default_factory=list)  # labels by feature; None: numbers
    times: Mapping[int, str] = field(default_factory=dict)  # features that are dates or durations, in days

    @classmethod
    def of(
        cls, model: NamedModel, features: Sequence[str] | None = None, classes: Sequence[object] | None = None
    ) -> Self:
        """Return the given names, else those of a fitted model, else x0, x1 ..."""
        n_features = model.n_features_in_
        known = getattr(model, "feature_names_in_", None)
        names = [f"x{f}" for f in range(n_features)] if known is None else [str(name) for name in known]
        if features is not None:
            names = [str(name) for name in _list_names(features, "feature_names", n_features, "features")]
        labels = labels_of(model)
        if classes is not None:
            given = _list_names(classes, "class_names", 0 if labels is None else len(labels), "classes")
            labels = None if labels is None else np.asarray(given)
        return cls(names, labels, model.categories_, getattr(getattr(model, "schema_", None), "times", {}))


def _list_names(given: object, parameter: str, n: int, things: str) -> list[object]:
    """Read names given by the user."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1:
        raise DataError(f"{parameter} is {shown(given)}, not a list. Give a name for each of the {n} {things}.")
    names = list(given)
    if any(isinstance(name, list | tuple | dict | np.ndarray) for name in names):
        raise DataError(
            f"{parameter} is {shown(given)}, which contains lists. Give one name for each of the {n} {things}."
        )
    if len(names) != n:
        raise DataError(f"{parameter} has {len(names)} names for {n} {things}. Give one for each.")
    return names


class SplitCondition(NamedTuple):
    """The condition of a split. Rows for which `left` is true go left."""

    feature: int
    name: str
    threshold: float  # +inf: tests only whether the value is missing
    missing_left: bool
    mentions_missing: bool  # missing values do not go to the heavier side, so the text mentions them
    labels: Array | None = None  # labels of a categorical feature, by code
    listed: tuple[int, ...] | None = None  # the set of a categorical split; None: a numeric split
    others_left: bool = False  # the set goes right, all others left
    time: str | None = None  # the feature is dates or durations, in days

    @property
    def tests_for_missing(self) -> bool:
        """Whether present values go left and missing ones right."""
        return self.threshold == math.inf or self.listed == ()

    @property
    def named(self) -> list[Label] | None:
        """Labels of the categories named in the text; None for numeric splits."""
        return None if self.listed is None or self.labels is None else self.labels[list(self.listed)].tolist()

    @property
    def words(self) -> str:
        """The condition as text, without the side of missing values."""
        return f"{self.name} is present" if self.tests_for_missing else f"{self.name} {self._condition(left=True)}"

    def _condition(self, *, left: bool) -> str:
        """Describe the condition for a value that is not missing."""
        if self.listed is not None and self.labels is not None:
            labels, inside = self.labels[list(self.listed)].tolist(), left != self.others_left
            if len(labels) == 1:
                return f"{'=' if inside else '≠'} {labels[0]}"
            return f"{'in' if inside else 'not in'} {format_labels(labels)}"
        return f"{'≤' if left else '>'} {self._describe_bound()}"

    def _describe_bound(self) -> str:
        """Describe the last value that goes left."""
        return format_value(self.threshold, self.labels, self.time)

    @property
    def left(self) -> str:
        """The condition under which a row goes left, as text."""
        return self._with_missing(self.words, here=self.missing_left)

    @property
    def right(self) -> str:
        """The condition under which a row goes right, as text."""
        if self.tests_for_missing:
            return f"{self.name} is missing"
        return self._with_missing(f"{self.name} {self._condition(left=False)}", here=not self.missing_left)

    def _with_missing(self, words: str, *, here: bool) -> str:
        return f"{words} or missing" if here and self.mentions_missing and not self.tests_for_missing else words

    def describe_value(self, value: float, *, left: bool) -> str:
        """Describe a row's value, and the side of the split that the row goes to."""
        if value != value:
            return f"{self.name} is missing"
        text = format_value(value, self.labels, self.time)
        if self.tests_for_missing:
            return f"{self.name} is {text}, which is not missing"
        if self.listed is not None:
            return f"{self.name} is {text}, {self._condition(left=left)}"
        bound = f"at most {self._describe_bound()}" if left else f"more than {self._describe_bound()}"
        return f"{self.name} is {text}, {bound}"


def questions(
    forest: Forest, names: Names, nodes: Sequence[int] | IntArray | None = None
) -> list[SplitCondition | None]:
    """Describe the splits of some or all nodes of a tree as text; None in leaves."""
    at = np.arange(forest.n_nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
    feature = forest.feature[at]
    left, right = np.minimum(at + 1, forest.n_nodes - 1), forest.right[at]
    missing_left = (forest.flags[at] & MISSING_LEFT) > 0
    mentioned = missing_left != (forest.weight[left] >= forest.weight[right])
    columns = (feature.tolist(), forest.threshold[at].tolist(), missing_left.tolist(), mentioned.tolist())
    asked = [
        SplitCondition(f, names.features[f], t, m, s, time=names.times.get(f)) if f >= 0 else None
        for f, t, m, s in zip(*columns, strict=True)
    ]
    if any(labels is not None for labels in names.categories):
        asked = [q if q is None else _with_labels(forest, names, node, q) for node, q in zip(at, asked, strict=True)]
    return asked


def _with_labels(forest: Forest, names: Names, node: int, question: SplitCondition) -> SplitCondition:
    """Add the labels and the set to the condition of a categorical split."""
    labels = names.categories[question.feature]
    if not forest.flags[node] & CATEGORICAL:
        return question._replace(labels=labels)
    listed = tuple(forest.category_set(node).tolist())
    others_left = bool(forest.flags[node] & OTHERS_LEFT)
    return question._replace(threshold=math.nan, labels=labels, listed=listed, others_left=others_left)


def spreads_of(model: object, forest: Forest) -> FloatArray:
    """Standard deviation of the targets of each node; with medians, their mean absolute deviation."""
    growth = getattr(model, "growth_", None)
    spread: FloatArray = forest.impurity if growth and growth.criterion in OF_MEDIANS else np.sqrt(forest.impurity)
    return spread


def describe_predictions(model: FittedTree, names: Names, nodes: Sequence[int] | IntArray) -> list[str]:
    """Describe the predictions of nodes as if they were leaves, with their numbers of rows."""
    forest = model.forest_
    at = np.asarray(nodes, dtype=np.int64)
    sizes = forest.size[at].tolist()
    if names.classes is None:
        means, spreads = model.tree_.value[at, 0, 0].tolist(), spreads_of(model, forest)[at].tolist()
        return [_describe_mean(*node) for node in zip(means, spreads, sizes, strict=True)]
    shares = model.tree_.value[at, 0, :]
    labels = names.classes[shares.argmax(axis=1)].tolist()
    largest = shares.max(axis=1).tolist()
    if forest.shrinkage:  # these probabilities are not fractions of the rows
        return [f"{k} (probability {p:.2f}, {n} rows)" for k, p, n in zip(labels, largest, sizes, strict=True)]
    if np.array_equal(forest.weight, forest.size):  # otherwise the fractions are fractions of weight
        return [f"{k} ({round(p * n)} of {n} rows)" for k, p, n in zip(labels, largest, sizes, strict=True)]
    return [f"{k} ({p:.0%} of {n} rows)" for k, p, n in zip(labels, largest, sizes, strict=True)]


def _describe_mean(mean: float, spread: float, size: int) -> str:
    return (
        f"{format_number(mean)} ± {format_number(spread)} ({size} rows)"
        if spread
        else f"{format_number(mean)} ({size} rows)"
    )
