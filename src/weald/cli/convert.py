"""`weald convert`: convert a model for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, ModelFile
from weald.cli.screen import Facts

WAYS = {".onnx": "onnx", ".c": "c", ".json": "json"}


def convert(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="*.onnx, *.c or *.json")],
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="onnx, c or json; default: by the extension of --out")
    ] = None,
    json: Json = False,
) -> None:
    """Write a model as ONNX, C or JSON.

    Its predictions are compared with those of the model.
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
    forest = load_model(model)
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
