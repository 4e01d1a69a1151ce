"""Charts for classification: confusion matrix, ROC and precision-recall curves, calibration."""

import json

import numpy as np
from sklearn.metrics import average_precision_score

from weald.data.types import Array
from weald.estimators import metrics
from weald.forest.describe.markup import Markup, tag
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.metrics import area
from weald.reports.predictions import Predictions
from weald.reports.section import figure, figures, name, number, percent, shorten, stack, subhead, table, thin

MOST_CLASSES = 30  # classes in a confusion matrix
FEW = 8  # up to this many classes, names are side by side above a confusion matrix
MOST_LINES = 6
MOST_POINTS = 150  # points of a curve


def pictures(predictions: Predictions, classes: Array) -> Markup:
    """Draw all charts."""
    labels = [str(label) for label in classes]
    counts = metrics.confusion(predictions.truth, predictions.winners, len(classes), predictions.weight, None)
    confused = _matrix(counts, labels) if len(classes) <= MOST_CLASSES else _pairs(counts, labels)
    charts_ = [_calibration(predictions, labels)]
    which = _chosen(predictions)
    if which:
        charts_ = [
            _roc(predictions, labels, which),
            _precision_recall(predictions, labels, which),
            _gain(predictions, labels, which),
            *charts_,
        ]
    by_class = [_by_class(predictions, labels, counts)] if len(classes) > 2 else []
    sliders = [_threshold(predictions, labels)] if which == [1] and len(classes) == 2 else []
    choice = [_one_class(predictions, labels)] if which and len(classes) > 2 else []
    return stack(confused, *by_class, figures(*charts_), *choice, *sliders)


def _one_class(predictions: Predictions, labels: list[str]) -> Markup:
    """Let the reader choose a class; show its curves and its calibration, against the rest."""
    counts = np.bincount(predictions.truth, minlength=len(labels))
    there = [int(k) for k in np.argsort(-counts, kind="stable") if 0 < counts[k] < len(predictions.truth)]
    shown = sorted(there[:MOST_CLASSES])
    options = (tag("option", shorten(labels[k], 40), value=i) for i, k in enumerate(shown))
    select = tag("label", "Class ", tag("select", *options))
    parts = []
    for i, k in enumerate(shown):
        draw = (_roc, _precision_recall, _gain)
        pictures_ = [one(predictions, labels, [k], MOST_POINTS // 2) for one in draw]
        pictures_.append(_calibration(predictions, labels, k))
        parts.append(tag("div", figures(*pictures_), class_="of-class", hidden=i > 0))
    of = (
        f"the {len(shown)} most common of {len(labels)} classes" if len(there) > len(shown) else f"{len(shown)} classes"
    )
    words = f"Choose one of {of} to see its curves and its calibration, against all others."
    missing = len(labels) - len(there)
    words += f" {missing} without such rows have no curves." if missing else ""
    return tag(
        "div",
        subhead("One class against the rest"),
        tag("p", words, class_="sub"),
        tag("div", select, class_="tools"),
        *parts,
        class_="classes",
    )


def _chosen(predictions: Predictions) -> list[int]:
    """Choose the classes to draw: the second of two, else the most common ones; none if only one class occurs."""
    counts = np.bincount(predictions.truth, minlength=predictions.predicted.shape[1])
    if predictions.predicted.shape[1] == 2:
        return [1] if counts.all() else []
    order = np.argsort(-counts, kind="stable")
    return [int(k) for k in order if 0 < counts[k] < len(predictions.truth)][:MOST_LINES]


def _by_class(predictions: Predictions, labels: list[str], counts: np.ndarray) -> Markup:
    """List precision, recall and areas under the curves of each class against the rest."""
    lines = []
    for k, label in enumerate(labels):
        n_true, n_predicted = float(counts[k].sum()), float(counts[:, k].sum())
        is_class = predictions.truth == k
        areas = ["unknown"] * 2
        if 0 < is_class.sum() < len(is_class):
            score = predictions.predicted[:, k]
            mean = average_precision_score(is_class, score, sample_weight=predictions.weight)
            areas = [f"{value:.4f}" for value in (area(score, is_class, predictions.weight)[0], mean)]
        fractions = [percent(float(counts[k, k]) / n) if n else "unknown" for n in (n_true, n_predicted)]
        lines.append([name(label, 40), number(n_true), *fractions, *areas])
    heads = ["class", "rows", "recall", "precision", "ROC AUC", "average precision"]
    return table(heads, lines, caption="Every class against the rest", numeric=range(1, 6), sortable=True)


def _matrix(counts: np.ndarray, labels: list[str]) -> Markup:
    """Show the confusion matrix; a darker cell is a larger fraction of the true class."""
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    rows = []
    for k, label in enumerate(labels):
        cells = []
        for j, count in enumerate(counts[k]):
            share = float(count / total[k, 0])
            words = f"{count:,}" if float(count).is_integer() else number(float(count))
            shade = "right" if j == k else "wrong" if count else "wrong zero"
            cells.append(
                tag("td", words, class_=f"n cell {shade}", style=f"--share:{round(share, 3)}", title=percent(share))
            )
        recall = percent(float(counts[k, k] / total[k, 0])) if counts[k].sum() else "no rows"
        rows.append(tag("tr", tag("th", name(label, 30), scope="row"), *cells, tag("td", recall, class_="n")))
    head = tag(
        "tr",
        tag("td"),
        *(tag("th", name(label, 20), scope="col", class_="n") for label in labels),
        tag("th", "recall", scope="col", class_="n"),
    )
    caption = "Confusion matrix (rows: true class, columns: predicted class)"
    body = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", *rows),
        class_="confusion" if len(labels) <= FEW else "confusion dense",
    )
    return tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _pairs(counts: np.ndarray, labels: list[str]) -> Markup:
    """List the most common errors instead of a matrix that would be too large."""
    wrong = counts.astype(float).copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:20]
    places = [np.unravel_index(at, wrong.shape) for at in order if wrong.flat[at] > 0]
    lines = [
        [name(labels[i]), name(labels[j]), number(float(wrong[i, j])), percent(wrong[i, j] / counts[i].sum())]
        for i, j in places
    ]
    caption = f"The most common errors among {len(labels)} classes"
    return table(["true class", "predicted as", "rows", "of the true class"], lines, caption=caption, numeric=(2, 3))


