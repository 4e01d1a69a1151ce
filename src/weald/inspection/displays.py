"""Access to the displays of `weald.plot` from methods of results; matplotlib is imported on first use.

load_plots    the module weald.plot
"""

from types import ModuleType


def load_plots() -> ModuleType:
    """Import the displays, or raise an error that says how to install matplotlib."""
    from weald import plot

    return plot
