"""Fitting an estimator repeatedly, each time to another sample of the rows."""

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from weald.data.arguments import WholeNumber, is_whole
from weald.data.types import Array, ColumnLike, IntArray, TableLike
from weald.errors import DataError, ParameterError


class Predictor(Protocol):
    """A classifier or regressor with scikit-learn's interface."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to a table."""

    def predict(self, X: Any) -> Any:
        """Predict rows."""


def count_rows(X: TableLike) -> int:
    """Count the rows of a table of any kind."""
    n_rows: int = _num_samples(X)
    return n_rows


def fit_repeatedly(
    estimator: Predictor, X: TableLike, y: Array, n_repeats: int, random_state: int
) -> Iterator[tuple[Predictor, IntArray]]:
    """Fit clones to bootstrap samples; yield each with the rows that it has not seen.

    Samples come from NumPy's `RandomState`, whose numbers never change. A clone with a `random_state` parameter gets
    its own.
    """
    if not is_whole(n_repeats) or n_repeats < 2:
        raise ParameterError(f"n_repeats={n_repeats!r} is not allowed. Give {WholeNumber(2).describe()[0]}.")
    if not is_whole(random_state) or not 0 <= random_state < 2**32:
        raise ParameterError(
            f"random_state={random_state!r} is not allowed. Give {WholeNumber(0, 2**32 - 1).describe()[0]}."
        )
    n_rows = len(y)
    random = np.random.RandomState(random_state)
    for _ in range(n_repeats):
        drawn = random.randint(0, n_rows, n_rows)
        seed = int(random.randint(0, 2**31))
        model = clone(estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        yield model.fit(_safe_indexing(X, drawn), y[drawn]), np.setdiff1d(np.arange(n_rows), drawn)


def read_target(y: ColumnLike, X: TableLike) -> Array:
    """Read y as an array as long as X."""
    target = np.asarray(y)
    n_rows = count_rows(X)
    if target.ndim != 1 or len(target) != n_rows:
        raise DataError(f"X has {n_rows} rows, but y has shape {target.shape}. Give one target for each row.")
    return target
