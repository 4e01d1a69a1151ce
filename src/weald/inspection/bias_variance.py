"""Bias and variance: the part of an error that remains after averaging over training samples, and the rest.

squared error   error = bias + variance: squared error of the mean prediction, and variance around it (noise is bias)
0/1 loss        error = bias + unbiased variance - biased variance (Domingos 2000): error of the most frequent
prediction, and of predictions that differ from it; if the most frequent prediction is wrong, differing can help
"""

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier

from weald.data.types import Array, ColumnLike, FloatArray, IntArray, TableLike
from weald.errors import DataError
from weald.estimators.survival.refusals import refuse_survival
from weald.inspection.resample import Predictor, fit_repeatedly, read_target


@dataclass(frozen=True)
class BiasVariance:
    """An error, and its decomposition."""

    error: float  # mean squared error, or misclassification rate
    bias: float  # bias of the main prediction; squared in regression
    variance: float  # effect of differing from the main prediction; error = bias + variance
    unbiased_variance: float  # classification: where the main prediction is right, differing increases the error
    biased_variance: float  # classification: where the main prediction is wrong, differing decreases the error
    main: Array  # by row: mean prediction, or the most frequent class (ties: the first)
    counts: IntArray  # by row: number of predictions

    def __repr__(self) -> str:
        return f"<error {self.error:.4g} = bias {self.bias:.4g} + variance {self.variance:.4g}>"


def bias_variance(
    estimator: Predictor,
    X: TableLike,
    y: ColumnLike,
    *,
    X_test: TableLike = None,
    y_test: ColumnLike = None,
    n_repeats: int = 50,
    random_state: int = 0,
) -> BiasVariance:
    """Decompose the error of an estimator by fitting it to many samples of the training data.

    Each repeat fits a clone to a bootstrap sample of the rows. It predicts the test rows, or without them its
    out-of-bag rows. Rows that are in every sample are left out.

    Parameters
    ----------
    estimator : estimator
        Any classifier or regressor with scikit-learn's interface.
    X, y : the training data
    X_test, y_test : test rows, optional
    n_repeats : int, default=50
        Number of samples.
    random_state : int, default=0
        Seed of the samples and of the `random_state` of each clone.

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = weald.bias_variance(weald.DecisionTreeRegressor(), X, y, n_repeats=20)
    >>> forest = weald.bias_variance(weald.RandomForestRegressor(30), X, y, n_repeats=20)
    >>> forest.variance < tree.variance / 2
    True
    """
    refuse_survival(estimator, "weald.bias_variance", "Use `score` and `brier_score` on test rows.")
    target = read_target(y, X)
    if (X_test is None) != (y_test is None):
        raise DataError("Give X_test and y_test together, or neither.")
    truth = target if y_test is None else read_target(y_test, X_test)
    classify = is_classifier(estimator)
    predictions: list[Array] = []
    rows: list[IntArray] = []
    for model, unseen in fit_repeatedly(estimator, X, target, n_repeats, random_state):
        predicted = np.asarray(model.predict(X if X_test is None else X_test))
        measured = unseen if X_test is None else np.arange(len(truth))
        predictions.append(predicted[measured])
        rows.append(measured)
    take_apart = _of_classes if classify else _of_numbers
    return take_apart(np.concatenate(predictions), np.concatenate(rows), truth)


def _of_numbers(predictions: Array, rows: IntArray, truth: Array) -> BiasVariance:
    counts = np.bincount(rows, minlength=len(truth))
    seen = counts > 0
    main = np.bincount(rows, weights=predictions, minlength=len(truth)) / np.where(seen, counts, np.nan)
    spread = np.bincount(rows, weights=(predictions - main[rows]) ** 2, minlength=len(truth))[seen] / counts[seen]
    bias, variance = float(np.mean((main[seen] - truth[seen]) ** 2)), float(spread.mean())
    squares = np.bincount(rows, weights=(predictions - truth[rows]) ** 2, minlength=len(truth))[seen] / counts[seen]
    return BiasVariance(float(squares.mean()), bias, variance, variance, 0.0, main, counts)


def _of_classes(predictions: Array, rows: IntArray, truth: Array) -> BiasVariance:
    classes, numbers = np.unique(np.concatenate([truth, predictions]), return_inverse=True)
    true, numbers = numbers[: len(truth)], numbers[len(truth) :]
    votes: FloatArray = np.zeros((len(truth), len(classes)))
    np.add.at(votes, (rows, numbers), 1.0)
    counts = votes.sum(axis=1).astype(np.int64)
    seen = counts > 0
    shares = votes[seen] / counts[seen, None]
    at = np.arange(len(shares))
    main = votes.argmax(axis=1)
    right = shares[at, true[seen]]
    biased = main[seen] != true[seen]
    differ = 1.0 - shares[at, main[seen]]
    unbiased_variance = float(np.where(biased, 0.0, differ).mean())
    biased_variance = float(np.where(biased, right, 0.0).mean())
    return BiasVariance(
        float((1.0 - right).mean()),
        float(biased.mean()),
        unbiased_variance - biased_variance,
        unbiased_variance,
        biased_variance,
        np.ma.masked_array(classes[main], mask=~seen),
        counts,
    )
