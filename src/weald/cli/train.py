"""`weald train`: a file to a model."""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from weald.cli import options, screen
from weald.cli.failures import UserError
from weald.cli.options import Categorical, Data, Exclude, Id, Json, Seed, Settings, Target, Task, Trees, Weight
from weald.cli.writing import check_place


@dataclass(frozen=True)
class Asked:
    """What the user asked for."""

    task: str | None = None
    exclude: Sequence[str] = ()
    id: str | None = None
    weight: str | None = None
    categorical: Sequence[str] = ()
    kind: str = "forest"
    common: Mapping[str, str | None] = field(default_factory=dict)  # parameters that have options of their own
    settings: Sequence[str] = ()
    seed: int = 0
    jobs: int | None = None


@dataclass(frozen=True)
class Trained:
    """A model, what it was grown from, and how long it took."""

    model: Any
    plan: Any
    rows: Any  # to learn from
    test: Any  # held out, or None
    timings: dict[str, float]
    warnings: list[str]


def train(
    data: Data,
    target: Target,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the model, *.weald")] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write a report, *.html")] = None,
    holdout: Annotated[
        float, typer.Option(help="Share of the rows that is held out to judge by; 0: out of bag only")
    ] = 0.0,
    task: Task = None,
    exclude: Exclude = None,
    id: Id = None,
    weight: Weight = None,
    categorical: Categorical = None,
    model: options.Model = "forest",
    trees: Trees = None,
    max_depth: options.Depth = None,
    min_samples_leaf: options.Leaf = None,
    max_features: options.Features = None,
    settings: Settings = None,
    seed: Seed = 0,
    jobs: options.Jobs = None,
    json: Json = False,
) -> None:
    """Train a model on a file, judge it, and save it.

    Types of columns and the task are found out and stated. The model is judged out of bag, or by rows held out.
    """
    common = {
        "n_estimators": trees,
        "max_depth": max_depth,
        "min_samples_leaf": min_samples_leaf,
        "max_features": max_features,
    }
    check_place(out, report, read=[data])
    asked = Asked(task, exclude or [], id, weight, categorical or [], model, common, settings or [], seed, jobs)
    trained = fit_file(data, target, asked, holdout=holdout, quiet=json)
    facts = summarize(trained)
    command = "weald " + shlex.join(sys.argv[1:])
    if out is not None:
        trained.model.save(out)
        facts |= {"model": str(out), "bytes": out.stat().st_size}
    if report is not None:
        write_report(trained, report, data.name, command)
        facts["report"] = str(report)
    if json:
        screen.show_json(facts)
    else:
        _show(facts)


def fit_file(data: Path, target: str, asked: Asked, *, holdout: float = 0.0, quiet: bool = False) -> Trained:
    """Read a file, decide what its columns are, and grow a model."""
    from weald.cli.columns import make_plan
    from weald.cli.modeling import make_model, quiet_warnings, read_value, take_rows
    from weald.cli.progress import show_growth
    from weald.cli.reading import read_table

    if not 0 <= holdout < 1:
        raise UserError(f"--holdout {holdout} is not a share. Give a number from 0 to less than 1, for example 0.2.")
    task, kind = asked.task, asked.kind
    if task not in (None, "classification", "regression"):
        raise UserError(f"--task {task!r} is not allowed. Give classification or regression.")
    began = time.perf_counter()
    table = read_table(data)
    chosen: dict[str, Any] = {
        "exclude": asked.exclude,
        "id": asked.id,
        "weight": asked.weight,
        "categorical": asked.categorical,
    }
    plan = make_plan(table, data.name, target, task=task, **chosen)
    rows = take_rows(table, plan)
    read = time.perf_counter()
    given = {key: None if value is None else read_value(value) for key, value in asked.common.items()}
    given |= {"random_state": asked.seed, "n_jobs": asked.jobs}
    if kind == "extra":
        given["bootstrap"] = True  # to be judged out of bag
    estimator = make_model(kind, plan.task, asked.settings, given)
    rows, test = _divide(rows, holdout, plan.task, asked.seed)
    with quiet_warnings() as said, show_growth(quiet=quiet):
        estimator.fit(rows.X, rows.y, rows.weight)
    grown = time.perf_counter()
    return Trained(
        estimator, plan, rows, test, {"reading the file": read - began, "growing the trees": grown - read}, said
    )


def _divide(rows: Any, share: float, task: str, seed: int) -> tuple[Any, Any]:
    """Hold some rows out, of each class its share where that is possible."""
    if not share:
        return rows, None
    import numpy as np
    from sklearn.model_selection import train_test_split

    from weald.cli.modeling import Rows

    by = rows.y if task == "classification" and np.unique(rows.y, return_counts=True)[1].min() >= 2 else None
    try:
        kept, held = train_test_split(np.arange(len(rows.y)), test_size=share, random_state=seed, stratify=by)
    except ValueError as error:
        raise UserError(f"--holdout {share} cannot be done: {error}") from error

    def part(at: Any) -> Rows:
        at = np.sort(at)
        ids = None if rows.ids is None else [rows.ids[i] for i in at]
        return Rows(rows.X.take(at), rows.y[at], None if rows.weight is None else rows.weight[at], ids, rows.n_dropped)

    return part(kept), part(held)


