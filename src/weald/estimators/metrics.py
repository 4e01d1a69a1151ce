"""Judging predictions: what share came true, at what confidence, from which threshold on.

    wilson                 an interval for a share
    call_metric            any metric or loss
    call_scorer            any of scikit-learn's scorers, by name
    margins                how clearly the true class wins
    confusion              what is taken for what
    calibrate              shares against how often they come true
    choose_threshold       from which share on a row should be called by a label
    with_finite_squares    numbers and their predictions, where squares of them overflow on a smaller scale

Functions take plain arrays: class numbers, shares, weights.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import confusion_matrix, get_scorer

from weald.data.types import Array, ColumnLike, FloatArray, IntArray
from weald.errors import ParameterError, shown

Metric = Callable[..., float]
BoolArray = npt.NDArray[np.bool_]
HUGE = 2.0**400  # sums of squares of smaller numbers are finite
RULES = ("f1", "youden", "accuracy", "cost")


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Bound a share that was found in n trials, z standard errors wide (Wilson 1927).

    Examples
    --------
    >>> from weald.estimators.metrics import wilson
    >>> low, high = wilson(0.0, 10, 1.96)
    >>> low, round(high, 4)
    (0.0, 0.2775)
    """
    if not n or math.isnan(share):
        return math.nan, math.nan
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


def call_metric(metric: Metric, truth: Array, said: Array, weight: FloatArray | None) -> float:
    """Call a metric or loss; with weights, if there are any and it takes them."""
    weighted = weight is not None and "sample_weight" in inspect.signature(metric).parameters
    found = metric(truth, said, sample_weight=weight) if weighted else metric(truth, said)
    try:
        return float(found)
    except (TypeError, ValueError) as error:
        name = getattr(metric, "__name__", type(metric).__name__)
        raise ParameterError(
            f"The metric {name} returned {shown(found)} for (y_true, y_pred), which is not a number. Give a function "
            "that returns one number."
        ) from error


class _PredictedClasses(ClassifierMixin, BaseEstimator):
    """Looks to a scorer like a classifier; its rows are numbers of predictions that are there already."""

    def __init__(self, classes: Array, shares: FloatArray) -> None:
        self.classes_, self.shares_ = classes, shares

    def predict_proba(self, rows: IntArray) -> FloatArray:
        return self.shares_[rows]

    def predict(self, rows: IntArray) -> Array:
        labels: Array = self.classes_[self.shares_[rows].argmax(axis=1)]
        return labels


class _PredictedNumbers(RegressorMixin, BaseEstimator):
    """Looks to a scorer like a regressor."""

    def __init__(self, means: FloatArray) -> None:
        self.means_ = means

    def predict(self, rows: IntArray) -> FloatArray:
        return self.means_[rows]


def call_scorer(
    name: str,
    classes: Array | None,
    averages: FloatArray,
    truth: Array,
    weight: FloatArray | None,
) -> float:
    """Let one of scikit-learn's scorers judge shares or means."""
    try:
        scorer = get_scorer(name)
    except ValueError as error:
        raise ParameterError(
            f"metric={name!r} is not a scorer of scikit-learn. sklearn.metrics.get_scorer_names() lists them."
        ) from error
    predictor = _PredictedNumbers(averages) if classes is None else _PredictedClasses(classes, averages)
    given = {} if weight is None else {"sample_weight": weight}
    return float(scorer(predictor, np.arange(len(truth)), truth, **given))


def scores_for_metrics(shares: FloatArray) -> FloatArray:
    """Give what metrics expect: of two classes the share of the second, else all shares."""
    return shares[:, 1] if shares.shape[1] == 2 else shares


def margins(shares: FloatArray, truth: IntArray) -> FloatArray:
    """Share of the true class less the largest share of another."""
    rows = np.arange(len(shares))
    others = shares.copy()
    others[rows, truth] = -np.inf
    best: FloatArray = others.max(axis=1) if shares.shape[1] > 1 else np.zeros(len(shares))
    margin: FloatArray = shares[rows, truth] - best
    return margin


