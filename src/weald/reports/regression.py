"""Charts for regression: predicted against true values, and residuals."""

import numpy as np

from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.predictions import Predictions
from weald.reports.section import figure, figures, number


def pictures(predictions: Predictions) -> Markup:
    """Draw all charts."""
    return figures(_predicted_against_true(predictions), _residuals(predictions), _by_size(predictions))


def _predicted_against_true(predictions: Predictions) -> Markup:
    words = "Predicted against true values, one point for each row. On the dashed line both are equal."
    if len(predictions.truth) > 1500:
        words = "Predicted against true values; the darker, the more rows. On the dashed line both are equal."
    return figure(
        charts.points(predictions.predicted, predictions.truth, x_words="predicted", y_words="true", alt=words), words
    )


def _residuals(predictions: Predictions) -> Markup:
    off = predictions.truth - predictions.predicted
    low, high = np.quantile(off, [0.005, 0.995])
    reach = max(abs(low), abs(high)) or 0.5
    counts, edges = np.histogram(off.clip(-reach, reach), bins=41, range=(-reach, reach), weights=predictions.weight)
    quarter, three = np.quantile(off, [0.25, 0.75])
    words = f"True minus predicted. Half of the rows are between {number(quarter)} and {number(three)}; "
    words += "the outermost 1 % are in the outermost bars."
    return figure(charts.histogram(counts, edges, x_words="true minus predicted", alt=words, middle=0.0), words)


def _by_size(predictions: Predictions) -> Markup:
    """Show whether errors grow with the prediction: quantiles of the residuals in ten groups of equal size."""
    order = np.argsort(predictions.predicted, kind="stable")
    parts = [part for part in np.array_split(order, min(10, max(1, len(order) // 20))) if len(part)]
    off = predictions.truth - predictions.predicted
    x = np.array([np.median(predictions.predicted[part]) for part in parts])
    low, middle, high = (np.array([np.quantile(off[part], q) for part in parts]) for q in (0.1, 0.5, 0.9))
    words = "True minus predicted, by prediction: the median, and the band that holds 80 % of the rows. "
    words += "A band that widens means larger errors there."
    picture = charts.lines(
        [Series("", x, middle, (low, high), dots=True)], x_words="predicted", y_words="true minus predicted", alt=words
    )
    return figure(picture, words)
