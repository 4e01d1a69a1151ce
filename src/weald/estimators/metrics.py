"""Metrics of predictions: confusion matrix, calibration, thresholds, confidence intervals.

    wilson                 confidence interval of a fraction
    call_metric            call a metric or loss function
    is_scorer              whether a function is a scorer or a metric
    call_scorer            call one of scikit-learn's scorers
    margins                probability of the true class minus the largest other one
    confusion              confusion matrix
    event                  probabilities of a class, and a mask of its rows
    calibrate              calibration curve and Brier score
    choose_threshold       the best probability threshold of a class
    poisson_deviance       mean Poisson deviance, defined also for predictions of 0
    mean_squared_error     on a scale at which squares neither overflow nor underflow
    spread_of_squares      standard deviation of the squared errors
    score_numbers          mean squared error and R squared
    effective_rows         Kish's effective number of weighted rows
    with_finite_squares    targets and predictions scaled so that their squares do not overflow

Functions take plain arrays: class codes, probabilities, weights.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import confusion_matrix, get_scorer, r2_score

from weald.data.short_repr import short_repr
from weald.data.table import up_to_one
from weald.data.types import Array, ColumnLike, FloatArray, IntArray
from weald.errors import DataError, ParameterError, shown

Metric = Callable[..., float]
BoolArray = npt.NDArray[np.bool_]
HUGE = 2.0**400  # sums of squares of smaller numbers are finite
RULES = ("f1", "youden", "accuracy", "cost")


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Compute Wilson's confidence interval of a fraction found in n trials, z standard errors wide (Wilson 1927).

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


def call_metric(metric: Metric, truth: Array, predicted: Array, weight: FloatArray | None) -> float:
    """Call a metric or loss function, with weights if there are any and it accepts them."""
    weighted = weight is not None and "sample_weight" in inspect.signature(metric).parameters
    found = metric(truth, predicted, sample_weight=weight) if weighted else metric(truth, predicted)
    try:
        return float(found)
    except (TypeError, ValueError) as error:
        name = getattr(metric, "__name__", type(metric).__name__)
        raise ParameterError(
            f"The metric {name} returned {shown(found)} for (y_true, y_pred), which is not a number. Give a function "
            "that returns one number."
        ) from error


class _PredictedClasses(ClassifierMixin, BaseEstimator):
    """A substitute for a classifier in a scorer: its X contains the row numbers of existing predictions."""

    def __init__(self, classes: Array, shares: FloatArray) -> None:
        self.classes_, self.shares_ = classes, shares

    def predict_proba(self, rows: IntArray) -> FloatArray:
        return self.shares_[rows]

    def predict(self, rows: IntArray) -> Array:
        labels: Array = self.classes_[self.shares_[rows].argmax(axis=1)]
        return labels


class _PredictedNumbers(RegressorMixin, BaseEstimator):
    """A substitute for a regressor in a scorer: its X contains the row numbers of existing predictions."""

    def __init__(self, means: FloatArray) -> None:
        self.means_ = means

    def predict(self, rows: IntArray) -> FloatArray:
        return self.means_[rows]


def is_scorer(metric: Metric) -> bool:
    """Return whether a function is a scorer, (estimator, X, y) as from `sklearn.metrics.make_scorer`."""
    try:
        given = inspect.signature(metric).parameters.values()
    except ValueError:  # some functions and types of C have no signature
        return False
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given) == 3


def call_scorer(
    scoring: "Metric | str",
    classes: Array | None,
    averages: FloatArray,
    truth: Array,
    weight: FloatArray | None,
) -> float:
    """Score probabilities or means by one of scikit-learn's scorers."""
    try:
        scorer = get_scorer(scoring)
    except ValueError as error:
        raise ParameterError(
            f"{scoring!r} is not a scorer of scikit-learn. sklearn.metrics.get_scorer_names() lists them."
        ) from error
    predictor = _PredictedNumbers(averages) if classes is None else _PredictedClasses(classes, averages)
    takes_weights = "sample_weight" in inspect.signature(scorer).parameters
    given = {"sample_weight": weight} if weight is not None and takes_weights else {}
    return float(scorer(predictor, np.arange(len(truth)), truth, **given))


def mean_squared_error(truth: FloatArray, predicted: FloatArray, weight: FloatArray | None) -> float:
    """Compute the mean squared error on a scale at which squares neither overflow nor underflow."""
    exponent, truth, predicted = _scaled(truth, predicted)
    weight = None if weight is None else up_to_one(weight)
    error = np.average((truth - predicted) ** 2, weights=weight)
    with np.errstate(over="ignore"):  # overflows with very large numbers
        return float(np.ldexp(error, 2 * exponent))


