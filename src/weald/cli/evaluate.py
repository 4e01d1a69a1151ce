"""`weald evaluate`: how good is a model on a file?"""

from pathlib import Path
from typing import TYPE_CHECKING

from weald.cli import arrow, screen
from weald.cli.options import Data, Jobs, Json, ModelFile, Target
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.data.types import Array
    from weald.estimators.base import TreeModel

SEEN = "These are the rows that the model was trained on, which it knows by heart: on new rows it will be worse."
OUT_OF_BAG = " 'weald report' with the same file judges it out of bag."


def evaluate(model: ModelFile, data: Data, target: Target, jobs: Jobs = None, json: Json = False) -> None:
    """Judge a model by the rows of a file that it has not seen."""
    from weald.cli.modeling import load_model, quiet_warnings, say_warnings
    from weald.estimators.metrics import confusion
    from weald.reports.metrics import judge
    from weald.reports.predictions import held_out

    forest = load_model(model)
    forest.n_jobs = jobs
    X, y, n_dropped = read_labeled(forest, data, target)
    with quiet_warnings() as said:
        predictions = held_out(forest, X, y)
    with quiet_warnings():  # of reading the same rows again
        is_training = _is_training_data(forest, X, y)
    if is_training:
        has_bags = all(o.bags.bootstrap and o.resampling == "bagging" for o in forest.forest_.origins)
        said.append(SEEN + (OUT_OF_BAG if has_bags else ""))
    metrics = [
        {"rows": "file", "metric": s.name, "value": s.value, "low": s.low, "high": s.high} for s in judge(predictions)
    ]
    facts: Facts = {"rows": len(y), "rows_without_target": n_dropped, "metrics": metrics, "warnings": said}
    facts["training_rows"] = is_training
    if hasattr(forest, "classes_"):
        n_classes = len(forest.classes_)
        facts["classes"] = forest.classes_.tolist()
        facts["confusion"] = confusion(predictions.truth, predictions.winners, n_classes, predictions.weight, None)
    if json:
        screen.show_json(facts)
        return
    _show(facts)
    say_warnings(said)


def read_labeled(model: "TreeModel", data: Path, target: str) -> "tuple[arrow.Table, Array, int]":
    """Read a file for a model that is there: its features, the target, and how many rows lack one."""
    import pyarrow.compute as pc

    from weald.cli.columns import choose, refuse_duplicates
    from weald.cli.failures import BadFile
    from weald.cli.modeling import read_target, select_features, task_of, types_for
    from weald.cli.reading import read_table

    table = read_table(data, types_for(model))
    refuse_duplicates(table.column_names, data.name)
    choose(target, table.column_names)
    known = pc.is_valid(table.column(target))
    n_dropped = table.num_rows - int(pc.sum(known).as_py() or 0)
    table = table.filter(known) if n_dropped else table
    if not table.num_rows:
        raise BadFile(f"The target {target!r} has no values in {data.name}.")
    return select_features(table, model, data.name), read_target(table.column(target), task_of(model)), n_dropped


def _is_training_data(model: "TreeModel", X: arrow.Table, y: "Array") -> bool:
    """Compare rows with the fingerprints of the training data, which a model keeps."""
    from weald.data.table import TrainingArguments
    from weald.errors import DataError
    from weald.estimators.training_data import read_training_data

    try:
        read_training_data(model, TrainingArguments(X, y))
    except DataError:
        return False
    return True


def _show(facts: Facts) -> None:
    from weald.cli.train import show_metrics

    screen.say(f"{facts['rows']:,} rows\n")
    show_metrics(facts["metrics"])
    if 0 < len(facts.get("classes", [])) <= 12:
        screen.say("\nconfusion matrix (rows: true class, columns: predicted class):")
        rows = [[label, *row] for label, row in zip(facts["classes"], facts["confusion"].tolist(), strict=True)]
        screen.show_table(["", *map(str, facts["classes"])], rows, numeric=range(1, len(rows) + 1))
