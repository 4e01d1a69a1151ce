"""`weald tune`: parameters by out-of-bag error."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import ColumnOptions, Data, FitOptions, Json, Target, Without, expand_groups


@expand_groups
def tune(
    data: Data,
    target: Target,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the best model, *.weald")] = None,
    grid: Annotated[
        list[str] | None, typer.Option("--grid", "-g", help="name=value,value,...; may be given often")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Number of forests at most")] = None,
    *,
    columns: ColumnOptions,
    fit: Annotated[FitOptions, Without("model", "max_depth", "min_samples_leaf", "max_features")],
    json: Json = False,
) -> None:
    """Choose parameters of a forest by out-of-bag error.

    It needs no rows held out.
    """
    import weald
    from weald.cli.failures import UserError
    from weald.cli.modeling import make_model, quiet_warnings, read_rows, read_value
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
    with quiet_warnings() as said:
        found = weald.tune(forest, rows.X, rows.y, sample_weight=rows.weight, grid=values or None, budget=budget)
    if out is not None:
        found.best_estimator.save(out)
    facts = {
        "task": plan.task,
        "best_params": found.best_params,
        "best_error": found.best_error,
        "tried": [{"params": step.params, "error": step.error} for step in found.path],
        "fingerprint": found.best_estimator.forest_.fingerprint(),
        "warnings": said,
    }
    if json:
        screen.show_json(facts)
        return
    names = list(found.best_params)
    tried = {n: [str(step.params.get(n, "")) for step in found.path] for n in names}
    shown = [n for n in names if len(set(tried[n])) > 1]  # all of them are wider than a terminal
    lines = zip(*(tried[n] for n in shown), [screen.number(step.error) for step in found.path], strict=True)
    screen.show_table([*shown, "out-of-bag error"], [*lines], numeric=[len(shown)])
    settings = [word for n in names for word in ("--set", f"{n}={found.best_params[n]}")]
    command = shlex.join(["weald", "train", str(data), "--target", target, *settings])
    screen.say(f"\nbest: {screen.number(found.best_error)}, to train it: {command}")
    if out is not None:
        screen.say(f"model {out}")
