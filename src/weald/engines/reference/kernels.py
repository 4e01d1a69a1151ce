"""Kernels, defined: the similarity of samples to prototypes, in NumPy.

    KernelRule        the parameters of a kernel as plain numbers
    Samples           vectors or curves in one array
    kernel_columns    a row for each prototype, a value in it for each sample

The sum of a pair runs over the positions of its samples from first to last, in order. NumPy adds
for all pairs at once, which gives the same bits. `exp_of` replaces the exp of C libraries, whose last bits differ.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.data.types import FloatArray, IntArray

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490  # ln(2) with trailing zero bits, so that small multiples are exact
LN2_LOW = 1.90821492927058770002e-10
SMALLEST = -700.0  # `exp_of` is 0 below this


@dataclass(frozen=True)
class KernelRule:
    """A kernel as plain numbers.

    `pairing` is the term summed over the positions of two samples x and y: "product" x·y, "distance" (x - y)², and
    "warping" (x - y)² along the cheapest path through both. `shape` is the function of the sum s: "plain" s,
    "gaussian" exp(-gamma·s), "power" (gamma·s + shift)^degree, "tanh" tanh(gamma·s + shift).
    """

    pairing: str
    shape: str
    gamma: float = 1.0
    shift: float = 0.0
    degree: int = 1
    band: float = 1.0  # warping: maximum distance of paths from the diagonal, as a fraction of the longer curve


@dataclass(frozen=True, eq=False)
class Samples:
    """Numbers of samples one after the other: sample i is values[starts[i]:starts[i + 1]]."""

    values: FloatArray
    starts: IntArray  # int64

    @classmethod
    def of_rows(cls, matrix: npt.NDArray[np.float64]) -> "Samples":
        """Take the rows of a matrix."""
        n, length = matrix.shape
        return cls(np.ascontiguousarray(matrix).reshape(-1), np.arange(n + 1, dtype=np.int64) * length)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: Any) -> FloatArray:
        return self.values[self.starts[i] : self.starts[i + 1]]

    def lengths(self) -> IntArray:
        """Number of positions of each sample."""
        return np.diff(self.starts)


def kernel_columns(samples: Samples, prototypes: Samples, rule: KernelRule) -> FloatArray:
    """Values of a kernel (prototypes x samples)."""
    columns = np.empty((len(prototypes), len(samples)))
    pair = _warp if rule.pairing == "warping" else _add_up
    lengths = samples.lengths()
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        places = np.array([samples[i] for i in rows]).T  # positions x samples
        for p in range(len(prototypes)):
            columns[p, rows] = pair(places, prototypes[p], rule)
    return shape_of(columns, rule)


def _add_up(places: FloatArray, prototype: FloatArray, rule: KernelRule) -> FloatArray:
    sums = np.zeros(places.shape[1])
    for x, p in zip(places, prototype, strict=True):
        sums += x * p if rule.pairing == "product" else (x - p) * (x - p)
    return sums


def _warp(places: FloatArray, prototype: FloatArray, rule: KernelRule) -> FloatArray:
    """Sum along the cheapest path from the first positions to the last, inside the band."""
    n, m = len(places), len(prototype)
    width = max(math.floor(rule.band * max(n, m)), abs(n - m))
    before = np.full((n + 1, places.shape[1]), np.inf)  # before[j + 1]: the cheapest path to position j
    before[0] = 0.0
    for i in range(m):
        costs = np.full_like(before, np.inf)
        for j in range(max(0, i - width), min(n, i + width + 1)):
            apart = places[j] - prototype[i]
            costs[j + 1] = apart * apart + np.minimum(np.minimum(before[j], before[j + 1]), costs[j])
        before = costs
    last: FloatArray = before[n]
    return last


def shape_of(sums: FloatArray, rule: KernelRule) -> FloatArray:
    """Convert sums over positions to values of the kernel."""
    if rule.shape == "plain":
        return sums
    if rule.shape == "gaussian":
        return exp_of(-rule.gamma * sums)
    base: FloatArray = sums * rule.gamma + rule.shift
    if rule.shape == "tanh":
        e = exp_of(-np.abs(base) * 2.0)
        return np.copysign((1.0 - e) / (1.0 + e), base)
    power = base.copy()
    with np.errstate(over="ignore"):  # the caller checks for infinite values and NaN
        for _ in range(rule.degree - 1):
            power *= base
    return power


def exp_of(x: FloatArray) -> FloatArray:
    """exp(x) for x ≤ 0, and 0 below -700, by + - * only: x = k·ln 2 + r, and the series of exp(r) up to r^13.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.engines.reference.kernels import exp_of
    >>> x = np.linspace(-600, 0, 1000)
    >>> bool(np.allclose(exp_of(x), np.exp(x), rtol=4e-16, atol=0))
    True
    """
    inside = np.where(x < SMALLEST, 0.0, x)
    k = np.rint(inside * LOG2_E)
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    sums = np.full_like(r, 1.0 / math.factorial(13))
    for i in range(12, -1, -1):
        sums = sums * r + 1.0 / math.factorial(i)
    return np.where(x < SMALLEST, 0.0, np.ldexp(sums, k.astype(np.int64)))
