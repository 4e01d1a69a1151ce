"""Optional packages that exports need, imported on use."""

from importlib import import_module

from weald.data.types import Native
from weald.errors import ExportError


def require(package: str, export: str, otherwise: str = "") -> Native:
    """Import a package, or raise an error with the command that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        what = f", {otherwise}" if otherwise else ""
        raise ExportError(
            f"{export} needs {package}, which is not installed. Install it with `pip install {package}`{what}."
        ) from error
