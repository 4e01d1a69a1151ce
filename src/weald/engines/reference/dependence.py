"""The definition of partial dependence: predictions as functions of one feature or two.

Plain Python. Read `definition.py` first; every other engine must return the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from weald.engines.reference.definition import Categories, FlatTree, goes_left

Condition = tuple[int, bool]  # a node on the path of a leaf, and whether the path goes left


@dataclass
class Axis:
    """The points of a feature."""

    feature: int
    n_points: int
    has_categories: bool
    place: Sequence[Sequence[int]]  # by tree and node: number of points on the left side of a threshold


@dataclass
class Free:
    """A group of features, and the rows. With bins, a row counts only for steps in its bin."""

    axes: Sequence[Axis]
    rows: Sequence[Sequence[float]]
    weight: Sequence[int]
    bin_of_row: Sequence[int] | None = None
    bin_of_step: Sequence[int] | None = None


@dataclass
class Sums:
    """Sums of one group."""

    steps: list[list[float]]
    on_path: list[float]


def sum_group(trees: Sequence[FlatTree], values: Sequence[Sequence[Sequence[float]]], free: Free) -> Sums:
    """Add up the values of the leaves whose path has a feature of the group."""
    n_places, width = 1, len(values[0][0])
    for axis in free.axes:
        n_places *= axis.n_points + 2
    sums = Sums([[0.0] * width for _ in range(n_places)], [0.0] * width)
    features = {axis.feature for axis in free.axes}
    for t, tree in enumerate(trees):
        for leaf, path in paths(tree):
            if any(tree.feature[node] in features for node, _ in path):
                add_leaf(sums, tree, t, path, values[t][leaf], free)
    return sums


def sum_own_leaves(
    trees: Sequence[FlatTree],
    values: Sequence[Sequence[Sequence[float]]],
    rows: Sequence[Sequence[float]],
    weight: Sequence[int],
) -> list[float]:
    """Add up the values of the rows' own leaves."""
    total = [0.0] * len(values[0][0])
    for t, tree in enumerate(trees):
        for leaf, path in paths(tree):
            own = sum(w for row, w in zip(rows, weight, strict=True) if meets(tree, path, row, set()))
            if own:
                add(total, own, values[t][leaf])
    return total


def paths(tree: FlatTree) -> list[tuple[int, list[Condition]]]:
    """List the leaves of a tree in the order of nodes, each with its path."""
    found = []
    waiting: list[tuple[int, list[Condition]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if tree.feature[node] < 0:
            found.append((node, path))
            continue
        waiting.append((tree.right[node], [*path, (node, False)]))
        waiting.append((node + 1, [*path, (node, True)]))
    return found


def meets(tree: FlatTree, path: Sequence[Condition], row: Sequence[float], free: set[int]) -> bool:
    """Return whether a row meets all conditions of a path except those on the features of the group."""
    return all(tree.feature[node] in free or goes_left(tree, node, row) == left for node, left in path)


def add_leaf(
    sums: Sums, tree: FlatTree, number: int, path: Sequence[Condition], value: Sequence[float], free: Free
) -> None:
    """Add what one leaf contributes."""
    features = {axis.feature for axis in free.axes}
    reach = [i for i, row in enumerate(free.rows) if meets(tree, path, row, features)]
    steps = [steps_of(tree, number, path, axis) for axis in free.axes]
    local = free.bin_of_step is not None
    if local:
        steps = [[step for step in steps[0] if step[0] <= free.axes[0].n_points]]  # no missing values
    weights = [weight_at(free, reach, place) for place, _ in steps[0]]
    own = sum(free.weight[i] for i in reach if meets(tree, path, free.rows[i], set()))
    reached = sum(weights) if local else sum(free.weight[i] for i in reach)
    if own and reached:
        add(sums.on_path, own, value)
    n_second = free.axes[1].n_points + 2 if len(steps) > 1 else 1
    for (first, sign), weight in zip(steps[0], weights, strict=True):
        for second, other_sign in steps[1] if len(steps) > 1 else [(0, 1)]:
            if weight:
                add(sums.steps[first * n_second + second], sign * other_sign * weight, value)


def weight_at(free: Free, reach: Sequence[int], place: int) -> int:
    """Sum the weights of the rows that count at a point: all rows, or with bins the rows in the bin of the step."""
    if free.bin_of_step is None or free.bin_of_row is None:
        return sum(free.weight[i] for i in reach)
    if not 0 < place < free.axes[0].n_points or free.bin_of_step[place] < 0:
        return 0
    return sum(free.weight[i] for i in reach if free.bin_of_row[i] == free.bin_of_step[place])


def steps_of(tree: FlatTree, number: int, path: Sequence[Condition], axis: Axis) -> list[tuple[int, int]]:
    """Return the places of an axis where a leaf adds its value, and the sign."""
    conditions = [(node, left) for node, left in path if tree.feature[node] == axis.feature]
    missing = all(tree.missing_left[node] == left for node, left in conditions)
    n = axis.n_points
    if axis.has_categories:
        steps = categories_of(tree, conditions, axis.place[number], n)
    else:
        low = max([axis.place[number][node] for node, left in conditions if not left], default=0)
        high = min([axis.place[number][node] for node, left in conditions if left], default=n)
        steps = [(low, 1), (high, -1)] if low < high else []
    return [*steps, (n + 1, 1)] if missing else steps


def categories_of(
    tree: FlatTree, conditions: Sequence[Condition], place: Sequence[int], n: int
) -> list[tuple[int, int]]:
    """Return the categories that reach a leaf: a set, or all (place n) except those in sets."""
    sides = [(set_of(tree, node, place[node], n), left) for node, left in conditions]
    holds = [all(categories.goes_left(code) == left for categories, left in sides) for code in range(n)]
    if all(categories.others_left == left for categories, left in sides):
        return [(n, 1), *((code, -1) for code in range(n) if not holds[code])]
    return [(code, 1) for code in range(n) if holds[code]]


def set_of(tree: FlatTree, node: int, place: int, n: int) -> Categories:
    """Return the categories of a split; for a cut in the order of the categories, those of the smaller side."""
    categories = tree.categories[node]
    if categories is not None:
        return categories
    others_left = 2 * place > n
    return Categories(list(range(place, n) if others_left else range(place)), others_left)


def add(to: list[float], weight: int, value: Sequence[float]) -> None:
    """Add a value times a weight."""
    for k, v in enumerate(value):
        to[k] += float(weight) * v
