"""`weald predict`: predict the rows of a file, chunk by chunk."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import arrow, screen
from weald.cli.options import Data, Id, Jobs, Json, ModelFile

if TYPE_CHECKING:
    from weald.data.types import Array
    from weald.estimators.base import TreeModel


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="csv, parquet, feather or JSON lines; default: csv on stdout"),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Add the probability of each class")
    ] = False,
    quantiles: Annotated[
        str | None,
        typer.Option(
            "--quantiles",
            "-q",
            metavar="LEVELS",
            help="Add quantiles of a numeric target, for example 0.1,0.5,0.9; train with --set keep_targets=true",
        ),
    ] = None,
    id: Id = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Predict the rows of a file.

    The file is read, predicted and written in chunks, so it can be larger than memory.
    With --json, predictions without --out are JSON, too.
    """
    from weald.cli.columns import choose
    from weald.cli.failures import BadFile
    from weald.cli.modeling import load_model, quiet_warnings, say_warnings, select_features, types_for
    from weald.cli.reading import read_batches
    from weald.cli.writing import check_place, open_writer

    check_place(out, read=[data, model])
    forest = load_model(model)
    forest.n_jobs = jobs
    levels = read_levels(forest, quantiles)
    n_rows = 0
    printed = screen.JsonRows("predictions") if json and out is None else None
    with quiet_warnings() as said, open_writer(out) if printed is None else nullcontext(printed.write) as write:
        for batch in read_batches(data, ({} if id is None else {id: None}) | types_for(forest)):
            features = select_features(batch, forest, data.name)
            columns = {} if id is None else {id: batch.column(choose(id, batch.schema.names))}
            write(columns | answer(forest, _as_table(features), levels, probabilities=probabilities))
            n_rows += batch.num_rows
        if not n_rows:
            raise BadFile(f"{data.name} has no rows.")
    if printed is not None:
        printed.end({"rows": n_rows, "warnings": said})
    elif json:
        screen.show_json({"rows": n_rows, "out": str(out), "warnings": said})
    else:
        screen.note(f"{n_rows:,} rows predicted" + ("" if out is None else f", written to {out}"))
        say_warnings(said)


def _as_table(batch: arrow.Batch) -> arrow.Table:
    import pyarrow as pa

    return pa.Table.from_batches([batch])


def read_levels(model: "TreeModel", quantiles: str | None) -> dict[str, float]:
    """Read the levels of the quantiles, with the given text as keys."""
    from weald.cli.failures import UserError

    if quantiles is None:
        return {}
    if hasattr(model, "classes_"):
        raise UserError("--quantiles needs a numeric target, but the model predicts classes. Use --probabilities.")
    try:
        levels = {text.strip(): float(text) for text in quantiles.split(",")}
    except ValueError:
        levels = {}
    if not levels or not all(0 <= level <= 1 for level in levels.values()):
        raise UserError(f"--quantiles {quantiles!r} are not numbers between 0 and 1. Give, for example, 0.1,0.5,0.9.")
    if not hasattr(model, "leaf_targets_"):
        raise UserError("The model has no targets for --quantiles. Train it with --set keep_targets=true.")
    return levels


def answer(
    model: "TreeModel", X: arrow.Table, levels: dict[str, float] | None = None, *, probabilities: bool
) -> "dict[str, Array]":
    """Predict some rows; return columns by name."""
    if not hasattr(model, "classes_"):
        numbers = {"prediction": model.predict(X)}
        if levels:
            columns = model.predict_quantiles(X, list(levels.values())).T
            numbers |= {f"quantile_{level}": column for level, column in zip(levels, columns, strict=True)}
        return numbers
    predicted = model.predict_proba(X)
    found = {"prediction": model.classes_[predicted.argmax(axis=1)]}
    if probabilities:
        found |= {f"probability_{label}": predicted[:, k] for k, label in enumerate(model.classes_)}
    return found
