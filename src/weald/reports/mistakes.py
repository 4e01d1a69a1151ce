"""Rows that the forest gets wrong most clearly: where to look first for wrong labels, or for what is missing."""

from typing import Any

import numpy as np

from weald.data.types import IntArray
from weald.estimators import metrics
from weald.reports.predictions import Answers
from weald.reports.section import Section, name, number, percent, table

SHOWN = 20
N_FEATURES = 5


def section(model: Any, answers: Answers, rows: Any, order: IntArray, names: tuple[str, ...], ids: Any) -> Section:
    """List them, with their values of the features that matter most."""
    is_classes = answers.said.ndim == 2
    worst, cells = (_classes if is_classes else _numbers)(model, answers)
    heads = (
        ["row", "true", "said", "share of the said class", "share of the true class"]
        if is_classes
        else ["row", "true", "said", "true less said"]
    )
    features = [int(f) for f in order[:N_FEATURES]] if rows is not None else []
    lines = []
    for at, known in zip(worst, cells, strict=True):
        row = int(answers.row[at])
        shown = [_value(model, rows, row, f) for f in features]
        lines.append([name(row if ids is None else ids[row], 30), *known, *shown])
    heads += [names[f] if len(names[f]) <= 24 else names[f][:23] + "…" for f in features]
    numeric = [
        *range(3 if is_classes else 1, 5 if is_classes else 4),
        *(5 + i - (not is_classes) for i in range(len(features))),
    ]
    what = "a wrong class, said most clearly" if is_classes else "the largest differences"
    lead = (
        f"{answers.source.capitalize()}: {what}. Look here first for wrong labels, and for what the columns do not say."
    )
    caption = f"The {len(lines)} worst rows, counted from 0" if lines else "No row is wrong"
    return Section("mistakes", "Where it is wrong", lead, table(heads, lines, caption=caption, numeric=numeric))


def _classes(model: Any, answers: Answers) -> tuple[IntArray, list[list[Any]]]:
    margins = metrics.margins(answers.said, answers.truth)
    wrong = np.flatnonzero(answers.winners != answers.truth)
    worst = wrong[np.argsort(margins[wrong], kind="stable")][:SHOWN]
    cells = []
    for at in worst:
        truth, said = int(answers.truth[at]), int(answers.winners[at])
        shares = [percent(float(answers.said[at, k])) for k in (said, truth)]
        cells.append([name(model.classes_[truth], 30), name(model.classes_[said], 30), *shares])
    return worst, cells


def _numbers(model: Any, answers: Answers) -> tuple[IntArray, list[list[Any]]]:
    off = answers.truth - answers.said
    worst = np.argsort(-np.abs(off), kind="stable")[:SHOWN]
    return worst, [[number(float(v[at])) for v in (answers.truth, answers.said, off)] for at in worst]


def _value(model: Any, rows: Any, row: int, feature: int) -> Any:
    value = float(rows[row, feature])
    if np.isnan(value):
        return "missing"
    categories = model.schema_.categories[feature]
    return number(value) if categories is None else name(categories.labels[int(value)], 24)
