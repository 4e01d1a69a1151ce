"""`weald train`: train a model on a file."""

import math
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from weald.cli import screen
from weald.cli.failures import UserError
from weald.cli.options import ColumnOptions, Data, FitOptions, Json, Target, expand_groups
from weald.cli.screen import Facts
from weald.cli.writing import check_place

if TYPE_CHECKING:
    from weald.cli.columns import ColumnPlan
    from weald.cli.modeling import LabeledRows
    from weald.data.task import Task
    from weald.data.types import IntArray
    from weald.estimators.base import TreeModel


@dataclass(frozen=True)
class Trained:
    """A model, its training data, and the time it took."""

    model: "TreeModel"
    plan: "ColumnPlan"
    rows: "LabeledRows"  # training rows
    test: "LabeledRows | None"  # held-out rows
    timings: dict[str, float]
    warnings: list[str]


class MetricRow(TypedDict):
    """A metric with its interval, and the kind of rows it was computed from."""

    rows: str
    metric: str
    value: float
    low: float
    high: float


@expand_groups
def train(
    data: Data,
    target: Target,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write the model, *.weald")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write a report, *.html")] = None,
    holdout: Annotated[
        float,
        typer.Option(
            metavar="FRACTION",
            show_default=False,
            help="Fraction of the rows held out for testing; default: out-of-bag metrics only",
        ),
    ] = 0.0,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD", help="Calibrate class probabilities out of bag: isotonic, sigmoid, beta or venn-abers"
        ),
    ] = None,
    data_hash: Annotated[
        bool, typer.Option("--data-hash", help="Keep a cryptographic hash of the training data, for weald audit")
    ] = False,
    *,
    columns: ColumnOptions,
    fit: FitOptions,
    json: Json = False,
) -> None:
    """Train a model on a file, evaluate it, and save it.

    Column types and the task are inferred and reported. Metrics are out-of-bag; --holdout adds a test set.
    """
    check_place(out, report, read=[data])
    trained = fit_file(data, target, columns, fit, holdout=holdout, calibrate=calibrate, quiet=json)
    if data_hash:
        trained.model.attach_data_hash(trained.rows.X, trained.rows.y, trained.rows.weight)
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


def fit_file(
    data: Path,
    target: str,
    columns: ColumnOptions,
    fit: FitOptions,
    *,
    holdout: float = 0.0,
    calibrate: str | None = None,
    quiet: bool = False,
) -> Trained:
    """Read a file, decide the roles of its columns, and train a model. The times do not include imports."""
    from weald.cli.modeling import make_model, quiet_warnings, read_rows
    from weald.cli.progress import show_growth
    from weald.cli.reading import load_readers

    if not 0 <= holdout < 1:
        raise UserError(f"--holdout {holdout} is not a fraction. Give a number from 0 to less than 1, for example 0.2.")
    load_readers(data)
    began = time.perf_counter()
    plan, rows = read_rows(data, target, columns)
    timings = {"reading the file": time.perf_counter() - began}
    more = {"bootstrap": True} if fit.model == "extra" else {}  # needed for out-of-bag metrics
    estimator = make_model(plan.task, fit, **more)
    _calibrate(estimator, calibrate)
    rows, test = _divide(rows, holdout, plan.task, fit.seed)
    _warm_up(estimator)
    with quiet_warnings() as warned, show_growth(quiet=quiet):
        began = time.perf_counter()
        estimator.fit(rows.X, rows.y, rows.weight)
        timings["growing the trees"] = time.perf_counter() - began
    estimator.target_name_ = plan.target
    return Trained(estimator, plan, rows, test, timings, warned)


def _calibrate(estimator: "TreeModel", method: str | None) -> None:
    """Set the calibration of probabilities; raise an error for models without probabilities or out-of-bag rows."""
    if method is None:
        return
    if not hasattr(estimator, "calibrate"):
        raise UserError(
            f"--calibrate {method} is for forests that predict classes, not for a {type(estimator).__name__}. Leave it "
            "out, or change --task or --model."
        )
    estimator.calibrate = method


def _warm_up(estimator: "TreeModel") -> None:
    """Fit a tree to two rows, so that imports do not count as training time."""
    import pyarrow as pa

    import weald

    tree = getattr(weald, "DecisionTree" + ("Classifier" if hasattr(estimator, "predict_proba") else "Regressor"))
    tree().fit(pa.table({"x": [0.0, 1.0], "z": ["a", "b"]}), [0, 1])


def _divide(rows: "LabeledRows", share: float, task: "Task", seed: int) -> "tuple[LabeledRows, LabeledRows | None]":
    """Hold rows out for testing, stratified by class if possible."""
    if not share:
        return rows, None
    import numpy as np
    from sklearn.model_selection import train_test_split

    from weald.cli.modeling import LabeledRows
    from weald.data.task import Task

    by = rows.y if task is Task.CLASSIFICATION and np.unique(rows.y, return_counts=True)[1].min() >= 2 else None
    try:
        kept, held = train_test_split(np.arange(len(rows.y)), test_size=share, random_state=seed, stratify=by)
    except ValueError as error:
        raise UserError(f"--holdout {share} is not possible: {error}") from error

    def part(at: "IntArray") -> LabeledRows:
        at = np.sort(at)
        ids = None if rows.ids is None else [rows.ids[i] for i in at]
        return LabeledRows(
            rows.X.take(at), rows.y[at], None if rows.weight is None else rows.weight[at], ids, rows.n_dropped
        )

    return part(kept), part(held)


