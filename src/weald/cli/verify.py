"""`weald verify`: is a model file whole, and is it the forest that it should be?"""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, ModelFile


def verify(
    model: ModelFile,
    fingerprint: Annotated[
        str | None, typer.Option(help="What the fingerprint of the forest should be, or begin with")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The training data: grow the forest again and compare")] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column to predict, with --data")] = None,
    json: Json = False,
) -> None:
    """Check that a model file is whole.

    With --data, also check that the same forest grows from that file again.
    """
    from sklearn.base import clone

    from weald.cli.evaluate import read_labeled
    from weald.cli.failures import BadFile, UserError
    from weald.cli.modeling import load_model, quiet_warnings
    from weald.estimators.fit import random_state_of

    forest = load_model(model)
    found = forest.forest_.fingerprint()
    facts = {"file": str(model), "whole": True, "fingerprint": found}
    if fingerprint is not None and not found.startswith(fingerprint.lower()):
        raise BadFile(f"{model.name} has the fingerprint {found}, not {fingerprint}.")
    if data is not None:
        if target is None:
            raise UserError("Which column is the target? Give it with --target.")
        X, y, _ = read_labeled(forest, data, target)
        plain = {"random_state": random_state_of(forest), "warm_start": False, "verbose": 0}
        twin = clone(forest).set_params(**{k: v for k, v in plain.items() if k in forest.get_params(deep=False)})
        with quiet_warnings():
            twin.fit(X, y)
        facts["grown_again"] = twin.forest_.fingerprint()
        if facts["grown_again"] != found:
            raise BadFile(
                f"{model.name} is not what grows from {data.name}: that has the fingerprint {facts['grown_again']}. "
                "The rows differ from those of the training; were some held out?"
            )
    if json:
        screen.show_json(facts)
        return
    screen.say(f"{model.name} is whole; fingerprint {found}")
    if data is not None:
        screen.say(f"the same forest grows from {data.name}, bit for bit")
