"""The list of commands. Each has its own file, which imports what it needs when it runs."""

from typing import Annotated

import typer

from weald.cli import (
    audit,
    bench,
    convert,
    cv,
    demo,
    diff,
    doctor,
    evaluate,
    explain,
    inspect,
    predict,
    report,
    train,
    tune,
    verify,
)

# The exception of the parser for wrong options; its module depends on the version of typer.
UsageError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
Exit = typer.Exit

app = typer.Typer(
    help="Random forests from the command line.",
    add_completion=False,
    rich_markup_mode=None,  # plain help loads faster than rich help
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for part in (
    *(train, predict, evaluate, cv, tune, explain, report),
    *(inspect, verify, audit, diff, convert, bench, demo, doctor),
):
    name = part.__name__.rpartition(".")[2]
    app.command(name)(getattr(part, name))


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"weald {version('weald')}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version")
    ] = False,
) -> None:
    """Random forests from the command line."""


command = typer.main.get_command(app)
