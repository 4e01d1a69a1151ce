"""Predictions for Dask collections: computed lazily, one partition at a time.

predict    a method of a fitted model and a collection -> a collection
"""

import uuid
from typing import Any

from weald.dask.cluster import import_dask
from weald.estimators.chunked_prediction import predict_nothing


def predict(model: Any, name: str, X: Any, width: int = 0, /, **how: Any) -> Any:
    """Call a method of a model for each partition. The model is sent once, not with every task."""
    # An explicit name: otherwise Dask would pickle the model to make one.
    there = import_dask("dask").delayed(model, name=f"weald-{uuid.uuid4().hex}", traverse=False)
    nothing = predict_nothing(model, name, width)
    call = Call(name, how, nothing)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(call, there, meta=_like(X._meta, nothing))  # noqa: SLF001  (Dask has no public name for it)
    X = X.rechunk({1: -1})
    if nothing.ndim == 1:
        return X.map_blocks(call, model=there, drop_axis=1, meta=nothing)
    return X.map_blocks(call, model=there, chunks=(X.chunks[0], (nothing.shape[1],)), meta=nothing)


class Call:
    """A method of a fitted estimator, as a function that can be pickled."""

    def __init__(self, method: str, how: dict[str, Any], nothing: Any) -> None:
        self.method, self.how, self.nothing = method, how, nothing

    def __call__(self, X: Any, model: Any) -> Any:
        """Predict the rows of one partition; for an empty one return empty predictions."""
        found = getattr(model, self.method)(X, **self.how) if len(X) else self.nothing
        return _like(X, found) if hasattr(X, "iloc") else found


def _like(frame: Any, found: Any) -> Any:
    """Return predictions with the index of the frame, in the frame's own library."""
    kind = type(frame) if found.ndim > 1 else type(frame.iloc[:, 0])
    return kind(found, index=frame.index)
