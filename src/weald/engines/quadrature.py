"""Gauss-Legendre quadrature on [0, 1]: n points integrate polynomials up to degree 2n - 1 exactly.

Rule         points, their distances from 1, and weights
make_rule    the rule of n points

Points and weights are computed in integers (fixed point), so they are correctly rounded, and the same everywhere.
"""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from weald.data.types import FloatArray

BITS = 128  # bits of a fraction in fixed point; a double has 53
ONE = 1 << BITS


@dataclass(frozen=True, eq=False)
class Rule:
    """Points and weights. Points i and n - 1 - i add up to 1."""

    points: FloatArray  # ascending
    rest: FloatArray  # 1 - points, each rounded once
    weights: FloatArray


@cache
def make_rule(n: int) -> Rule:
    """Make the rule of n points.

    Examples
    --------
    >>> from weald.engines.quadrature import make_rule
    >>> rule = make_rule(3)  # exact for powers up to 5
    >>> [round(float(rule.weights @ rule.points**k), 15) for k in (0, 1, 4, 5)]
    [1.0, 0.5, 0.2, 0.166666666666667]
    """
    # Roots are found in (-1, 1), from the largest down; (1 - x) / 2 is the point in (0, 1).
    upper = [_root(n, math.cos(math.pi * (i + 0.75) / (n + 0.5))) for i in range((n + 1) // 2)]
    points = [(ONE - x) / (2 * ONE) for x, _ in upper]
    rest = [(ONE + x) / (2 * ONE) for x, _ in upper]
    weights = [_weight(x, slope) for x, slope in upper]
    n_mirrored = n // 2  # an odd rule has a middle point
    points, rest, weights = (
        points + rest[:n_mirrored][::-1],
        rest + points[:n_mirrored][::-1],
        weights + weights[:n_mirrored][::-1],
    )
    return Rule(np.array(points), np.array(rest), np.array(weights))


def _root(n: int, guess: float) -> tuple[int, int]:
    """Find a root of the Legendre polynomial of degree n by Newton's method; return it and the slope there."""
    x = 0 if n == 1 else int(guess * ONE)
    while True:
        value, slope = _legendre(n, x)
        step = (value << BITS) // slope
        if abs(step) < ONE >> 100:
            return x, slope
        x -= step


def _legendre(n: int, x: int) -> tuple[int, int]:
    """Evaluate the Legendre polynomial of degree n, and its slope, by the recurrence."""
    before, value = ONE, x
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * ((x * value) >> BITS) - (k - 1) * before) // k
    slope = (n * (((x * value) >> BITS) - before) << BITS) // (((x * x) >> BITS) - ONE)
    return value, slope


def _weight(x: int, slope: int) -> float:
    """Return 1 / ((1 - x^2) slope^2): half of the weight on [-1, 1]."""
    squared = (slope * slope) >> BITS
    return ONE / (((ONE - ((x * x) >> BITS)) * squared) >> BITS)
