"""Docstrings of estimators that are made from others: they take over what is said of parameters and attributes.

Newer versions of Python take the indentation away, and `python -OO` the docstrings themselves.
"""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

EXAMPLES = "    Examples\n"


def take_over(kind: Any, above: Any, change: Callable[[str], str]) -> None:
    """Put what another class says from its parameters to its examples, changed, before the examples of a class."""
    if not kind.__doc__ or not above.__doc__:
        return
    own, theirs = (textwrap.indent(inspect.cleandoc(text), "    ") for text in (kind.__doc__, above.__doc__))
    shared = theirs[theirs.index("    Parameters\n") : theirs.index(EXAMPLES)]
    kind.__doc__ = inspect.cleandoc(own.replace(EXAMPLES, change(shared) + EXAMPLES))
