"""The uncertainty of predictions: intervals of numbers or sets of classes, from out-of-bag rows."""

import numpy as np

from weald.data.types import FloatArray
from weald.estimators.calibration.kept_errors import Weighing, bound
from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.predictions import Predictions
from weald.reports.section import Section, figure, figures, note, number, percent, stack, table

COVERAGES = (0.5, 0.8, 0.9, 0.95)
SHOWN = 0.9  # coverage of the charts
FEWEST = 20  # rows in a group
MOST_GROUPS = 10
CLOSE = 1e-12  # probabilities that differ by less are treated as equal


def section(sources: list[Predictions]) -> Section | None:
    """Show intervals or sets of some coverages; None without out-of-bag predictions."""
    known = {predictions.source: predictions for predictions in sources}
    if "out of bag" not in known:
        return None
    own, new = known["out of bag"], known.get("held out")
    is_classes = own.predicted.ndim == 2
    lead = (
        "Size of prediction sets by coverage, the probability that a set contains the true class."
        if is_classes
        else "Width of prediction intervals by coverage, the probability that an interval contains the target."
    )
    return Section("sure", "Prediction uncertainty", lead, _sets(own, new) if is_classes else _intervals(own, new))


def _weighing(predictions: Predictions) -> Weighing:
    return Weighing(predictions.weight, predictions.is_whole)


def _fraction(is_in: FloatArray | np.ndarray, weight: FloatArray) -> float:
    return float(np.average(is_in, weights=weight))


# -------------------------------------------------------------------------------------------------------- intervals


def _intervals(own: Predictions, new: Predictions | None) -> Markup:
    away = np.abs(own.truth - own.predicted)
    halves = {coverage: bound(away, _weighing(own), coverage) for coverage in COVERAGES}
    heads = ["coverage", "prediction ±", *([] if new is None else ["contained, held out"])]
    lines = [
        [percent(c), number(half) if np.isfinite(half) else "too few rows", *_found(new, half)]
        for c, half in halves.items()
    ]
    words = (
        "The half-width is a quantile of the out-of-bag errors (predict_interval). It is the same for all rows; "
        'method="cqr" and "oob-scaled" adapt it.'
    )
    parts = [table(heads, lines, caption="Prediction intervals", numeric=range(1, len(heads))), note(words)]
    groups = min(MOST_GROUPS, len(away) // FEWEST)
    if groups > 1 and np.isfinite(halves[SHOWN]):
        parts.append(figures(_by_prediction(own, away <= halves[SHOWN], groups)))
    return stack(*parts)


def _found(new: Predictions | None, half: float) -> list[str]:
    if new is None:
        return []
    return [percent(_fraction(np.abs(new.truth - new.predicted) <= half, new.weight))]


def _by_prediction(own: Predictions, is_in: np.ndarray, groups: int) -> Markup:
    """Show the predictions for which intervals of equal width contain too few targets."""
    parts = np.array_split(np.argsort(own.predicted, kind="stable"), groups)
    x = np.array([np.median(own.predicted[part]) for part in parts])
    y = np.array([_fraction(is_in[part], own.weight[part]) for part in parts])
    words = f"Fraction of the targets in their {percent(SHOWN)} interval, by prediction, out of bag. "
    words += "Where it is low, errors are larger than elsewhere."
    asked = Series("asked for", x, np.full(len(x), SHOWN))
    picture = charts.lines(
        [Series("contained", x, y, dots=True), asked],
        x_words="predicted",
        y_words="contained",
        alt=words,
        y=(min(0.5, float(y.min())), 1.0),
    )
    return figure(picture, words)


# ------------------------------------------------------------------------------------------------------------- sets


def _sets(own: Predictions, new: Predictions | None) -> Markup:
    scores = 1.0 - own.predicted[np.arange(len(own.truth)), own.truth]
    heads = ["coverage", "probability from", "classes in a set", "sets of one class", "empty sets"]
    heads += [] if new is None else ["contained, held out"]
    lines = []
    for coverage in COVERAGES:
        limit = bound(scores, _weighing(own), coverage)
        sizes = (1.0 - own.predicted <= limit + CLOSE).sum(axis=1)
        line = [
            percent(coverage),
            percent(max(0.0, 1.0 - limit)),
            f"{np.average(sizes, weights=own.weight):.2f}",
            *(percent(_fraction(sizes == n, own.weight)) for n in (1, 0)),
        ]
        if new is not None:
            is_in = 1.0 - new.predicted[np.arange(len(new.truth)), new.truth] <= limit + CLOSE
            line.append(percent(_fraction(is_in, new.weight)))
        lines.append(line)
    words = (
        "A set contains all classes with at least this probability (predict_set). Several classes: the forest "
        "cannot separate them at this level. Empty: no class is probable enough."
    )
    return stack(table(heads, lines, caption="Prediction sets", numeric=range(1, len(heads))), note(words))
