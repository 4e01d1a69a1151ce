"""Which engine grows or predicts: by the name that the user gave, and by what X is."""

from collections.abc import Callable

from weald.data.dask_collections import is_dask_collection
from weald.data.types import TableLike
from weald.engines.interface import Engine
from weald.engines.params import CLUSTER, ENGINES
from weald.engines.reference.engine import ReferenceEngine
from weald.engines.table_source import TableSource
from weald.errors import ParameterError


def _open_native() -> Engine:
    from weald.engines.native import NativeEngine  # the compiled core loads only when it is used

    return NativeEngine()


def _open_cluster() -> Engine:
    from weald.dask.engine import ClusterEngine  # Dask loads only when it is used

    return ClusterEngine()


# "auto" is native and never anything else.
ENGINES_BY_NAME: dict[str, Callable[[], Engine]] = {
    "auto": _open_native,
    "native": _open_native,
    "reference": ReferenceEngine,
    CLUSTER: _open_cluster,
}


def open_engine(name: str, X: TableLike = None) -> Engine:
    """Return the engine for a fit to X; without X, the one that predicts in this process.

    Dask collections are trained on their cluster, code stores by their own engine, whatever the name.
    """
    if X is None:  # predictions ask for each row: no look at what X could be
        return _open(name, name).local
    if isinstance(X, TableSource):
        return X.open_engine(name)
    return _open(name, CLUSTER if is_dask_collection(X) else name)


def _open(name: str, chosen: str) -> Engine:
    """Make an engine, and refuse a name that the user cannot have meant."""
    if name not in ENGINES_BY_NAME:
        raise ParameterError(f"engine={name!r} is not one of {', '.join(map(repr, ENGINES))}.")
    return ENGINES_BY_NAME[chosen]()
