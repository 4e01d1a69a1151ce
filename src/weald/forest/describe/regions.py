"""Leaves as regions: the boxes into which a tree divides the feature space.

Interval        the condition of a path on one feature
Region          a leaf: its intervals, and its prediction
list_regions    the regions of all leaves
list_rules      the regions as if-then rules
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from weald.data.types import Array, BoolArray, FloatArray, Label
from weald.forest.describe.conditions import (
    FittedTree,
    Names,
    SplitCondition,
    describe_predictions,
    format_labels,
    format_value,
    questions,
)
from weald.forest.describe.nodes import list_nodes
from weald.forest.forest import Forest


@dataclass(frozen=True)
class Interval:
    """Values of one feature that lead to a leaf: low < x <= high; and whether missing values do."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    missing: bool = True  # whether missing values lead here
    mentions_missing: bool = False  # missing values go to the lighter side, so the text mentions them
    labels: Array | None = None  # category labels, by code
    inside: frozenset[int] | None = None  # the categories that lead here; None: all, or numbers
    time: str | None = None  # the feature is dates or durations, in days

    def narrow(self, question: SplitCondition, *, left: bool) -> "Interval":
        """Restrict the interval to one side of a split."""
        here = self.missing and question.missing_left == left
        mentioned = self.mentions_missing or question.mentions_missing
        if question.listed is not None and question.labels is not None:
            before = frozenset(range(len(question.labels))) if self.inside is None else self.inside
            members = frozenset(question.listed)
            inside = before & members if left != question.others_left else before - members
            return Interval(self.name, self.low, self.high, here, mentioned, question.labels, inside)
        low = self.low if left else max(self.low, question.threshold)
        high = min(self.high, question.threshold) if left else self.high
        return Interval(self.name, low, high, here, mentioned, question.labels, self.inside, question.time)

    @cached_property
    def words(self) -> str:
        """Return the condition as text, one for all splits on the feature."""
        if self.low == math.inf:
            return f"{self.name} is missing"
        if self.inside is not None:
            return self._describe_set()
        if self.low == -math.inf:
            text = f"{self.name} is present" if self.high == math.inf else f"{self.name} ≤ {self._format(self.high)}"
        elif self.high == math.inf:
            text = f"{self.name} > {self._format(self.low)}"
        else:
            text = f"{self._format(self.low)} < {self.name} ≤ {self._format(self.high)}"
        return f"{text} or missing" if self.missing and self.mentions_missing else text

    def _format(self, bound: float) -> str:
        return format_value(bound, self.labels, self.time)

    def _describe_set(self) -> str:
        """Describe the categories that lead here."""
        assert self.labels is not None and self.inside is not None  # noqa: S101, PT018  (for the type checker)
        if not self.inside:
            return f"{self.name} is missing"
        inside = self.labels[sorted(self.inside)].tolist()
        text = f"{self.name} = {inside[0]}" if len(inside) == 1 else f"{self.name} in {format_labels(inside)}"
        if len(inside) == len(self.labels):
            text = f"{self.name} is present"
        return f"{text} or missing" if self.missing and self.mentions_missing else text

    def contains(self, values: FloatArray) -> BoolArray:
        """Return which values lead here; categories are given as codes."""
        if self.inside is not None:
            return np.where(np.isnan(values), self.missing, np.isin(values, list(self.inside)))
        inside: BoolArray = (values > self.low) & (values <= self.high)
        if self.low == -math.inf:
            inside |= values == -math.inf
        return np.where(np.isnan(values), self.missing, inside)


@dataclass(frozen=True)
class Region:
    """A leaf: the rows that reach it, and its prediction.

    Printed, it is an if-then rule.
    """

    leaf: int  # node number
    intervals: dict[int, Interval]  # indexed by feature number; features without a split on the path are left out
    samples: int
    share: float  # fraction of the weight of all rows
    impurity: float
    value: FloatArray | float  # class probabilities, or the mean
    prediction: Label  # the label, or the mean
    answer: str  # the prediction of the leaf, as text
    n_features: int

    @property
    def low(self) -> FloatArray:
        """Lower corner of the box, by feature: values above it are inside."""
        return self._corner("low", -np.inf)

    @property
    def high(self) -> FloatArray:
        """Upper corner of the box, by feature: values up to it are inside."""
        return self._corner("high", np.inf)

    def _corner(self, side: str, default: float) -> FloatArray:
        corner = np.full(self.n_features, default)
        for feature, interval in self.intervals.items():
            corner[feature] = getattr(interval, side)
        return corner

    @property
    def conditions(self) -> list[str]:
        """The conditions on a row, as text; one for each feature with a split on the path."""
        return [interval.words for interval in self.intervals.values()]

    def contains(self, X: npt.ArrayLike) -> BoolArray:
        """Return which rows of an array of numbers are inside."""
        rows = np.asarray(X, dtype=np.float64)
        inside = np.ones(len(rows), dtype=np.bool_)
        for feature, interval in self.intervals.items():
            inside &= interval.contains(rows[:, feature])
        return inside

    def __str__(self) -> str:
        return format_rule(self.intervals, self.answer)

    def __repr__(self) -> str:
        return f"<leaf {self.leaf}: {self}>"


def format_rule(intervals: dict[int, Interval], answer: str) -> str:
    """Format a leaf as a rule."""
    if not intervals:
        return f"always: {answer}"
    return f"if {' and '.join([interval.words for interval in intervals.values()])}: {answer}"


FIELDS = ("samples", "share", "impurity", "value", "prediction")


def _plain(value: Label) -> Label:
    """Convert NumPy's scalars to Python's."""
    return value.item() if isinstance(value, np.generic) else value


def walk_leaves(forest: Forest, names: Names) -> Iterator[tuple[int, dict[int, Interval]]]:
    """Iterate over all leaves in pre-order, with the intervals of their paths."""
    asked, right = questions(forest, names), forest.right.tolist()
    waiting: list[tuple[int, dict[int, Interval]]] = [(0, {})]
    while waiting:
        node, intervals = waiting.pop()
        question = asked[node]
        if question is None:
            yield node, intervals
            continue
        before = intervals.get(question.feature) or Interval(question.name)
        for child, left in ((right[node], False), (node + 1, True)):
            waiting.append((child, {**intervals, question.feature: before.narrow(question, left=left)}))


def list_regions(model: FittedTree, names: Names) -> list[Region]:
    """List the regions of all leaves, in pre-order."""
    forest = model.forest_
    nodes, found = list_nodes(model, names), []
    for (leaf, intervals), answer in zip(walk_leaves(forest, names), _answers(model, names), strict=True):
        fields = {name: _plain(nodes[name][leaf]) for name in FIELDS}
        found.append(Region(leaf, intervals, **fields, answer=answer, n_features=forest.n_features))
    return found


def list_rules(model: FittedTree, names: Names) -> list[str]:
    """Format the regions of all leaves as rules, in pre-order."""
    leaves = zip(walk_leaves(model.forest_, names), _answers(model, names), strict=True)
    return [format_rule(intervals, answer) for (_, intervals), answer in leaves]


def _answers(model: FittedTree, names: Names) -> list[str]:
    """The predictions of the leaves as text, in pre-order."""
    return list(describe_predictions(model, names, np.flatnonzero(model.forest_.feature < 0)))
