"""The definition of interventional SHAP values.

The game of a tree, a row and a background row: features in a set take the value of the row, the others that of the
background row. The payoff is the value of the leaf that is reached; the SHAP value of a feature is its Shapley value,
summed over background rows.

A leaf is reached if all features of a set A on its path are known and none of a set B. A contains the features whose
splits only the row passes, B those that only the background row passes. With u features in A and v in B, the leaf's
value times (u - 1)! v! / (u + v)! is added to each feature in A, and its value times u! (v - 1)! / (u + v)! subtracted
from each feature in B (Lundberg et al., 2020). These are share / u and share / v, share = value * u! v! / (u + v)!.

All background rows with the same A and B walk together. The leaves below the split that added a feature to A or B are
summed first. Every other engine must return the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from weald.engines.reference.definition import FlatTree, goes_left

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Visit:
    """Background rows at a node."""

    node: int
    rows: Rows
    of_row: frozenset[int] = frozenset()  # A
    of_background: frozenset[int] = frozenset()  # B
    chance: float = 1.0  # u! v! / (u + v)!


@dataclass
class Walk:
    """The values of one row, summed over background rows."""

    tree: FlatTree
    amounts: Sequence[float]
    row: Sequence[float]
    values: dict[int, float] = field(default_factory=dict)

    def explore(self, start: Visit) -> tuple[float, float]:
        """Sum share / u and share / v over the leaves below a visit, and add the values of features that are new."""
        of_row = of_background = 0.0
        waiting = [start]
        while waiting:
            visit = waiting.pop()
            if not visit.rows:
                continue
            if (visit.of_row, visit.of_background) != (start.of_row, start.of_background):
                added = self.explore(visit)
                for feature in visit.of_row - start.of_row:
                    self.values[feature] = self.values.get(feature, 0.0) + added[0]
                for feature in visit.of_background - start.of_background:
                    self.values[feature] = self.values.get(feature, 0.0) - added[1]
            elif self.tree.feature[visit.node] < 0:
                added = contributions(visit, self.amounts[visit.node])
            else:
                waiting += reversed(next_visits(self.tree, visit, self.row))
                continue
            of_row += added[0]
            of_background += added[1]
        return of_row, of_background


def interventional_values(
    tree: FlatTree, amounts: Sequence[float], row: Sequence[float], background: Rows
) -> dict[int, float]:
    """Return the SHAP values of the features of one tree, summed over background rows; `amounts` as in `shap`."""
    walk = Walk(tree, amounts, row)
    walk.explore(Visit(0, background))
    return walk.values


def contributions(visit: Visit, amount: float) -> tuple[float, float]:
    """Return the amounts that a leaf adds to each feature in A and subtracts from each in B."""
    u, v = len(visit.of_row), len(visit.of_background)
    share = amount * len(visit.rows) * visit.chance
    return share / u if u else 0.0, share / v if v else 0.0


def next_visits(tree: FlatTree, visit: Visit, row: Sequence[float]) -> list[Visit]:
    """Return the visits to the children of a split, in order."""
    feature, children = tree.feature[visit.node], (tree.right[visit.node], visit.node + 1)
    way = goes_left(tree, visit.node, row)
    there, away = children[way], children[not way]
    if feature in visit.of_row:
        return [replace(visit, node=there)]
    with_row = [other for other in visit.rows if goes_left(tree, visit.node, other) == way]
    apart = [other for other in visit.rows if goes_left(tree, visit.node, other) != way]
    together = replace(visit, node=there, rows=with_row)
    if feature in visit.of_background:
        return [together, replace(visit, node=away, rows=apart)]
    u, v = len(visit.of_row), len(visit.of_background)
    as_row = replace(visit, node=there, rows=apart, of_row=visit.of_row | {feature})
    as_background = replace(visit, node=away, rows=apart, of_background=visit.of_background | {feature})
    return [
        together,
        replace(as_row, chance=visit.chance * (u + 1) / (u + v + 1)),
        replace(as_background, chance=visit.chance * (v + 1) / (u + v + 1)),
    ]
