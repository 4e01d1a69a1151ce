"""`weald report`: a page on a model that is there already."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, ModelFile
from weald.cli.screen import Facts


def report(
    model: ModelFile,
    data: Annotated[
        Path | None, typer.Argument(help="The training data; without it the page has what the model knows")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column to predict")] = None,
    test: Annotated[Path | None, typer.Option(help="Rows that took no part in the training, to judge by")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the page")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading of the page")] = None,
    json: Json = False,
) -> None:
    """Write one page on a model that opens in any browser."""
    import weald
    from weald.cli.evaluate import read_labeled
    from weald.cli.failures import UserError
    from weald.cli.modeling import load_model, quiet_warnings
    from weald.cli.writing import check_place

    check_place(out, read=[model, data, test])
    if target is None and (data is not None or test is not None):
        raise UserError("Which column is the target? Give it with --target.")
    forest = load_model(model)
    given = {}
    if data is not None:
        given["X"], given["y"], _ = read_labeled(forest, data, str(target))
    if test is not None:
        given["X_test"], given["y_test"], _ = read_labeled(forest, test, str(target))
    with quiet_warnings():
        made = weald.report(
            forest, **given, file=out, title=title or model.name, command="weald " + shlex.join(sys.argv[1:])
        )
    facts: Facts = {"report": str(out), "bytes": out.stat().st_size, "metrics": made.metrics}
    if json:
        screen.show_json(facts)
    else:
        screen.say(f"report {out} ({screen.size(facts['bytes'])})")
