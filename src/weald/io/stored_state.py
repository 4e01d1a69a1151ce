"""What pickle and skops keep of an estimator.

    pickle_state     pickle, copy and joblib: all attributes
    file_state       skops: the bytes of a model file; of an estimator that is not fitted, its parameters
    restore          either of them

skops writes files that are safe to load: it makes objects only of types that the reader trusts, and gives them states
that anybody may have written. So that state is a model file, which is checked completely. States of pickles are marked
by a type that is not to be trusted; others are refused.
"""

import copyreg
from collections.abc import Callable
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from weald.errors import FormatError
from weald.io.files import read, write

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel


class PickledAttributes(dict[str, object]):
    """The attributes of an estimator in a pickle, which may run code: never trust this type in a file of skops."""


def pickle_state(model: "TreeModel") -> tuple[Callable[..., object], tuple[type], PickledAttributes]:
    """Return what `__reduce_ex__` returns."""
    return copyreg.__newobj__, (type(model),), PickledAttributes(BaseEstimator.__getstate__(model))  # type: ignore[attr-defined]


def file_state(model: "TreeModel") -> dict[str, object]:
    """Return a state of plain types."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return {"parameters": model.get_params(deep=False)}
    return {"file": b"".join(bytes(piece) for piece in write(model))}


def restore(model: "TreeModel", state: dict[str, object]) -> None:
    """Give a new estimator its attributes."""
    if type(state) is PickledAttributes:
        model.__dict__.update(state)
        return
    kind = type(model)
    if state.keys() == {"parameters"} and isinstance(state["parameters"], dict):
        kind.__init__(model, **state["parameters"])
        return
    if state.keys() != {"file"} or not isinstance(state["file"], bytes):
        raise FormatError(
            f"This is not the state of a {kind.__name__}. Save the model again with this version of weald."
        )
    loaded = read(state["file"])
    if type(loaded) is not kind:
        raise FormatError(f"The state of a {kind.__name__} is that of a {type(loaded).__name__}.")
    model.__dict__.update(vars(loaded))
