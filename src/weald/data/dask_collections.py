"""Recognizing Dask collections without importing Dask."""

from weald.data.types import TableLike


def is_dask_collection(X: TableLike) -> bool:
    """Return whether X is a Dask data frame or array."""
    return hasattr(X, "__dask_graph__")
