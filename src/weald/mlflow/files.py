"""The model file in the folder of an MLflow model.

read              the estimator, if its fingerprint is that of the MLmodel file
fingerprint_of    the fingerprint of a model's forest, or forests
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from weald.errors import FormatError
from weald.estimators.base import TreeModel
from weald.io.files import load

FLAVOR_NAME: Final = "weald"
DATA_FILE: Final = "model.weald"


def read(folder: Path, flavor: Mapping[str, object]) -> TreeModel:
    """Read the estimator of an MLflow model, and compare its fingerprint with that in the MLmodel file."""
    model: TreeModel = load(folder / DATA_FILE)
    expected, found = flavor.get("fingerprint"), fingerprint_of(model)
    if expected != found:
        raise FormatError(
            f"{folder / DATA_FILE} has the fingerprint {found}, but the MLmodel file beside it expects {expected}. One "
            "of the two files was replaced. Save the model again."
        )
    return model


def fingerprint_of(model: TreeModel) -> str:
    """Return the fingerprint of a model's forest; for multi-output, those of all targets."""
    if getattr(model, "n_outputs_", 1) > 1:
        return " ".join(forest.fingerprint() for forest in model.forests_)
    return model.forest_.fingerprint()
