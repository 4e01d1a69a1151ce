"""Feature importance by several methods, with the caveats of each.

The importances of a large forest are computed from its first trees only, which are a forest, too.
"""

import warnings

import numpy as np

from weald.data.types import ColumnLike, IntArray, TableLike
from weald.errors import WealdError
from weald.estimators.base import TreeModel
from weald.forest.describe.markup import Markup
from weald.inspection.importance import importance
from weald.inspection.importance_request import ByRow
from weald.inspection.importance_result import Importance, names_of
from weald.inspection.resample import count_rows
from weald.reports import charts
from weald.reports.section import Section, column, figure, name, note, stack, table
from weald.reports.svg import WIDE

SHOWN = 20
LISTED = 300
WORK = 1.5e8  # limit of rows x features x trees to permute
KINDS = ("permutation", "debiased_mdi", "mdi")
WORDS = {
    "permutation": "permutation",
    "debiased_mdi": "debiased impurity",
    "mdi": "impurity (MDI)",
}


def ask(
    model: TreeModel, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, by_row: ByRow
) -> tuple[list[Importance], int]:
    """Compute importances by all methods that the model supports; also return the number of trees used."""
    n_rows = count_rows(X)
    n_trees = model.forest_.n_trees
    asked = int(min(n_trees, max(5, WORK // (n_rows * model.n_features_in_))))
    some = model[:asked] if asked < n_trees else model
    found = []
    for kind in KINDS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(importance(some, X, y, kind=kind, sample_weight=sample_weight, fit_params={**by_row}))
        except WealdError:  # there are no bags, or they cannot be drawn again
            continue
    return found, asked


def stored_importances(model: TreeModel) -> list[Importance]:
    """Return the importances that are available without the training data."""
    names = names_of(model, None)
    words = (
        "Computed from the rows that chose the splits: it favors features with many values, whether or not they help "
        "on new rows."
    )
    return [
        Importance(names, model.feature_importances_, "mdi", "fraction of the decrease in impurity", warnings=(words,))
    ]


def section(found: list[Importance], asked: int, n_trees: int) -> Section:
    """Draw the importances of the first method; list those of all."""
    first, order = found[0], found[0].order()
    shown = order[:SHOWN]
    halves = None if first.std_error is None else 2 * first.std_error[shown]
    words = f"The {len(shown)} features that matter most: {first.unit}"
    words += ", with two standard errors to either side." if halves is not None else "."
    picture = charts.bars(
        [first.names[f] for f in shown],
        first.values[shown].tolist(),
        errors=None if halves is None else halves.tolist(),
        x_words=first.unit,
        alt=words,
        width=WIDE,
    )
    body = [figure(picture, words, wide=True), *_warnings(found), _list(found, order)]
    if asked < n_trees:
        body.append(note(f"Computed from the first {asked} of {n_trees} trees: enough for a ranking, and faster."))
    lead = "Features that rank high by all methods matter. Where the methods differ, read the notes."
    return Section("importance", "Feature importance", lead, stack(*body))


def _warnings(found: list[Importance]) -> list[Markup]:
    caveats = dict.fromkeys(words for one in found for words in one.warnings)
    return [note(words) for words in caveats]


def _list(found: list[Importance], order: IntArray) -> Markup:
    heads, columns = ["feature"], []
    for one in found:
        ranks = np.empty(len(order), dtype=int)
        ranks[one.order()] = np.arange(1, len(order) + 1)
        heads += [WORDS[one.kind], "rank"]
        columns.append((column(one.values), ranks))
        if one.kind == "permutation" and one.p_value is not None:
            heads.append("p\N{NON-BREAKING HYPHEN}value")
    lines = []
    for f in order[:LISTED]:
        cells: list[str] = [name(found[0].names[f], 40)]
        for one, (values, ranks) in zip(found, columns, strict=True):
            cells += [values[f], str(ranks[f])]
            if one.kind == "permutation" and one.p_value is not None:
                cells.append("< 0.0001" if one.p_value[f] < 0.0001 else f"{one.p_value[f]:.4f}")
        lines.append(cells)
    more = f"; the first {LISTED} of {len(order):,}" if len(order) > LISTED else ""
    return table(
        heads, lines, caption=f"Feature importance by method{more}", numeric=range(1, len(heads)), sortable=True
    )
