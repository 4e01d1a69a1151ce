"""Which engine grows or predicts: by the name that the user gave, and by what X is."""

from weald.data.dask_collections import is_dask_collection
from weald.data.types import TableLike
from weald.engines.interface import Engine
from weald.engines.params import CLUSTER, ENGINES
from weald.engines.reference.engine import ReferenceEngine
from weald.engines.table_source import TableSource
from weald.errors import ParameterError


def open_engine(name: str, X: TableLike = None) -> Engine:
    """Return the engine for a fit to X; without X, the one that predicts in this process.

    "auto" is native and never anything else. Dask collections are trained on their cluster, code stores by their own
    engine.
    """
    if isinstance(X, TableSource):
        return X.open_engine(name)
    if is_dask_collection(X) or (name == CLUSTER and X is not None):
        from weald.dask.engine import ClusterEngine  # Dask loads only when it is used

        return ClusterEngine()
    if name == "reference":
        return ReferenceEngine()
    if name in ("auto", "native", CLUSTER):
        from weald.engines.native import NativeEngine  # the compiled core loads only when it is wanted

        return NativeEngine()
    msg = f"engine={name!r} is not one of {', '.join(map(repr, ENGINES))}."
    raise ParameterError(msg)
