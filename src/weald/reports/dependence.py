"""Partial dependence: how predictions change with one feature while all others are fixed."""

from dataclasses import dataclass

import numpy as np

from weald.data.table import Matrix
from weald.data.types import Array, FloatArray, IntArray
from weald.estimators.base import TreeModel
from weald.estimators.prediction import sum_votes
from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.columns import dense
from weald.reports.section import Section, figure, figures, note, shorten, stack
from weald.reports.svg import span

N_FEATURES = 6
N_ROWS = 400  # that are predicted
N_VALUES = 24  # to which a feature is set
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
    labels: list[str] | None = None  # of categories
    left_out: tuple[str, ...] = ()  # categories that are not drawn
    time: str | None = None  # "dates" or "durations"
    half: list[tuple[float, float]] | None = None  # of categories: the interval that contains 80 % of the rows


def section(model: TreeModel, rows: Matrix, order: IntArray, names: tuple[str, ...]) -> Section:
    """Draw the dependence on the most important features, all on one scale."""
    some = _sample(rows)
    asked = [_predict(model, some, int(f), names[f]) for f in order[:N_FEATURES] if _has_values(some[:, f])]
    on_scale = [values for one in asked for s in one.series for values in (s.y, *(s.band or ()))]
    scale = span(np.concatenate(on_scale)) if on_scale else None
    pictures = [_draw(one, scale) for one in asked]
    lead = (
        "Mean prediction when one feature is set to a value and all others stay as they are. The band, or the thin "
        "line of a category, holds 80 % of the rows; small marks below are deciles of the feature."
    )
    caution = (
        "Where features go together, some of these rows could not exist: read the curves as what the forest would "
        "predict, not as what the world would do."
    )
    return Section("dependence", "Partial dependence", lead, stack(figures(*pictures), note(caution)))


def _sample(rows: Matrix) -> FloatArray:
    """Take evenly spaced rows of the table."""
    at = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], N_ROWS)).astype(int)
    return dense(rows[at])


def _has_values(column: FloatArray) -> bool:
    return bool(np.isfinite(column).any())


def depend(model: TreeModel, some: FloatArray, feature: int, values: FloatArray) -> FloatArray:
    """Predict all rows with each value: (values, rows) or (values, rows, classes)."""
    asked = np.repeat(some[None], len(values), axis=0)
    asked[:, :, feature] = values[:, None]
    flat = asked.reshape(-1, some.shape[1])
    sums = sum_votes(model, model.forest_, flat)
    predicted: FloatArray = sums / model.forest_.vote_total if sums.ndim == 2 else sums / model.forest_.n_trees
    return predicted.reshape(len(values), len(some), *predicted.shape[1:])


def _predict(model: TreeModel, some: FloatArray, feature: int, words: str) -> Dependence:
    classes = getattr(model, "classes_", None)
    categories = model.schema_.categories[feature]
    if categories is not None:
        return _predict_categories(model, some, feature, words, categories.labels)
    time = model.schema_.times.get(feature)
    known = some[np.isfinite(some[:, feature]), feature]
    values = np.unique(np.quantile(known, np.linspace(0.01, 0.99, N_VALUES)))
    rug = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9))).clip(values[0], values[-1]).tolist()
    predicted = depend(model, some, feature, values)
    dots = len(values) < 3
    if classes is not None and len(classes) > 2:
        means = predicted.mean(axis=1)
        which = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:N_CLASSES])
        series = [Series(str(classes[k]), values, means[:, k], dots=dots) for k in which]
        return Dependence(words, "probability of each class", series, rug, time=time)
    one = predicted[:, :, -1] if classes is not None else predicted
    low, high = np.quantile(one, [0.1, 0.9], axis=1)
    return Dependence(
        words, _of(classes, -1), [Series("", values, one.mean(axis=1), (low, high), dots)], rug, time=time
    )


def _predict_categories(model: TreeModel, some: FloatArray, feature: int, words: str, labels: Array) -> Dependence:
    """Predict with each category; with many classes, show the class that changes most.

    All categories are drawn, or if there are very many, the most common ones of the sample.
    """
    known = some[~np.isnan(some[:, feature]), feature].astype(int)
    order = np.argsort(-np.bincount(known, minlength=len(labels)), kind="stable")
    values, left_out = np.sort(order[:N_LABELS]), np.sort(order[N_LABELS:])
    predicted = depend(model, some, feature, values.astype(np.float64))
    classes = getattr(model, "classes_", None)
    k = 0 if classes is None else 1 if len(classes) == 2 else int(np.ptp(predicted.mean(axis=1), axis=0).argmax())
    one = predicted if classes is None else predicted[:, :, k]
    low, high = np.quantile(one, [0.1, 0.9], axis=1)
    return Dependence(
        words,
        _of(classes, k),
        [Series("", values.astype(np.float64), one.mean(axis=1))],
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
