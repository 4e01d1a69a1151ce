"""Partial dependence: the mean prediction as a function of one feature, with all others fixed.

The lines are exact, over all training rows: `weald.inspection.partial_dependence`. The bands are individual curves of
some rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weald.data.table import Matrix
from weald.data.types import Array, ColumnLike, FloatArray, IntArray
from weald.estimators.base import TreeModel
from weald.forest.describe.markup import Markup
from weald.inspection.dependence_request import Request, rows_of
from weald.inspection.dependence_result import DependenceCurve
from weald.inspection.partial_dependence import individual_curves, partial_curves
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.section import Section, figure, figures, note, shorten, stack, thin
from weald.reports.svg import span

N_FEATURES = 6
N_VALUES = 200  # points of a line
N_BAND = 30  # points of a band
N_ROWS = 400  # rows from which bands are computed
N_CLASSES = 5
NAMED = 20  # categories that are listed as left out
N_LABELS = 40  # categories that are drawn; others are named in a note


@dataclass(frozen=True)
class Dependence:
    """Predictions by the values of one feature: lines over numbers, or one value for each category."""

    feature: str
    predicted: str  # description of the prediction
    series: list[Series]
    rug: list[float]
    labels: list[str] | None = None  # category labels
    left_out: tuple[str, ...] = ()  # categories that are not drawn
    time: str | None = None  # "dates" or "durations"
    half: list[tuple[float, float]] | None = None  # for categories: the interval that contains 80 % of the rows


def section(model: TreeModel, rows: Matrix, weight: ColumnLike, order: IntArray, names: tuple[str, ...]) -> Section:
    """Draw the dependence on the most important features, all on one scale."""
    asked = depend(model, rows, weight, order, names)
    on_scale = [values for one in asked for s in one.series for values in (s.y, *(s.band or ()))]
    scale = span(np.concatenate(on_scale)) if on_scale else None
    pictures = [_draw(one, scale) for one in asked]
    n_rows = min(N_ROWS, rows.shape[0])
    n_classes = len(getattr(model, "classes_", ()))
    edges = "The thin line of a category" if n_classes > 2 else "The band, or the thin line of a category,"
    lead = (
        f"Mean prediction of all {rows.shape[0]:,} rows when one feature is set to a value and all others stay as they "
        f"are: exact, from one pass over the forest. {edges} holds 80 % of {n_rows:,} rows; small marks below are "
        "deciles of the feature."
    )
    if n_classes > N_CLASSES:
        lead += f" The lines show the {N_CLASSES} of {n_classes} classes whose probabilities change most."
    caution = (
        "If features are correlated, some combinations of values cannot occur. The curves describe the forest, not "
        "causes."
    )
    return Section("dependence", "Partial dependence", lead, stack(figures(*pictures), note(caution)))


def depend(
    model: TreeModel, rows: Matrix, weight: ColumnLike, order: IntArray, names: tuple[str, ...]
) -> list[Dependence]:
    """Compute the dependence on the most important features."""
    whole = rows_of((rows,), weight)
    some = rows_of((rows[thin(rows.shape[0], N_ROWS)],), None)
    chosen = [int(f) for f in order[:N_FEATURES] if np.isfinite(whole.column(int(f))).any()]
    if not chosen:
        return []
    groups = tuple((f,) for f in chosen)
    means = partial_curves(Request(model, whole, names, groups, None))
    bands = individual_curves(Request(model, some, names, groups, {f: _band_points(whole.column(f)) for f in chosen}))
    which = _changing(means)
    return [
        _describe(model, mean, band, whole.column(f), which) for f, mean, band in zip(chosen, means, bands, strict=True)
    ]


def _changing(means: Sequence[DependenceCurve]) -> IntArray:
    """Choose the classes whose probabilities change most, the same classes for all features."""
    changes = np.sum([np.ptp(mean.values[: len(mean.axes[0].points)], axis=0) for mean in means], axis=0)
    return np.sort(np.argsort(-np.atleast_1d(changes), kind="stable")[:N_CLASSES])


def _band_points(column: FloatArray) -> FloatArray:
    known = column[np.isfinite(column)]
    return np.unique(np.quantile(known, np.linspace(0.01, 0.99, N_BAND)))


def _describe(
    model: TreeModel, mean: DependenceCurve, band: DependenceCurve, column: FloatArray, which: IntArray
) -> Dependence:
    """Choose the lines of one chart."""
    classes = getattr(model, "classes_", None)
    axis = mean.axes[0]
    if axis.labels is not None:
        return _describe_categories(classes, mean, band)
    known = column[np.isfinite(column)]
    low, high = (float(np.quantile(known, level)) for level in (0.01, 0.99))
    values = np.linspace(low, high, N_VALUES) if low < high else np.unique(known)
    rug = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9))).clip(values[0], values[-1]).tolist()
    found = mean.values[axis.find(values)]
    dots = len(np.unique(known)) < 3
    if classes is not None and len(classes) > 2:
        series = [Series(str(classes[k]), values, found[:, k], dots=dots) for k in which]
        return Dependence(axis.name, "probability of the class", series, rug, time=axis.time)
    x = band.axes[0].points
    edges = _edges(band, -1)
    around = Series("", values, found[:, -1], (np.interp(values, x, edges[0]), np.interp(values, x, edges[1])), dots)
    return Dependence(axis.name, _of(classes, -1), [around], rug, time=axis.time)


def _edges(band: DependenceCurve, k: int) -> FloatArray:
    """Return the 10 % and the 90 % quantile of the rows at each point."""
    assert band.individual is not None  # noqa: S101  (for the type checker: the curve has rows)
    lines = band.individual[..., k] if band.outputs is not None else band.individual
    edges: FloatArray = np.quantile(lines, [0.1, 0.9], axis=0)
    return edges


def _describe_categories(classes: Array | None, mean: DependenceCurve, band: DependenceCurve) -> Dependence:
    """Reduce the chart: with many classes to the one that changes most, with many categories to the most common."""
    axis, n = mean.axes[0], len(mean.axes[0].points)
    order = np.argsort(-axis.frequencies, kind="stable")
    values, left_out = np.sort(order[:N_LABELS]), np.sort(order[N_LABELS:])
    means = mean.values[:n]
    k = 0 if classes is None else 1 if len(classes) == 2 else int(np.ptp(means, axis=0).argmax())
    low, high = _edges(band, k)[:, values]
    labels = mean.labels()
    return Dependence(
        axis.name,
        _of(classes, k),
        [Series("", values.astype(np.float64), means[values, k])],
        [],
        [str(labels[v]) for v in values],
        tuple(str(labels[v]) for v in left_out),
        half=list(zip(low.tolist(), high.tolist(), strict=True)),
    )


def _of(classes: Array | None, k: int) -> str:
    return "mean prediction" if classes is None else f"probability of {shorten(str(classes[k]), 24)}"


def _draw(one: Dependence, scale: tuple[float, float] | None) -> Markup:
    alt = f"How the {one.predicted} depends on {shorten(one.feature)}."
    words = f"{shorten(one.feature, 40)}: {one.predicted}"
    if one.labels is not None:
        values = one.series[0].y.tolist()
        picture = charts.bars(one.labels, values, ranges=one.half, x_words=one.predicted, alt=alt)
        return figure(picture, words + _say_left_out(one.left_out))
    picture = charts.lines(
        one.series, x_words=one.feature, y_words=one.predicted, alt=alt, rug=one.rug, y=scale, time=one.time
    )
    return figure(picture, words)


def _say_left_out(labels: tuple[str, ...]) -> str:
    """List the categories that are not drawn, or the first of them."""
    if not labels:
        return ""
    listed = ", ".join(shorten(label, 24) for label in labels[:NAMED])
    more = f" and {len(labels) - NAMED:,} more" if len(labels) > NAMED else ""
    return f". Not shown, since they are rarer: {listed}{more}"
