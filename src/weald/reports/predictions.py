"""Predictions for rows that the trees have not seen, with the true values.

Predictions    predicted and true values
out_of_bag     the out-of-bag predictions of a forest
held_out       predictions for test rows
"""

from dataclasses import dataclass

import numpy as np

from weald.data.types import Array, ColumnLike, FloatArray, IntArray, TableLike
from weald.errors import DataError
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import calibrator_of
from weald.estimators.out_of_bag import OutOfBag


@dataclass(frozen=True)
class Predictions:
    """Predicted and true values, row by row."""

    source: str  # description: "out of bag" or "held out"
    truth: Array  # class numbers, or numbers
    predicted: FloatArray  # class probabilities (rows x classes), or means
    weight: FloatArray
    row: IntArray  # row number in the user's table
    is_whole: bool  # weights are copies of rows
    n_unknown: int = 0  # rows without a prediction

    @property
    def n_effective(self) -> float:
        """Effective sample size (Kish); whole weights count as copies of rows."""
        total = float(self.weight.sum())
        return total if self.is_whole else total**2 / float((self.weight**2).sum())

    @property
    def winners(self) -> IntArray:
        """The class with the largest probability, ties to the first."""
        winners: IntArray = self.predicted.argmax(axis=1)
        return winners


def out_of_bag(found: OutOfBag | None, model: TreeModel) -> Predictions | None:
    """Return the out-of-bag predictions; None without the training data.

    Probabilities of a calibrated model are calibrated with other rows.
    """
    if found is None:
        return None
    truth, weight = found._truth, found._weight  # noqa: SLF001  (a pickle leaves them out)
    if truth is None or weight is None or not found.mask.any():
        return None
    seen = found.mask & (weight > 0)
    calibrator = calibrator_of(model)
    predicted = found.predictions if found.classes is None else found.probabilities
    if calibrator is not None:
        predicted = found.calibrated_probabilities(calibrator.method)
    return Predictions(
        source="out of bag",
        truth=truth[seen],
        predicted=np.asarray(predicted)[seen],
        weight=weight[seen],
        row=np.flatnonzero(seen),
        is_whole=bool((weight[seen] % 1 == 0).all()),
        n_unknown=int((~found.mask & (weight > 0)).sum()),
    )


def held_out(model: TreeModel, X: TableLike, y: ColumnLike) -> Predictions:
    """Predict test rows."""
    truth = np.asarray(y)
    if truth.ndim != 1:
        raise DataError(f"y_test has {truth.ndim} dimensions. Give one value for each row of X_test.")
    classes = getattr(model, "classes_", None)
    predicted = model.predict(X) if classes is None else model.predict_proba(X)
    if len(truth) != len(predicted):
        raise DataError(f"y_test has {len(truth)} values, but X_test has {len(predicted)} rows. Give one for each row.")
    if classes is None:
        truth = truth.astype(np.float64)
        if not np.isfinite(truth).all():
            raise DataError("y_test has values that are missing or infinite. Leave those rows out.")
    else:
        number_of = {label: k for k, label in enumerate(classes.tolist())}
        strange = [label for label in truth.tolist() if label not in number_of]
        if strange:
            raise DataError(
                f"y_test has the class {strange[0]!r}, which the forest does not know. Leave such rows out."
            )
        truth = np.array([number_of[label] for label in truth.tolist()])
    rows = np.arange(len(truth))
    return Predictions(
        "held out", truth, np.asarray(predicted, dtype=np.float64), np.ones(len(truth)), rows, is_whole=True
    )
