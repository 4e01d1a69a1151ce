"""Which tables are Dask collections. Nothing of Dask is imported."""

from typing import Any


def is_dask_collection(X: Any) -> bool:
    """Return whether X is a Dask data frame or array."""
    return hasattr(X, "__dask_graph__")
