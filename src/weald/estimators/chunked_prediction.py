"""Predictions of tables that do not fit into memory, piece by piece.

predict_nothing  what is said of no rows
cut            an array, a memory map or an iterable -> pieces
RowProgress    how far it has come, on stderr
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
        """Word the line."""
        left = f", {words_of(seconds / share - seconds)} left" if 0 < share < 1 else ""
        n_done = round(share * self.n_trees)
        return f"weald {share:4.0%}  {n_done:,} of {self.n_trees:,} rows  {words_of(seconds)}{left}"


def check_table(X: Any) -> None:
    """Refuse what is neither a table nor an iterable of tables."""
    if (
        getattr(X, "shape", None) == ()
        or isinstance(X, str | bytes)
        or not (hasattr(X, "shape") or isinstance(X, Iterable))
    ):
        raise DataTypeError(f"X is {shown(X)}, not a table. Give an array, or an iterable of tables.")


def check_out(out: Any) -> None:
    """Refuse what predictions cannot be written to; whether it is large enough is seen piece by piece."""
    if out is not None and not (isinstance(out, np.ndarray) and out.ndim):
        raise DataError(f"out is {shown(out)}. Give a NumPy array with a place for every row.")


def cut(X: Any, rows: int) -> Iterator[Any]:
    """Cut a table into pieces of so many rows; what is an iterable of tables already stays as it is."""
    if not hasattr(X, "shape"):
        yield from X
        return
    for begin in range(0, X.shape[0], rows):
        yield X[begin : begin + rows]


def predict_nothing(model: Any, method: str) -> Array:
    """What a method of a fitted model says of a table without rows."""
    if not hasattr(model, "classes_"):
        return np.empty(0)
    nothing: Array = model.classes_[:0] if method == "predict" else np.empty((0, model.n_classes_))
    return nothing


def is_empty(piece: Any) -> bool:
    """Say whether a table has no rows; a stream, which knows no length, has some."""
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
    """Predict piece by piece; with `out`, each is written to its rows there."""
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
                        "numbers. Give an array with a place for every row."
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
    """Say how many rows there are, where that is known beforehand."""
    return int(X.shape[0]) if hasattr(X, "shape") else None


def read_dtype(dtype: Any) -> np.dtype[Any]:
    """Read the type that predictions are to have."""
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        wanted = np.dtype(object)
    if wanted not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise DataError(f"dtype={shown(dtype)} is neither float32 nor float64.")
    return wanted


def room_for(out: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Check an array that predictions are to be written to, or make one."""
    wanted = None if dtype is None else read_dtype(dtype)
    if out is None:
        return np.empty(shape, dtype=wanted or np.float64)
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64) or not out.dtype.isnative:
        raise DataError(
            f"out is {type(out).__name__} of {getattr(out, 'dtype', 'no dtype')}. Give a NumPy array of "
            "float32 or float64."
        )
    if wanted is not None and out.dtype != wanted:
        raise DataError(f"out holds {out.dtype}, but dtype={dtype!r} was asked for. Leave one of them out.")
    if out.shape != shape:
        raise DataError(f"out has shape {out.shape}, but the predictions have {shape}. Give an array of that shape.")
    if not out.flags.writeable:
        raise DataError("out cannot be written to. Give an array that can.")
    if not out.flags.aligned:
        raise DataError("out lies unevenly in memory, like a field of records. Give an array of its own.")
    return out
