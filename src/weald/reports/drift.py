"""Data drift: differences between the test and the training rows, by column and for all columns together.

    section     the section of the page
    compare     one column of both tables -> Drift
    adjust      p-values of several tests -> p-values adjusted for their number (Holm)
    separate    out-of-bag ROC AUC of a forest that classifies rows as test or training

Numbers are compared by the test of Kolmogorov and Smirnov: the largest difference between the two distribution
functions. A missing value is larger than any number, so a change of their frequency counts too. Categories are compared
by the total variation distance, half of the sum of the differences of their frequencies, and by the chi-squared test;
missing values and unknown categories are two more categories. Both distances are between 0 and 1. Rows are counted
without weights.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from weald.data.table import Matrix
from weald.data.times import format_time
from weald.data.types import Array, FloatArray, IntArray, TableLike
from weald.errors import WealdError
from weald.estimators.base import TreeModel
from weald.estimators.forests import RandomForestClassifier
from weald.estimators.out_of_bag import OutOfBag
from weald.estimators.prediction import read_matrix
from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.columns import MOST, dense
from weald.reports.metrics import Score, compute_scores
from weald.reports.predictions import out_of_bag
from weald.reports.section import Section, figure, figures, name, note, number, percent, shorten, stack, table

DRAWN = 6  # columns
LISTED = 300
N_BINS = 24
MOST_LABELS = 12  # categories in a chart
LEVEL = 0.01  # columns with an adjusted p-value below it are named and drawn
EXPECTED = 5  # categories with fewer rows are joined in the chi-squared test
SAMPLE = 2000  # rows of each table used to fit the forest of `separate`
N_TREES = 100


@dataclass(frozen=True)
class Drift:
    """One column of both tables."""

    distance: float  # distance of the distributions: 0 if equal, 1 if they do not overlap
    p_value: float  # p-value of the test that both tables are samples of one distribution
    missing: tuple[float, float]  # fractions of the rows, in the training and in the test table
    strange: float  # fraction of the test rows outside the training range, or of an unknown category
    medians: tuple[float, float] | None = None  # medians of numeric columns
    fractions: tuple[FloatArray, FloatArray] | None = None  # by category, then missing, unknown


@dataclass(frozen=True)
class Tables:
    """Training and test rows, in the form that the forest reads."""

    training: Matrix
    test: Matrix
    unknown: dict[int, int]  # by feature: test rows of an unknown category, which are read as missing


def read_tables(model: TreeModel, rows: Matrix, X_test: TableLike) -> Tables:
    """Read the test table, and count its unknown categories without counting them in the model."""
    reader = copy.copy(model)
    reader.schema_ = replace(model.schema_, unknown={})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = read_matrix(reader, X_test)
    return Tables(rows, test, dict(reader.schema_.unknown))


def section(
    model: TreeModel, tables: Tables, targets: tuple[Array, Array], order: IntArray, names: Sequence[str]
) -> Section:
    """Compare the columns and the target, and test whether a forest can separate the tables."""
    looked_at = [int(f) for f in order[:MOST]]
    columns = {f: _columns(tables, f) for f in looked_at}
    categories = {f: model.schema_.categories[f] for f in looked_at}
    n_labels = {f: None if c is None else len(c.labels) for f, c in categories.items()}
    found = [compare(*columns[f], n_labels[f], tables.unknown.get(f, 0)) for f in looked_at]
    classes = getattr(model, "classes_", None)
    training, test = (np.asarray(y, dtype=float) for y in targets)
    of_target = compare(training, test, None if classes is None else len(classes))
    p_values = adjust([of_target.p_value, *(drift.p_value for drift in found)])
    no_gaps = not any(fraction for drift in (of_target, *found) for fraction in drift.missing)
    lines = [["target", "", *_cells(of_target, p_values[0], None, no_gaps=no_gaps)]]
    places = np.argsort([-drift.distance for drift in found], kind="stable")
    for at in places[:LISTED]:
        f = looked_at[at]
        cells = _cells(found[at], p_values[1 + at], model.schema_.times.get(f), no_gaps=no_gaps)
        lines.append([name(names[f], 40), str(at + 1), *cells])
    heads = ["column", "importance rank", "distance", "p\N{NON-BREAKING HYPHEN}value"]
    heads += [] if no_gaps else ["missing, training", "missing, test"]
    heads += ["median, training", "median, test", "out of range or unknown"]
    more = f"; the {LISTED} largest of {len(found):,} columns" if len(found) > LISTED else ""
    more += "; no missing values in either" if no_gaps else ""
    caption = f"Training against test data{more}"
    listed = table(heads, lines, caption=caption, numeric=range(1, len(heads)), sortable=True)
    drifted = [int(at) for at in places if p_values[1 + at] < LEVEL]
    drawn = [
        _draw(model, looked_at[at], found[at], columns[looked_at[at]], names[looked_at[at]]) for at in drifted[:DRAWN]
    ]
    blocks = [note(_words(drifted, [names[f] for f in looked_at], bool(p_values[0] < LEVEL)))]
    if len(order) > MOST:
        blocks.append(note(f"The {MOST:,} most important of {len(order):,} columns are compared."))
    apart = separate(tables, looked_at)
    if apart is not None:
        blocks.append(note(_say_apart(apart)))
    lead = (
        f"{tables.training.shape[0]:,} training rows against {tables.test.shape[0]:,} test rows. Distances are between "
        "0 (same distribution) and 1. Numbers: Kolmogorov–Smirnov test; categories: total variation and chi-squared "
        "test; p-values are adjusted for the number of columns (Holm). Drift matters most in important columns."
    )
    return Section("drift", "Data drift", lead, stack(*blocks, figures(*drawn) if drawn else Markup(""), listed))


def compare(training: FloatArray, test: FloatArray, n_labels: int | None, n_unknown: int = 0) -> Drift:
    """Compare a column of both tables: numbers, or codes of categories; missing values are NaN."""
    missing = (float(np.isnan(training).mean()), float(np.isnan(test).mean()))
    if n_labels is not None:
        return _compare_categories(training, test, n_labels, n_unknown, missing)
    last = [np.where(np.isnan(values), np.inf, values) for values in (training, test)]
    found = stats.ks_2samp(*last, method="asymp")
    known = [values[~np.isnan(values)] for values in (training, test)]
    outside = 0.0
    if len(known[0]) and len(known[1]):
        outside = float(((known[1] < known[0].min()) | (known[1] > known[0].max())).sum() / len(test))
    medians = tuple(float(np.median(values)) if len(values) else np.nan for values in known)
    return Drift(float(found.statistic), float(found.pvalue), missing, outside, (medians[0], medians[1]))


def _compare_categories(
    training: FloatArray, test: FloatArray, n_labels: int, n_unknown: int, missing: tuple[float, float]
) -> Drift:
    counts = np.zeros((2, n_labels + 2))
    for i, codes in enumerate((training, test)):
        known = codes[~np.isnan(codes)].astype(int)
        counts[i, :n_labels] = np.bincount(known, minlength=n_labels)
        counts[i, n_labels] = len(codes) - len(known)
    counts[1, n_labels] -= n_unknown
    counts[1, n_labels + 1] = n_unknown
    fractions = counts / counts.sum(axis=1, keepdims=True)
    distance = float(np.abs(fractions[0] - fractions[1]).sum() / 2)
    missing = (missing[0], float(fractions[1, n_labels]))
    strange = float(fractions[1, n_labels + 1])
    return Drift(distance, _chi_squared(counts), missing, strange, None, (fractions[0], fractions[1]))


def _chi_squared(counts: FloatArray) -> float:
    """Test whether both rows of counts are samples of one distribution; rare categories are joined."""
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = counts.sum(axis=0) * counts.sum(axis=1).min() / counts.sum()
    rare = expected < EXPECTED
    joined = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)]) if rare.any() else counts
    return float(stats.chi2_contingency(joined, correction=False).pvalue) if joined.shape[1] > 1 else 1.0


def adjust(p_values: Sequence[float]) -> FloatArray:
    """Adjust p-values of several tests by Holm's method, which bounds the probability of any false positive."""
    given = np.asarray(p_values, dtype=float)
    order = np.argsort(given, kind="stable")
    adjusted = np.empty(len(given))
    adjusted[order] = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)).clip(max=1.0)
    return adjusted


