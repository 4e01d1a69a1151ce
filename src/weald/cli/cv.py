"""`weald cv`: cross-validation."""

import time
from typing import Annotated, Any

import typer

from weald.cli import options, screen
from weald.cli.options import Categorical, Data, Exclude, Id, Json, Seed, Settings, Target, Task, Trees


def cv(
    data: Data,
    target: Target,
    folds: Annotated[int, typer.Option("--folds", "-k", help="Number of parts")] = 5,
    task: Task = None,
    exclude: Exclude = None,
    id: Id = None,
    categorical: Categorical = None,
    model: options.Model = "forest",
    trees: Trees = None,
    settings: Settings = None,
    seed: Seed = 0,
    jobs: options.Jobs = None,
    json: Json = False,
) -> None:
    """Judge a way to train by cross-validation.

    Each part of the rows is judged by a model grown from the others.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    from weald.cli.failures import UserError
    from weald.cli.modeling import make_model, quiet_warnings, read_value

    if folds < 2:
        raise UserError(f"--folds {folds} is not enough. Give 2 or more.")
    plan, rows = read_for(data, target, task, exclude, id, None, categorical)
    given = {"n_estimators": None if trees is None else read_value(trees), "random_state": seed, "n_jobs": jobs}
    estimator = make_model(model, plan.task, settings or [], given)
    parts = (StratifiedKFold if plan.task == "classification" else KFold)(folds, shuffle=True, random_state=seed)
    began = time.perf_counter()
    with quiet_warnings() as said:
        try:
            scores = [_one(estimator, rows, a, b) for a, b in parts.split(rows.y, rows.y)]
        except ValueError as error:
            raise UserError(f"--folds {folds} cannot be done: {error}") from error
    facts = {"task": plan.task, "rows": len(rows.y), "folds": folds, "scores": scores, "warnings": said}
    facts |= {"means": _means(scores), "seconds": time.perf_counter() - began}
    if json:
        screen.show_json(facts)
        return
    names = list(scores[0])
    lines = [[str(i), *(screen.number(score[n]) for n in names)] for i, score in enumerate(scores)]
    means = [f"{screen.number(m['mean'])} ± {screen.number(m['std_error'], 2)}" for m in facts["means"].values()]
    screen.show_table(["part", *names], [*lines, ["mean", *means]], numeric=range(1, len(names) + 1))


def read_for(
    data: Any, target: str, task: Any, exclude: Any, id: Any, weight: Any, categorical: Any
) -> tuple[Any, Any]:
    """Read a file and decide what its columns are."""
    from weald.cli.columns import make_plan
    from weald.cli.modeling import take_rows
    from weald.cli.reading import read_table

    table = read_table(data)
    chosen = {"exclude": exclude or [], "id": id, "weight": weight, "categorical": categorical or []}
    plan = make_plan(table, data.name, target, task=task, **chosen)
    return plan, take_rows(table, plan)


def _one(estimator: Any, rows: Any, train: Any, test: Any) -> dict[str, float]:
    from sklearn.base import clone

    from weald.reports.metrics import judge
    from weald.reports.predictions import held_out

    model = clone(estimator).fit(rows.X.take(train), rows.y[train])
    return {score.name: score.value for score in judge(held_out(model, rows.X.take(test), rows.y[test]))}


def _means(scores: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    import numpy as np

    values = {name: np.array([score[name] for score in scores]) for name in scores[0]}
    return {
        name: {"mean": float(v.mean()), "std_error": float(v.std(ddof=1) / np.sqrt(len(v)))}
        for name, v in values.items()
    }
