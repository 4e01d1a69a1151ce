"""The definition of permutation importance.

It is the increase of a tree's error when the values of some features are permuted among the tree's out-of-bag rows.
Plain Python. Read `definition.py` first; every other engine must return the same bits.
"""

from collections.abc import Sequence

from weald.data.task import Task
from weald.engines.reference.definition import FlatTree, below, draw, find_leaf, leaf_numbers

PURPOSE_MIX = 16


def shuffle_rows(cells: Sequence[int], seed: int, tree: int, group_id: int, repeat: int) -> list[int]:
    """Return the row from which each row takes its values: a shuffle within each cell.

    Rows are in rank order. They are listed cell by cell, and step v swaps position v with a position from v to the end
    of its cell.
    """
    laid_out = sorted(range(len(cells)), key=lambda row: cells[row])
    end_of = {cells[row]: v + 1 for v, row in enumerate(laid_out)}
    mixed = laid_out.copy()
    for v, row in enumerate(laid_out):
        bits = draw(seed, (group_id << 32) + v // 2, tree, PURPOSE_MIX, 2 * repeat + v % 2)
        other = v + below(bits, end_of[cells[row]] - v)
        mixed[v], mixed[other] = mixed[other], mixed[v]
    sources = [0] * len(cells)
    for row, source in zip(laid_out, mixed, strict=True):
        sources[row] = source
    return sources


def answer(tree: FlatTree, row: Sequence[float], n_classes: int) -> float:
    """Prediction of a single tree: a mean, or the number of a class, ties to the first."""
    leaf = find_leaf(tree, row)
    if Task.of(n_classes) is Task.REGRESSION:
        return tree.value[leaf]
    if tree.value:  # probability of the second class: with monotonic constraints or shrinkage
        return float(tree.value[leaf] > 0.5)
    classes = tree.classes[leaf_numbers(tree)[leaf]]
    return float(classes.index(max(classes)))


def loss(predicted: float, target: float, n_classes: int) -> float:
    """Loss of a prediction: 1 for a wrong class, or the squared error."""
    if Task.of(n_classes) is Task.CLASSIFICATION:
        return float(predicted != target)
    return (target - predicted) * (target - predicted)


def increases(
    tree: FlatTree,
    rows: Sequence[Sequence[float]],
    targets: Sequence[float],
    n_classes: int,
    features: Sequence[int],
    sources: Sequence[int],
) -> list[float]:
    """Return the increase in the loss of each row when its values of some features come from its source row."""
    found = []
    for row, target, source in zip(rows, targets, sources, strict=True):
        mixed = [rows[source][f] if f in features else x for f, x in enumerate(row)]
        before = loss(answer(tree, row, n_classes), target, n_classes)
        found.append(loss(answer(tree, mixed, n_classes), target, n_classes) - before)
    return found
