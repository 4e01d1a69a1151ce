"""The definition of SHAP values.

The game of a tree and a row: features in a set take the value of the row, the others are unknown. A split by a known
feature sends the row to one side; a split by an unknown one sends it to both, in proportion to the weights of the
children. The payoff is the mean of the leaves that it reaches; the SHAP value of a feature is its Shapley value.

For a leaf of value v, let z_j be the product of the fractions at the splits by feature j on its path, and o_j be 1 if
the row follows the path at all of them, else 0. Then the leaf contributes to feature i

    v (o_i - z_i) * integral from 0 to 1 of prod over j != i of (z_j (1 - t) + o_j t) dt.

With d features on the path the integrand is a polynomial of degree d - 1, which (d + 1) / 2 points integrate exactly.
At a point t, the leaves below a split are summed before they are integrated. Let f_j = z_j (1 - t) + o_j t. A split by
feature i, with the fractions z above it and l and r of its sides, changes f_i to f_i(left) or f_i(right). With

    C    product over the features of all splits above, times the weight of the point
    U    sum over the leaves below a node of v times the changes of f below it

the split adds to feature i, for a row that follows the path above and goes left,

    z r * sum over points of C (U(left) - U(right)) / f_i^2

and, if it goes right, the same with -z l instead of z r. A row that left the path at an earlier split by it adds
nothing. Read `definition.py` first; every other engine must return the same bits.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass

from weald.engines.reference.definition import FlatTree, goes_left

Points = Sequence[tuple[float, float, float]]  # t, 1 - t, and the weight


@dataclass(frozen=True)
class Way:
    """The splits of a path by one feature, up to a node."""

    fraction: float  # product of the fractions of the sides taken
    is_own: bool  # whether the row takes the same sides


@dataclass(frozen=True)
class Split:
    """A split, from the view of one row."""

    fractions: tuple[float, float]  # fractions of the weight on the left and on the right
    above: Way | None  # None: the first split by this feature on the path
    left: bool  # whether the row goes left
    product: list[float]  # C, by point
    ways: dict[int, Way]  # above, by feature


def shap_values(
    tree: FlatTree, weight: Sequence[float], amounts: Sequence[float], row: Sequence[float], points: Points
) -> dict[int, float]:
    """Return the SHAP values of the features that a tree uses; `amounts` are the values of the leaves, by node."""
    values: dict[int, float] = {}
    sums: dict[int, list[float]] = {}  # U, by node
    splits = follow(tree, weight, row, points)
    for node in reversed(range(len(tree.feature))):
        if node not in splits:
            sums[node] = [amounts[node]] * len(points)
            continue
        split, feature = splits[node], tree.feature[node]
        gain = gains(split, sums[node + 1], sums[tree.right[node]], points)
        if split.above is None or split.above.is_own:
            values[feature] = values.get(feature, 0.0) + scale(split) * integrate(gain)
        sums[node] = pass_up(split, sums.pop(node + 1), sums.pop(tree.right[node]), points)
    return values


def count_features(tree: FlatTree) -> int:
    """Count the distinct features on the path that has the most."""
    paths: dict[int, frozenset[int]] = {0: frozenset()}
    for node, feature in enumerate(tree.feature):
        if feature >= 0:
            paths[node + 1] = paths[tree.right[node]] = paths[node] | {feature}
    return max(map(len, paths.values()))


def follow(tree: FlatTree, weight: Sequence[float], row: Sequence[float], points: Points) -> dict[int, Split]:
    """Follow all paths from the root; return the splits by node."""
    products, ways = {0: [w for _, _, w in points]}, {0: dict[int, Way]()}
    splits: dict[int, Split] = {}
    for node, feature in enumerate(tree.feature):
        if feature < 0:
            continue
        children = node + 1, tree.right[node]
        product, above = products.pop(node), ways.pop(node)
        fractions = divide(*(weight[child] for child in children))
        split = Split(fractions, above.get(feature), goes_left(tree, node, row), product, above)
        splits[node] = split
        for side, child in enumerate(children):
            changes = change(split, side, points)
            products[child] = [c * f for c, f in zip(product, changes, strict=True)]
            ways[child] = {**above, feature: next_way(split, side)}
    return splits


def divide(left: float, right: float) -> tuple[float, float]:
    """Return the fraction of the weight on each side; one half each if there is no weight."""
    total = left + right
    return (left / total, right / total) if total > 0 else (0.5, 0.5)


def next_way(split: Split, side: int) -> Way:
    """Return the state of the split's feature below one side of the split."""
    above = split.above or Way(1.0, is_own=True)
    is_own = split.left == (side == 0)
    return Way(above.fraction * split.fractions[side], above.is_own and is_own)


