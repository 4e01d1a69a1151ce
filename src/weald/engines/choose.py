"""Which engine a name stands for."""

from weald.engines.interface import Engine
from weald.engines.params import CLUSTER, ENGINES
from weald.engines.reference.engine import ReferenceEngine
from weald.errors import ParameterError


def open_engine(name: str) -> Engine:
    """Find an engine by name. "auto" is native and never anything else; what a cluster has grown is asked here."""
    if name == "reference":
        return ReferenceEngine()
    if name in ("auto", "native", CLUSTER):
        from weald.engines.native import NativeEngine  # the compiled core loads only when it is wanted

        return NativeEngine()
    msg = f"engine={name!r} is not one of {', '.join(map(repr, ENGINES))}."
    raise ParameterError(msg)
