"""Leaves as regions: the boxes into which a tree divides the space of features.

Interval        what a path says of one feature
Region          a leaf: its intervals, and what it says
list_regions    the regions of all leaves
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.inspect import list_nodes
from weald.model import FloatArray, Forest
from weald.words import Names, Question, questions, say_answers, say_number


@dataclass(frozen=True)
class Interval:
    """Values of one feature that lead to a leaf: low < x <= high; and missing ones, or not."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    missing: bool = True  # do missing values get here?
    missing_said: bool = False  # they took a side that is not the heavier one

    def narrow(self, question: Question, *, left: bool) -> "Interval":
        """Take one side of a question."""
        low, high = (
            (self.low, min(self.high, question.threshold))
            if left
            else (
                max(self.low, question.threshold),
                self.high,
            )
        )
        here = question.missing_left == left
        return Interval(self.name, low, high, self.missing and here, self.missing_said or question.missing_said)

    @property
    def words(self) -> str:
        """Say it."""
        if self.low == math.inf:
            return f"{self.name} is missing"
        low, high = say_number(self.low), say_number(self.high)
        if self.low == -math.inf:
            said = f"{self.name} is present" if self.high == math.inf else f"{self.name} ≤ {high}"
        else:
            said = f"{self.name} > {low}" if self.high == math.inf else f"{low} < {self.name} ≤ {high}"
        return f"{said} or missing" if self.missing and self.missing_said else said

    def contains(self, values: FloatArray) -> npt.NDArray[np.bool_]:
        """Say which values lead here."""
        inside: npt.NDArray[np.bool_] = (values > self.low) & (values <= self.high)
        if self.low == -math.inf:
            inside |= values == -math.inf
        return np.where(np.isnan(values), self.missing, inside)


@dataclass(frozen=True)
class Region:
    """A leaf: the rows that get there, and what it says of them.

    Printed, it is a rule: if this and that, then so.
    """

    leaf: int  # number of the node
    intervals: dict[int, Interval]  # by number of the feature; those that are not cut on the path are left out
    samples: int
    share: float  # of the weight of all rows
    impurity: float
    value: Any  # shares of the classes, or the mean
    prediction: Any  # the label, or the mean
    answer: str  # what the leaf says, in words
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
        """What must hold of a row, in words; one condition for each feature that was cut."""
        return [interval.words for interval in self.intervals.values()]

    def contains(self, X: Any) -> npt.NDArray[np.bool_]:
        """Say which rows of an array of numbers are inside."""
        rows = np.asarray(X, dtype=np.float64)
        inside = np.ones(len(rows), dtype=np.bool_)
        for feature, interval in self.intervals.items():
            inside &= interval.contains(rows[:, feature])
        return inside

    def __str__(self) -> str:
        return f"if {' and '.join(self.conditions)}: {self.answer}" if self.intervals else f"always: {self.answer}"


SAID = ("samples", "share", "impurity", "value", "prediction")


def _plain(value: Any) -> Any:
    """Turn NumPy's scalars into Python's."""
    return value.item() if isinstance(value, np.generic) else value


def list_regions(model: Any, names: Names) -> list[Region]:
    """List the regions of all leaves, in pre-order."""
    forest: Forest = model.forest_
    asked = questions(forest, names)
    nodes = list_nodes(model, names)
    leaves = np.flatnonzero(forest.feature < 0)
    answers = dict(zip(leaves.tolist(), say_answers(model, names, leaves), strict=True))
    found = []
    waiting: list[tuple[int, dict[int, Interval]]] = [(0, {})]
    while waiting:
        node, intervals = waiting.pop()
        question = asked[node]
        if question is None:
            said = {name: _plain(nodes[name][node]) for name in SAID}
            found.append(Region(node, intervals, **said, answer=answers[node], n_features=forest.n_features))
            continue
        before = intervals.get(question.feature, Interval(question.name))
        for child, left in ((int(forest.right[node]), False), (node + 1, True)):
            waiting.append((child, {**intervals, question.feature: before.narrow(question, left=left)}))
    return found
