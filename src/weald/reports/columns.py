"""The training data: the target, and each column as the forest read it."""

from functools import partial
from typing import NotRequired, TypedDict

import numpy as np

from weald.data.schema import TIMES, Categories
from weald.data.table import Matrix
from weald.data.times import format_time
from weald.data.types import Array, FloatArray
from weald.estimators.base import TreeModel
from weald.estimators.fit import ROWS_TO_WARN
from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.section import Section, figure, figures, name, note, number, percent, shorten, stack, table

N_BINS = 24
MOST = 1000  # columns that are listed
MOST_LABELS = 20


class ColumnSummary(TypedDict):
    """Summary of a column."""

    missing: float  # fraction of the rows
    kind: str
    n_distinct: int
    counts: NotRequired[list[int]]  # by bin, or by category
    quartiles: NotRequired[list[float]]
    most_common: NotRequired[tuple[object, float] | None]  # category, and its fraction of the rows


def section(model: TreeModel, rows: Matrix, target: Array, names: tuple[str, ...]) -> Section:
    """Describe the training table."""
    n_rows, n_columns = rows.shape
    schema = model.schema_
    facts = [describe(_column(rows, f), schema.categories[f], schema.times.get(f)) for f in range(min(n_columns, MOST))]
    lead = f"{n_rows:,} rows and {n_columns:,} columns, as the forest read them."
    body = [figures(_picture_of_target(model, target)), _warn(facts, names, n_rows), _list(facts, names)]
    if n_columns > MOST:
        body.append(note(f"The first {MOST:,} columns are listed."))
    return Section("data", "Data", lead, stack(*body))


def describe(column: FloatArray, categories: Categories | None, time: str | None = None) -> ColumnSummary:
    """Summarize a column: kind, fraction missing, distinct values, minimum, median, maximum, and histogram."""
    known = column[~np.isnan(column)]
    facts: ColumnSummary = {
        "missing": 1 - len(known) / len(column),
        "kind": time or "numbers",
        "n_distinct": len(np.unique(known)),
    }
    if categories is not None:
        facts["kind"] = "ordered categories" if categories.is_ordered else "categories"
        counts = np.bincount(known.astype(int), minlength=len(categories.labels))
        facts["counts"] = np.sort(counts)[::-1][:MOST_LABELS].tolist()
        facts["most_common"] = (categories.labels[counts.argmax()], counts.max() / len(column)) if len(known) else None
        return facts
    finite = known[np.isfinite(known)]
    if len(finite):
        facts["quartiles"] = [float(v) for v in np.quantile(finite, [0, 0.25, 0.5, 0.75, 1])]
        low, high = facts["quartiles"][0], facts["quartiles"][-1]
        reach = (low, high) if np.isfinite(high - low) and low < high else (low - 0.5, low + 0.5)
        facts["counts"] = np.histogram(finite, bins=N_BINS, range=reach)[0].tolist()
    return facts


def _column(rows: Matrix, feature: int) -> FloatArray:
    return dense(rows[:, [feature]]).ravel()


def dense(part: object) -> FloatArray:
    """Convert a part of a table, which may be sparse, to a dense array."""
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)


def _list(facts: list[ColumnSummary], names: tuple[str, ...]) -> Markup:
    heads = ["column", "read as", "missing", "distinct", "distribution", "min", "median", "max or mode"]
    lines = []
    for words, fact in zip(names, facts, strict=False):
        say = partial(format_time, kind=fact["kind"]) if fact["kind"] in TIMES else number
        ends = [say(fact["quartiles"][q]) for q in (0, 2, 4)] if "quartiles" in fact else ["", "", ""]
        most_common = fact.get("most_common")
        if most_common:
            label, share = most_common
            ends[2] = f"{shorten(str(label), 24)} ({percent(share)})"
        picture = charts.spark(fact.get("counts", []), f"distribution of {shorten(words)}")
        missing = percent(fact["missing"]) if fact["missing"] else "none"
        lines.append([name(words, 40), fact["kind"], missing, f"{fact['n_distinct']:,}", picture, *ends])
    return table(heads, lines, caption="Columns", numeric=(2, 3, 5, 6, 7), sortable=True)


def _warn(facts: list[ColumnSummary], names: tuple[str, ...], n_rows: int) -> Markup:
    """Warn of columns that cannot help or that may be identifiers of rows."""
    pairs = list(zip(names, facts, strict=False))
    problems = {
        "have one value only, or none, and cannot help": [w for w, f in pairs if f["n_distinct"] <= 1],
        "are missing in more than half of the rows": [w for w, f in pairs if f["missing"] > 0.5],
        "have a category for nearly each row, which cannot help on new rows": [
            w for w, f in pairs if f["kind"] == "categories" and 2 * f["n_distinct"] > n_rows >= ROWS_TO_WARN
        ],
        "have more than 100 categories": [w for w, f in pairs if f["kind"] == "categories" and f["n_distinct"] > 100],
    }
    return stack(*(note(_words(which, words)) for words, which in problems.items() if which))


def _words(which: list[str], words: str) -> str:
    shown = ", ".join(shorten(w, 40) for w in which[:5])
    more = f" and {len(which) - 5} more" if len(which) > 5 else ""
    return f"Columns that {words}: {shown}{more}."


def _picture_of_target(model: TreeModel, target: Array) -> Markup:
    classes = getattr(model, "classes_", None)
    if classes is None:
        reach = (float(target.min()), float(target.max()))
        reach = reach if reach[0] < reach[1] else (reach[0] - 0.5, reach[0] + 0.5)
        counts, edges = np.histogram(target, bins=40, range=reach)
        words = f"The target: from {number(reach[0])} to {number(reach[1])}, median {number(float(np.median(target)))}."
        return figure(charts.histogram(counts, edges, x_words="target", alt=words), words)
    counts = np.bincount(target, minlength=len(classes))
    order = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    labels = [str(classes[k]) for k in order]
    most, least = counts.max() / counts.sum(), counts.min() / counts.sum()
    words = f"The target: {len(classes):,} classes. The most common has {percent(most)} of the rows, "
    words += f"the rarest {percent(least)}."
    words += f" The {MOST_LABELS} most common are shown." if len(classes) > MOST_LABELS else ""
    return figure(charts.bars(labels, counts[order].tolist(), x_words="rows", alt=words), words)
