"""Results as data frames, in the library that is asked for; `table.py` is the way in, by which they enter."""

from collections.abc import Mapping
from importlib import import_module

import numpy as np

from weald.data.types import Native
from weald.errors import DataError, ParameterError, shown

FRAMES = ("pandas", "polars", "dict")


def as_frame(columns: Mapping[str, object], frame: object) -> Native:
    """Make a data frame of columns by name (arrays or lists); "dict" leaves them as they are.

    No library of data frames is needed to use weald, so which one is wanted must be said.
    """
    if not isinstance(frame, str) or frame not in FRAMES:
        raise ParameterError(f"frame={shown(frame)} is not allowed. Give {', '.join(map(repr, FRAMES))}.")
    if frame == "dict":
        return columns
    try:
        library = import_module(frame)
    except ImportError as error:
        raise ParameterError(
            f'frame="{frame}" needs {frame}, which is not installed. Install it, or give frame="dict", which needs '
            "nothing and holds arrays and lists by name."
        ) from error
    if frame == "pandas":  # its columns hold one thing in each row
        columns = {name: list(c) if isinstance(c, np.ndarray) and c.ndim == 2 else c for name, c in columns.items()}
    try:
        return library.DataFrame(columns)
    except UnicodeEncodeError as error:
        raise DataError(
            f"The name or label {error.object!r} has half a character (a surrogate), which {frame} cannot hold. Give "
            'frame="dict", which holds arrays and lists by name, or replace it in the table and fit again.'
        ) from error
