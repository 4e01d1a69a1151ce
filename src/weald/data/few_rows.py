"""A few rows to predict, read cell by cell: for one row, reading whole columns takes a hundred times as long.

    read_few     a small data frame   -> a matrix
    read_cells   rows of objects      -> a matrix

Both return None in any unusual case: another type than in the fit, an error, a number that would be rounded. The
caller then reads whole columns, which accepts or refuses the data. So both ways of reading give the same results.
"""

import math
from collections.abc import Sequence

import numpy as np

from weald.data.frames import cells_of_few
from weald.data.object_columns import LARGEST_EXACT, is_null
from weald.data.schema import Categories, Labeled, Rules, Schema, TableReader, rules_of
from weald.data.times import days_of_time, kind_of_time
from weald.data.types import FloatArray, Label, TableLike
from weald.errors import DataTypeError

MISSING = math.nan


def read_few(estimator: TableReader, X: TableLike) -> FloatArray | None:
    """Read a small data frame with the columns of the fit, in their order."""
    schema = estimator.schema_
    if schema.names is None or schema.times:  # dates in frames may have a finer resolution than Python's
        return None
    rows = cells_of_few(X, schema.names)
    return None if rows is None else read_cells(rows, rules_of(estimator), schema)


def read_cells(rows: Sequence[Sequence[Label]], rules: Rules, schema: Schema) -> FloatArray | None:
    """Read rows of Python objects. Unknown categories are counted or refused when all cells have been read."""
    X = np.empty((len(rows), len(schema.categories)))
    unknown: list[tuple[int, int, Label]] = []
    for r, row in enumerate(rows):
        numbers: list[float] = []
        for f, (cell, categories) in enumerate(zip(row, schema.categories, strict=True)):
            number = cell if type(cell) is float and categories is None and f not in schema.times else None
            if number is None:
                number = _number_of(cell, categories, schema.times.get(f))
            if number is None:
                if categories is None or not categories.has_kind_of(cell):
                    return None
                unknown.append((f, r, cell))
                number = MISSING
            numbers.append(number)
        X[r] = numbers
    if rules.missing == "error" and np.isnan(X).any():
        return None
    if unknown:
        _count(unknown, len(rows), rules, schema)
    return X


def _number_of(cell: Label, categories: Categories | None, time: str | None) -> float | None:
    """Return a cell as a number; None: an unknown category, or another type."""
    if is_null(cell):
        return MISSING
    if categories is not None:
        return categories.code_of(cell) if categories.has_kind_of(cell) else None
    if time is not None:
        try:
            return days_of_time(cell, "x") if kind_of_time(cell) == time else None
        except DataTypeError:  # a duration in months
            return None
    if isinstance(cell, float | np.float32 | np.float16 | np.bool_):
        return float(cell)
    is_exact = isinstance(cell, int | np.integer) and -LARGEST_EXACT <= cell <= LARGEST_EXACT
    return float(cell) if is_exact else None


def _count(unknown: list[tuple[int, int, Label]], n_rows: int, rules: Rules, schema: Schema) -> None:
    """Count unknown categories column by column, as when whole columns are read."""
    for feature in sorted({f for f, _, _ in unknown}):
        cells = [(r, label) for f, r, label in unknown if f == feature]
        numbers = np.full(n_rows, -1)
        numbers[[r for r, _ in cells]] = np.arange(len(cells))
        labels = [label for _, label in cells]
        schema.count_unknown(
            feature, Labeled(numbers, labels), np.ones(len(labels), dtype=bool), rules.unknown_category
        )