def poisson_deviance(truth: FloatArray, predicted: FloatArray, weight: FloatArray | None) -> float:
    """Compute the mean Poisson deviance, 2 (y ln(y / m) - y + m), where 0 ln 0 is 0.

    A prediction of 0 has the deviance 0 if the target is 0; otherwise it is infinite, since the outcome was predicted
    to be impossible.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.metrics import poisson_deviance
    >>> poisson_deviance(np.array([0.0, 2.0]), np.array([0.0, 2.0]), None)
    0.0
    >>> poisson_deviance(np.array([0.0, 2.0]), np.array([1.0, 0.0]), None)
    inf
    """
    if (truth < 0).any() or (predicted < 0).any():
        raise DataError("The Poisson deviance needs targets and predictions of at least 0, but some are negative.")
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        logs = np.where(truth > 0, truth * np.log(np.where(truth > 0, truth, 1.0) / predicted), 0.0)
        deviances = 2 * (logs - truth + predicted)
    return float(np.average(deviances, weights=None if weight is None else up_to_one(weight)))


def absolute_error(truth: FloatArray, predicted: FloatArray, weight: FloatArray | None) -> float:
    """Compute the mean absolute error.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.metrics import absolute_error
    >>> absolute_error(np.array([0.0, 2.0]), np.array([1.0, 2.0]), None)
    0.5
    """
    return float(np.average(np.abs(truth - predicted), weights=None if weight is None else up_to_one(weight)))


# Regression errors available by name, in addition to scikit-learn's scorers.
ERRORS = {"poisson_deviance": poisson_deviance, "absolute_error": absolute_error}


def score_numbers(truth: FloatArray, predicted: FloatArray, weight: FloatArray | None) -> tuple[float, float]:
    """Compute mean squared error and R squared. Very large numbers may overflow the error, but not R squared."""
    error = mean_squared_error(truth, predicted, weight)
    _, truth, predicted = _scaled(truth, predicted)
    return error, float(r2_score(truth, predicted, sample_weight=None if weight is None else up_to_one(weight)))


def _scaled(truth: FloatArray, predicted: FloatArray) -> tuple[int, FloatArray, FloatArray]:
    exponent = int(np.frexp(max(np.abs(truth).max(), np.abs(predicted).max()))[1])
    return exponent, np.ldexp(truth, -exponent), np.ldexp(predicted, -exponent)


def spread_of_squares(truth: FloatArray, predicted: FloatArray, weight: FloatArray) -> float:
    """Compute the standard deviation of the squared errors."""
    weight = up_to_one(weight)
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (truth - predicted) ** 2
        mean = np.average(squares, weights=weight)
        return float(np.sqrt(np.average((squares - mean) ** 2, weights=weight)))


def effective_rows(weight: FloatArray, *, whole: bool) -> float:
    """Return the number of rows: counting copies if weights are whole, else Kish's effective number."""
    if whole or not len(weight):
        return float(weight.sum())
    weight = up_to_one(weight)
    return float(weight.sum() ** 2 / (weight**2).sum())


def place_of_best(errors: FloatArray, leaves: IntArray, standard_errors: FloatArray | None = None) -> int:
    """Find the setting with the lowest error, or the one with the fewest leaves within one standard error of it.

    Among equal numbers of leaves, the lowest error wins. NaN is never chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.metrics import place_of_best
    >>> errors, leaves = np.array([0.3, 0.2, 0.2]), np.array([1, 3, 2])
    >>> place_of_best(errors, leaves), place_of_best(errors, leaves, np.full(3, 0.1))
    (2, 0)
    """
    best = _smallest_up_to(np.nanmin(errors), errors, leaves)
    if standard_errors is None:
        return best
    return _smallest_up_to(errors[best] + standard_errors[best], errors, leaves)


def _smallest_up_to(limit: float, errors: FloatArray, leaves: IntArray) -> int:
    allowed = np.flatnonzero(errors <= limit)
    return int(allowed[np.lexsort((errors[allowed], leaves[allowed]))[0]])


def scores_for_metrics(shares: FloatArray) -> FloatArray:
    """Return the probabilities that metrics expect: with two classes those of the second, else all."""
    return shares[:, 1] if shares.shape[1] == 2 else shares


def margins(shares: FloatArray, truth: IntArray) -> FloatArray:
    """Probability of the true class minus the largest probability of another class."""
    rows = np.arange(len(shares))
    others = shares.copy()
    others[rows, truth] = -np.inf
    best: FloatArray = others.max(axis=1) if shares.shape[1] > 1 else np.zeros(len(shares))
    margin: FloatArray = shares[rows, truth] - best
    return margin


def confusion(truth: IntArray, predicted: IntArray, n_classes: int, weight: FloatArray, normalize: str | None) -> Array:
    """Compute the confusion matrix, by weight."""
    if normalize not in (None, "true", "pred", "all"):
        raise ParameterError(f'normalize={normalize!r} is not allowed. Give "true", "pred", "all" or None.')
    whole = (weight == np.floor(weight)).all()
    counts: Array = confusion_matrix(
        truth, predicted, labels=np.arange(n_classes), sample_weight=weight, normalize=normalize
    )
    return counts.astype(np.int64) if whole and normalize is None else counts


