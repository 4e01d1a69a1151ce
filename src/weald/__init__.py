"""weald: the textbook random forest, exactly, fast, and the same everywhere."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("weald")
