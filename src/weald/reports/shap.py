"""SHAP values of some training rows: a bar chart and a beeswarm plot.

section         charts of some training rows
seen_by         the trees that have seen some training rows
contributions   SHAP values of rows by the trees that have not seen them
"""

import numpy as np

from weald.data.table import Matrix, TrainingArguments
from weald.data.types import BoolArray, FloatArray, IntArray
from weald.errors import ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.training_data import read_training_data
from weald.forest.describe.markup import Markup, tag
from weald.inspection.beeswarm import ranks_of, spread
from weald.inspection.explanation import Explanation
from weald.inspection.shap_values import RowsToExplain, explain_rows, refuse_kernels
from weald.reports import charts, svg
from weald.reports.columns import dense
from weald.reports.section import Section, figure, figures, note, shorten, stack, thin

SHOWN = 12  # features
MOST_ROWS = 500
WORK = 100_000  # maximum of rows x trees
STEP = 26.0  # height of a feature in the chart
COLORS = "Blue points have high values of the feature, amber ones low values; gray: missing, or without an order."
N_SHADES = 5  # colors of a beeswarm, from low values to high ones


def has_values(model: TreeModel) -> bool:
    """Return whether the columns of a model have SHAP values."""
    try:
        refuse_kernels(model)
    except ParameterError:
        return False
    return True


def section(model: TreeModel, rows: Matrix) -> Section:
    """Draw the SHAP values of evenly spaced rows."""
    n_rows = int(min(rows.shape[0], MOST_ROWS, max(50, WORK // model.forest_.n_trees)))
    some = dense(rows[thin(rows.shape[0], n_rows)])
    explanation = explain_rows(model, RowsToExplain(some))
    assert not isinstance(explanation, list)  # noqa: S101  (for the type checker: there is one target)
    magnitudes = explanation.mean_magnitudes()
    summary = magnitudes if magnitudes.ndim == 1 else magnitudes.mean(axis=1)
    order = np.argsort(-summary, kind="stable")[:SHOWN]
    one, words = _one_output(model, explanation)
    names = [explanation.feature_names[f] for f in order]
    alt = f"Mean magnitude of the SHAP values of the {len(order)} features with the largest ones."
    bars = charts.bars(names, summary[order].tolist(), x_words="mean magnitude of SHAP values", alt=alt)
    swarm = _beeswarm(one, order, f"SHAP values of {words}")
    n_some = len(some)
    lead = (
        f"How much each feature moved the prediction of a row away from the mean, for {n_some:,} rows: base value + "
        "SHAP values = prediction. The values describe the forest, not causes."
    )
    several = ", averaged over the classes" if magnitudes.ndim > 1 and magnitudes.shape[1] > 2 else ""
    pictures = figures(
        figure(bars, f"Mean magnitude{several}: how much a feature moves predictions."),
        figure(swarm, f"One point for each row: SHAP values of {words}. {COLORS}"),
    )
    caution = note("Of correlated features, only those that the forest uses have large SHAP values.")
    return Section("shap", "SHAP values", lead, stack(pictures, caution))


def _one_output(model: TreeModel, explanation: Explanation) -> tuple[Explanation, str]:
    """Choose the class of the beeswarm: the second of two, else the one whose probability changes most."""
    if explanation.output_names is None:
        return explanation, "the prediction"
    k = 1 if len(explanation.output_names) == 2 else int(explanation.mean_magnitudes().sum(axis=0).argmax())
    label = explanation.output_names[k]
    return explanation.of_output(label), f"the probability of {shorten(str(label), 24)}"


def _beeswarm(explanation: Explanation, order: IntArray, words: str) -> Markup:
    """Draw a point for each row and feature."""
    names = [shorten(explanation.feature_names[f], 20) for f in order]
    left = max(60.0, svg.LETTER * max(map(len, names)) + 14)
    height = STEP * len(names) + 52
    values = explanation.values[:, order]
    scale = svg.Scale(*svg.span(values, zero=True), left, svg.WIDTH - 12)
    f = svg.ChartArea(scale, svg.Scale(0, 1, height - 40, 6), svg.WIDTH, height)
    parts = [svg.line(f.x(v), 6, f.x(v), f.y.start, "grid") for v, _ in svg.fit_ticks(f.x)]
    parts.append(svg.line(f.x(0.0), 6, f.x(0.0), f.y.start, "axis"))
    reach = float(np.ptp(values)) or 1.0
    for i, feature in enumerate(order):
        middle = 6 + STEP * (i + 0.5)
        parts.append(svg.text(names[i], left - 8, middle + 4, anchor="end", kind="name"))
        heights = spread(values[:, i], reach) * 0.42 * STEP
        shades = _shades(explanation, int(feature))
        parts += [
            tag("circle", cx=f.x(v), cy=round(middle - h, 1), r=1.9, class_=shade)
            for v, h, shade in zip(values[:, i].tolist(), heights.tolist(), shades, strict=True)
        ]
    return svg.picture(f, svg.axes(f, words, "", grid=False), *parts, alt=f"{words}, a point for each row.")


def _shades(explanation: Explanation, feature: int) -> list[str]:
    """Choose the color of each row by the rank of its value; those without an order are gray."""
    if not explanation.ordered[feature]:
        return ["shade"] * len(explanation)
    ranks = ranks_of(explanation.numbers[:, feature])
    steps = np.minimum((np.nan_to_num(ranks) * N_SHADES).astype(int), N_SHADES - 1)
    return ["shade" if np.isnan(rank) else f"shade h{step}" for rank, step in zip(ranks, steps.tolist(), strict=True)]


# ------------------------------------------------------------------------------------------------------ some rows


def seen_by(model: TreeModel, data: TrainingArguments, rows: IntArray) -> BoolArray:
    """Return which trees have seen some training rows (trees x rows); rows are numbers in the user's table."""
    training = read_training_data(model, data)
    kept = training.reading.kept
    places = rows if kept is None else np.searchsorted(np.flatnonzero(kept), rows)
    parts = [training.bags(trees)[:, places] > 0 for trees in training.batches()]
    seen: BoolArray = np.concatenate(parts)
    return seen


def contributions(model: TreeModel, rows: FloatArray, is_new: BoolArray | None) -> FloatArray:
    """Return the SHAP values of rows (rows x features x outputs), by the trees that are new to them."""
    found = explain_rows(model, RowsToExplain(rows, is_new))
    assert not isinstance(found, list)  # noqa: S101  (for the type checker: there is one target)
    return found.values if found.output_names is not None else found.values[..., None]