@dataclass(frozen=True, repr=False)
class Calibration:
    """Calibration curve: predicted probabilities and observed frequencies, one entry for each bin that has rows."""

    predicted: FloatArray  # mean predicted probability
    observed: FloatArray  # observed frequency, by weight
    weight: FloatArray  # weight of the rows
    brier: float  # mean squared difference between probability and outcome (0 or 1)

    def __repr__(self) -> str:
        return short_repr(self)


def event(shares: FloatArray, truth: IntArray, k: int | None) -> tuple[FloatArray, BoolArray]:
    """Return the probabilities of class k, and a mask of its rows; k None: the predicted class of each row."""
    if k is not None:
        return shares[:, k], truth == k
    winners = shares.argmax(axis=1)
    return shares[np.arange(len(shares)), winners], winners == truth


def calibrate(predicted: FloatArray, happened: BoolArray, weight: FloatArray, n_bins: int) -> Calibration:
    """Divide the probabilities from 0 to 1 into equal bins; compare each bin's mean with the observed frequency."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    part = np.searchsorted(edges[1:-1], predicted)

    def per_part(values: Array) -> FloatArray:
        sums: FloatArray = np.bincount(part, weights=weight * values, minlength=n_bins).astype(np.float64)
        return sums

    total = per_part(np.ones(len(predicted)))
    some = total > 0
    brier = float(np.average((predicted - happened) ** 2, weights=weight)) if len(predicted) else math.nan
    return Calibration(
        per_part(predicted)[some] / total[some], per_part(happened)[some] / total[some], total[some], brier
    )


@dataclass(frozen=True, repr=False)
class Threshold:
    """The best threshold: rows whose probability of a class is at least this are predicted as that class."""

    value: float
    score: float  # value of the metric that was optimized; a cost is minimized
    values: FloatArray  # all distinct thresholds: 0, midpoints between neighboring probabilities, infinity
    scores: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)


def choose_threshold(
    predicted: FloatArray, happened: BoolArray, weight: FloatArray, by: str, costs: tuple[float, float]
) -> Threshold:
    """Try all distinct thresholds."""
    if by not in RULES:
        raise ParameterError(f"by={by!r} is not allowed. Give one of {', '.join(map(repr, RULES))}.")
    shares, place = np.unique(predicted, return_inverse=True)
    values = np.concatenate([[0.0], (shares[:-1] + shares[1:]) / 2, [np.inf]])
    true = np.bincount(place, weights=weight * happened, minlength=len(shares))
    false = np.bincount(place, weights=weight * ~happened, minlength=len(shares))
    # Rows predicted as the label: all rows from each probability upward, finally none.
    hits = np.append(np.cumsum(true[::-1])[::-1], 0.0)
    alarms = np.append(np.cumsum(false[::-1])[::-1], 0.0)
    scores = _threshold_scores(hits, alarms, by, costs)
    best = scores.min() if by == "cost" else scores.max()
    equal = np.flatnonzero(scores == best)
    chosen = equal[np.abs(values[equal] - 0.5).argmin()]
    return Threshold(float(values[chosen]), float(scores[chosen]), values, scores)


def _threshold_scores(hits: FloatArray, alarms: FloatArray, by: str, costs: tuple[float, float]) -> FloatArray:
    """Score each threshold; the first predicts every row as the label, so its hits are all rows of the label."""
    n_true, n_false = hits[0], alarms[0]
    missed = n_true - hits
    tiny = np.finfo(float).tiny  # without rows of the label, or of other labels, a rate is 0
    scores: dict[str, FloatArray] = {
        "f1": 2 * hits / np.maximum(2 * hits + alarms + missed, tiny),
        "youden": hits / max(n_true, tiny) - alarms / max(n_false, tiny),
        "accuracy": (hits + n_false - alarms) / (n_true + n_false),
        "cost": (costs[0] * alarms + costs[1] * missed) / (n_true + n_false),
    }
    return scores[by]


def with_finite_squares(truth: ColumnLike, predicted: FloatArray) -> tuple[ColumnLike, FloatArray]:
    """Scale very large numbers down, each target by a power of two: R squared does not depend on the scale."""
    numbers = np.asarray(truth)
    if numbers.dtype.kind not in "iuf" or numbers.shape != predicted.shape:
        return truth, predicted
    numbers = numbers.astype(np.float64)
    reach = np.maximum(np.abs(numbers).max(axis=0), np.abs(predicted).max(axis=0))
    shift = np.where(reach > HUGE, -np.frexp(reach)[1], 0)
    return (np.ldexp(numbers, shift), np.ldexp(predicted, shift)) if shift.any() else (truth, predicted)
