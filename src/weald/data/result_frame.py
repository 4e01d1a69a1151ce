"""Results as data frames of the requested library; `frames.py` reads data frames."""

from collections.abc import Mapping
from importlib import import_module

import numpy as np

from weald.data.types import Native
from weald.errors import DataError, ParameterError, shown

FRAMES = ("pandas", "polars", "dict")


def as_frame(columns: Mapping[str, object], frame: object) -> Native:
    """Make a data frame from columns by name (arrays or lists); "dict" returns them as they are.

    weald does not depend on a data frame library, so the user chooses one.
    """
    if not isinstance(frame, str) or frame not in FRAMES:
        raise ParameterError(f"frame={shown(frame)} is not allowed. Give {', '.join(map(repr, FRAMES))}.")
    if frame == "dict":
        return columns
    try:
        library = import_module(frame)
    except ImportError as error:
        raise ParameterError(
            f'frame="{frame}" needs {frame}, which is not installed. Install it, or give frame="dict", which returns a '
            "dict of arrays and lists."
        ) from error
    if frame == "pandas":  # a pandas column needs one object per row
        columns = {name: list(c) if isinstance(c, np.ndarray) and c.ndim == 2 else c for name, c in columns.items()}
    try:
        return library.DataFrame(columns)
    except UnicodeEncodeError as error:
        raise DataError(
            f"The name or label {error.object!r} contains half a character (a surrogate), which {frame} does not "
            "support. "
            'Give frame="dict", which returns a dict of arrays and lists, or replace it in the table and fit again.'
        ) from error
