"""Choosing the engine by its name and by the type of X."""

from collections.abc import Callable

from weald.data.dask_collections import is_dask_collection
from weald.data.types import TableLike
from weald.engines.interface import Engine
from weald.engines.params import CLUSTER, ENGINES, GPU
from weald.engines.table_source import TableSource
from weald.errors import ParameterError


def _open_native() -> Engine:
    # Imported here so that the compiled core is loaded only if it is used
    from weald.engines.native import NativeEngine

    return NativeEngine()


def _open_reference() -> Engine:
    from weald.engines.reference.engine import ReferenceEngine  # imported here so that `import weald` is fast

    return ReferenceEngine()


def _open_cuda() -> Engine:
    from weald.engines.cuda.engine import CudaEngine  # imported here so that CuPy is needed only if it is used

    return CudaEngine()


def _open_cluster() -> Engine:
    from weald.dask.engine import ClusterEngine  # imported here so that Dask is loaded only if it is used

    return ClusterEngine()


# "auto" always means native.
ENGINES_BY_NAME: dict[str, Callable[[], Engine]] = {
    "auto": _open_native,
    "native": _open_native,
    "reference": _open_reference,
    GPU: _open_cuda,
    CLUSTER: _open_cluster,
}


def open_engine(name: str, X: TableLike = None) -> Engine:
    """Return the engine for a fit to X; without X, the engine that predicts in this process.

    Dask collections are fitted on their cluster, and code stores by their own engine, regardless of the name.
    """
    if X is None:  # fast path: predictions call this for each row
        return _open(name, name).local
    if isinstance(X, TableSource):
        return X.open_engine(name)
    return _open(name, CLUSTER if is_dask_collection(X) else name)


def _open(name: str, chosen: str) -> Engine:
    """Create an engine; refuse an unknown name."""
    if name not in ENGINES_BY_NAME:
        raise ParameterError(f"engine={name!r} is not one of {', '.join(map(repr, ENGINES))}.")
    return ENGINES_BY_NAME[chosen]()
