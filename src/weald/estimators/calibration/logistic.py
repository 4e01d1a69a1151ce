"""Sigmoid and beta calibration: logistic regressions on the score, or on its logarithms.

Sigmoid    Platt's scaling: 1 / (1 + exp(a * s + b))
Beta       Kull, Silva Filho and Flach (2017): the logit is a * ln(s) - b * ln(1 - s) + c

Both are fitted by Newton's method, in a fixed order of operations.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from weald.data.types import FloatArray
from weald.estimators.calibration.arithmetic import add_up, ln, log_one_plus_exp, logistic
from weald.estimators.calibration.outcomes import Outcomes

RIDGE = 1e-11  # penalty on squared slopes, which are unbounded where a threshold separates the classes
MOST_STEPS = 200
CLOSE = 1e-14  # stop when the relative decrease of the loss is smaller
EDGE = 2.0**-52  # scores of beta calibration are limited to this and 1 minus this, as in the package betacal
NO_PIVOT = 1e-14  # pivots of smaller relative size are treated as 0
FAR = 40.0  # logit if no row or every row is of the class: 1 / (1 + exp(-40)) is 1


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """Platt's scaling with his smoothed targets, as in scikit-learn."""

    coefficients: FloatArray  # a, b

    @classmethod
    def fit(cls, outcomes: Outcomes) -> Self:
        """Fit to outcomes."""
        unit, n_hits = outcomes.unit, float(outcomes.hits.sum())
        n_misses = float(outcomes.total.sum()) - n_hits
        target_of_hits, target_of_misses = (n_hits + unit) / (n_hits + 2 * unit), unit / (n_misses + 2 * unit)
        wanted = outcomes.hits * target_of_hits + (outcomes.total - outcomes.hits) * target_of_misses
        slope, constant = _regress([outcomes.score], outcomes.total, wanted)
        return cls(np.array([-slope, -constant]))

    def __call__(self, score: FloatArray) -> FloatArray:
        """Map scores to probabilities."""
        a, b = self.coefficients.tolist()
        return logistic(-(a * score + b))


@dataclass(frozen=True, eq=False)
class Beta:
    """Beta calibration with three parameters."""

    coefficients: FloatArray  # a, b, c; a and b are not negative

    @classmethod
    def fit(cls, outcomes: Outcomes) -> Self:
        """Fit to outcomes. If a coefficient is negative, it is set to 0 and the others are fitted again."""
        if outcomes.are_all_alike:
            return cls(np.array([0.0, 0.0, FAR if outcomes.hits.sum() else -FAR]))
        columns = _logarithms(outcomes.score)
        kept = [0, 1]
        while True:
            found = _regress([columns[k] for k in kept], outcomes.total, outcomes.hits)
            negative = [k for k, slope in zip(kept, found, strict=False) if slope < 0]
            if not negative:
                break
            kept.remove(negative[0])
        slopes = dict(zip(kept, found, strict=False))
        return cls(np.array([slopes.get(0, 0.0), slopes.get(1, 0.0), found[-1]]))

    def __call__(self, score: FloatArray) -> FloatArray:
        """Map scores to probabilities."""
        a, b, c = self.coefficients.tolist()
        first, second = _logarithms(score)
        return logistic((a * first + b * second) + c)


def _logarithms(score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute ln(s) and -ln(1 - s)."""
    inside = np.clip(score, EDGE, 1.0 - EDGE)
    return ln(inside), -ln(1.0 - inside)


def _regress(columns: list[FloatArray], total: FloatArray, wanted: FloatArray) -> list[float]:
    """Minimize the log loss over slopes and a constant; return the slopes, then the constant.

    `wanted` is the sum of the targets of the rows at each score.
    """
    features = [*columns, np.ones(len(total))]
    ridge = [RIDGE] * len(columns) + [0.0]
    found = [0.0] * len(features)
    loss = _loss(features, found, total, wanted)
    for _ in range(MOST_STEPS):
        step = _newton_step(features, found, (total, wanted), ridge)
        size = 1.0
        while True:
            moved = [old - size * change for old, change in zip(found, step, strict=True)]
            lower = _loss(features, moved, total, wanted)
            if lower < loss or size < EDGE:
                break
            size /= 2.0
        if not lower < loss:
            break
        is_close = loss - lower <= CLOSE * loss
        found, loss = moved, lower
        if is_close:
            break
    return found


def _logit(features: list[FloatArray], coefficients: list[float]) -> FloatArray:
    z = np.zeros(len(features[0]))
    for column, coefficient in zip(features, coefficients, strict=True):
        z = z + coefficient * column
    return z


def _loss(features: list[FloatArray], coefficients: list[float], total: FloatArray, wanted: FloatArray) -> float:
    z = _logit(features, coefficients)
    loss = add_up(total * log_one_plus_exp(z) - wanted * z)
    for coefficient in coefficients[:-1]:
        loss += RIDGE / 2.0 * coefficient * coefficient
    return loss


def _newton_step(
    features: list[FloatArray], found: list[float], data: tuple[FloatArray, FloatArray], ridge: list[float]
) -> list[float]:
    """Solve hessian @ step = gradient."""
    total, wanted = data
    p = logistic(_logit(features, found))
    away, bend = total * p - wanted, total * p * (1.0 - p)
    n = len(features)
    gradient = [add_up(away * features[i]) + ridge[i] * found[i] for i in range(n)]
    hessian = [[add_up(bend * features[i] * features[j]) for j in range(n)] for i in range(n)]
    for i in range(n):
        hessian[i][i] += ridge[i]
    return _solve(hessian, gradient)


def _solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a few linear equations by elimination from the last unknown on; undetermined unknowns are 0.

    The matrix is symmetric and not negative, so it needs no pivoting.
    """
    n = len(right)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    sizes = [rows[i][i] for i in range(n)]
    for i in reversed(range(n)):
        if rows[i][i] <= NO_PIVOT * sizes[i]:
            rows[i] = [0.0] * n + [0.0]
            rows[i][i] = 1.0
        for other in range(i):
            factor = rows[other][i] / rows[i][i]
            rows[other] = [a - factor * b for a, b in zip(rows[other], rows[i], strict=True)]
    found = [0.0] * n
    for i in range(n):
        known = rows[i][n]
        for j in range(i):
            known -= rows[i][j] * found[j]
        found[i] = known / rows[i][i]
    return found
