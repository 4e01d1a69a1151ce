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
    if isinstance(X, TableSource):
        return X.open_engine(name)
    if name not in ENGINES_BY_NAME:
        raise ParameterError(f"engine={name!r} is not one of {', '.join(map(repr, ENGINES))}.")
    engine = ENGINES_BY_NAME[CLUSTER if is_dask_collection(X) else name]()
    return engine.local if X is None else engine
