"""Packages that exports need and weald does not: found when they are wanted."""

from importlib import import_module

from weald.data.types import Native
from weald.errors import ExportError


def require(package: str, export: str, otherwise: str = "") -> Native:
    """Import a package, or say what to install."""
    try:
        return import_module(package)
    except ImportError as error:
        what = f", {otherwise}" if otherwise else ""
        raise ExportError(
            f"{export} needs {package}, which is not installed. Install it with `pip install {package}`{what}."
        ) from error
