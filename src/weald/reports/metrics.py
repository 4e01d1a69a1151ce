"""Metrics of predictions, each with a 95 % confidence interval.

    compute_scores  predictions -> a list of Score
    by_chance       the metrics of a baseline that ignores the features

A metric returns its value and its influence function: the change of the value if the weight of a row increases
slightly. The standard error is the root of the mean squared influence over the number of rows. For a mean this is the
usual standard error, for the area under the ROC curve that of DeLong, DeLong and Clarke-Pearson (1988). Fractions of
correct predictions have Wilson's interval instead, which is also valid near 0 and 1. Rows are assumed to be
independent, although they share trees.

Forests predict probabilities of exactly 0. If the true class has such a probability, log loss is infinite; as in
scikit-learn it counts as 2**-52 then. There is no interval in that case: it would depend on few rows and this choice.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from weald.data.types import FloatArray
from weald.estimators.metrics import wilson
from weald.reports.predictions import Predictions

Z = 1.959963984540054  # 95 %
UNITS_OF_TARGET = ("RMSE", "MAE", "bias")  # metrics in units of the target
TINY = float(np.finfo(np.float64).eps)  # lower limit of probabilities in log loss, as in scikit-learn


@dataclass(frozen=True)
class Score:
    """One metric for one kind of rows."""

    name: str
    words: str  # description
    value: float
    low: float
    high: float
    is_share: bool = False


def compute_scores(predictions: Predictions) -> list[Score]:
    """Compute all metrics for the task of the predictions."""
    metrics = CLASS_METRICS if predictions.predicted.ndim == 2 else NUMBER_METRICS
    return [metric(predictions) for metric in metrics if metric is not _auc or _has_two_sides(predictions)]


def by_chance(predictions: Predictions) -> list[Score]:
    """Compute the metrics of a model that always predicts the fractions of all classes, or the mean."""
    weight, truth = predictions.weight, predictions.truth
    if predictions.predicted.ndim == 2:
        shares = np.bincount(truth, weights=weight, minlength=predictions.predicted.shape[1]) / weight.sum()
        predicted = np.tile(shares, (len(truth), 1))
    else:
        predicted = np.full(len(truth), np.average(truth, weights=weight))
    scores = compute_scores(replace(predictions, predicted=predicted))
    return [replace(score, value=0.0) if score.name == "bias" else score for score in scores]  # exact up to rounding


# --------------------------------------------------------------------------------------------------------- classes


def _accuracy(predictions: Predictions) -> Score:
    share = float(np.average(predictions.winners == predictions.truth, weights=predictions.weight))
    low, high = wilson(share, predictions.n_effective, Z)
    return Score("accuracy", "fraction of rows whose class is predicted correctly", share, low, high, is_share=True)


def _balanced(predictions: Predictions) -> Score:
    right, weight = predictions.winners == predictions.truth, predictions.weight
    present = np.unique(predictions.truth)
    influence, recalls = np.zeros(len(right)), []
    for k in present:
        of_class = predictions.truth == k
        recall = np.average(right[of_class], weights=weight[of_class])
        share = weight[of_class].sum() / weight.sum()
        influence[of_class] = (right[of_class] - recall) / share / len(present)
        recalls.append(recall)
    words = "recall, averaged over the classes"
    return _score("balanced accuracy", words, float(np.mean(recalls)), influence, predictions, 0.0, 1.0, is_share=True)


def _auc(predictions: Predictions) -> Score:
    """Average over classes, each against the rest; with two classes both are the same."""
    classes = [
        k
        for k in range(predictions.predicted.shape[1])
        if 0 < np.count_nonzero(predictions.truth == k) < len(predictions.truth)
    ]
    classes = classes[-1:] if predictions.predicted.shape[1] == 2 else classes
    found = [area(predictions.predicted[:, k], predictions.truth == k, predictions.weight) for k in classes]
    value = float(np.mean([value for value, _ in found]))
    influence = np.mean([influence for _, influence in found], axis=0)
    words = "area under the ROC curve: how often a row of the class gets a higher probability of it than another row"
    return _score("ROC AUC", words, value, influence, predictions, 0.0, 1.0)


def area(score: FloatArray, happened: np.ndarray, weight: FloatArray) -> tuple[float, FloatArray]:
    """Area under the ROC curve and its influence function; equal scores count a half."""
    values, place = np.unique(score, return_inverse=True)
    true = np.bincount(place, weights=weight * happened, minlength=len(values))
    false = np.bincount(place, weights=weight * ~happened, minlength=len(values))
    below = (np.cumsum(false) - false / 2) / false.sum()  # fraction of the other rows with a lower score
    above = 1 - (np.cumsum(true) - true / 2) / true.sum()
    value = float((true * below).sum() / true.sum())
    part = float(true.sum() / weight.sum())
    influence = np.where(happened, (below[place] - value) / part, (above[place] - value) / (1 - part))
    return value, influence


def _has_two_sides(predictions: Predictions) -> bool:
    return len(np.unique(predictions.truth)) > 1


def _brier(predictions: Predictions) -> Score:
    happened = np.eye(predictions.predicted.shape[1])[predictions.truth]
    loss = ((predictions.predicted - happened) ** 2).sum(axis=1) / (2 if predictions.predicted.shape[1] == 2 else 1)
    return _mean(
        "Brier score", "mean squared difference between probabilities and outcomes; 0 is best", loss, predictions, 0.0
    )


def _log_loss(predictions: Predictions) -> Score:
    given = probability_of_truth(predictions)
    words = "mean of −ln(probability of the true class); 0 is best"
    score = _mean("log loss", words, -np.log(given.clip(TINY, 1 - TINY)), predictions, 0.0)
    return replace(score, low=math.nan, high=math.nan) if (given == 0).any() else score


def probability_of_truth(predictions: Predictions) -> FloatArray:
    """Return the probability of the true class, row by row."""
    found: FloatArray = predictions.predicted[np.arange(len(predictions.truth)), predictions.truth]
    return found


# --------------------------------------------------------------------------------------------------------- numbers


def _rmse(predictions: Predictions) -> Score:
    squares = _mean("", "", (predictions.truth - predictions.predicted) ** 2, predictions, 0.0)
    words = "root of the mean squared error, in units of the target"
    return Score("RMSE", words, math.sqrt(squares.value), math.sqrt(squares.low), math.sqrt(squares.high))


def _mae(predictions: Predictions) -> Score:
    return _mean(
        "MAE",
        "mean absolute error, in units of the target",
        np.abs(predictions.truth - predictions.predicted),
        predictions,
        0.0,
    )


def _r2(predictions: Predictions) -> Score:
    weight = predictions.weight
    squares = (predictions.truth - predictions.predicted) ** 2
    away = (predictions.truth - np.average(predictions.truth, weights=weight)) ** 2
    variance = float(np.average(away, weights=weight))
    if variance == 0:
        return Score("R²", "fraction of the variance that is explained", math.nan, math.nan, math.nan)
    left = float(np.average(squares, weights=weight)) / variance
    return _score(
        "R²",
        "fraction of the variance that is explained",
        1 - left,
        (left * away - squares) / variance,
        predictions,
        -math.inf,
        1.0,
    )


def _bias(predictions: Predictions) -> Score:
    return _mean(
        "bias",
        "mean of predicted minus true; 0 is best",
        predictions.predicted - predictions.truth,
        predictions,
        -math.inf,
    )


# ---------------------------------------------------------------------------------------------------------- inside


def _mean(name: str, words: str, values: FloatArray, predictions: Predictions, least: float) -> Score:
    mean = float(np.average(values, weights=predictions.weight))
    return _score(name, words, mean, values - mean, predictions, least, math.inf)


def _score(
    name: str,
    words: str,
    value: float,
    influence: FloatArray,
    predictions: Predictions,
    least: float,
    most: float,
    *,
    is_share: bool = False,
) -> Score:
    variance = float(np.average(influence**2, weights=predictions.weight))
    half = Z * math.sqrt(variance / predictions.n_effective)
    return Score(name, words, value, max(least, value - half), min(most, value + half), is_share)


CLASS_METRICS: tuple[Callable[[Predictions], Score], ...] = (_accuracy, _balanced, _auc, _brier, _log_loss)
NUMBER_METRICS: tuple[Callable[[Predictions], Score], ...] = (_rmse, _mae, _r2, _bias)
