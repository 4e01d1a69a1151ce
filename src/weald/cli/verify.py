"""`weald verify`: check that a model file is intact, and that its training data gives the same forest."""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, KnownTarget, ModelFile


def verify(
    model: ModelFile,
    fingerprint: Annotated[
        str | None, typer.Option(metavar="DIGITS", help="Expected fingerprint, or its first digits")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="FILE", help="Training data: fit again and compare")] = None,
    target: KnownTarget = None,
    json: Json = False,
) -> None:
    """Check that a model file is intact.

    With --data, also fit again and check that the forest is the same, bit for bit.
    """
    from sklearn.base import clone

    from weald.cli.evaluate import read_labeled
    from weald.cli.failures import BadFile
    from weald.cli.modeling import load_model, quiet_warnings
    from weald.estimators.fit import random_state_of

    forest = load_model(model)
    found = forest.forest_.fingerprint()
    facts = {"file": str(model), "intact": True, "fingerprint": found}
    if fingerprint is not None and not found.startswith(fingerprint.lower()):
        raise BadFile(f"{model.name} has the fingerprint {found}, not {fingerprint}.")
    if data is not None:
        X, y, _ = read_labeled(forest, data, target)
        plain = {"random_state": random_state_of(forest), "warm_start": False, "verbose": 0}
        twin = clone(forest).set_params(**{k: v for k, v in plain.items() if k in forest.get_params(deep=False)})
        with quiet_warnings():
            twin.fit(X, y)
        facts["grown_again"] = twin.forest_.fingerprint()
        if facts["grown_again"] != found:
            raise BadFile(
                f"{data.name} gives a different forest than {model.name}, with the fingerprint {facts['grown_again']}. "
                "The rows differ from the training data. Give the same rows; --holdout leaves some out of training."
            )
    if json:
        screen.show_json(facts)
        return
    screen.say(f"{model.name} is intact; fingerprint {found}")
    if data is not None:
        screen.say(f"{data.name} gives the same forest, bit for bit")
