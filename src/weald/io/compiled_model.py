"""Compiled models for services: a forest in the compiled core, with the columns of its fit.

compile_model    model -> a predictor of rows in any form
CompiledModel    the predictor
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from weald.data.few_rows import read_cells
from weald.data.schema import Rules, rules_of
from weald.data.types import Array, IntArray, Label, TableLike
from weald.engines.compiled import compile_forest
from weald.estimators.prediction import read_matrix, read_row, voting_of

if TYPE_CHECKING:
    from weald._core import Packed
    from weald.estimators.base import TreeModel

COLUMNS = ("schema_", "n_features_in_", "feature_names_in_")


def compile_model(model: "TreeModel", dtype: str) -> "CompiledModel":
    """Pack the forest of a model, with the columns of its fit."""
    reader = object.__new__(type(model))
    kept = (*COLUMNS, *Rules._fields)
    reader.__dict__ = {name: value for name, value in vars(model).items() if name in kept}
    return CompiledModel(compile_forest(model.forest_, voting_of(model), dtype), reader)


class CompiledModel:
    """A predictor made by `estimator.compile()`. Arrays of floats are passed to the compiled core unchanged.

    Attributes
    ----------
    n_features, n_classes, n_trees : int
        `n_classes` is 0 for regression.
    is_large : bool
        Whether nodes are exact for all float64 rows.
    """

    __slots__ = ("_packed", "_reader", "is_large", "n_classes", "n_features", "n_trees")

    def __init__(self, packed: "Packed", reader: "TreeModel") -> None:
        self._packed, self._reader = packed, reader
        self.n_features, self.n_classes, self.n_trees = packed.n_features, packed.n_classes, packed.n_trees
        self.is_large = packed.is_large

    def __call__(self, x: TableLike, threads: int = 1) -> "Array | float":
        """Predict a row or a table.

        Parameters
        ----------
        x : array, data frame, dict, tuple or list
            An array of floats has codes for categories; everything else is read as in `predict`. A dict or a
            Series has a value for each feature, by name; a tuple or a list has them in their order.
        threads : int, default=1
            Number of threads.

        Returns
        -------
        array or float
            For a row, the class probabilities in the order of `classes_`, or the mean; for a table, an array of these.
        """
        if isinstance(x, np.ndarray) and x.dtype.char in "df" and x.dtype.isnative:
            if isinstance(x, np.ma.MaskedArray):
                x = x.filled(np.nan)
            return cast("Array | float", self._packed(x, threads))
        values: Array | None = self._read_quickly(x)
        if values is None:
            values = read_row(self._reader, x)[0] if _is_row(x) else read_matrix(self._reader, x)
        return cast("Array | float", self._packed(values, threads))

    def buffer(self) -> IntArray:
        """Return the forest as one buffer, without names and categories, for `weald.open_compiled`."""
        return self._packed.buffer()

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Pickle the buffer and the columns."""
        return type(self), (self._packed, self._reader)

    def _read_quickly(self, x: TableLike) -> Array | None:
        """Read a dict, a tuple or a list with cells of the usual types; None for anything else."""
        schema = self._reader.schema_
        cells: list[Label] | tuple[Label, ...]
        if type(x) is dict and schema.names is not None:
            try:
                cells = [x[name] for name in schema.names]
            except KeyError:
                return None
        elif isinstance(x, tuple | list) and len(x) == self.n_features:
            cells = x
        else:
            return None
        rows = read_cells([cells], rules_of(self._reader), schema)
        return None if rows is None else rows[0]


def _is_row(x: TableLike) -> bool:
    """Return whether X is one row: names and values, or values."""
    if isinstance(x, Mapping):
        return True
    if isinstance(x, tuple | list):
        return not any(isinstance(cell, tuple | list | np.ndarray) for cell in x)
    return len(getattr(x, "shape", ())) == 1
