"""`weald predict`: predict the rows of a file, chunk by chunk."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import arrow, screen
from weald.cli.options import Data, Id, Jobs, Json, ModelFile

if TYPE_CHECKING:
    from weald.data.types import Array, BoolArray
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
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval",
            metavar="COVERAGE",
            help="Add the ends of an interval for a numeric target, for example 0.9, or with a method 0.9,cqr; train "
            "with --set keep_errors=true",
        ),
    ] = None,
    set_: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="COVERAGE",
            help="Add a set of classes, for example 0.9, or with a method 0.9,aps; train with --set keep_errors=true",
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
    more = More(read_levels(forest, quantiles), *read_coverage(forest, interval, set_))
    n_rows = 0
    printed = screen.JsonRows("predictions") if json and out is None else None
    with quiet_warnings() as warned, open_writer(out) if printed is None else nullcontext(printed.write) as write:
        for batch in read_batches(data, ({} if id is None else {id: None}) | types_for(forest)):
            features = select_features(batch, forest, data.name)
            columns = {} if id is None else {id: batch.column(choose(id, batch.schema.names))}
            write(columns | answer(forest, _as_table(features), more, first=n_rows, probabilities=probabilities))
            n_rows += batch.num_rows
        if not n_rows:
            raise BadFile(f"{data.name} has no rows.")
    if printed is not None:
        printed.end({"rows": n_rows, "warnings": warned})
    elif json:
        screen.show_json({"rows": n_rows, "out": str(out), "warnings": warned})
    else:
        screen.note(f"{n_rows:,} rows predicted" + ("" if out is None else f", written to {out}"))
        say_warnings(warned)


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


@dataclass(frozen=True)
class More:
    """The requested outputs besides the prediction."""

    levels: dict[str, float] = field(default_factory=dict)  # quantile levels, by column name
    coverage: float | None = None  # coverage of intervals or sets
    method: str | None = None


def read_coverage(model: "TreeModel", interval: str | None, set_: str | None) -> tuple[float | None, str | None]:
    """Read the coverage of intervals or sets, and their method."""
    from weald.cli.failures import UserError

    is_classes = hasattr(model, "classes_")
    if interval is not None and is_classes:
        raise UserError("--interval needs a numeric target, but the model predicts classes. Use --set.")
    if set_ is not None and not is_classes:
        raise UserError("--set needs a target of classes, but the model predicts numbers. Use --interval.")
    option, given, example = ("--set", set_, "aps") if is_classes else ("--interval", interval, "cqr")
    if given is None:
        return None, None
    text, _, method = given.partition(",")
    try:
        coverage = float(text)
    except ValueError:
        coverage = 0.0
    if not 0 < coverage < 1:
        raise UserError(
            f"{option} {given!r} is not a number between 0 and 1. Give, for example, 0.9, or with a method "
            f"0.9,{example}."
        )
    if not hasattr(model, "kept_errors_"):
        raise UserError(f"The model has no errors for {option}. Train it with --set keep_errors=true.")
    return coverage, method.strip() or None


def answer(
    model: "TreeModel", X: arrow.Table, more: More | None = None, *, first: int = 0, probabilities: bool
) -> "dict[str, Array]":
    """Predict some rows; return columns by name. `first`: how many rows of the file were predicted before."""
    from weald.uncertainty.prediction_sets import predict_set

    more = more or More()
    if not hasattr(model, "classes_"):
        return _numbers(model, X, more)
    predicted = model.predict_proba(X)
    found = {"prediction": model.classes_[predicted.argmax(axis=1)]}
    if probabilities:
        found |= {f"probability_{label}": predicted[:, k] for k, label in enumerate(model.classes_)}
    if more.coverage is not None:
        sets = predict_set(model, X, more.coverage, more.method or "lac", first=first)
        found["set"] = write_sets(sets, model.classes_)
    return found


def _numbers(model: "TreeModel", X: arrow.Table, more: More) -> "dict[str, Array]":
    numbers = {"prediction": model.predict(X)}
    if more.levels:
        columns = model.predict_quantiles(X, list(more.levels.values())).T
        numbers |= {f"quantile_{level}": column for level, column in zip(more.levels, columns, strict=True)}
    if more.coverage is not None:
        low, high = model.predict_interval(X, more.coverage, method=more.method).T
        numbers |= {"lower": low, "upper": high}
    return numbers


def write_sets(sets: "BoolArray", classes: "Array") -> "Array":
    """Write each set as its classes in one text, with | between them."""
    import numpy as np

    labels = [str(label) for label in classes]
    patterns, which = np.unique(sets, axis=0, return_inverse=True)
    texts = ["|".join(label for label, is_in in zip(labels, row, strict=True) if is_in) for row in patterns.tolist()]
    written: Array = np.array(texts, dtype=object)[which.reshape(-1)]
    return written
