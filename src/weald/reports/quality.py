"""Metrics with confidence intervals, and charts of the predictions."""

import math

import numpy as np

from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import calibrator_of
from weald.forest.describe.markup import Markup, join, tag
from weald.reports import classification, regression
from weald.reports.metrics import TINY, UNITS_OF_TARGET, Score, by_chance, compute_scores, probability_of_truth
from weald.reports.predictions import Predictions
from weald.reports.section import Section, note, number, percent, stack, subhead, table


def section(model: TreeModel, sources: list[Predictions]) -> Section:
    """Evaluate the forest on each kind of rows."""
    lead = "Computed only from rows that the trees have not seen."
    parts = [_metrics(sources), *(_impossible(predictions) for predictions in sources)]
    if (calibrator := calibrator_of(model)) is not None:
        parts.append(
            note(
                f"Probabilities are calibrated ({calibrator.method}). Those of out-of-bag rows are calibrated by other "
                "rows, so that metrics and curves are valid for new rows."
            )
        )
    for predictions in sources:
        parts.append(subhead(f"{predictions.source.capitalize()}: {len(predictions.truth):,} rows"))
        if predictions.n_unknown:
            parts.append(note(f"{predictions.n_unknown:,} rows are in every bag and have no out-of-bag prediction."))
        is_classes = predictions.predicted.ndim == 2
        parts.append(
            classification.pictures(predictions, model.classes_) if is_classes else regression.pictures(predictions)
        )
    return Section("quality", "Metrics", lead, stack(*parts))


def _impossible(predictions: Predictions) -> Markup:
    """Return a note on the number of rows with infinite log loss."""
    if predictions.predicted.ndim == 1:
        return Markup("")
    n_zero = int(np.count_nonzero(probability_of_truth(predictions) == 0))
    if not n_zero:
        return Markup("")
    return note(
        f"Log loss, {predictions.source}: the true class has probability 0 in {n_zero:,} of "
        f"{len(predictions.truth):,} rows. Their loss is infinite; each counts as {number(-math.log(TINY))}, as in "
        "scikit-learn, so there is no interval. The Brier score has no such limit."
    )


def say(score: Score, value: float) -> str:
    """Format a value of a metric."""
    if score.is_share:
        return percent(value)
    return number(value) if score.name in UNITS_OF_TARGET else f"{value:.4f}"


def _cell(score: Score | None) -> Markup | str:
    if score is None:
        return "unknown"
    interval = "no interval" if math.isnan(score.low) else f"{say(score, score.low)} to {say(score, score.high)}"
    return join(say(score, score.value), tag("span", interval, class_="between"))


def _metrics(sources: list[Predictions]) -> Markup:
    found = [{score.name: score for score in compute_scores(predictions)} for predictions in sources]
    chance = {score.name: score for score in by_chance(sources[-1])}
    heads = ["metric", *(f"{a.source}, 95 % interval" for a in sources), "baseline: target only", "description"]
    lines = []
    for first in max(found, key=len).values():  # rows of a single class have no ROC AUC
        scores = [of_source.get(first.name) for of_source in found]
        baseline = chance.get(first.name)
        of_chance = "unknown" if baseline is None else say(baseline, baseline.value)
        lines.append([first.name, *map(_cell, scores), of_chance, first.words])
    return table(heads, lines, caption="Metrics", numeric=range(1, len(sources) + 2))
