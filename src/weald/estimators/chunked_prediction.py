"""Predictions for tables that do not fit into memory, piece by piece.

predict_nothing  prediction for an empty table
cut            an array, a memory map or an iterable -> pieces
RowProgress    progress on stderr
predict        pieces -> predictions, one piece in memory at a time
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from weald.data.types import Array
from weald.engines.progress import Progress, words_of
from weald.errors import DataError, DataTypeError, shown

METHODS = ("predict", "predict_proba", "predict_votes")


class RowProgress(Progress):
    """Progress in rows."""

    def line(self, share: float, seconds: float) -> str:
        """Format the line."""
        left = f", {words_of(seconds / share - seconds)} left" if 0 < share < 1 else ""
        n_done = round(share * self.n_trees)
        return f"weald {share:4.0%}  {n_done:,} of {self.n_trees:,} rows  {words_of(seconds)}{left}"


def check_table(X: Any) -> None:
    """Refuse anything but a table or an iterable of tables."""
    if (
        getattr(X, "shape", None) == ()
        or isinstance(X, str | bytes)
        or not (hasattr(X, "shape") or isinstance(X, Iterable))
    ):
        raise DataTypeError(f"X is {shown(X)}, not a table. Give an array, or an iterable of tables.")


def check_out(out: Any) -> None:
    """Refuse an `out` that cannot be written to; its size is checked piece by piece."""
    if out is not None and not (isinstance(out, np.ndarray) and out.ndim):
        raise DataError(f"out is {shown(out)}. Give a NumPy array with one entry per row.")


def cut(X: Any, rows: int) -> Iterator[Any]:
    """Cut a table into pieces of `rows` rows; an iterable of tables is returned as it is."""
    if not hasattr(X, "shape"):
        yield from X
        return
    for begin in range(0, X.shape[0], rows):
        yield X[begin : begin + rows]


def predict_nothing(model: Any, method: str, width: int = 0) -> Array:
    """Predict a table without rows by a method of a fitted model; `width`: columns of a regressor's results."""
    if not hasattr(model, "classes_"):
        return np.empty((0, width)) if width else np.empty(0)
    if method == "predict":
        nothing: Array = model.classes_[:0]
        return nothing
    return np.empty((0, model.n_classes_), dtype=np.bool_ if method == "predict_set" else np.float64)


def is_empty(piece: Any) -> bool:
    """Return whether a table has no rows; a stream of unknown length counts as non-empty."""
    if hasattr(piece, "shape"):
        return bool(piece.shape[0] == 0)
    return hasattr(piece, "__len__") and len(piece) == 0


def predict(
    predict_piece: Callable[[Any], Array],
    pieces: Iterable[Any],
    out: Array | None,
    n_rows: int | None,
    verbose: int,
) -> Iterator[Array]:
    """Predict piece by piece; with `out`, each piece is written to its rows of the array."""
    watch = RowProgress(n_rows) if verbose and n_rows else None
    n_done = 0
    try:
        for piece in pieces:
            found = predict_piece(piece)
            end = n_done + len(found)
            if out is not None:
                if end > len(out) or found.shape[1:] != out.shape[1:]:
                    raise DataError(
                        f"out has shape {out.shape}, but {end} rows have been predicted, each with {found.shape[1:]} "
                        "numbers. Give an array with one entry per row."
                    )
                out[n_done:end] = found
                found = out[n_done:end]
            n_done = end
            if watch and n_rows:
                watch(n_done / n_rows)
            yield found
    finally:
        if watch:
            watch.stop()


def count_rows(X: Any) -> int | None:
    """Return the number of rows, or None if it is not known beforehand."""
    return int(X.shape[0]) if hasattr(X, "shape") else None


def read_dtype(dtype: Any) -> np.dtype[Any]:
    """Read the dtype of the predictions."""
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        wanted = np.dtype(object)
    if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise DataError(f"dtype={shown(dtype)} is neither float32 nor float64.")
    return wanted


def room_for(out: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Check the output array, or create one."""
    wanted = None if dtype is None else read_dtype(dtype)
    if out is None:
        return np.empty(shape, dtype=wanted or np.float64)
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64) or not out.dtype.isnative:
        raise DataError(
            f"out is {type(out).__name__} of {getattr(out, 'dtype', 'no dtype')}. Give a NumPy array of "
            "float32 or float64."
        )
    if wanted is not None and out.dtype != wanted:
        raise DataError(f"out holds {out.dtype}, but dtype={dtype!r} was given. Leave one of them out.")
    if out.shape != shape:
        raise DataError(
            f"out has shape {out.shape}, but the predictions have shape {shape}. Give an array of that shape."
        )
    if not out.flags.writeable:
        raise DataError("out is read-only. Give a writable array.")
    if not out.flags.aligned:
        raise DataError("out is not evenly strided in memory, like a field of a record array. Give a separate array.")
    return out
