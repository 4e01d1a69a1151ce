"""What weald raises.

    WealdError
    ├── ParameterError (ValueError)    a parameter of an estimator is out of its range, or does not suit the table
    ├── DataError (ValueError)         X, y or sample_weight cannot be used: shapes, values, names
    ├── DataTypeError (TypeError)      X, y or sample_weight hold something that is no number or label
    ├── ExportError (ValueError)       a model cannot be taken to another program, or from it
    ├── ClusterError (RuntimeError)    the cluster that was to grow the forest cannot
    └── FormatError (ValueError)       a model file cannot be read, or a model cannot be written to one

A message says what is wrong, what was found, and what to do; it names the parameter, the argument or the column. An
estimator that was not fitted raises scikit-learn's `NotFittedError`, since code that looks for it knows that name.
Warnings (`warn`) are worded the same way and point at the user's line.
"""

import sys
import warnings


class WealdError(Exception):
    """The root of all errors that weald raises on purpose.

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
    """X, y or sample_weight hold something that is no number or label."""


class ExportError(WealdError, ValueError):
    """A model cannot be taken to another program, or from it."""


class ClusterError(WealdError, RuntimeError):
    """The cluster that was to grow the forest is not there, or cannot."""


class FormatError(WealdError, ValueError):
    """A model file cannot be read as it is, or a model cannot be written to one."""


def shown(value: object, length: int = 80) -> str:
    """Write a value into a message: briefly, and even if Python refuses to (whole numbers of 4301 digits)."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  (the user's own class may raise anything)
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= length else f"{text[: length - 4]} ..."


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside weald that led here."""
    level, frame = 1, sys._getframe()  # noqa: SLF001  (Python has no public way to ask for the caller)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "weald":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
