"""The exceptions and warnings of weald.

    WealdError
    ├── ParameterError (ValueError)    a parameter of an estimator is out of its range, or does not suit the table
    ├── DataError (ValueError)         X, y or sample_weight cannot be used: shapes, values, names
    ├── DataTypeError (TypeError)      X, y or sample_weight contain something other than numbers or labels
    ├── ExportError (ValueError)       a model cannot be converted to another format, or from it
    ├── ClusterError (RuntimeError)    the cluster for a fit is missing or failed
    └── FormatError (ValueError)       a model file cannot be read, or a model cannot be written to one

A message says what is wrong, what was found, and what to do; it names the parameter, the argument or the column. An
unfitted estimator raises scikit-learn's `NotFittedError`, which other code expects. Warnings (`warn`) have the same
form and point at the user's line.
"""

import sys
import warnings


class WealdError(Exception):
    """The base class of all exceptions that weald raises on purpose.

    Examples
    --------
    >>> import weald
    >>> try:
    ...     weald.DecisionTreeClassifier(max_depth=0).fit([[1.0], [2.0]], [0, 1])
    ... except weald.WealdError as error:
    ...     print(error)
    max_depth=0 is not allowed. Give a whole number from 1, "sqrt" or None.
    """


class ParameterError(WealdError, ValueError):
    """A parameter is out of its range, or does not suit the table."""


class DataError(WealdError, ValueError):
    """X, y or sample_weight cannot be used as they are."""


class DataTypeError(WealdError, TypeError):
    """X, y or sample_weight contain something other than numbers or labels."""


class ExportError(WealdError, ValueError):
    """A model cannot be converted to another format, or from it."""


class ClusterError(WealdError, RuntimeError):
    """The cluster for a fit is missing or failed."""


class FormatError(WealdError, ValueError):
    """A model file cannot be read, or a model cannot be written to one."""


def shown(value: object, length: int = 80) -> str:
    """Format a value for a message: short, and even if Python refuses to (whole numbers of 4301 digits)."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (the user's own class may raise anything)
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= length else f"{text[: length - 4]} ..."


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside weald that called it."""
    level, frame = 1, sys._getframe()  # noqa: SLF001  (Python has no public way to ask for the caller)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "weald":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
