"""Pictures of answers that are classes: what is taken for what, ROC and precision-recall curves, calibration."""

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from weald.estimators import metrics
from weald.forest.describe.markup import Markup, tag
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.metrics import area
from weald.reports.predictions import Answers
from weald.reports.section import figure, figures, name, number, percent, shorten, stack, table, thin

MOST_CLASSES = 12  # in a table of what is taken for what
MOST_LINES = 6
MOST_POINTS = 150  # of a curve


def pictures(answers: Answers, classes: Any) -> Markup:
    """Draw all of them."""
    labels = [str(label) for label in classes]
    counts = metrics.confusion(answers.truth, answers.winners, len(classes), answers.weight, None)
    confused = _matrix(counts, labels) if len(classes) <= MOST_CLASSES else _pairs(counts, labels)
    charts_ = [_calibration(answers, labels)]
    which = _chosen(answers)
    if which:
        charts_ = [_roc(answers, labels, which), _precision_recall(answers, labels, which), *charts_]
    return stack(confused, figures(*charts_))


def _chosen(answers: Answers) -> list[int]:
    """Classes that get a curve: of two the second, else the commonest that are there; none if there is but one."""
    counts = np.bincount(answers.truth, minlength=answers.said.shape[1])
    if answers.said.shape[1] == 2:
        return [1] if counts.all() else []
    order = np.argsort(-counts, kind="stable")
    return [int(k) for k in order if 0 < counts[k] < len(answers.truth)][:MOST_LINES]


def _matrix(counts: np.ndarray, labels: list[str]) -> Markup:
    """Show what is taken for what; the darker, the larger the share of the true class."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    rows = []
    for k, label in enumerate(labels):
        cells = []
        for j, count in enumerate(counts[k]):
            share = float(count / total[k, 0])
            words = f"{count:,}" if float(count).is_integer() else number(float(count))
            shade = "right" if j == k else "wrong"
            cells.append(
                tag("td", words, class_=f"n cell {shade}", style=f"--share:{round(share, 3)}", title=percent(share))
            )
        recall = percent(float(counts[k, k] / total[k, 0])) if counts[k].sum() else "no rows"
        rows.append(tag("tr", tag("th", name(label, 30), scope="row"), *cells, tag("td", recall, class_="n")))
    head = tag(
        "tr",
        tag("td"),
        *(tag("th", name(label, 20), scope="col", class_="n") for label in labels),
        tag("th", "right", scope="col", class_="n"),
    )
    caption = "What is taken for what: true classes down, said classes across"
    body = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *rows), class_="confusion")
    return tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _pairs(counts: np.ndarray, labels: list[str]) -> Markup:
    """List the commonest mistakes where a table of all classes would be too large."""
    wrong = counts.astype(float).copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:20]
    places = [np.unravel_index(at, wrong.shape) for at in order if wrong.flat[at] > 0]
    lines = [
        [name(labels[i]), name(labels[j]), number(float(wrong[i, j])), percent(wrong[i, j] / counts[i].sum())]
        for i, j in places
    ]
    caption = f"The commonest mistakes among {len(labels)} classes"
    return table(["true class", "taken for", "rows", "of the true class"], lines, caption=caption, numeric=(2, 3))


def _sides(answers: Answers, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the rows of a class and of others whose share is at least each threshold, thresholds falling."""
    score, happened = answers.said[:, k], answers.truth == k
    values, place = np.unique(-score, return_inverse=True)
    hits = np.cumsum(np.bincount(place, weights=answers.weight * happened, minlength=len(values)))
    alarms = np.cumsum(np.bincount(place, weights=answers.weight * ~happened, minlength=len(values)))
    return hits, alarms


def _words_of(label: str, n: int, found: str) -> str:
    """Say what a curve adds up to; the class is named where there are several."""
    return f"{shorten(label, 24)}: {found}" if n > 1 else found


def _roc(answers: Answers, labels: list[str], which: list[int]) -> Markup:
    series = []
    for k in which:
        hits, alarms = _sides(answers, k)
        at = thin(len(hits), MOST_POINTS)
        x, y = np.append(0, alarms[at] / alarms[-1]), np.append(0, hits[at] / hits[-1])
        auc = area(answers.said[:, k], answers.truth == k, answers.weight)[0]
        series.append(Series(_words_of(labels[k], len(which), f"area {number(auc)}"), x, y))
    words = f"ROC curve: how many rows of {_of(labels, which)} are found, and how many others are taken for it."
    return _curves(series, words, x_words="others taken for it", y_words="found", diagonal=True)


def _precision_recall(answers: Answers, labels: list[str], which: list[int]) -> Markup:
    series = []
    for k in which:
        hits, alarms = _sides(answers, k)
        at = thin(len(hits), MOST_POINTS)
        at = at[hits[at] > 0]
        x, y = hits[at] / hits[-1], hits[at] / (hits[at] + alarms[at])
        mean = average_precision_score(answers.truth == k, answers.said[:, k], sample_weight=answers.weight)
        words = _words_of(labels[k], len(which), f"average precision {number(float(mean))}")
        series.append(Series(words, np.append(0, x), np.append(y[0], y)))
    words = f"Precision and recall of {_of(labels, which)}: how many rows called so are, and how many are found."
    return _curves(series, words, x_words="found (recall)", y_words="right (precision)")


def _curves(series: list[Series], words: str, *, x_words: str, y_words: str, diagonal: bool = False) -> Markup:
    """Draw curves of shares against shares, with what each adds up to."""
    alt = words + " " + "; ".join(s.words for s in series)
    picture = charts.lines(series, x_words=x_words, y_words=y_words, alt=alt, x=(0, 1), y=(0, 1.02), diagonal=diagonal)
    return figure(picture, words + (f" {series[0].words.capitalize()}." if len(series) == 1 else ""))


def _of(labels: list[str], which: list[int]) -> str:
    return f"class {shorten(labels[which[0]], 24)}" if len(which) == 1 else "each class"


def _calibration(answers: Answers, labels: list[str]) -> Markup:
    """Hold shares against how often they come true, with Wilson's interval of each part."""
    if answers.said.shape[1] == 2:
        said, happened, of = answers.said[:, 1], answers.truth == 1, f"class {shorten(labels[1], 24)}"
    else:
        said, happened, of = answers.said.max(axis=1), answers.winners == answers.truth, "the class that wins"
    found = metrics.calibrate(said, happened, answers.weight, 10)
    scale = answers.n_effective / answers.weight.sum()
    ends = [metrics.wilson(float(f), float(w * scale), 1.96) for f, w in zip(found.found, found.weight, strict=True)]
    band = (np.array([low for low, _ in ends]), np.array([high for _, high in ends]))
    words = (
        f"Calibration: when the forest says a share for {of}, how often is it true? On the dashed line both are equal."
    )
    picture = charts.lines(
        [Series("", found.said, found.found, band, dots=True)],
        x_words="share that is said",
        y_words="how often it is true",
        alt=words,
        x=(0, 1),
        y=(0, 1.02),
        diagonal=True,
    )
    return figure(picture, words)
