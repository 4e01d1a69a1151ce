"""The trees and nodes in which forests differ.

hash_trees          the hash of each tree; for multi-output, of the trees of all targets
NodeDifference      the first node in which two trees differ, in pre-order
find_difference     two trees -> that node; None: they are equal
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weald.data.task import Task
from weald.data.types import Array
from weald.engines.threads import count_threads, map_on_threads
from weald.forest.describe.conditions import Names, format_number, questions
from weald.forest.forest import Forest

Trees = tuple[Forest, ...]  # one tree or forest per target; all have the same splits

# Arrays of nodes in the order in which differences are named. `right` follows from the others: subtrees of other
# sizes shift it in all nodes above the first difference.
BY_NODE = {
    "feature": "split",
    "threshold": "split",
    "flags": "split",
    "size": "rows",
    "weight": "weight",
    "value": "mean",
    "impurity": "impurity",
    "decrease": "gain",
}


@dataclass(frozen=True)
class NodeDifference:
    """The first node in which two trees differ, in pre-order, and what the node is in each of them."""

    node: int
    what: str  # "split", "rows", "weight", "class weights", "mean", "impurity" or "gain"
    one: str
    other: str
    target: int = 0  # multi-output: the first target that differs


def hash_trees(forests: Trees) -> list[str]:
    """Compute the SHA-256 of each tree; for multi-output, of the trees of all targets."""

    def hash_tree(tree: int) -> str:
        return " ".join(forest.take([tree]).fingerprint() for forest in forests)

    return map_on_threads(hash_tree, range(forests[0].n_trees), count_threads(None))


def find_difference(one: Trees, other: Trees, names: Sequence[Names]) -> NodeDifference | None:
    """Find the first node in which two trees differ; None: they are equal. Each of `one` and `other` is one tree."""
    for target, (a, b, of_target) in enumerate(zip(one, other, names, strict=True)):
        exponent = min(a.target_exponent, b.target_exponent)  # merging forests changes the unit of decreases
        found = _compare(a.in_units(exponent), b.in_units(exponent), of_target)
        if found is not None:
            return NodeDifference(*found, target)
    return None


class _Difference(NamedTuple):
    node: int
    what: str
    one: str
    other: str


def _compare(a: Forest, b: Forest, names: Names) -> _Difference | None:
    differing = [(node, rank, what) for rank, (node, what) in enumerate(_places(a, b))]
    if not differing:
        return None
    node, _, what = min(differing)
    if node < 0:
        return _Difference(0, what, *(_describe_whole(forest, what) for forest in (a, b)))
    return _Difference(node, what, *(_describe(forest, node, what, names) for forest in (a, b)))


def _places(a: Forest, b: Forest) -> Iterator[tuple[int, str]]:
    """Yield the first node in which each array differs; -1: the tree as a whole."""
    n = min(a.n_nodes, b.n_nodes)
    for name, what in BY_NODE.items():
        x, y = getattr(a, name), getattr(b, name)
        if len(x) and len(y):
            yield from ((int(node), what) for node in _first(x[:n], y[:n]))
        elif len(x) != len(y):
            yield 0, what
    if a.task is Task.CLASSIFICATION:
        yield from ((node, "class weights") for node in _first_leaf(a, b))
    yield from ((node, "split") for node in _first_set(a, b))
    for name, what in (("tree_weight", "weight of the vote"), ("weight_scale", "scale of weights")):
        if not np.array_equal(getattr(a, name), getattr(b, name)):
            yield -1, what
    if a.n_nodes != b.n_nodes:
        yield n - 1, "split"  # cannot be the first, unless the arrays are not a tree


def _first(x: Array, y: Array) -> Array:
    """Return the first place in which two arrays differ, by their bits; empty: they are equal."""
    different = x.view(np.uint8).reshape(len(x), -1) != np.ascontiguousarray(y, x.dtype).view(np.uint8).reshape(
        len(y), -1
    )
    return np.flatnonzero(different.any(axis=1))[:1]


def _first_leaf(a: Forest, b: Forest) -> list[int]:
    leaves = zip(*(np.flatnonzero(forest.feature < 0).tolist() for forest in (a, b)), strict=False)
    for i, (node, other) in enumerate(leaves):
        if node != other or _entries(a, i) != _entries(b, i):
            return [min(node, other)]
    return []


def _entries(forest: Forest, leaf: int) -> list[tuple[int, float]]:
    entries = slice(int(forest.leaf_start[leaf]), int(forest.leaf_start[leaf + 1]))
    return list(zip(forest.leaf_class[entries].tolist(), forest.leaf_weight[entries].tolist(), strict=True))


def _first_set(a: Forest, b: Forest) -> list[int]:
    by_set = [np.flatnonzero(forest.flags & 2).tolist() for forest in (a, b)]
    for node, other in zip(*by_set, strict=False):
        if node != other or a.category_set(node).tolist() != b.category_set(other).tolist():
            return [min(node, other)]
    return []


def _describe(forest: Forest, node: int, what: str, names: Names) -> str:
    if node >= forest.n_nodes:
        return "no such node"
    if what == "split":
        (question,) = questions(forest, names, [node])
        if question is not None:
            return question.left
        return f"a leaf of {int(forest.size[node]):,} rows"
    if what == "class weights":
        return _describe_classes(forest, node, names)
    array = {"rows": "size", "mean": "value", "gain": "decrease"}.get(what, what)
    if array == "value" and not len(forest.value):
        return "none"
    number = float(getattr(forest, array)[node])
    return f"{int(number):,}" if what == "rows" else _exactly(number)


def _exactly(number: float) -> str:
    """Write a number so that two different ones are different texts."""
    short = format_number(number)
    return short if float(short) == number else repr(number)


def _describe_classes(forest: Forest, node: int, names: Names) -> str:
    if forest.feature[node] >= 0:
        return "a split"
    labels = range(forest.n_classes) if names.classes is None else names.classes.tolist()
    entries = _entries(forest, int(forest.leaf_index()[node]))
    return ", ".join(f"{labels[k]}: {_exactly(weight)}" for k, weight in entries) or "no class"


def _describe_whole(forest: Forest, what: str) -> str:
    array = forest.tree_weight if what == "weight of the vote" else forest.weight_scale
    return _exactly(float(array[0])) if len(array) else "1"
