"""`weald report`: an HTML report on a saved model."""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, KnownTarget, ModelFile
from weald.cli.screen import Facts


def report(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help="Training data; without it the report has only the content of the model file"
        ),
    ] = None,
    target: KnownTarget = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Test data: rows that were not used for training")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the report")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the report")] = None,
    json: Json = False,
) -> None:
    """Write an HTML report on a model. It opens in any browser."""
    import weald
    from weald.cli.evaluate import read_labeled
    from weald.cli.modeling import load_model, quiet_warnings
    from weald.cli.writing import check_place

    check_place(out, read=[model, data, test])
    forest = load_model(model)
    given = {}
    if data is not None:
        given["X"], given["y"], _ = read_labeled(forest, data, target)
    if test is not None:
        given["X_test"], given["y_test"], _ = read_labeled(forest, test, target)
    with quiet_warnings():
        made = weald.report(forest, **given, file=out, title=title or model.name)
    facts: Facts = {"report": str(out), "bytes": out.stat().st_size, "metrics": made.metrics}
    if json:
        screen.show_json(facts)
    else:
        screen.say(f"report {out} ({screen.size(facts['bytes'])})")
