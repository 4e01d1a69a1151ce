"""Calibration of fitted models.

calibrated    a fitted classifier and labeled rows  ->  a copy that predicts calibrated probabilities
"""

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import FLAG, NOTHING, OneOf, check_argument
from weald.data.table import TrainingArguments
from weald.errors import DataError, ParameterError
from weald.estimators.calibration.calibrator import METHODS, Calibrator, uncalibrated
from weald.estimators.multi_output import is_multi_output, one_target_only
from weald.estimators.out_of_bag import estimate_out_of_bag
from weald.estimators.prediction import voting_of
from weald.estimators.training_data import is_training_data, open_bags, read_new_rows

if TYPE_CHECKING:
    from weald.estimators.tasks import TreeClassifier

Classifier = TypeVar("Classifier", bound="TreeClassifier")


def calibrated(model: Classifier, method: str | None, data: TrainingArguments, *, held_out: bool) -> Classifier:
    """Copy a model with calibrated probabilities; see `TreeClassifier.calibrated`."""
    check_is_fitted(model)
    check_argument("method", method, (OneOf(tuple(METHODS)), NOTHING))
    check_argument("held_out", held_out, (FLAG,))
    if is_multi_output(model):
        raise one_target_only(model.n_outputs_)
    made = copy.copy(uncalibrated(model))
    if method is not None:
        _require_rows(data, method)
        found = _from_held_out(model, method, data) if held_out else _from_out_of_bag(model, method, data)
        made.calibrator_ = replace(found, voting=voting_of(model))
    if "calibrate" in made.get_params(deep=False):
        # The parameter `calibrate` means out-of-bag rows, so it cannot describe held-out ones
        made.__dict__["calibrate"] = None if held_out else method
    return made


def _require_rows(data: TrainingArguments, method: str) -> None:
    if data.X is None:
        raise DataError(
            f"calibrated({method!r}) needs rows: give the training data again, X and y, or rows that the trees have "
            "not seen with held_out=True."
        )


def _from_out_of_bag(model: "TreeClassifier", method: str, data: TrainingArguments) -> Calibrator:
    """Fit to the out-of-bag predictions for the training data."""
    if not hasattr(model, "out_of_bag"):
        raise ParameterError(
            "A single tree has no out-of-bag rows. Give rows that it has not seen: calibrated(method, X, y, "
            "held_out=True)."
        )
    try:
        bagged, reading = open_bags(model, data)
    except DataError as error:
        raise DataError(f"{error} To calibrate on rows that the trees have not seen, pass held_out=True.") from error
    return estimate_out_of_bag(bagged, reading).calibrator(method)


def _from_held_out(model: "TreeClassifier", method: str, data: TrainingArguments) -> Calibrator:
    """Fit to predictions for rows that no tree has seen."""
    rows = read_new_rows(model, data)
    if rows.n_rows == getattr(model, "n_samples_fit_", rows.n_rows) and is_training_data(model, data):
        raise DataError(
            "These are the rows that the trees were grown from, and their predictions are too confident. Leave out "
            "held_out=True to calibrate on out-of-bag predictions, or give rows that the trees have not seen."
        )
    table = rows.reading.table
    return Calibrator.fit(method, rows.averages(table.X), table.target, rows.weight)
