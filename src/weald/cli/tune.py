"""`weald tune`: choose parameters by out-of-bag error."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import screen
from weald.cli.options import ColumnOptions, Data, FitOptions, Json, Target, Without, expand_groups
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.inspection.tuning import TuningStep


@expand_groups
def tune(
    data: Data,
    target: Target,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write the best model, *.weald")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", "-g", metavar="NAME=VALUES", help="Values to try, separated by commas; can be repeated"),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="Scorer of scikit-learn to maximize, such as roc_auc or f1; default: lowest error",
        ),
    ] = None,
    budget: Annotated[int | None, typer.Option(metavar="N", help="Maximum number of forests to try")] = None,
    *,
    columns: ColumnOptions,
    fit: Annotated[FitOptions, Without("model", "max_depth", "min_samples_leaf", "max_features")],
    json: Json = False,
) -> None:
    """Choose parameters by out-of-bag error or by a metric.

    No rows are held out: each candidate is evaluated on its out-of-bag rows.
    """
    import weald
    from weald.cli.failures import UserError
    from weald.cli.modeling import make_model, quiet_warnings, read_rows, read_value, say_warnings
    from weald.cli.writing import check_place

    check_place(out, read=[data])
    values = {}
    for entry in grid or []:
        name, sign, text = entry.partition("=")
        if not sign or not text:
            raise UserError(
                f"--grid {entry!r} has no values. Give it as name=value,value, for example max_features=2,4,8."
            )
        values[name] = [read_value(part.strip()) for part in text.split(",")]
    plan, rows = read_rows(data, target, columns)
    forest = make_model(plan.task, fit)
    if metric is not None:
        _check_metric(metric)
    with quiet_warnings() as warned:
        found = weald.tune(
            forest, rows.X, rows.y, sample_weight=rows.weight, grid=values or None, scoring=metric, budget=budget
        )
    found.best_estimator.target_name_ = plan.target
    if out is not None:
        found.best_estimator.save(out)
    changed = {n: v for n, v in found.best_params.items() if repr(v) != repr(getattr(forest, n))}
    facts: Facts = {
        "task": plan.task,
        "metric": metric,
        "best_params": found.best_params,
        "changed_params": changed,
        "best_score" if metric else "best_error": found.best_score if metric else found.best_error,
        "n_forests": found.n_forests,
        "n_settings": found.n_settings,
        "tried": [_describe(step, metric) for step in found.path],
        "command": _train_again(data, target, columns, fit, changed),
        "fingerprint": found.best_estimator.forest_.fingerprint(),
        "warnings": warned,
    }
    if json:
        screen.show_json(facts)
        return
    _show(facts, None if out is None else str(out))
    say_warnings(warned)


def _check_metric(name: str) -> None:
    from sklearn.metrics import get_scorer_names

    from weald.cli.columns import choose

    choose(name, get_scorer_names(), "metric")


def _describe(step: "TuningStep", metric: str | None) -> Facts:
    low, high = step.interval
    value: Facts = {"score": step.score} if metric else {"error": step.error, "low": low, "high": high}
    return {"params": step.params, **value, "forest": step.forest, "best": step.is_best}


def _train_again(data: Path, target: str, columns: ColumnOptions, fit: FitOptions, changed: dict[str, object]) -> str:
    """Return the command that trains the best model, with only the options that differ from the defaults."""
    words = ["weald", "train", str(data), "--target", target]
    for name in ("task", "id", "weight"):
        words += [f"--{name}", value] if (value := getattr(columns, name)) is not None else []
    for name in ("exclude", "categorical", "dates"):
        words += [word for value in getattr(columns, name) or [] for word in (f"--{name}", value)]
    words += ["--trees", fit.trees] if fit.trees is not None else []
    words += [word for setting in fit.settings or [] for word in ("--set", setting)]
    words += ["--seed", str(fit.seed)] if fit.seed != FitOptions().seed else []
    words += [word for name, value in changed.items() for word in ("--set", f"{name}={value}")]
    return shlex.join(words)


def _show(facts: Facts, out: str | None) -> None:
    best = max((i for i, step in enumerate(facts["tried"]) if step["best"]), default=0)
    steps = _best_of_forests(facts["tried"], best)
    names = list(facts["best_params"])
    tried = {n: [_short(step["params"].get(n, "")) for step in steps] for n in names}
    shown = [n for n in names if len(set(tried[n])) > 1]  # all columns together would be too wide for a terminal
    heads, values = [facts["metric"]], [[screen.number(step.get("score", 0.0))] for step in steps]
    if not facts["metric"]:
        heads = ["out-of-bag error", "95 % interval"]
        write = screen.probability if facts["task"] == "classification" else screen.number
        values = [[write(s["error"]), f"{write(s['low'])}–{write(s['high'])}"] for s in steps]
    lines = [
        [*(tried[n][i] for n in shown), *values[i], "best" if step is facts["tried"][best] else ""]
        for i, step in enumerate(steps)
    ]
    screen.show_table([*shown, *heads, ""], lines, numeric=[*range(len(shown)), len(shown)])
    if len(steps) < len(facts["tried"]):
        screen.say(
            f"\n{facts['n_settings']:,} settings compared with {facts['n_forests']} fits; each row is the best of a fit"
        )
    changed = ", ".join(f"{n}={_short(v)}" for n, v in facts["changed_params"].items())
    value = facts["best_score"] if facts["metric"] else facts["best_error"]
    screen.say(f"\nbest: {heads[0]} {screen.number(value)} with {changed or 'the parameters given'}")
    if not facts["metric"]:
        screen.say("If intervals overlap widely, the candidates hardly differ.")
    screen.say(f"train it: {facts['command']}")
    if out is not None:
        screen.say(f"model {out}")


def _best_of_forests(steps: list[Facts], best: int) -> list[Facts]:
    """Return the best setting of each forest; `best` is the index of the best of all."""
    found = {steps[best]["forest"]: steps[best]}
    for step in steps:
        loss = -step["score"] if "score" in step else step["error"]
        known = found.setdefault(step["forest"], step)
        if loss < (-known["score"] if "score" in known else known["error"]):
            found[step["forest"]] = step
    return [found[forest] for forest in sorted(found)]


def _short(value: object) -> str:
    return screen.number(value) if isinstance(value, float) else str(value)
