"""Predictions of Dask collections: one partition at a time, when they are asked for. Dask itself is not needed here.

is_lazy    say whether X is a Dask data frame or array
predict    a method of a fitted model and a collection -> a collection
"""

from typing import Any

import numpy as np


def is_lazy(X: Any) -> bool:
    """Say whether X is a Dask data frame or array."""
    return hasattr(X, "__dask_graph__")


def predict(model: Any, method: str, X: Any, **how: Any) -> Any:
    """Call a method of a model for each partition by itself."""
    is_label = method == "predict" and hasattr(model, "classes_")
    nothing = model.classes_[:0] if is_label else np.empty((0, model.n_classes_) if method == "predict_proba" else 0)
    call = Call(model, method, how, nothing)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(call, meta=_like(X._meta, nothing))  # noqa: SLF001  (Dask has no public name for it)
    X = X.rechunk({1: -1})
    if nothing.ndim == 1:
        return X.map_blocks(call, drop_axis=1, meta=nothing)
    return X.map_blocks(call, chunks=(X.chunks[0], (nothing.shape[1],)), meta=nothing)


class Call:
    """A method of a fitted estimator, as a function that travels."""

    def __init__(self, model: Any, method: str, how: dict[str, Any], nothing: Any) -> None:
        self.model, self.method, self.how, self.nothing = model, method, how, nothing

    def __call__(self, X: Any) -> Any:
        """Predict the rows of one partition; an empty one has nothing to predict."""
        found = getattr(self.model, self.method)(X, **self.how) if len(X) else self.nothing
        return _like(X, found) if hasattr(X, "iloc") else found


def _like(frame: Any, found: Any) -> Any:
    """Give predictions the index of the frame that they are for, in the frame's own library."""
    kind = type(frame) if found.ndim > 1 else type(frame.iloc[:, 0])
    return kind(found, index=frame.index)
