"""What the data looked like: the target, and each column as the forest read it."""

from typing import Any

import numpy as np
from scipy import sparse

from weald.data.types import FloatArray
from weald.forest.describe.markup import Markup
from weald.reports import charts
from weald.reports.section import Section, figure, figures, name, note, number, percent, shorten, stack, table

N_BINS = 24
MOST = 1000  # columns that are listed
MOST_LABELS = 20


def section(model: Any, rows: Any, target: Any, names: tuple[str, ...]) -> Section:
    """Describe the training table."""
    n_rows, n_columns = rows.shape
    facts = [describe(_column(rows, f), model.schema_.categories[f]) for f in range(min(n_columns, MOST))]
    lead = f"{n_rows:,} rows and {n_columns:,} columns, as the forest read them."
    body = [figures(_picture_of_target(model, target)), _warn(facts, names), _list(facts, names)]
    if n_columns > MOST:
        body.append(note(f"The first {MOST:,} columns are listed."))
    return Section("data", "The data", lead, stack(*body))


def describe(column: FloatArray, categories: Any) -> dict[str, Any]:
    """Find what a column holds: kind, missing share, distinct values, ends and middle, and how it is spread."""
    known = column[~np.isnan(column)]
    facts: dict[str, Any] = {
        "missing": 1 - len(known) / len(column),
        "kind": "numbers",
        "n_distinct": len(np.unique(known)),
    }
    if categories is not None:
        facts["kind"] = "ordered categories" if categories.is_ordered else "categories"
        counts = np.bincount(known.astype(int), minlength=len(categories.labels))
        facts["counts"] = np.sort(counts)[::-1][:MOST_LABELS].tolist()
        facts["commonest"] = (categories.labels[counts.argmax()], counts.max() / len(column)) if len(known) else None
        return facts
    finite = known[np.isfinite(known)]
    if len(finite):
        facts["quartiles"] = [float(v) for v in np.quantile(finite, [0, 0.25, 0.5, 0.75, 1])]
        low, high = facts["quartiles"][0], facts["quartiles"][-1]
        reach = (low, high) if np.isfinite(high - low) and low < high else (low - 0.5, low + 0.5)
        facts["counts"] = np.histogram(finite, bins=N_BINS, range=reach)[0].tolist()
    return facts


def _column(rows: Any, feature: int) -> FloatArray:
    if sparse.issparse(rows):
        return np.asarray(rows[:, [feature]].toarray(), dtype=np.float64).ravel()
    return np.asarray(rows[:, feature], dtype=np.float64)


def _list(facts: list[dict[str, Any]], names: tuple[str, ...]) -> Markup:
    heads = ["column", "read as", "missing", "distinct", "spread", "least", "median", "greatest, or commonest"]
    lines = []
    for words, fact in zip(names, facts, strict=False):
        ends = [number(fact["quartiles"][q]) for q in (0, 2, 4)] if "quartiles" in fact else ["", "", ""]
        if fact.get("commonest"):
            label, share = fact["commonest"]
            ends[2] = f"{shorten(str(label), 24)} ({percent(share)})"
        picture = charts.spark(fact.get("counts", []), f"spread of {shorten(words)}")
        missing = percent(fact["missing"]) if fact["missing"] else "none"
        lines.append([name(words, 40), fact["kind"], missing, f"{fact['n_distinct']:,}", picture, *ends])
    return table(heads, lines, caption="Columns", numeric=(2, 3, 5, 6, 7), sortable=True)


def _warn(facts: list[dict[str, Any]], names: tuple[str, ...]) -> Markup:
    """Point at columns that cannot help or that may be names of rows."""
    pairs = list(zip(names, facts, strict=False))
    said = {
        "have one value only, or none, and cannot help": [w for w, f in pairs if f["n_distinct"] <= 1],
        "are missing in more than half of the rows": [w for w, f in pairs if f["missing"] > 0.5],
        "have more than 100 categories": [w for w, f in pairs if f["kind"] == "categories" and f["n_distinct"] > 100],
    }
    return stack(*(note(_words(which, words)) for words, which in said.items() if which))


def _words(which: list[str], words: str) -> str:
    shown = ", ".join(shorten(w, 40) for w in which[:5])
    more = f" and {len(which) - 5} more" if len(which) > 5 else ""
    return f"Columns that {words}: {shown}{more}."


def _picture_of_target(model: Any, target: Any) -> Markup:
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
    words = f"The target: {len(classes):,} classes. The commonest has {percent(most)} of the rows, "
    words += f"the rarest {percent(least)}."
    words += f" The {MOST_LABELS} commonest are shown." if len(classes) > MOST_LABELS else ""
    return figure(charts.bars(labels, counts[order].tolist(), x_words="rows", alt=words), words)