def separate(tables: Tables, features: Sequence[int]) -> Score | None:
    """Fit a forest that classifies rows as test or training; its out-of-bag ROC AUC is 0.5 if they do not differ."""
    parts = []
    for rows in (tables.training, tables.test):
        n_rows = int(rows.shape[0])
        some = np.sort(np.random.default_rng(0).choice(n_rows, min(n_rows, SAMPLE), replace=False))
        parts.append(dense(rows[some][:, list(features)]))
    X, is_test = np.concatenate(parts), np.repeat([0, 1], [len(part) for part in parts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column without values, or rows in every bag
        try:
            forest = RandomForestClassifier(N_TREES, min_samples_leaf=5, random_state=0).fit(X, is_test)
            found = forest.out_of_bag(X, is_test)
        except WealdError:  # no rows, or no possible split
            return None
    predictions = out_of_bag(found, forest) if isinstance(found, OutOfBag) else None
    if predictions is None:
        return None
    return next((score for score in compute_scores(predictions) if score.name == "ROC AUC"), None)


def _columns(tables: Tables, feature: int) -> tuple[FloatArray, FloatArray]:
    training, test = (dense(rows[:, [feature]]).ravel() for rows in (tables.training, tables.test))
    return training, test


def _cells(drift: Drift, p_value: float, time: str | None, *, no_gaps: bool) -> list[str]:
    medians = ["", ""]
    if drift.medians is not None:
        medians = [
            "unknown" if np.isnan(m) else format_time(m, time) if time is not None else number(m) for m in drift.medians
        ]
    return [
        f"{drift.distance:.4f}",
        "< 0.0001" if p_value < 0.0001 else f"{p_value:.4f}",
        *(percent(fraction) if fraction else "none" for fraction in ([] if no_gaps else drift.missing)),
        *medians,
        percent(drift.strange) if drift.strange else "none",
    ]


def _words(drifted: list[int], names: list[str], of_target: bool) -> str:
    target = " The target differs too." if of_target else ""
    if not drifted:
        return "No column differs more than by chance." + (" The target does." if of_target else "")
    shown = ", ".join(shorten(names[at], 40) for at in drifted[:DRAWN])
    more = f" and {len(drifted) - DRAWN} more" if len(drifted) > DRAWN else ""
    return f"Columns that differ more than by chance (adjusted p-value below {LEVEL}): {shown}{more}.{target}"


def _say_apart(score: Score) -> str:
    found = f"ROC AUC {score.value:.4f} (95 % interval {score.low:.4f} to {score.high:.4f}; 0.5 is chance)"
    verdict = "can tell" if score.low > 0.5 else "cannot tell"
    return f"All columns together: a forest {verdict} test rows from training rows, out-of-bag {found}."


def _draw(model: TreeModel, feature: int, drift: Drift, columns: tuple[FloatArray, FloatArray], column: str) -> Markup:
    categories, time = model.schema_.categories[feature], model.schema_.times.get(feature)
    words = f"{shorten(column, 40)}: distance {drift.distance:.4f}"
    if categories is not None and drift.fractions is not None:
        labels = [*map(str, categories.labels), "missing values", "unknown categories"]
        more = drift.fractions[1] - drift.fractions[0]
        order = [int(k) for k in np.argsort(-np.abs(more), kind="stable")[:MOST_LABELS] if more[k]]
        points = [100 * float(more[k]) for k in order]
        what = "percentage points, test minus training"
        return figure(charts.bars([labels[k] for k in order], points, x_words=what, alt=words), words)
    if any(drift.missing):
        words += f"; missing: {percent(drift.missing[0])} in training, {percent(drift.missing[1])} in test data"
    finite = [values[np.isfinite(values)] for values in columns]
    together = np.concatenate(finite) if any(map(len, finite)) else np.zeros(1)
    reach = (float(together.min()), float(together.max()))
    if not np.isfinite(reach[1] - reach[0]):
        return figure(Markup(""), words)
    reach = reach if reach[0] < reach[1] else (reach[0] - 0.5, reach[0] + 0.5)
    edges = np.linspace(*reach, N_BINS + 1)
    series = []
    for words_, values, known in zip(("training", "test"), columns, finite, strict=True):
        fractions = np.histogram(known, bins=edges)[0] / len(values)
        series.append(Series(words_, np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(fractions, 2), [0.0]])))
    picture = charts.lines(series, x_words=column, time=time, y_words="fraction of the rows", alt=words, zero=True)
    return figure(picture, words)
