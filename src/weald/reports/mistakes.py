"""The rows with the largest errors: check them first for wrong labels or missing features."""

from collections.abc import Sequence

import numpy as np

from weald.data.table import Matrix
from weald.data.times import format_time
from weald.data.types import IntArray
from weald.estimators import metrics
from weald.estimators.base import TreeModel
from weald.reports.predictions import Predictions
from weald.reports.section import Section, name, number, percent, table

SHOWN = 20
N_FEATURES = 5


def section(
    model: TreeModel,
    predictions: Predictions,
    rows: Matrix | None,
    order: IntArray,
    names: tuple[str, ...],
    ids: Sequence[object] | None,
) -> Section:
    """List these rows, with their values of the most important features."""
    is_classes = predictions.predicted.ndim == 2
    worst, cells = (_classes if is_classes else _numbers)(model, predictions)
    heads = (
        ["row", "true", "predicted", "probability of the predicted class", "probability of the true class"]
        if is_classes
        else ["row", "true", "predicted", "true minus predicted"]
    )
    features = [] if rows is None else [int(f) for f in order[:N_FEATURES]]
    lines = []
    for at, known in zip(worst, cells, strict=True):
        row = int(predictions.row[at])
        shown = [] if rows is None else [_value(model, rows, row, f) for f in features]
        lines.append([name(row if ids is None else ids[row], 30), *known, *shown])
    heads += [names[f] if len(names[f]) <= 24 else names[f][:23] + "…" for f in features]
    numeric = [
        *range(3 if is_classes else 1, 5 if is_classes else 4),
        *(5 + i - (not is_classes) for i, f in enumerate(features) if model.schema_.categories[f] is None),
    ]
    what = "a wrong class, predicted with the largest margin" if is_classes else "the largest differences"
    where = predictions.source.capitalize()
    lead = f"{where}: {what}. Look here first for wrong labels, and for what the columns do not show."
    caption = f"The {len(lines)} worst rows, counted from 0" if lines else "No row is wrong"
    return Section("mistakes", "Largest errors", lead, table(heads, lines, caption=caption, numeric=numeric))


def _classes(model: TreeModel, predictions: Predictions) -> tuple[IntArray, list[list[str]]]:
    margins = metrics.margins(predictions.predicted, predictions.truth)
    wrong = np.flatnonzero(predictions.winners != predictions.truth)
    worst = wrong[np.argsort(margins[wrong], kind="stable")][:SHOWN]
    cells = []
    for at in worst:
        truth, predicted = int(predictions.truth[at]), int(predictions.winners[at])
        shares = [percent(float(predictions.predicted[at, k])) for k in (predicted, truth)]
        cells.append([name(model.classes_[truth], 30), name(model.classes_[predicted], 30), *shares])
    return worst, cells


def _numbers(model: TreeModel, predictions: Predictions) -> tuple[IntArray, list[list[str]]]:
    off = predictions.truth - predictions.predicted
    worst = np.argsort(-np.abs(off), kind="stable")[:SHOWN]
    return worst, [[number(float(v[at])) for v in (predictions.truth, predictions.predicted, off)] for at in worst]


def _value(model: TreeModel, rows: Matrix, row: int, feature: int) -> str:
    value = float(rows[row, feature])
    if np.isnan(value):
        return "missing"
    categories, time = model.schema_.categories[feature], model.schema_.times.get(feature)
    if time:
        return format_time(value, time)
    return number(value) if categories is None else name(categories.labels[int(value)], 24)
