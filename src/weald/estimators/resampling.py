"""Bags that depend on earlier trees: boosting and arcing.

Rows that earlier trees misclassified are more likely in the next bag, so trees are grown one after the other.

    boosting   accurate trees have more weight (Freund and Schapire 1997; multi-class: Zhu and others 2009)
    arcing     all trees have equal weight; a row weighs 1 + m^4 after m mistakes (Breiman 1998, arc-x4)

Weights are doubles that are updated row by row and never summed: they are converted to integers, whose cumulative sums
are exact. So both engines grow the same forest, and the order of rows does not matter. If weights are whole, each copy
of a row has the same integer weight, so a weight of k and k copies of the row give the same forest.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from weald.data.table import Table, up_to_one
from weald.data.types import FloatArray
from weald.engines.interface import Codes, Engine, Watch
from weald.engines.reference.definition import WHOLE_LIMIT, log2
from weald.forest.forest import Forest

BAGGING, BOOSTING, ARCING = WAYS = ("bagging", "boosting", "arcing")

BoolArray = npt.NDArray[np.bool_]
Line = npt.NDArray[np.uint64]
GrowTrees = Callable[[Codes, int, int], Forest]  # coded table, number of the first tree, number of trees


@dataclass(frozen=True)
class Resampled:
    """A table whose rows get new weights for each tree."""

    engine: Engine
    table: Table
    n_threads: int

    def grow(
        self, way: str, coded: Codes, grow_tree: GrowTrees, n_trees: int, watch: Watch | None, old: Forest | None = None
    ) -> Forest:
        """Grow trees one after the other; the bag of each depends on the mistakes of the earlier ones.

        `old` has the first trees: the weights of rows are updated by their mistakes, as when they were grown.
        """
        rows: Boosting | Arcing = Boosting(self.table) if way == BOOSTING else Arcing(self.table)
        trees = [] if old is None else [replace(old.take([t]), tree_weight=np.empty(0)) for t in range(old.n_trees)]
        for tree in trees:
            rows.learn(self._mistakes(tree))
        for number in range(len(trees), n_trees):
            coded = self.engine.weigh(coded, rows.line())
            tree = grow_tree(coded, number, 1)
            rows.learn(self._mistakes(tree))
            origins = tuple(replace(origin, resampling=way) for origin in tree.origins)
            trees.append(replace(tree, origins=origins))
            if watch:
                watch((number + 1) / n_trees)
        return replace(trees[0].join(*trees[1:]), tree_weight=rows.votes())

    def _mistakes(self, tree: Forest) -> BoolArray:
        """Mark the rows that a tree misclassifies."""
        predicted = self.engine.sum_votes(tree, self.table.X, "hard", self.n_threads, None).argmax(axis=1)
        wrong: BoolArray = predicted != self.table.target
        return wrong


def can_continue(way: str, old: Forest, seed: int, data: int) -> bool:
    """Return whether trees are the first of a forest of this method, seed and table: only these can be continued."""
    numbers = [number for origin in old.origins for _, number in origin.trees()]
    same = all(o.resampling == way and o.seed == seed and o.data == data for o in old.origins)
    return same and numbers == list(range(old.n_trees))


def count_copies(table: Table) -> tuple[Line, FloatArray]:
    """Return the number of copies of each row, and the initial weight of a copy: 1, unless weights are not whole."""
    if table.weight is None or (table.weights_whole and table.size < WHOLE_LIMIT):
        copies = np.ones(table.n_rows) if table.weight is None else table.weight
        return copies.astype(np.uint64), np.ones(table.n_rows)
    return np.ones(table.n_rows, dtype=np.uint64), up_to_one(table.weight)


def lay_line(copies: Line, weight: FloatArray) -> Line:
    """Convert weights of copies to integers whose total is near 2^53; bags are drawn in proportion to them."""
    shift = 53 - math.frexp(float(weight.max()))[1] - int(copies.sum()).bit_length()
    return copies * np.maximum(1.0, np.rint(np.ldexp(weight, shift))).astype(np.uint64)


class Arcing:
    """A row weighs 1 + m^4 times its own weight after m mistakes; all trees have equal weight."""

    def __init__(self, table: Table) -> None:
        self.copies, self.start = count_copies(table)
        self.mistakes: FloatArray = np.zeros(table.n_rows)

    def line(self) -> Line:
        """Return the integer weights for the next bag."""
        square = self.mistakes * self.mistakes
        return lay_line(self.copies, self.start * (1.0 + square * square))

    def learn(self, wrong: BoolArray) -> None:
        """Count the mistakes of a tree."""
        self.mistakes = self.mistakes + wrong

    def votes(self) -> FloatArray:
        """Weights of the trees; empty: equal weights."""
        return np.empty(0)


class Boosting:
    """Mistakes multiply the weight of a row by the odds of the tree; the tree's weight is their logarithm."""

    def __init__(self, table: Table) -> None:
        self.copies, self.start = count_copies(table)
        self.n_classes = table.n_classes
        self.weight = self.start
        self.logarithms: list[float] = []

    def line(self) -> Line:
        """Return the integer weights for the next bag."""
        return lay_line(self.copies, self.weight)

    def learn(self, wrong: BoolArray) -> None:
        """Compute the weight of a tree from its mistakes, and increase the weights of the rows it misclassified."""
        line = self.line()
        bad, total = int(line[wrong].sum()), int(line.sum())
        if bad * self.n_classes >= total * (self.n_classes - 1):  # no better than chance: reset the weights
            self.logarithms.append(0.0)
            self.weight = self.start
            return
        odds = float(total - bad) / float(max(1, bad)) * float(self.n_classes - 1)
        self.logarithms.append(log2(odds))
        self.weight = up_to_one(np.where(wrong, self.weight * odds, self.weight))

    def votes(self) -> FloatArray:
        """Weights of the trees; empty if no tree is better than chance."""
        return np.array(self.logarithms) if any(self.logarithms) else np.empty(0)
