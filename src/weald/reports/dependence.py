"""How what the forest says changes with one feature, all others as they are (partial dependence)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from weald.data.types import FloatArray, IntArray
from weald.estimators.prediction import sum_votes
from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.section import Section, figure, figures, note, shorten, stack
from weald.reports.svg import span

N_FEATURES = 6
N_ROWS = 400  # that are asked
N_VALUES = 24  # that a feature is set to
N_CLASSES = 5
N_LABELS = 12


@dataclass(frozen=True)
class Dependence:
    """What is said of one feature's values: lines over numbers, or one number for each category."""

    feature: str
    said: str  # in words
    series: list[Series]
    rug: list[float]
    labels: list[str] | None = None  # of categories


def section(model: Any, rows: Any, order: IntArray, names: tuple[str, ...]) -> Section:
    """Draw the dependence on the features that matter most, all on one scale."""
    some = _sample(rows)
    asked = [_ask(model, some, int(f), names[f]) for f in order[:N_FEATURES] if _has_values(some[:, f])]
    on_scale = [values for one in asked for s in one.series for values in (s.y, *(s.band or ()))]
    scale = span(np.concatenate(on_scale)) if on_scale else None
    pictures = [_draw(one, scale) for one in asked]
    lead = (
        "What the forest says on average when one feature is set to a value and all others stay as they are. The band "
        "holds 80 % of the rows; small marks below are tenths of the rows."
    )
    caution = (
        "Where features go together, some of these rows could not exist: read the curves as what the forest would say, "
        "not as what the world would do."
    )
    return Section("dependence", "How it depends on them", lead, stack(figures(*pictures), note(caution)))


def _sample(rows: Any) -> FloatArray:
    """Take rows evenly from all over the table."""
    at = np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], N_ROWS)).astype(int)
    some = rows[at]
    return np.asarray(some.toarray() if sparse.issparse(some) else some, dtype=np.float64)


def _has_values(column: FloatArray) -> bool:
    return bool(np.isfinite(column).any())


def depend(model: Any, some: FloatArray, feature: int, values: FloatArray) -> FloatArray:
    """Ask for all rows with each value in turn: (values, rows) or (values, rows, classes)."""
    asked = np.repeat(some[None], len(values), axis=0)
    asked[:, :, feature] = values[:, None]
    flat = asked.reshape(-1, some.shape[1])
    sums = sum_votes(model, model.forest_, flat)
    said: FloatArray = sums / model.forest_.vote_total if sums.ndim == 2 else sums / model.forest_.n_trees
    return said.reshape(len(values), len(some), *said.shape[1:])


def _ask(model: Any, some: FloatArray, feature: int, words: str) -> Dependence:
    classes = getattr(model, "classes_", None)
    if model.schema_.categories[feature] is not None:
        return _ask_categories(model, some, feature, words)
    known = some[np.isfinite(some[:, feature]), feature]
    values = np.unique(np.quantile(known, np.linspace(0.01, 0.99, N_VALUES)))
    rug = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9))).clip(values[0], values[-1]).tolist()
    said = depend(model, some, feature, values)
    dots = len(values) < 3
    if classes is not None and len(classes) > 2:
        means = said.mean(axis=1)
        which = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:N_CLASSES])
        series = [Series(str(classes[k]), values, means[:, k], dots=dots) for k in which]
        return Dependence(words, "share of each class", series, rug)
    one = said[:, :, -1] if classes is not None else said
    low, high = np.quantile(one, [0.1, 0.9], axis=1)
    return Dependence(words, _of(classes, -1), [Series("", values, one.mean(axis=1), (low, high), dots)], rug)


def _ask_categories(model: Any, some: FloatArray, feature: int, words: str) -> Dependence:
    """Ask for each of the commonest categories; of many classes, look at the one that changes most."""
    labels = model.schema_.categories[feature].labels
    known = some[~np.isnan(some[:, feature]), feature].astype(int)
    counts = np.bincount(known, minlength=len(labels))
    values = np.sort(np.argsort(-counts, kind="stable")[: min(N_LABELS, int((counts > 0).sum()))])
    said = depend(model, some, feature, values.astype(np.float64)).mean(axis=1)
    classes = getattr(model, "classes_", None)
    k = 0 if classes is None else 1 if len(classes) == 2 else int(np.ptp(said, axis=0).argmax())
    series = [Series("", values.astype(np.float64), said if classes is None else said[:, k])]
    return Dependence(words, _of(classes, k), series, [], [str(labels[v]) for v in values])


def _of(classes: Any, k: int) -> str:
    return "mean prediction" if classes is None else f"share of {shorten(str(classes[k]), 24)}"


def _draw(one: Dependence, scale: tuple[float, float] | None) -> Markup:
    alt = f"How the {one.said} depends on {shorten(one.feature)}."
    if one.labels is not None:
        picture = charts.bars(one.labels, one.series[0].y.tolist(), x_words=one.said, alt=alt)
    else:
        picture = charts.lines(one.series, x_words=one.feature, y_words="", alt=alt, rug=one.rug, y=scale)
    return figure(picture, f"{shorten(one.feature, 40)}: {one.said}")
