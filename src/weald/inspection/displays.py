"""The displays of `weald.plot` that results have methods for: matplotlib loads when one is used.

load_plots    the module weald.plot
"""

from types import ModuleType


def load_plots() -> ModuleType:
    """Import the displays, or raise an error that says how to install matplotlib."""
    from weald import plot

    return plot
