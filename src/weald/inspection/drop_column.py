"""Drop-column importance: the increase in error if the forest is grown without a feature.

Both forests are compared on their out-of-bag rows, row by row. The smaller one has the same parameters and seed, and
its nodes consider as many features. There is no p-value: two forests also differ by chance, and a comparison of
rows does not show by how much.
"""

from typing import Unpack

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from weald.data.arguments import is_whole
from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import ColumnLike, FloatArray, IntArray, TableLike
from weald.errors import ParameterError
from weald.estimators.features import features_of
from weald.estimators.forest_base import RandomForest
from weald.estimators.training_data import TrainingData, read_again
from weald.inspection.importance_request import ByRow, ImportanceRequest
from weald.inspection.importance_result import Found
from weald.inspection.significance import OVER_ROWS, compare_rows

ROUNDING = 16 * float(np.finfo(np.float64).eps)


def take(X: TableLike, rows: IntArray | None = None, columns: list[int] | None = None) -> TableLike:
    """Select rows and columns of a table of any kind."""
    table = X if hasattr(X, "shape") else np.asarray(X)
    table = table if rows is None else _safe_indexing(table, rows, axis=0)
    return table if columns is None else _safe_indexing(table, columns, axis=1)


def grow_on(
    model: RandomForest,
    features: list[int],
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike,
    *,
    same_draw: bool = False,
    **by_row: Unpack[ByRow],
) -> tuple[RandomForest, TableLike]:
    """Fit a forest with the same parameters to some features; return it and the selected columns.

    With `same_draw` a node considers as many features as before, even if that is a larger fraction.
    """
    smaller = clone(model).set_params(random_state=model.seed_, warm_start=False, oob_score=False)
    if same_draw or is_whole(model.max_features):
        smaller.set_params(max_features=min(model.growth_.max_features, len(features)))
    columns = take(X, columns=features)
    return smaller.fit(columns, y, sample_weight, **by_row), columns


def _rounding(training: TrainingData, losses: FloatArray) -> FloatArray:
    """Return an upper bound of the effect of rounding on the loss of each row."""
    if training.reading.table.task is Task.CLASSIFICATION:
        return np.zeros(len(losses))  # 0 or 1
    largest = float(abs(training.reading.table.target).max())
    bound: FloatArray = ROUNDING * (np.sqrt(losses) * largest + losses)
    return bound


def dropped(question: ImportanceRequest) -> Found:
    """Mean increase in the out-of-bag loss of forests that are grown without a group."""
    training, groups = question.training, question.groups
    if not features_of(training.model).is_table:
        raise ParameterError(
            'kind="drop_column" fits forests without a column of X, but the features of a kernel forest are '
            "prototypes. Use another kind, or prototypes_.prune to fit a forest to the best ones."
        )
    table = training.reading.table
    before = training.losses(training.averages(table.X))
    increases = np.zeros((training.n_rows, len(groups.names)))
    for group, members in enumerate(groups.members):
        rest = [f for f in range(table.n_features) if f not in members]
        if not rest:
            raise ParameterError(
                f"Without {groups.names[group]!r} no feature is left. Give groups that leave at least one feature."
            )
        given = question.y, question.sample_weight
        smaller, columns = grow_on(training.model, rest, question.X, *given, same_draw=True, **question.by_row)
        without = read_again(smaller, TrainingArguments(columns, *given, **question.by_row))
        increases[:, group] = without.losses(without.averages(without.reading.table.X)) - before
    increases[abs(increases) <= _rounding(training, before)[:, None]] = 0.0
    values, error, _ = compare_rows(increases, training.weight)
    values = np.where(abs(values) <= ROUNDING * np.nanmean(abs(increases), axis=0), 0.0, values)
    return {"values": values, "std_error": error, "methods": {"std_error": OVER_ROWS}}
