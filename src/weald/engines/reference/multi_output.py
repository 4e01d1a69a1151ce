"""The definition of multi-output forests. Read `definition.py` first; every other engine must return the same bits.

The targets of a row are numbered together: rows that agree in all of them have the same *joint target*, 0, 1, 2 ... in
the order of the first target, then of the second, and so on. Codes, ranks and bags use only that number, as if it were
a class. Inside a tree each target has its own statistics, and the score of a cut is the mean of its scores by target.
The trees of all targets are the same except for their predictions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weald.data.task import Task
from weald.engines.reference.definition import (
    Bag,
    Coded,
    FlatTree,
    Growth,
    Node,
    Tally,
    Target,
    Term,
    Tree,
    balanced_weights,
    count_rows,
    grow,
    ldexp,
    multiply,
    target_of,
    weigh_rows,
    wide,
)


@dataclass
class Targets:
    """The value of each target for each joint target: class numbers, or numbers."""

    values: list[list[Any]]  # by target, then by joint target
    n_classes: list[int]  # number of classes of each target; empty: numeric targets

    @property
    def task(self) -> Task:
        """The kind of all targets."""
        return Task.CLASSIFICATION if self.n_classes else Task.REGRESSION

    def one_by_one(self, coded: Coded) -> Iterator[Coded]:
        """Yield the table with each target alone."""
        for o, of_one in enumerate(self.values):
            column = [of_one[joint] for joint in coded.classes]
            if self.task is Task.CLASSIFICATION:
                yield replace(coded, classes=column, numbers=[], n_classes=self.n_classes[o])
            else:
                yield replace(coded, classes=[], numbers=[y + 0.0 for y in column], n_classes=0)


@dataclass
class TargetsTally(Tally):
    """Statistics of a set of rows: size, weight, and a tally for each target."""

    each: list[Tally] = field(default_factory=list)

    def plus(self, other: Any) -> "TargetsTally":
        """Add the statistics of a disjoint set."""
        return tally_together([a.plus(b) for a, b in zip(self.each, other.each, strict=True)])

    def minus(self, other: Any) -> "TargetsTally":
        """Subtract the statistics of a subset."""
        return tally_together([a.minus(b) for a, b in zip(self.each, other.each, strict=True)])


def tally_together(each: list[Tally]) -> TargetsTally:
    """Combine the tallies of the targets, whose size and weight are the same."""
    return TargetsTally(each[0].size, each[0].weight, [], 0, each=each)


@dataclass
class TargetsTree(Tree):
    """A tree while it grows: one tree for each target, all with the same cuts."""

    each: list[Tree] = field(default_factory=list)
    flat: list[FlatTree] = field(default_factory=list)  # by target: the predictions of nodes

    def tally(self, ranks: Sequence[int]) -> TargetsTally:
        """Count a set of rows."""
        return tally_together([tree.tally(ranks) for tree in self.each])

    def score(self, term: Term, node: Any, *sides: Any) -> float:
        """Average the scores of the targets, in the unit of the target with the widest range."""
        total = 0.0
        for o, tree in enumerate(self.each):
            score = tree.score(term, node.each[o], *(side.each[o] for side in sides))
            total += ldexp(score, self.decrease_unit - tree.decrease_unit)
        return total / float(len(self.each))

    def is_pure(self, ranks: Sequence[int]) -> bool:
        """Return whether all rows agree in every target."""
        return all(tree.is_pure(ranks) for tree in self.each)

    def orders(self, node: Any, tallies: dict[int, Any]) -> Iterator[list[int]]:
        """Yield the orders in which categories are cut for each target in turn."""
        for o, tree in enumerate(self.each):
            yield from tree.orders(node.each[o], {code: tally.each[o] for code, tally in tallies.items()})

    def write_predictions(self, node: Node, flat: FlatTree) -> None:
        """Append the prediction of a node for each target."""
        assert isinstance(node.tally, TargetsTally)  # noqa: S101  (for the type checker: this tree made it)
        for tree, tally, of_one in zip(self.each, node.tally.each, self.flat, strict=True):
            tree.write_predictions(replace(node, tally=tally), of_one)


def common_unit(targets: Sequence[Target]) -> int:
    """Exponent of the target with the widest range; constant targets do not count."""
    return min((target.exponent for target in targets if any(target.labels)), default=0)


def fill_bag(coded: Coded, targets: Targets, growth: Growth, seed: int, number: int) -> Bag:
    """Compute how often each row counts in this tree, and its weight."""
    sizes = count_rows(coded, growth, seed, number)
    if growth.class_weight == "none":
        return weigh_rows(coded, growth, sizes, ())
    weights = [wide(1.0)] * coded.n_classes
    given = iter(growth.class_weights)
    for of_one, table in zip(targets.values, targets.one_by_one(coded), strict=True):
        if growth.class_weight == "given":
            of_class = [wide(next(given)) for _ in range(table.n_classes)]
        else:
            of_bag = growth.class_weight == "bag" and growth.bootstrap
            of_class = balanced_weights(sizes if of_bag else coded.line, table.classes, table.n_classes)
        weights = [multiply(w, of_class[k]) for w, k in zip(weights, of_one, strict=True)]
    return weigh_rows(coded, growth, sizes, weights)


def grow_targets(
    coded: Coded, targets: Targets, growth: Growth, seed: int, numbers: Sequence[int]
) -> Iterator[list[FlatTree]]:
    """Grow the trees with these numbers, one after the other; return one tree for each target."""
    tables = list(targets.one_by_one(coded))
    fixed = [target_of(table, growth, may_be_wide=False) for table in tables]
    unit = common_unit(fixed)
    for number in numbers:
        bag = fill_bag(coded, targets, growth, seed, number)
        each = [
            Tree(table, target, growth, bag, seed, number, decrease_unit=2 * target.exponent)
            for table, target in zip(tables, fixed, strict=True)
        ]
        tree = TargetsTree(coded, fixed[0], growth, bag, seed, number, decrease_unit=2 * unit, each=each)
        tree.flat = [FlatTree() for _ in each]
        flat = grow(tree)
        yield [
            replace(flat, classes=of_one.classes, value=of_one.value, impurity=of_one.impurity) for of_one in tree.flat
        ]
