"""The path of one row through a tree, as text."""

from dataclasses import dataclass

import numpy as np

from weald.data.short_repr import short_repr
from weald.data.types import Array, FloatArray, Label
from weald.forest.describe.conditions import FittedTree, Names, SplitCondition, describe_predictions, questions
from weald.forest.forest import Forest


@dataclass(frozen=True)
class PathStep:
    """A split on the path of a row, and the side that the row goes to."""

    node: int
    feature: str
    value: float  # value of the feature in the row
    words: str  # the row's value and condition
    side: str  # "left" or "right"
    to: int  # the next node
    prediction: str  # the prediction of that node, as text


@dataclass(frozen=True, repr=False)
class RowExplanation:
    """Explanation of the prediction for a row. Printed, it is the path as text."""

    start: str  # prediction of the root
    steps: tuple[PathStep, ...]
    leaf: int
    value: FloatArray | float  # class probabilities, or the mean
    prediction: Label  # the label, or the mean

    def __repr__(self) -> str:
        return short_repr(self)

    def __str__(self) -> str:
        lines = [f"{step.words}  →  {step.prediction}" for step in self.steps]
        return "\n".join([f"at the root  →  {self.start}", *lines])


def explain_row(model: FittedTree, row: Array, leaf: int, names: Names) -> RowExplanation:
    """Follow a row from the root to its leaf."""
    forest = model.forest_
    path = _path_to(forest, leaf)
    predictions = describe_predictions(model, names, path)
    steps = []
    for i, question in enumerate(questions(forest, names, path)):
        if question is not None:
            steps.append(_step(question, row, path[i], path[i + 1], predictions[i + 1]))
    value = model.tree_.value[leaf, 0]
    if names.classes is None:
        return RowExplanation(predictions[0], tuple(steps), leaf, float(value[0]), float(value[0]))
    return RowExplanation(predictions[0], tuple(steps), leaf, value, names.classes[np.argmax(value)])


def _path_to(forest: Forest, leaf: int) -> list[int]:
    """List the nodes from the root to a leaf."""
    above = forest.parents()
    path = [leaf]
    while above[path[-1]] >= 0:
        path.append(int(above[path[-1]]))
    return path[::-1]


def _step(question: SplitCondition, row: Array, node: int, to: int, predictions: str) -> PathStep:
    value = row[question.feature]
    left = to == node + 1
    words = question.describe_value(value, left=left)
    return PathStep(node, question.name, value, words, "left" if left else "right", to, predictions)
