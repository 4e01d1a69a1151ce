"""The definition of proximity: rows that share leaves.

In each tree a row is in one leaf, and each member of that leaf has a weight. The proximity of a row and a member is the
sum of these weights. Plain Python. Read `definition.py` first; every other engine must return the same bits.
"""

import math
from collections.abc import Iterable, Sequence

Member = tuple[int, float]  # its number, and its weight


def add_proximities(leaves: Sequence[Sequence[Member] | None]) -> dict[int, float]:
    """Sum the weights of the members of a row's leaves, in tree order; None: the tree does not count."""
    sums: dict[int, float] = {}
    for members in leaves:
        for member, share in members or ():
            sums[member] = sums.get(member, 0.0) + share
    return dict(sorted(sums.items()))


def divide(sums: dict[int, float], row: Sequence[bool], others: Sequence[Sequence[bool]]) -> dict[int, float]:
    """Divide each sum by the number of trees that count for both rows."""
    return {member: s / sum(a and b for a, b in zip(row, others[member], strict=True)) for member, s in sums.items()}


def keep_largest(sums: dict[int, float], k: int) -> dict[int, float]:
    """Keep the k largest sums, ties to the first members; 0: all."""
    order = sorted(sums, key=lambda member: (-sums[member], member))
    return {member: sums[member] for member in sorted(order[:k] if k else order)}


def square_proximities(sums: dict[int, float], kind: int, kinds: Sequence[int]) -> float:
    """Sum the squares over the members of the row's class."""
    total = 0.0
    for member, s in sums.items():
        if kinds[member] == kind:
            total += s * s
    return total


# ------------------------------------------------------------ distributions: members are distinct targets, ascending


def quantile(sums: dict[int, float], target: Sequence[float], level: float) -> float:
    """Return the first target at which the cumulated weight reaches level * total weight."""
    total = _cumulate(sums.values())
    cumulated = 0.0
    for member, weight in sums.items():
        cumulated += weight
        if cumulated >= level * total:
            return target[member]
    return math.nan


def cumulated_share(sums: dict[int, float], limit: int) -> float:
    """Return the cumulated weight of the targets below a limit, over the total weight."""
    below = _cumulate(weight for member, weight in sums.items() if member < limit)
    return below / _cumulate(sums.values()) if sums else math.nan


def standard_deviation(sums: dict[int, float], target: Sequence[float]) -> float:
    """Return the standard deviation of the targets by weight."""
    if not sums:
        return math.nan
    total = _cumulate(sums.values())
    mean = _cumulate(weight * target[member] for member, weight in sums.items()) / total
    squares = _cumulate(weight * ((target[member] - mean) * (target[member] - mean)) for member, weight in sums.items())
    return math.sqrt(squares / total)


def _cumulate(numbers: Iterable[float]) -> float:
    """Sum numbers, one addition after the other."""
    total = 0.0
    for number in numbers:
        total += number
    return total
