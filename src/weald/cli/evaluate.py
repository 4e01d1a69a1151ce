"""`weald evaluate`: metrics of a model on a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import arrow, screen
from weald.cli.options import Data, Jobs, Json, KnownTarget, ModelFile
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.data.types import Array, FloatArray
    from weald.estimators.base import TreeModel

SEEN = "The model was trained on these rows; its metrics on new rows will be worse."
OUT_OF_BAG = " 'weald report' with the same file shows out-of-bag metrics."
FEW_CLASSES = 12  # maximum number of classes whose confusion matrix fits a terminal


def evaluate(
    model: ModelFile,
    data: Data,
    target: KnownTarget = None,
    coverage: Annotated[
        float, typer.Option(help="Coverage of intervals or sets, of a model trained with --set keep_errors=true")
    ] = 0.9,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Compute metrics of a model on the rows of a file."""
    from weald.cli.failures import UserError
    from weald.cli.modeling import load_model, quiet_warnings, say_warnings
    from weald.data.table import TrainingArguments
    from weald.estimators.metrics import confusion
    from weald.estimators.training_data import is_training_data
    from weald.reports.metrics import compute_scores
    from weald.reports.predictions import held_out

    forest = load_model(model)
    forest.n_jobs = jobs
    if not 0 < coverage < 1:
        raise UserError(f"--coverage {coverage:g} is not between 0 and 1. Give, for example, 0.9.")
    X, y, n_dropped = read_labeled(forest, data, target)
    with quiet_warnings() as warned:
        predictions = held_out(forest, X, y)
    with quiet_warnings():  # warnings about these rows have been shown
        is_training = is_training_data(forest, TrainingArguments(X, y))
    if is_training:
        has_bags = all(o.bags.bootstrap and o.resampling == "bagging" for o in forest.forest_.origins)
        warned.append(SEEN + (OUT_OF_BAG if has_bags else ""))
    metrics = [
        {"rows": "file", "metric": s.name, "value": s.value, "low": s.low, "high": s.high}
        for s in compute_scores(predictions)
    ]
    facts: Facts = {"rows": len(y), "rows_without_target": n_dropped, "metrics": metrics, "warnings": warned}
    facts["target"] = target_of(forest, target)
    facts["training_rows"] = is_training
    if hasattr(forest, "kept_errors_") and not is_training:
        facts["coverage"] = cover(forest, X, predictions.truth, coverage)
    if hasattr(forest, "classes_"):
        n_classes = len(forest.classes_)
        facts["classes"] = forest.classes_.tolist()
        facts["confusion"] = confusion(predictions.truth, predictions.winners, n_classes, predictions.weight, None)
    if json:
        screen.show_json(facts)
        return
    _show(facts)
    say_warnings(warned)


def cover(model: "TreeModel", X: arrow.Table, truth: "Array", coverage: float) -> Facts:
    """Count how many targets are in their intervals, or in their sets."""
    import numpy as np

    if hasattr(model, "classes_"):
        sets = model.predict_set(X, coverage)
        found, size = sets[np.arange(len(truth)), truth], sets.sum(axis=1)
        return {"asked": coverage, "found": float(found.mean()), "classes": float(size.mean())}
    low, high = model.predict_interval(X, coverage).T
    found = (low <= truth) & (truth <= high)
    return {"asked": coverage, "found": float(found.mean()), "width": float(np.mean(high - low))}


def target_of(model: "TreeModel", given: str | None) -> str:
    """Return the name of the target: the given one, or that of the training data."""
    from weald.cli.failures import UserError

    name = given or getattr(model, "target_name_", None)
    if name is None:
        raise UserError("This model was saved without the name of its target. Give it with --target.")
    return str(name)


def read_labeled(model: "TreeModel", data: Path, target: str | None) -> "tuple[arrow.Table, Array, int]":
    """Read a file for a saved model: its features, the target, and the number of rows without a target."""
    from weald.cli.modeling import read_target, select_features, task_of

    table, name, n_dropped = _read_known(model, data, target)
    return select_features(table, model, data.name), read_target(table.column(name), task_of(model)), n_dropped


def read_weighted(
    model: "TreeModel", data: Path, target: str | None, weight: str | None
) -> "tuple[arrow.Table, Array, FloatArray | None]":
    """Read the training data of a saved model: its features, the target, and the weights if a column is given."""
    from weald.cli.columns import choose
    from weald.cli.modeling import read_target, read_weights, select_features, task_of

    table, name, _ = _read_known(model, data, target)
    weights = None if weight is None else read_weights(table.column(choose(weight, table.column_names)), weight)
    return select_features(table, model, data.name), read_target(table.column(name), task_of(model)), weights


def _read_known(model: "TreeModel", data: Path, target: str | None) -> "tuple[arrow.Table, str, int]":
    """Read the rows of a file that have a target, the name of the target, and the number of other rows."""
    import pyarrow.compute as pc

    from weald.cli.columns import choose, refuse_duplicates
    from weald.cli.failures import BadFile
    from weald.cli.modeling import types_for
    from weald.cli.reading import read_table

    table = read_table(data, types_for(model))
    refuse_duplicates(table.column_names, data.name)
    name = target_of(model, target)
    choose(name, table.column_names)
    known = pc.is_valid(table.column(name))
    n_dropped = table.num_rows - int(pc.sum(known).as_py() or 0)
    table = table.filter(known) if n_dropped else table
    if not table.num_rows:
        raise BadFile(f"The target {name!r} has no values in {data.name}.")
    return table, name, n_dropped


def _show(facts: Facts) -> None:
    from weald.cli.train import show_metrics

    dropped = f", {facts['rows_without_target']:,} without a target skipped" if facts["rows_without_target"] else ""
    screen.say(f"{facts['rows']:,} rows{dropped}; target {facts['target']!r}\n")
    show_metrics(facts["metrics"])
    if covering := facts.get("coverage"):
        size = f"mean width {covering['width']:.4g}" if "width" in covering else f"{covering['classes']:.2f} classes"
        kind = "intervals" if "width" in covering else "sets"
        screen.say(f"\n{100 * covering['asked']:g} % {kind} contain {100 * covering['found']:.1f} %; {size}")
    if 0 < len(facts.get("classes", [])) <= FEW_CLASSES:
        screen.say("\nconfusion matrix (rows: true class, columns: predicted class):")
        counts = [[screen.number(n, 6) for n in row] for row in facts["confusion"].tolist()]
        rows = [[label, *row] for label, row in zip(facts["classes"], counts, strict=True)]
        screen.show_table(["", *map(str, facts["classes"])], rows, numeric=range(1, len(rows) + 1))
    elif facts.get("classes"):
        screen.say("\nrecall of each class (--json has the confusion matrix):")
        rows = [_recall(facts["classes"], facts["confusion"], k) for k in range(len(facts["classes"]))]
        screen.show_table(["class", "rows", "recall", "most often predicted as"], rows, numeric=[1, 2])


def _recall(classes: list[object], counts: "Array", k: int) -> list[object]:
    """Summarize a row of the confusion matrix: recall, and the most common wrong class."""
    row = counts[k]
    wrong = [0 if j == k else n for j, n in enumerate(row.tolist())]
    worst = max(range(len(wrong)), key=wrong.__getitem__)
    recall = f"{row[k] / row.sum():.3f}" if row.sum() else ""
    return [classes[k], f"{row.sum():,.0f}", recall, f"{classes[worst]} ({wrong[worst]:,.0f})" if wrong[worst] else ""]
