"""`weald explain`: why a model predicts this for a row."""

from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import arrow, screen
from weald.cli.options import Data, Json, ModelFile

if TYPE_CHECKING:
    from weald.data.types import Label
    from weald.estimators.base import TreeModel
    from weald.inspection.row_explanation import ForestRowExplanation


def explain(
    model: ModelFile,
    data: Data,
    row: Annotated[int, typer.Option(metavar="N", help="Row number in the file, from 0")] = 0,
    label: Annotated[
        str | None,
        typer.Option("--class", "-c", metavar="LABEL", help="Class to explain; default: the predicted class"),
    ] = None,
    most: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of features to show")] = 15,
    json: Json = False,
) -> None:
    """Explain the prediction for one row of a file.

    Shows what each feature contributed (SHAP values: average + contributions = prediction), how the row's values
    compare with the file, and the smallest changes of one feature that change the prediction. If the file is the
    training data, also the rows that determine the prediction.
    """
    from weald.cli.failures import UserError
    from weald.cli.modeling import load_model, quiet_warnings, select_features, types_for
    from weald.cli.reading import read_table

    forest = load_model(model)
    chosen = None if label is None else _class_of(forest, label)
    table = read_table(data, types_for(forest))
    X = select_features(table, forest, data.name)
    if not 0 <= row < X.num_rows:
        raise UserError(f"There is no row {row}: {data.name} has rows 0 to {X.num_rows - 1}.")
    with quiet_warnings():
        found = _explain(forest, X, table, row, chosen)
    if json:
        facts = found.to_dict()
        values = {name: X.column(name)[row].as_py() for name in X.column_names}
        facts["contributions"] = [one | {"value": values[one["feature"]]} for one in facts["contributions"]]
        if found.probabilities:
            facts["probability"] = max(found.probabilities.values())
        screen.show_json({"row": row, **facts})
        return
    screen.say(f"row {row}: {found.text(most)}")


def _class_of(model: "TreeModel", label: str) -> "Label":
    """Find a class by its label as text."""
    from weald.cli.columns import choose
    from weald.cli.failures import UserError

    if not hasattr(model, "classes_"):
        raise UserError("--class is for classification, but this model predicts numbers. Leave it out.")
    labels = [str(one) for one in model.classes_]
    return model.classes_.tolist()[labels.index(choose(label, labels, "class"))]


def _explain(
    model: "TreeModel", X: arrow.Table, table: arrow.Table, row: int, label: "Label"
) -> "ForestRowExplanation":
    from weald.data.table import TrainingArguments
    from weald.inspection.row_explanation import explain_one_row

    return explain_one_row(model, X.slice(row, 1), TrainingArguments(X, _training_target(model, X, table)), label=label)


def _training_target(model: "TreeModel", X: arrow.Table, table: arrow.Table) -> object:
    """Return the target if the file is the training data, whose bags can be drawn again; else None."""
    from weald.cli.modeling import read_target, task_of
    from weald.data.table import TrainingArguments
    from weald.estimators.training_data import is_training_data

    name = getattr(model, "target_name_", None)
    has_bags = all(origin.resampling == "bagging" for origin in model.forest_.origins)
    if name is None or name not in table.column_names or not has_bags or table.column(name).null_count:
        return None
    y = read_target(table.column(name), task_of(model))
    return y if is_training_data(model, TrainingArguments(X, y)) else None
