"""`weald convert`: convert a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, ModelFile
from weald.cli.screen import Facts

WAYS = {".onnx": "onnx", ".c": "c", ".json": "json", ".js": "js", ".sql": "sql"}


def convert(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="*.onnx, *.c, *.js, *.json or *.sql")],
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="onnx, c, js, json or sql; default: the extension of --out")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(metavar="DATABASE", help="for SQL: duckdb, sqlite or postgresql")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="for SQL: the table of the rows")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="for SQL: a column to return beside the prediction")
    ] = None,
    json: Json = False,
) -> None:
    """Write a model as ONNX, C, JavaScript, JSON or SQL.

    Its predictions are compared with those of the model, except by PostgreSQL.
    """
    from weald.cli.failures import UserError
    from weald.cli.modeling import load_model
    from weald.cli.writing import check_place

    check_place(out, read=[model])
    way = to or WAYS.get(out.suffix.lower())
    if way not in WAYS.values():
        raise UserError(
            f"The format of {out.name} is unknown. Give --to {', '.join(WAYS.values())}, or an extension: "
            f"{', '.join(WAYS)}."
        )
    if way == "sql" and (dialect is None or table is None):
        raise UserError("SQL needs --dialect, the database, and --table, the table of the rows.")
    if way != "sql" and (dialect or table or keep):
        raise UserError("--dialect, --table and --keep are for SQL only.")
    forest = load_model(model)
    if dialect is not None:
        made = forest.to_sql(dialect, out, table=table, keep=keep or (), check=dialect != "postgresql")
    else:
        made = getattr(forest, f"to_{way}")(out)
    facts: Facts = {
        "out": str(out),
        "to": way,
        "bytes": out.stat().st_size,
        "parity": str(getattr(made, "parity", "")),
    }
    if json:
        screen.show_json(facts)
    else:
        screen.say(f"{out} ({screen.size(facts['bytes'])})")
        if facts["parity"]:
            screen.say(facts["parity"])
