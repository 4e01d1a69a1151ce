"""A tree as text: one line per node, with the two sides of a split below it."""

from collections.abc import Iterator

import numpy as np

from weald.data.types import IntArray
from weald.forest.describe.conditions import FittedTree, Names, SplitCondition, describe_predictions, questions
from weald.forest.forest import Forest

BRANCHES = ("├─ ", "└─ ")
GAPS = ("│  ", "   ")


def write_text(model: FittedTree, names: Names, max_depth: int | None) -> str:
    """Write a tree down to some depth, with the number of nodes left out below."""
    return "\n".join(_lines(model, names, max_depth))


def _lines(model: FittedTree, names: Names, max_depth: int | None) -> Iterator[str]:
    forest = model.forest_
    depth = forest.depth()
    shown = np.flatnonzero(depth <= (depth.max() if max_depth is None else max_depth))
    asked = dict(zip(shown.tolist(), questions(forest, names, shown), strict=True))
    predictions = dict(zip(shown.tolist(), describe_predictions(model, names, shown), strict=True))
    below = count_below(forest)
    right = forest.right
    waiting = [(0, "", "", "")]
    while waiting:
        node, lead, gap, label = waiting.pop()
        question = asked[node]
        if question is None:
            yield f"{lead}{label}{predictions[node]}"
        elif depth[node] == max_depth:
            yield f"{lead}{label}{predictions[node]} … {below[node]} nodes below"
        else:
            yield f"{lead}{label}{question.words}"
            yes, no = _labels(question)
            waiting.append((int(right[node]), gap + BRANCHES[1], gap + GAPS[1], no))
            waiting.append((node + 1, gap + BRANCHES[0], gap + GAPS[0], yes))


def _labels(question: SplitCondition) -> tuple[str, str]:
    """Label the two sides, with the side of missing values if it must be mentioned."""
    if not question.mentions_missing or question.tests_for_missing:
        return "yes: ", "no: "
    return ("yes or missing: ", "no: ") if question.missing_left else ("yes: ", "no or missing: ")


def count_below(forest: Forest) -> IntArray:
    """Count the nodes below each node of a single tree: they are consecutive in pre-order."""
    end = np.arange(1, forest.n_nodes + 1)
    rights = forest.right.tolist()
    ends = end.tolist()
    for node in range(forest.n_nodes - 1, -1, -1):
        if rights[node]:
            ends[node] = ends[rights[node]]
    return np.array(ends) - end
