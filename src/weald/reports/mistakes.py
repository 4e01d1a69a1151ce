"""The rows with the largest errors: check them first for wrong labels or missing features.

section    the rows with their contributions; the worst ones are explained in full
Source     the rows, and the training data that tells which trees have not seen them
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weald.data.table import Matrix, TrainingArguments
from weald.data.times import format_time
from weald.data.types import BoolArray, FloatArray, IntArray
from weald.estimators import metrics
from weald.estimators.base import TreeModel
from weald.estimators.merging import take_trees
from weald.forest.describe.markup import Markup, join, tag
from weald.inspection.dependence_request import WeightedRows
from weald.inspection.neighbors import find_neighbors
from weald.inspection.row_explanation import explain_matrix_row, list_neighbors
from weald.reports import shap
from weald.reports.columns import dense
from weald.reports.predictions import Predictions
from weald.reports.section import Section, column, name, note, number, percent, stack, subhead, table

SHOWN = 20
N_FEATURES = 5
N_REASONS = 3  # contributions in the table
N_EXPLAINED = 3  # rows that are explained in full
MOST_MEMBERS = 2e7  # limit of rows x trees for listing the training rows of all leaves


@dataclass(frozen=True)
class Source:
    """Rows with predictions, and the training data if they are part of it."""

    rows: Matrix | None  # None: only the predictions are available
    data: TrainingArguments | None = None  # None: no tree has seen the rows
    ids: Sequence[object] | None = None


def section(
    model: TreeModel, predictions: Predictions, source: Source, order: IntArray, names: tuple[str, ...]
) -> Section:
    """List the rows with the largest errors, with their values of the most important features."""
    rows, ids = source.rows, source.ids
    is_classes = predictions.predicted.ndim == 2
    worst, cells = (_classes if is_classes else _numbers)(model, predictions)
    heads = (
        ["row", "true", "predicted", "probability of the predicted class", "probability of the true class"]
        if is_classes
        else ["row", "true", "predicted", "true minus predicted"]
    )
    numeric = list(range(3 if is_classes else 1, 5 if is_classes else 4))
    reasons = _reasons(model, predictions, worst, source, names)
    if reasons is not None:
        heads.append("largest contributions")
    features = [] if rows is None else [int(f) for f in order[:N_FEATURES]]
    numeric += [len(heads) + i for i, f in enumerate(features) if model.schema_.categories[f] is None]
    heads += [names[f] if len(names[f]) <= 24 else names[f][:23] + "…" for f in features]
    lines: list[list[str]] = []
    for i, (at, known) in enumerate(zip(worst, cells, strict=True)):
        row = int(predictions.row[at])
        shown = [] if rows is None else [_value(model, rows, row, f) for f in features]
        why = [] if reasons is None else [reasons.words[i]]
        lines.append([name(row if ids is None else ids[row], 30), *known, *why, *shown])
    explained = (
        Markup("")
        if reasons is None or not lines
        else _explain(model, predictions, worst, [known[0] for known in cells], source, reasons)
    )
    what = "a wrong class, predicted with the largest margin" if is_classes else "the largest differences"
    where = predictions.source.capitalize()
    lead = f"{where}: {what}. Check these rows for wrong labels and missing features."
    caption = f"The {len(lines)} worst rows, counted from 0" if lines else "No row is wrong"
    return Section(
        "mistakes", "Largest errors", lead, stack(table(heads, lines, caption=caption, numeric=numeric), explained)
    )


@dataclass(frozen=True)
class Reasons:
    """Explanations of the rows with the largest errors."""

    words: list[Markup]  # by row: its largest contributions
    rows: FloatArray
    seen: BoolArray | None  # trees x rows: trees that are left out


def _reasons(
    model: TreeModel, predictions: Predictions, worst: IntArray, source: Source, names: tuple[str, ...]
) -> Reasons | None:
    """Explain the worst rows by the trees that have not seen them; None without their values, or for kernels."""
    if source.rows is None or not shap.has_values(model):
        return None
    places = predictions.row[worst]
    rows = dense(source.rows[places])
    seen = None if source.data is None or not len(worst) else shap.seen_by(model, source.data, places)
    if not len(worst):
        return Reasons([], rows, None)
    values = shap.contributions(model, rows, None if seen is None else ~seen)
    outputs = predictions.winners[worst] if values.shape[2] > 1 else np.zeros(len(worst), dtype=int)
    words = [_say_reasons(model, row, values[i, :, outputs[i]], names) for i, row in enumerate(rows)]
    return Reasons(words, rows, seen)


def _say_reasons(model: TreeModel, row: FloatArray, values: FloatArray, names: tuple[str, ...]) -> Markup:
    """List the largest contributions of a row, one below the other."""
    order = np.argsort(-np.abs(values), kind="stable")[:N_REASONS]
    parts, written = [], column(values)
    for f in order.tolist():
        words = ("+" if values[f] >= 0 else "") + written[f]
        value = _value(model, row[None], 0, f)
        parts.append(tag("span", name(names[f], 24), " ", value, ": ", words, class_="between"))
    return stack(*parts)


def _explain(
    model: TreeModel,
    predictions: Predictions,
    worst: IntArray,
    truths: Sequence[str],
    source: Source,
    reasons: Reasons,
) -> Markup:
    """Explain the worst rows in full, as `explain_row` does."""
    assert source.rows is not None  # noqa: S101  (for the type checker: there are reasons)
    table_of_rows = WeightedRows((source.rows.tocsr() if hasattr(source.rows, "tocsr") else source.rows,), None)
    near = None
    if source.data is not None and source.rows.shape[0] * model.forest_.n_trees <= MOST_MEMBERS:
        near = find_neighbors(model, source.data)
    parts = [subhead("The worst rows explained")]
    for i, (at, truth) in enumerate(zip(worst[:N_EXPLAINED].tolist(), truths, strict=False)):
        row, seen = reasons.rows[i : i + 1], None if reasons.seen is None else reasons.seen[:, i]
        trees = model if seen is None else take_trees(model, np.flatnonzero(~seen).tolist())
        neighbors = () if near is None else list_neighbors(model, row, near, seen)
        text = explain_matrix_row(trees, row, table_of_rows, neighbors).text()
        number_of = int(predictions.row[at])
        words = f"Row {number_of if source.ids is None else source.ids[number_of]}"
        parts.append(
            tag(
                "details",
                tag("summary", name(words), ", true ", truth),
                tag("pre", join(*text.splitlines(), between="\n"), tabindex=0),
                open="" if i == 0 else None,
            )
        )
    if source.data is not None:
        parts.append(
            note("Rows are explained by the trees that have not seen them, which gave the out-of-bag predictions.")
        )
    return stack(*parts)


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
