"""Pictures of answers that are numbers: said against true, and how far they are off."""

import numpy as np

from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.predictions import Answers
from weald.reports.section import figure, figures, number


def pictures(answers: Answers) -> Markup:
    """Draw all of them."""
    return figures(_said_against_true(answers), _residuals(answers), _by_size(answers))


def _said_against_true(answers: Answers) -> Markup:
    words = "What is said against what is true, one point for each row. On the dashed line both are equal."
    if len(answers.truth) > 1500:
        words = "What is said against what is true; the darker, the more rows. On the dashed line both are equal."
    return figure(charts.points(answers.said, answers.truth, x_words="said", y_words="true", alt=words), words)


def _residuals(answers: Answers) -> Markup:
    off = answers.truth - answers.said
    low, high = np.quantile(off, [0.005, 0.995])
    reach = max(abs(low), abs(high)) or 0.5
    counts, edges = np.histogram(off.clip(-reach, reach), bins=41, range=(-reach, reach), weights=answers.weight)
    quarter, three = np.quantile(off, [0.25, 0.75])
    words = f"True less said. Half of the rows are between {number(quarter)} and {number(three)}; "
    words += "the outermost 1 % are in the outermost bars."
    return figure(charts.histogram(counts, edges, x_words="true less said", alt=words, middle=0.0), words)


def _by_size(answers: Answers) -> Markup:
    """Show whether errors grow with what is said: quantiles of the residuals in ten parts of equal size."""
    order = np.argsort(answers.said, kind="stable")
    parts = [part for part in np.array_split(order, min(10, max(1, len(order) // 20))) if len(part)]
    off = answers.truth - answers.said
    x = np.array([np.median(answers.said[part]) for part in parts])
    low, middle, high = (np.array([np.quantile(off[part], q) for part in parts]) for q in (0.1, 0.5, 0.9))
    words = "True less said, by what is said: the median, and the band that holds 80 % of the rows. "
    words += "A band that widens means larger errors there."
    picture = charts.lines(
        [Series("", x, middle, (low, high), dots=True)], x_words="said", y_words="true less said", alt=words
    )
    return figure(picture, words)