def _sides(predictions: Predictions, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the rows of a class, and of all others, with at least each probability, from high to low."""
    score, happened = predictions.predicted[:, k], predictions.truth == k
    values, place = np.unique(-score, return_inverse=True)
    hits = np.cumsum(np.bincount(place, weights=predictions.weight * happened, minlength=len(values)))
    alarms = np.cumsum(np.bincount(place, weights=predictions.weight * ~happened, minlength=len(values)))
    return hits, alarms


def _words_of(label: str, n: int, found: str) -> str:
    """Label a curve by its summary; with several classes also by the class."""
    return f"{shorten(label, 24)}: {found}" if n > 1 else found


def _roc(predictions: Predictions, labels: list[str], which: list[int], most: int = MOST_POINTS) -> Markup:
    series = []
    for k in which:
        hits, alarms = _sides(predictions, k)
        at = thin(len(hits), most)
        x, y = np.append(0, alarms[at] / alarms[-1]), np.append(0, hits[at] / hits[-1])
        auc = area(predictions.predicted[:, k], predictions.truth == k, predictions.weight)[0]
        series.append(Series(_words_of(labels[k], len(which), f"area {auc:.4f}"), x, y))
    words = f"ROC curve: recall and false positive rate of {_of(labels, which)}."
    return _curves(series, words, x_words="false positive rate", y_words="recall (true positive rate)", diagonal=True)


def _precision_recall(predictions: Predictions, labels: list[str], which: list[int], most: int = MOST_POINTS) -> Markup:
    series = []
    for k in which:
        hits, alarms = _sides(predictions, k)
        at = thin(len(hits), most)
        at = at[hits[at] > 0]
        x, y = hits[at] / hits[-1], hits[at] / (hits[at] + alarms[at])
        mean = average_precision_score(
            predictions.truth == k, predictions.predicted[:, k], sample_weight=predictions.weight
        )
        words = _words_of(labels[k], len(which), f"average precision {mean:.4f}")
        series.append(Series(words, np.append(0, x), np.append(y[0], y)))
    words = f"Precision and recall of {_of(labels, which)}."
    return _curves(series, words, x_words="recall", y_words="precision")


def _gain(predictions: Predictions, labels: list[str], which: list[int], most: int = MOST_POINTS) -> Markup:
    series = []
    for k in which:
        hits, alarms = _sides(predictions, k)
        at = thin(len(hits), most)
        x, y = np.append(0, (hits + alarms)[at] / (hits + alarms)[-1]), np.append(0, hits[at] / hits[-1])
        tenth = float(np.interp(0.1, x, y))
        found = f"{percent(tenth)} in the first 10 % of the rows, lift {10 * tenth:.2f}"
        found = found if len(which) == 1 else f"lift {10 * tenth:.2f}"
        series.append(Series(_words_of(labels[k], len(which), found), x, y))
    words = f"Cumulative gain of {_of(labels, which)}: recall if you take the rows of the highest probability first."
    words += "" if len(which) == 1 else " The lift is that of the first 10 % of the rows."
    return _curves(series, words, x_words="fraction of the rows", y_words="recall", diagonal=True)


def _threshold(predictions: Predictions, labels: list[str]) -> Markup:
    """Let the reader choose a threshold for the second class, and see its errors and their cost."""
    score, happened = predictions.predicted[:, 1], predictions.truth == 1
    steps = np.arange(101) / 100
    place = np.searchsorted(steps, score + 1e-12, side="right")  # thresholds that the row reaches

    def reached(rows: np.ndarray) -> list[float]:
        counts = np.bincount(place, weights=predictions.weight * rows, minlength=102)
        return [round(float(n), 6) for n in counts[::-1].cumsum()[::-1][1:]]

    hits, alarms = reached(happened), reached(~happened)
    slider = tag("input", type="range", min=0, max=100, value=50, class_="threshold", aria_label="threshold")
    prices = [
        tag("label", f"{words} ", tag("input", type="number", min=0, step="any", value=1, class_="price"))
        for words in ("cost of a false positive", "of a false negative")
    ]
    best = tag("button", "Lowest cost", type="button", class_="cheapest")
    outcome = (
        f"Threshold 0.5: {number(hits[50])} of {number(hits[0])} rows of class {shorten(labels[1], 24)} found, "
        f"{number(alarms[50])} false positives."
    )
    return tag(
        "div",
        subhead(f"Threshold for class {shorten(labels[1], 24)}"),
        tag("p", "Rows whose probability of the class is at least the threshold are predicted as it.", class_="sub"),
        tag("div", slider, *prices, best, class_="tools"),
        tag("p", outcome, class_="outcome", aria_live="polite"),
        class_="thresholds",
        data_hits=json.dumps(hits),
        data_alarms=json.dumps(alarms),
        data_label=shorten(labels[1], 24),
    )


def _curves(series: list[Series], words: str, *, x_words: str, y_words: str, diagonal: bool = False) -> Markup:
    """Draw curves over the unit square, with a summary of each."""
    alt = words + " " + "; ".join(s.words for s in series)
    picture = charts.lines(series, x_words=x_words, y_words=y_words, alt=alt, x=(0, 1), y=(0, 1.02), diagonal=diagonal)
    return figure(picture, words + (f" {series[0].words.capitalize()}." if len(series) == 1 else ""))


def _of(labels: list[str], which: list[int]) -> str:
    if len(which) == 1:
        return f"class {shorten(labels[which[0]], 24)}"
    return "each class" if len(which) == len(labels) else f"the {len(which)} most common of {len(labels)} classes"


def _calibration(predictions: Predictions, labels: list[str], k: int | None = None) -> Markup:
    """Compare predicted probabilities with observed frequencies, with Wilson's interval for each bin.

    k is the class; None: of two the second, else the predicted class of each row.
    """
    k = 1 if k is None and predictions.predicted.shape[1] == 2 else k
    of = "the predicted class" if k is None else f"class {shorten(labels[k], 24)}"
    found = metrics.calibrate(*metrics.event(predictions.predicted, predictions.truth, k), predictions.weight, 10)
    scale = predictions.n_effective / predictions.weight.sum()
    ends = [metrics.wilson(float(f), float(w * scale), 1.96) for f, w in zip(found.observed, found.weight, strict=True)]
    band = (np.array([low for low, _ in ends]), np.array([high for _, high in ends]))
    words = f"Calibration: observed frequency of {of} by its predicted probability. On the dashed line both are equal."
    picture = charts.lines(
        [Series("", found.predicted, found.observed, band, dots=True)],
        x_words="predicted probability",
        y_words="observed frequency",
        alt=words,
        x=(0, 1),
        y=(0, 1.02),
        diagonal=True,
    )
    return figure(picture, words)
