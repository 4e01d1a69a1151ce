"""`weald cv`: cross-validation."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import screen
from weald.cli.options import ColumnOptions, Data, FitOptions, Json, Target, Without, expand_groups
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.cli.modeling import LabeledRows
    from weald.data.types import IntArray
    from weald.estimators.base import TreeModel


@expand_groups
def cv(
    data: Data,
    target: Target,
    folds: Annotated[int, typer.Option("--folds", "-k", metavar="N", help="Number of folds")] = 5,
    *,
    columns: Annotated[ColumnOptions, Without("weight")],
    fit: Annotated[FitOptions, Without("max_depth", "min_samples_leaf", "max_features")],
    json: Json = False,
) -> None:
    """Evaluate a model by cross-validation.

    Each fold is predicted by a model trained on the other folds.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    from weald.cli.failures import UserError
    from weald.cli.modeling import make_model, quiet_warnings, read_rows, say_warnings
    from weald.data.task import Task
    from weald.reports.metrics import UNITS_OF_TARGET

    if folds < 2:
        raise UserError(f"--folds {folds} is not enough. Give 2 or more.")
    plan, rows = read_rows(data, target, columns)
    estimator = make_model(plan.task, fit)
    divide = StratifiedKFold if plan.task is Task.CLASSIFICATION else KFold
    parts = divide(folds, shuffle=True, random_state=fit.seed)
    began = time.perf_counter()
    with quiet_warnings() as warned:
        try:
            scores = [_one(estimator, rows, a, b) for a, b in parts.split(rows.y, rows.y)]
        except ValueError as error:
            raise UserError(f"--folds {folds} is not possible: {error}") from error
    facts: Facts = {"task": plan.task, "rows": len(rows.y), "folds": folds, "scores": scores, "warnings": warned}
    facts |= {"means": _means(scores), "seconds": time.perf_counter() - began}
    if json:
        screen.show_json(facts)
        return
    names = list(scores[0])
    write = {n: screen.number if n in UNITS_OF_TARGET else screen.probability for n in names}
    lines = [[str(i + 1), *(write[n](score[n]) for n in names)] for i, score in enumerate(scores)]
    lines.append(["mean", *(write[n](facts["means"][n]["mean"]) for n in names)])
    lines.append(["± std. error", *(write[n](facts["means"][n]["std_error"]) for n in names)])
    screen.show_table(["fold", *names], lines, numeric=range(1, len(names) + 1))
    screen.say(f"\n±: standard error of the mean over {folds} folds, the standard deviation / √{folds}")
    say_warnings(warned)


def _one(estimator: "TreeModel", rows: "LabeledRows", train: "IntArray", test: "IntArray") -> dict[str, float]:
    from sklearn.base import clone

    from weald.reports.metrics import compute_scores
    from weald.reports.predictions import held_out

    model = clone(estimator).fit(rows.X.take(train), rows.y[train])
    return {score.name: score.value for score in compute_scores(held_out(model, rows.X.take(test), rows.y[test]))}


def _means(scores: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    import numpy as np

    values = {name: np.array([score[name] for score in scores]) for name in scores[0]}
    return {
        name: {"mean": float(v.mean()), "std_error": float(v.std(ddof=1) / np.sqrt(len(v)))}
        for name, v in values.items()
    }
