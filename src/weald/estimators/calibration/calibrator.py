"""Calibration of the probabilities of all classes.

Calibrator              one map for each class; with two classes, only for the second
METHODS                 the kinds of maps
calibrate_by_folds      calibrates each fold of the rows with the other folds
calibrator_of           the calibration of a fitted model
uncalibrated            removes the calibration from a model
require_uncalibrated    raises an error for a calibrated model

With more than two classes, each class is calibrated against all others, and the results are divided by their sum.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, TypeAlias, TypeVar

import numpy as np

from weald.data.types import FloatArray, IntArray
from weald.errors import ParameterError
from weald.estimators.calibration.isotonic import Isotonic
from weald.estimators.calibration.logistic import Beta, Sigmoid
from weald.estimators.calibration.outcomes import Outcomes, count
from weald.estimators.calibration.venn_abers import VennAbers

Model = TypeVar("Model")
Map: TypeAlias = Isotonic | Sigmoid | Beta | VennAbers
METHODS: dict[str, Callable[[Outcomes], Map]] = {
    "isotonic": Isotonic.fit,
    "sigmoid": Sigmoid.fit,
    "beta": Beta.fit,
    "venn-abers": VennAbers.fit,
}


@dataclass(frozen=True, eq=False, repr=False)
class Calibrator:
    """Maps the class probabilities of a forest to calibrated ones.

    Attributes
    ----------
    method : {"isotonic", "sigmoid", "beta", "venn-abers"}
        The calibration method.
    maps : tuple
        A calibration function for each class; with two classes, only for the second. Empty for a single class.
    voting : {"soft", "hard"}
        The voting of the forest when the maps were fitted.
    """

    method: str
    maps: tuple[Map, ...]
    voting: str = "soft"

    @classmethod
    def fit(cls, method: str, probabilities: FloatArray, truth: IntArray, weight: FloatArray) -> Self:
        """Fit to probabilities (rows x classes) of rows that the trees have not seen, their classes and weights."""
        fit_map = METHODS[method]
        n_classes = probabilities.shape[1]
        calibrated = range(n_classes) if n_classes > 2 else range(1, n_classes)
        return cls(method, tuple(fit_map(count(probabilities[:, k], truth == k, weight)) for k in calibrated))

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Calibrate probabilities (rows x classes)."""
        if not self.maps:
            return probabilities
        if len(self.maps) == 1:
            second = self.maps[0](probabilities[:, 1])
            return np.column_stack([1.0 - second, second])
        mapped = [function(probabilities[:, k]) for k, function in enumerate(self.maps)]
        total = np.zeros(len(probabilities))
        for of_class in mapped:  # in the order of the classes
            total = total + of_class
        is_zero = total == 0
        divisor = np.where(is_zero, 1.0, total)
        calibrated: FloatArray = np.column_stack([of_class / divisor for of_class in mapped])
        calibrated[is_zero] = 1.0 / len(mapped)
        return calibrated

    def __repr__(self) -> str:
        return f"<{self.method} calibration, {len(self.maps)} map{'s' if len(self.maps) != 1 else ''}>"


def calibrate_by_folds(
    method: str, probabilities: FloatArray, outcomes: tuple[IntArray, FloatArray], n_folds: int
) -> FloatArray:
    """Calibrate each fold of the rows with the other folds; `outcomes` are their classes and weights.

    A fold has every n-th row in order of probability, class and weight, so that the order of the table does not matter.
    """
    truth, weight = outcomes
    fold = np.empty(len(truth), dtype=np.int64)
    order = np.lexsort([weight, truth, *(probabilities[:, k] for k in range(probabilities.shape[1]))])
    fold[order] = np.arange(len(truth)) % n_folds
    found = np.empty(probabilities.shape)
    for k in range(n_folds):
        out = fold == k
        found[out] = Calibrator.fit(method, probabilities[~out], truth[~out], weight[~out])(probabilities[out])
    return found


def calibrator_of(model: object) -> Calibrator | None:
    """Return the calibration of a fitted model; None if it is not calibrated."""
    found: Calibrator | None = vars(model).get("calibrator_")
    voting = getattr(model, "voting", "soft")
    if found is not None and found.voting != voting:
        raise ParameterError(
            f"This model was calibrated with voting={found.voting!r}, but voting is {voting!r} now. Set it back, or "
            f"calibrate again: model.calibrated({found.method!r}, X, y)."
        )
    return found


def uncalibrated(model: Model) -> Model:
    """Return the model without calibration: itself, or a copy."""
    if "calibrator_" not in vars(model):
        return model
    plain = copy.copy(model)
    del plain.__dict__["calibrator_"]
    return plain


def require_uncalibrated(model: object, what: str) -> None:
    """Raise an error for a calibrated model where only the trees would be used."""
    if calibrator_of(model) is not None:
        raise ParameterError(
            f"{what} would lose the calibration of this model, and so change its probabilities. Use "
            "model.calibrated(None) instead, a copy that predicts the probabilities of the trees. The new model can be "
            "calibrated: model.calibrated(method, X, y)."
        )