def inverse_above(split: Split, t: float, rest: float) -> float:
    """Return 1 / f of the feature above a split, for a row that took the same sides."""
    return 1.0 if split.above is None else 1.0 / (split.above.fraction * rest + t)


def change(split: Split, side: int, points: Points) -> list[float]:
    """Return the factor by which f of the feature changes on one side, by point."""
    if split.above is not None and not split.above.is_own:
        return [split.fractions[side]] * len(points)
    way = next_way(split, side)
    inverse = [inverse_above(split, t, rest) for t, rest, _ in points]
    if way.is_own:
        return [(way.fraction * rest + t) * i for (t, rest, _), i in zip(points, inverse, strict=True)]
    return [(way.fraction * rest) * i for (_, rest, _), i in zip(points, inverse, strict=True)]


def gains(split: Split, left: list[float], right: list[float], points: Points) -> list[float]:
    """Return C (U(left) - U(right)) / f^2, by point."""
    inverse = [inverse_above(split, t, rest) for t, rest, _ in points]
    return [(c * (i * i)) * (a - b) for c, i, a, b in zip(split.product, inverse, left, right, strict=True)]


def scale(split: Split) -> float:
    """Return z r for a row that goes left, -z l for one that goes right."""
    above = 1.0 if split.above is None else split.above.fraction
    return above * split.fractions[1] if split.left else -(above * split.fractions[0])


def integrate(values: Sequence[float]) -> float:
    """Sum over points, in order; they include their weights."""
    total = 0.0
    for value in values:
        total += value
    return total


def pass_up(split: Split, left: list[float], right: list[float], points: Points) -> list[float]:
    """Return U of a split from U of its children."""
    factors = zip(change(split, 0, points), change(split, 1, points), strict=True)
    return [f * a + g * b for (f, g), a, b in zip(factors, left, right, strict=True)]


# ------------------------------------------------------------------------------------------------------ interactions


def add_interactions(
    tree: FlatTree,
    weight: Sequence[float],
    amounts: Sequence[float],
    row: Sequence[float],
    points: Points,
    pairs: MutableSequence[MutableSequence[float]],
) -> None:
    """Add the SHAP interaction values of a tree to those of pairs of features.

    A split by feature i below one by feature j adds the integral of its gain times the slope of f_j over f_j, which is
    (o_j - z_j) / f_j; half of it belongs to (i, j), the other half to (j, i).
    """
    sums: dict[int, list[float]] = {}
    splits = follow(tree, weight, row, points)
    for node in reversed(range(len(tree.feature))):
        if node not in splits:
            sums[node] = [amounts[node]] * len(points)
            continue
        split, feature = splits[node], tree.feature[node]
        gain = gains(split, sums[node + 1], sums[tree.right[node]], points)
        if split.above is None or split.above.is_own:
            half = 0.5 * scale(split)
            for other, way in split.ways.items():
                if other != feature:
                    added = half * integrate([g * s for g, s in zip(gain, slopes(way, points), strict=True)])
                    pairs[feature][other] += added
                    pairs[other][feature] += added
        sums[node] = pass_up(split, sums.pop(node + 1), sums.pop(tree.right[node]), points)


def slopes(way: Way, points: Points) -> list[float]:
    """Return (o - z) / f of a feature, by point."""
    if way.is_own:
        return [(1.0 - way.fraction) / (way.fraction * rest + t) for t, rest, _ in points]
    return [-1.0 / rest for _, rest, _ in points]
