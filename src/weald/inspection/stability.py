"""Stability: how much a model changes with its training data."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from sklearn.base import is_classifier

from weald.data.types import Array, ColumnLike, FloatArray, IntArray, TableLike
from weald.estimators.survival.refusals import refuse_survival
from weald.inspection.resample import Predictor, count_rows, fit_repeatedly, read_target

N_PROBES = 200  # rows whose neighbors in the leaves are compared


@dataclass(frozen=True)
class Stability:
    """Differences between models fitted to different samples of the same data. 0: none."""

    change: float  # how often two models disagree on a row; regression: root mean square difference over that of y
    structure: float  # fraction of row pairs that share a leaf in one model only; NaN without leaves
    changes: FloatArray  # indexed by row: `change` of single rows

    def __repr__(self) -> str:
        return f"<predictions change by {self.change:.4g}, leaves by {self.structure:.4g}>"


def stability(
    estimator: Predictor,
    X: TableLike,
    y: ColumnLike,
    *,
    X_test: TableLike = None,
    n_repeats: int = 20,
    random_state: int = 0,
) -> Stability:
    """Measure how much an estimator changes with its training data.

    Clones are fitted to bootstrap samples of the rows and compared in pairs, on all rows or on `X_test`. The change of
    predictions is the fraction of rows on which two clones disagree; in regression, the root of the mean squared
    difference, in units of the standard deviation of y. The structure is compared by shared leaves: with K(i, j) the
    fraction of trees in which rows i and j share a leaf, it is the sum of abs(K - K') over the sum of K + K', over
    all pairs of at most 200 rows.

    Parameters
    ----------
    estimator : estimator
        Any classifier or regressor with scikit-learn's interface. The structure needs `apply`, which trees and forests
        have.
    X, y : the training data
    X_test : rows to compare the clones on, optional
    n_repeats : int, default=20
        Number of samples.
    random_state : int, default=0
        Seed of the samples and of the `random_state` of each clone.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = weald.stability(weald.DecisionTreeClassifier(), X, y)
    >>> forest = weald.stability(weald.RandomForestClassifier(50), X, y)
    >>> forest.change < tree.change
    True
    """
    refuse_survival(estimator, "weald.stability", "Use `score` and `brier_score` on test rows.")
    target = read_target(y, X)
    rows = X if X_test is None else X_test
    n_rows = count_rows(rows)
    probes = np.linspace(0, n_rows - 1, min(N_PROBES, n_rows)).astype(np.int64)
    predictions: list[Array] = []
    together: list[FloatArray] = []
    for model, _ in fit_repeatedly(estimator, X, target, n_repeats, random_state):
        predictions.append(np.asarray(model.predict(rows)))
        if hasattr(model, "apply"):
            together.append(_find_same_leaf(np.asarray(model.apply(rows)), probes))
    pairs = list(combinations(range(n_repeats), 2))
    changes: FloatArray = np.zeros(n_rows)
    for i, j in pairs:
        changes += (
            (predictions[i] != predictions[j]) if is_classifier(estimator) else (predictions[i] - predictions[j]) ** 2
        )
    changes = changes / len(pairs)
    change = float(changes.mean())
    if not is_classifier(estimator):
        spread = float(np.std(target)) or 1.0
        change, changes = float(np.sqrt(change)) / spread, np.sqrt(changes) / spread
    distances = [_distance(together[i], together[j]) for i, j in pairs] if together else [np.nan]
    return Stability(change, float(np.mean(distances)), changes)


def _find_same_leaf(leaves: IntArray, probes: IntArray) -> FloatArray:
    """Fraction of trees in which two rows share a leaf, for all pairs of the probes."""
    of_probes = leaves.reshape(len(leaves), -1)[probes]
    shared = np.zeros((len(probes), len(probes)))
    for leaf in of_probes.T:
        shared += leaf[:, None] == leaf[None, :]
    upper = np.triu_indices(len(probes), 1)
    pairs: FloatArray = shared[upper] / of_probes.shape[1]
    return pairs


def _distance(one: FloatArray, two: FloatArray) -> float:
    total = float((one + two).sum())
    return float(np.abs(one - two).sum()) / total if total else 0.0
