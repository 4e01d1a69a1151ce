"""Impurity of a set of rows, by the textbook formulas.

    gini, entropy, misclassification    of classes: of counts, or of labels
    squared_error                       of numbers
    gain                                the decrease in impurity of a split

Trees are grown from exact integers (`weald.engines.reference.definition`, `weald.engines.criteria`). These functions
take any numbers; use them to check a tree by hand.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from weald.errors import DataError

Impurity = Callable[..., float | npt.NDArray[np.float64]]


def gini(
    counts: npt.ArrayLike | None = None, *, labels: npt.ArrayLike | None = None
) -> float | npt.NDArray[np.float64]:
    """1 - sum p²: the probability that two random rows of the set have different classes.

    Parameters
    ----------
    counts : array of shape (n_classes,) or (n_sets, n_classes), optional
        Number of rows of each class, or their weights or probabilities; one impurity for each set.
    labels : array of shape (n_rows,), optional
        The class of each row, instead of counts.

    Returns
    -------
    float, or array of shape (n_sets,)
        0 for a single class, 1 - 1/K for K classes of equal size.

    Examples
    --------
    Two random rows of two equally large classes differ in class half of the time:

    >>> from weald import impurity
    >>> impurity.gini([50, 50])
    0.5
    >>> impurity.gini([[50, 50], [90, 10], [100, 0]]).round(2)
    array([0.5 , 0.18, 0.  ])
    >>> round(impurity.gini(labels=["yes", "no", "no", "no"]), 3)
    0.375
    """
    shares = _shares(counts, labels)
    return _plain(1.0 - (shares * shares).sum(axis=-1))


def entropy(
    counts: npt.ArrayLike | None = None, *, labels: npt.ArrayLike | None = None
) -> float | npt.NDArray[np.float64]:
    """- sum p log2 p, in bits: a lower bound of the mean length of a binary code for the class of a row.

    Parameters
    ----------
    counts : array of shape (n_classes,) or (n_sets, n_classes), optional
        Number of rows of each class, or their weights or probabilities; one impurity for each set.
    labels : array of shape (n_rows,), optional
        The class of each row, instead of counts.

    Returns
    -------
    float, or array of shape (n_sets,)
        0 for a single class, log2 K for K classes of equal size. Times ln 2 it is the entropy in nats.

    Examples
    --------
    A word is "zebra" with probability 0.9, else "kiwi", "banana" or "apple". Two bits can encode four words. But if
    "zebra" is sent as 0, and the fruits as 100, 101 and 110, most words need a single bit:

    >>> from weald import impurity
    >>> shares = {"zebra": 0.9, "kiwi": 0.1 / 3, "banana": 0.1 / 3, "apple": 0.1 / 3}
    >>> code = {"zebra": "0", "kiwi": "100", "banana": "101", "apple": "110"}
    >>> mean_length = sum(share * len(code[word]) for word, share in shares.items())
    >>> round(mean_length, 3)
    1.2

    The mean length of a code is at least the entropy, and that of the best code is less than a bit longer:

    >>> bound = impurity.entropy(list(shares.values()))
    >>> round(bound, 3)
    0.627
    >>> bound <= mean_length < bound + 1
    True
    >>> impurity.entropy([1, 1, 1, 1]), impurity.entropy([7, 0, 0, 0])
    (2.0, 0.0)
    """
    shares = _shares(counts, labels)
    logs = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return _plain(0.0 - (shares * logs).sum(axis=-1))


def misclassification(
    counts: npt.ArrayLike | None = None, *, labels: npt.ArrayLike | None = None
) -> float | npt.NDArray[np.float64]:
    """1 - max p: the fraction of rows that are not of the most common class.

    Parameters
    ----------
    counts : array of shape (n_classes,) or (n_sets, n_classes), optional
        Number of rows of each class, or their weights or probabilities; one impurity for each set.
    labels : array of shape (n_rows,), optional
        The class of each row, instead of counts.

    Returns
    -------
    float, or array of shape (n_sets,)

    Examples
    --------
    >>> from weald import impurity
    >>> impurity.misclassification([75, 25])
    0.25
    """
    return _plain(1.0 - _shares(counts, labels).max(axis=-1))


def squared_error(y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
    """Mean squared deviation of numbers from their mean: the lowest mean squared error of a constant prediction.

    Parameters
    ----------
    y : array of shape (n_rows,)
    sample_weight : array of shape (n_rows,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> from weald import impurity
    >>> impurity.squared_error([1.0, 2.0, 3.0, 6.0])
    3.5
    """
    numbers = np.asarray(y, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise DataError("squared_error needs finite numbers in one dimension. Give one for each row, at least one.")
    weight = np.ones(len(numbers)) if sample_weight is None else _weights(sample_weight)
    if weight.shape != numbers.shape:
        raise DataError(f"y has {len(numbers)} rows but sample_weight has {weight.size}. Give one weight for each row.")
    mean = np.average(numbers, weights=weight)
    return float(np.average((numbers - mean) ** 2, weights=weight))


def gain(left: npt.ArrayLike, right: npt.ArrayLike, impurity: Impurity = gini) -> float:
    """Gain of a split: the impurity of the node minus that of its sides, each weighted by its fraction of the rows.

    Parameters
    ----------
    left, right : array of shape (n_classes,)
        Counts of both sides. For `squared_error` the targets of their rows.
    impurity : function, default=gini
        A function of this module.

    Returns
    -------
    float

    Examples
    --------
    A split that isolates some rows of one class can have no gain by misclassification:

    >>> from weald import impurity
    >>> left, right = [40, 0], [35, 25]
    >>> round(impurity.gain(left, right, impurity.misclassification), 6)
    0.0
    >>> round(impurity.gain(left, right, impurity.gini), 3), round(impurity.gain(left, right, impurity.entropy), 3)
    (0.083, 0.223)
    >>> impurity.gain([1.0, 2.0], [5.0, 6.0], impurity.squared_error)
    4.0
    """
    if impurity is squared_error:
        sides = np.asarray(left), np.asarray(right)
        whole = np.concatenate(sides)
        n_left, n_right = (float(len(side)) for side in sides)
    else:
        sides = _weights(left), _weights(right)
        whole = sides[0] + sides[1]
        n_left, n_right = (float(side.sum()) for side in sides)
    rest = (n_left * impurity(left) + n_right * impurity(right)) / (n_left + n_right)
    return float(impurity(whole) - rest)


def _shares(counts: npt.ArrayLike | None, labels: npt.ArrayLike | None) -> npt.NDArray[np.float64]:
    """Convert counts, or labels, to probabilities that sum to 1 along the last axis."""
    if (counts is None) == (labels is None):
        raise DataError("Give either counts, the number of rows of each class, or labels, the class of each row.")
    if labels is not None:
        counts = np.unique(np.asarray(labels), return_counts=True)[1]
    weights = _weights(counts)
    totals = weights.sum(axis=-1, keepdims=True)
    if weights.shape[-1] == 0 or not (totals > 0).all():
        raise DataError("A set without rows has no impurity. Give counts of which at least one is positive.")
    shares: npt.NDArray[np.float64] = weights / totals
    return shares


def _weights(counts: npt.ArrayLike | None) -> npt.NDArray[np.float64]:
    """Read nonnegative numbers."""
    weights: npt.NDArray[np.float64] = np.asarray(counts, dtype=np.float64)
    if not weights.ndim or not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError(f"{counts!r} are not counts. Give finite numbers from 0, one for each class.")
    return weights


def _plain(values: npt.NDArray[np.float64]) -> float | npt.NDArray[np.float64]:
    """Return one number as a number."""
    return float(values) if np.ndim(values) == 0 else values