def confusion(truth: IntArray, said: IntArray, n_classes: int, weight: FloatArray, normalize: str | None) -> Array:
    """Count what is taken for what, by weight."""
    if normalize not in (None, "true", "pred", "all"):
        raise ParameterError(f'normalize={normalize!r} is not allowed. Give "true", "pred", "all" or None.')
    whole = (weight == np.floor(weight)).all()
    counts: Array = confusion_matrix(
        truth, said, labels=np.arange(n_classes), sample_weight=weight, normalize=normalize
    )
    return counts.astype(np.int64) if whole and normalize is None else counts


@dataclass(frozen=True)
class Calibration:
    """Shares that were said, against how often they came true: one entry for each part that has rows."""

    said: FloatArray  # mean share
    found: FloatArray  # how often it came true, by weight
    weight: FloatArray  # of the rows
    brier: float  # mean squared difference between share and truth (0 or 1)


def calibrate(said: FloatArray, happened: BoolArray, weight: FloatArray, n_bins: int) -> Calibration:
    """Divide the shares from 0 to 1 into equal parts; hold each part's mean against how often it came true."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    part = np.searchsorted(edges[1:-1], said)

    def per_part(values: Array) -> FloatArray:
        sums: FloatArray = np.bincount(part, weights=weight * values, minlength=n_bins).astype(np.float64)
        return sums

    total = per_part(np.ones(len(said)))
    some = total > 0
    brier = float(np.average((said - happened) ** 2, weights=weight)) if len(said) else math.nan
    return Calibration(per_part(said)[some] / total[some], per_part(happened)[some] / total[some], total[some], brier)


@dataclass(frozen=True)
class Threshold:
    """From which share on a row should be called by a label."""

    value: float
    score: float  # what was to be best; a cost is to be lowest
    values: FloatArray  # all thresholds that make a difference: 0, between neighboring shares, infinity
    scores: FloatArray


def choose_threshold(
    said: FloatArray, happened: BoolArray, weight: FloatArray, by: str, costs: tuple[float, float]
) -> Threshold:
    """Try all thresholds that make a difference."""
    if by not in RULES:
        raise ParameterError(f"by={by!r} is not allowed. Give one of {', '.join(map(repr, RULES))}.")
    shares, place = np.unique(said, return_inverse=True)
    values = np.concatenate([[0.0], (shares[:-1] + shares[1:]) / 2, [np.inf]])
    true = np.bincount(place, weights=weight * happened, minlength=len(shares))
    false = np.bincount(place, weights=weight * ~happened, minlength=len(shares))
    # Called by the label: from each share upward, and none at all.
    hits = np.append(np.cumsum(true[::-1])[::-1], 0.0)
    alarms = np.append(np.cumsum(false[::-1])[::-1], 0.0)
    scores = _threshold_scores(hits, alarms, by, costs)
    best = scores.min() if by == "cost" else scores.max()
    equal = np.flatnonzero(scores == best)
    chosen = equal[np.abs(values[equal] - 0.5).argmin()]
    return Threshold(float(values[chosen]), float(scores[chosen]), values, scores)


def _threshold_scores(hits: FloatArray, alarms: FloatArray, by: str, costs: tuple[float, float]) -> FloatArray:
    """Score each threshold; the first calls every row by the label, so it knows all that there is to hit."""
    n_true, n_false = hits[0], alarms[0]
    missed = n_true - hits
    tiny = np.finfo(float).tiny  # without rows of the label, or of others, a rate is 0
    scores: dict[str, FloatArray] = {
        "f1": 2 * hits / np.maximum(2 * hits + alarms + missed, tiny),
        "youden": hits / max(n_true, tiny) - alarms / max(n_false, tiny),
        "accuracy": (hits + n_false - alarms) / (n_true + n_false),
        "cost": (costs[0] * alarms + costs[1] * missed) / (n_true + n_false),
    }
    return scores[by]


def with_finite_squares(truth: ColumnLike, predicted: FloatArray) -> tuple[ColumnLike, FloatArray]:
    """Make huge numbers smaller, each target by a power of two: R squared does not depend on it."""
    numbers = np.asarray(truth)
    if numbers.dtype.kind not in "iuf" or numbers.shape != predicted.shape:
        return truth, predicted
    numbers = numbers.astype(np.float64)
    reach = np.maximum(np.abs(numbers).max(axis=0), np.abs(predicted).max(axis=0))
    shift = np.where(reach > HUGE, -np.frexp(reach)[1], 0)
    return (np.ldexp(numbers, shift), np.ldexp(predicted, shift)) if shift.any() else (truth, predicted)
