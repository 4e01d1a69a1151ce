"""`weald verify`: check that a model file is intact, and that it has the expected fingerprint."""

from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, ModelFile


def verify(
    model: ModelFile,
    fingerprint: Annotated[
        str | None, typer.Option(metavar="DIGITS", help="Expected fingerprint, or its first digits")
    ] = None,
    json: Json = False,
) -> None:
    """Check that a model file is intact. To compare it with its training data, use weald audit."""
    from weald.cli.failures import BadFile
    from weald.cli.modeling import load_model

    forest = load_model(model)
    found = forest.forest_.fingerprint()
    if fingerprint is not None and not found.startswith(fingerprint.lower()):
        raise BadFile(f"{model.name} has the fingerprint {found}, not {fingerprint}.")
    if json:
        screen.show_json({"file": str(model), "intact": True, "fingerprint": found})
        return
    screen.say(f"{model.name} is intact; fingerprint {found}")
