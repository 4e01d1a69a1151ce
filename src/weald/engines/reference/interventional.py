"""SHAP values of the interventional game, defined.

The game of a tree, a row and a background row: features in a set take the value of the row, the others that of the
background row. The payoff is the value of the leaf that is reached; the SHAP value of a feature is its Shapley value,
summed over background rows.

A leaf is reached if all features of a set A on its path are known and none of a set B: A are those by which only the row
goes the way of the path, B those by which only the background row does. With u features in A and v in B, the leaf's
value times (u - 1)! v! / (u + v)! is added to each feature in A, and its value times u! (v - 1)! / (u + v)! subtracted
from each feature in B (Lundberg et al., 2020). These are share / u and share / v, share = value * u! v! / (u + v)!.

All background rows with the same A and B walk together. Every other engine must return the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weald.engines.reference.definition import FlatTree, goes_left

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Visit:
    """Background rows at a node."""

    node: int
    rows: Rows
    of_row: tuple[int, ...] = ()  # A, in the order of the path
    of_background: tuple[int, ...] = ()  # B
    chance: float = 1.0  # u! v! / (u + v)!


def interventional_values(
    tree: FlatTree, amounts: Sequence[float], row: Sequence[float], background: Rows
) -> dict[int, float]:
    """Return the SHAP values of features on the way of a row, summed over background rows; `amounts` as in `shap`."""
    values: dict[int, float] = {}
    waiting = [Visit(0, background)]
    while waiting:
        visit = waiting.pop()
        if not visit.rows:
            continue
        if tree.feature[visit.node] < 0:
            add_leaf(visit, amounts[visit.node], values)
        else:
            waiting += reversed(next_visits(tree, visit, row))
    return values


def next_visits(tree: FlatTree, visit: Visit, row: Sequence[float]) -> list[Visit]:
    """Return the visits below a split, in their order."""
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
    known = replace(
        visit, node=there, rows=apart, of_row=(*visit.of_row, feature), chance=visit.chance * (u + 1) / (u + v + 1)
    )
    unknown = replace(
        visit,
        node=away,
        rows=apart,
        of_background=(*visit.of_background, feature),
        chance=visit.chance * (v + 1) / (u + v + 1),
    )
    return [together, known, unknown]


def add_leaf(visit: Visit, amount: float, values: dict[int, float]) -> None:
    """Add what a leaf contributes to the features that decide whether it is reached."""
    share = amount * len(visit.rows) * visit.chance
    for feature in visit.of_row:
        values[feature] = values.get(feature, 0.0) + share / len(visit.of_row)
    for feature in visit.of_background:
        values[feature] = values.get(feature, 0.0) - share / len(visit.of_background)