def judge_model(trained: Trained) -> list[dict[str, Any]]:
    """Judge a model out of bag and by rows held out."""
    from weald.cli.modeling import quiet_warnings
    from weald.reports.metrics import judge
    from weald.reports.predictions import held_out, out_of_bag

    model, rows, test = trained.model, trained.rows, trained.test
    sources = []
    if hasattr(model, "out_of_bag") and any(origin.bags.bootstrap for origin in model.forest_.origins):
        with quiet_warnings():
            sources.append(out_of_bag(model.out_of_bag(rows.X, rows.y, rows.weight)))
    if test is not None:
        sources.append(held_out(model, test.X, test.y))
    return [
        {"rows": a.source, "metric": s.name, "value": s.value, "low": s.low, "high": s.high}
        for a in sources
        if a is not None
        for s in judge(a)
    ]


def summarize(trained: Trained) -> dict[str, Any]:
    """Put together what a person wants to know first."""
    model, plan = trained.model, trained.plan
    order = model.feature_importances_.argsort(kind="stable")[::-1][:10]
    return {
        "task": plan.task,
        "why": plan.reason,
        "rows": len(trained.rows.y),
        "rows_held_out": 0 if trained.test is None else len(trained.test.y),
        "rows_without_target": trained.rows.n_dropped,
        "columns": [{"column": c, "holds": holds, "done": done} for c, holds, done in plan.done],
        "metrics": judge_model(trained),
        "importances": [{"feature": plan.features[f], "share": float(model.feature_importances_[f])} for f in order],
        "estimator": type(model).__name__,
        "trees": model.forest_.n_trees,
        "nodes": model.forest_.n_nodes,
        "seed": int(model.seed_),
        "fingerprint": model.forest_.fingerprint(),
        "seconds": trained.timings,
        "warnings": trained.warnings,
    }


def write_report(trained: Trained, file: Path, title: str, command: str) -> None:
    """Write a page on the model."""
    import weald
    from weald.cli.modeling import quiet_warnings

    rows, test = trained.rows, trained.test
    held = {} if test is None else {"X_test": test.X, "y_test": test.y}
    with quiet_warnings():
        weald.report(
            trained.model, rows.X, rows.y, sample_weight=rows.weight, file=file, ids=rows.ids, timings=trained.timings,
            title=f"{trained.plan.target} from {title}", command=command, **held,
        )  # fmt: skip


def _show(facts: dict[str, Any]) -> None:
    from weald.cli.modeling import say_warnings

    screen.say(f"{facts['task']}: {facts['why']} (--task overrides)")
    dropped = (
        f", {facts['rows_without_target']:,} left out for lack of a target" if facts["rows_without_target"] else ""
    )
    held = f", {facts['rows_held_out']:,} held out" if facts["rows_held_out"] else ""
    screen.say(f"{facts['rows']:,} rows{held}{dropped}\n")
    shown = facts["columns"][:40]
    screen.show_table(["column", "holds", "read as"], [[c["column"], c["holds"], c["done"]] for c in shown])
    if len(facts["columns"]) > len(shown):
        screen.say(f"… and {len(facts['columns']) - len(shown):,} more columns (--json lists all)")
    screen.say()
    show_metrics(facts["metrics"])
    top = [[i["feature"], f"{100 * i['share']:.1f} %"] for i in facts["importances"]]
    screen.say("\nfeatures by their share in the decrease of impurity:")
    screen.show_table(["feature", "share"], top, numeric=[1])
    seconds = facts["seconds"]
    screen.say(
        f"\n{facts['estimator']}: {facts['trees']:,} trees, {facts['nodes']:,} nodes, "
        f"grown in {seconds['growing the trees']:.2f} s (reading {seconds['reading the file']:.2f} s)"
    )
    screen.say(f"fingerprint {facts['fingerprint']}")
    if "model" in facts:
        screen.say(f"model  {facts['model']} ({screen.size(facts['bytes'])})")
    if "report" in facts:
        screen.say(f"report {facts['report']}")
    say_warnings(facts["warnings"])


def show_metrics(metrics: list[dict[str, Any]]) -> None:
    """Print metrics with their intervals."""
    lines = [
        [m["rows"], m["metric"], screen.number(m["value"]), f"{screen.number(m['low'])} to {screen.number(m['high'])}"]
        for m in metrics
    ]
    if lines:
        screen.show_table(["judged", "metric", "value", "95 % interval"], lines, numeric=[2])
