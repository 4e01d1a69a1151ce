"""Short reprs of results: numbers are rounded, arrays and long lists give their size only.

short_repr     the `__repr__` of a data class or named tuple
"""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

LONGEST = 60  # characters of a value that is shown in full


def short_repr(result: Any) -> str:
    """Write a result with its fields.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import numpy as np
    >>> class Found(NamedTuple):
    ...     score: float
    ...     rows: np.ndarray
    >>> print(short_repr(Found(2 / 3, np.zeros((100, 3)))))
    Found(score=0.6667, rows=<100 × 3 array>)
    """
    names = [field.name for field in fields(result)] if is_dataclass(result) else result._fields
    shown = ", ".join(f"{name}={_short(getattr(result, name))}" for name in names if not name.startswith("_"))
    return f"{type(result).__name__}({shown})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        kind = "array" if isinstance(value, np.ndarray) else "sparse array"
        return f"<{' × '.join(map(str, value.shape))} {kind}>"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = repr(value.item() if isinstance(value, np.generic) else value)
    if len(text) <= LONGEST:
        return text
    if isinstance(value, list | tuple | dict):
        return f"<{len(value)} entries>"
    return text[: LONGEST - 2] + " …" if isinstance(value, str) else f"<{type(value).__name__}>"