def evaluate_model(trained: Trained) -> list[MetricRow]:
    """Compute metrics out-of-bag and on held-out rows. The model keeps its out-of-bag score, for `weald inspect`."""
    from weald.cli.modeling import quiet_warnings
    from weald.reports.metrics import compute_scores
    from weald.reports.predictions import held_out, out_of_bag

    model, rows, test = trained.model, trained.rows, trained.test
    sources = []
    if hasattr(model, "out_of_bag") and any(origin.bags.bootstrap for origin in model.forest_.origins):
        with quiet_warnings():
            found = model.out_of_bag(rows.X, rows.y, rows.weight)
        model.oob_score_, model.oob_error_, model.oob_fraction_ = found.score(), found.error, found.share
        sources.append(out_of_bag(found, model))
    if test is not None:
        sources.append(held_out(model, test.X, test.y))
    return [
        {"rows": a.source, "metric": s.name, "value": s.value, "low": s.low, "high": s.high}
        for a in sources
        if a is not None
        for s in compute_scores(a)
    ]


def summarize(trained: Trained) -> Facts:
    """Collect the main facts."""
    model, plan = trained.model, trained.plan
    order = model.feature_importances_.argsort(kind="stable")[::-1][:10]
    return {
        "task": plan.task,
        "why": plan.reason,
        "rows": len(trained.rows.y),
        "rows_held_out": 0 if trained.test is None else len(trained.test.y),
        "rows_without_target": trained.rows.n_dropped,
        "columns": [{"column": c, "holds": holds, "done": done} for c, holds, done in plan.done],
        "metrics": evaluate_model(trained),
        "importances": [
            {"feature": plan.features[f], "importance": float(model.feature_importances_[f])} for f in order
        ],
        "estimator": type(model).__name__,
        "calibration": getattr(model, "calibrate", None),
        "trees": model.forest_.n_trees,
        "nodes": model.forest_.n_nodes,
        "seed": int(model.seed_),
        "fingerprint": model.forest_.fingerprint(),
        "seconds": trained.timings,
        "warnings": trained.warnings,
    }


def write_report(trained: Trained, file: Path, title: str, command: str) -> None:
    """Write a report on the model."""
    import weald
    from weald.cli.modeling import quiet_warnings

    rows, test = trained.rows, trained.test
    held = {} if test is None else {"X_test": test.X, "y_test": test.y}
    with quiet_warnings():
        weald.report(
            trained.model, rows.X, rows.y, sample_weight=rows.weight, file=file, ids=rows.ids, timings=trained.timings,
            title=f"{trained.plan.target} from {title}", command=command, **held,
        )  # fmt: skip


def _show(facts: Facts) -> None:
    from weald.cli.modeling import say_warnings

    hint = "" if facts["why"] == "--task" else " (--task overrides)"
    screen.say(f"{facts['task']}: {facts['why']}{hint}")
    dropped = f", {facts['rows_without_target']:,} without a target skipped" if facts["rows_without_target"] else ""
    held = f", {facts['rows_held_out']:,} held out" if facts["rows_held_out"] else ""
    screen.say(f"{facts['rows']:,} rows{held}{dropped}\n")
    shown = facts["columns"][:40]
    screen.show_table(["column", "holds", "read as"], [[c["column"], c["holds"], c["done"]] for c in shown])
    if len(facts["columns"]) > len(shown):
        screen.say(f"… and {len(facts['columns']) - len(shown):,} more columns (--json lists all)")
    screen.say()
    show_metrics(facts["metrics"])
    top = [[i["feature"], f"{i['importance']:.3f}"] for i in facts["importances"]]
    screen.say("\nfeature importance (mean decrease in impurity; all sum to 1):")
    screen.show_table(["feature", "importance"], top, numeric=[1])
    seconds = facts["seconds"]
    screen.say(
        f"\n{facts['estimator']}: {facts['trees']:,} trees, {facts['nodes']:,} nodes, "
        f"grown in {seconds['growing the trees']:.2f} s (file read in {seconds['reading the file']:.2f} s)"
    )
    if facts["calibration"]:
        screen.say(f"probabilities calibrated out of bag: {facts['calibration']}")
    screen.say(f"fingerprint {facts['fingerprint']}")
    if "model" in facts:
        screen.say(f"model  {facts['model']} ({screen.size(facts['bytes'])})")
    if "report" in facts:
        screen.say(f"report {facts['report']}")
    say_warnings(facts["warnings"])


def show_metrics(metrics: list[MetricRow]) -> None:
    """Print metrics with their intervals."""
    from weald.reports.metrics import UNITS_OF_TARGET

    lines = []
    for m in metrics:
        write = screen.number if m["metric"] in UNITS_OF_TARGET else screen.probability
        interval = "none" if math.isnan(m["low"]) else f"{write(m['low'])} to {write(m['high'])}"
        lines.append([m["rows"], m["metric"], write(m["value"]), interval])
    if lines:
        screen.show_table(["rows", "metric", "value", "95 % interval"], lines, numeric=[2])
    if any(m["metric"] == "log loss" and math.isnan(m["low"]) for m in metrics):
        screen.say("log loss has no interval: the true class of some rows has the probability 0")
