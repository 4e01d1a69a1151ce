"""The errors of a fitted model from which prediction intervals and sets are computed.

attach_errors    stores the errors of the training data, passed again, or of held-out rows
errors_of        returns the errors that a model stores
"""

from typing import TYPE_CHECKING, TypeVar

from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import FLAG, check_argument
from weald.data.table import TrainingArguments
from weald.errors import DataError, ParameterError
from weald.estimators.calibration.kept_errors import (
    ClassificationErrors,
    KeptErrors,
    TableOfRows,
    keep_errors,
    of_new_rows,
)
from weald.estimators.multi_output import is_multi_output, one_target_only
from weald.estimators.out_of_bag import estimate_out_of_bag
from weald.estimators.prediction import voting_of
from weald.estimators.training_data import TrainingData, is_training_data, read_again, read_new_rows

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

Model = TypeVar("Model", bound="TreeModel")


def attach_errors(model: Model, data: TrainingArguments, *, held_out: bool) -> Model:
    """Store the errors of rows in the model; see `TreeModel.attach_errors`."""
    check_is_fitted(model)
    check_argument("held_out", held_out, (FLAG,))
    if is_multi_output(model):
        raise one_target_only(model.n_outputs_)
    if held_out:
        _require_new(model, data)
        rows = read_new_rows(model, data)
        model.kept_errors_ = of_new_rows(_table_of(model, rows), rows.averages(rows.reading.table.X))
        return model
    if not hasattr(model, "out_of_bag"):
        raise ParameterError(
            "A single tree has no out-of-bag rows. Give rows that it has not seen: attach_errors(X, y, held_out=True)."
        )
    try:
        training = read_again(model, data)
    except (DataError, ParameterError) as error:
        more = " To keep the errors of rows that the trees have not seen, pass held_out=True."
        raise type(error)(f"{error}{more}") from error
    found = estimate_out_of_bag(training.bagged(), training.reading)
    model.kept_errors_ = keep_errors(_table_of(model, training), found, training.reading.kept)
    return model


def errors_of(model: "TreeModel") -> KeptErrors:
    """Return the errors that a model stores, or raise an error that explains how to store them."""
    check_is_fitted(model)
    if is_multi_output(model):
        raise one_target_only(model.n_outputs_)
    errors: KeptErrors | None = vars(model).get("kept_errors_")
    if errors is None or errors.forest is not model.forest_:
        first = "Fit with keep_errors=True, or call" if "keep_errors" in model.get_params(deep=False) else "Call"
        more = "" if "keep_errors" in model.get_params(deep=False) else ", with rows that it has not seen"
        how = "X, y" if "keep_errors" in model.get_params(deep=False) else "X, y, held_out=True"
        raise ParameterError(
            "This model does not have the errors of predictions, from which intervals and sets are computed. "
            f"{first} model.attach_errors({how}){more or ' with the training data'}."
        )
    if isinstance(errors, ClassificationErrors) and errors.voting != voting_of(model):
        again = "X, y, held_out=True" if errors.is_held_out else "X, y"
        raise ParameterError(
            f"The errors of this model were computed with voting={errors.voting!r}, but voting is {voting_of(model)!r} "
            f"now. Set it back, or call model.attach_errors({again})."
        )
    return errors


def _table_of(model: "TreeModel", rows: TrainingData) -> TableOfRows:
    targets = vars(model).get("leaf_targets_")
    keeps_leaves = targets is not None and targets.forest is model.forest_
    return TableOfRows(
        *(rows.engine, rows.codes, rows.reading.table, model.growth_, model.forest_, model.seed_),
        *(rows.n_threads, keeps_leaves, voting_of(model)),
    )


def _require_new(model: "TreeModel", data: TrainingArguments) -> None:
    if data.X is None:
        raise DataError("attach_errors needs rows that the trees have not seen. Give X and y.")
    if is_training_data(model, data):
        raise DataError(
            "These are the rows that the trees were grown from, and their errors are too small. Leave out "
            "held_out=True to keep out-of-bag errors, or give rows that the trees have not seen."
        )
