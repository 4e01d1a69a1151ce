"""Comparison with the predictions of another program, on edge cases.

edge_rows    rows at the edges of leaves, next to them, outside all of them, and with missing values
answer       weald's predictions for such rows
compare      predictions of both -> Parity
Parity       the result: number of rows, largest difference, and what the export does not support
Export       the exported model, and its parity
"""

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray, IntArray, Native, TableLike
from weald.errors import ExportError
from weald.estimators.prediction import read_matrix, sum_votes
from weald.forest import votes
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

N_ROWS = 1000
MOST_CELLS = 2**22  # maximum number of cells of generated rows
AT_THE_EDGE = 0.5  # fraction of rows at corners of leaves; the others combine values of all edges
MISSING = 0.1  # fraction of missing values in the other rows


@dataclass(frozen=True)
class Parity:
    """The result of a comparison of another program's predictions with weald's.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
    >>> parity = model.to_c(check=False).parity
    >>> parity.n_rows, parity.lost[0]
    (0, 'how the model was fitted')
    """

    consumer: str  # the program and its version; "" if nothing was compared
    compared: str  # "probabilities" or "predictions"
    n_rows: int  # 0: nothing was compared
    n_values: int
    n_different: int  # values that differ in at least one bit
    largest_difference: float
    lost: tuple[str, ...]  # features that the export does not support

    @property
    def is_exact(self) -> bool:
        """Whether values were compared and all of them are equal bit for bit."""
        return self.n_rows > 0 and self.n_different == 0

    def __str__(self) -> str:
        if not self.n_rows:
            result = "not compared"
        elif self.is_exact:
            result = f"{self.n_rows} rows in {self.consumer}: {self.compared} equal bit for bit"
        else:
            result = (
                f"{self.n_rows} rows in {self.consumer}: {self.n_different} of {self.n_values} {self.compared} differ, "
                f"by {self.largest_difference:.1e} at most"
            )
        return "\n".join([result, *(f"not carried over: {what}" for what in self.lost)])


@dataclass(frozen=True, repr=False)
class Export:
    """An exported model, with a comparison of its predictions."""

    model: Native  # the text, bytes or object for the other program
    parity: Parity

    def __repr__(self) -> str:
        return f"<Export: {str(self.parity).splitlines()[0]}>"

    def __str__(self) -> str:
        return str(self.parity)


def lost_uncertainty(model: "TreeModel") -> list[str]:
    """List the stored data for quantiles, intervals and prediction sets, which no export contains."""
    kept = vars(model)
    lost = ["leaf targets: no quantiles"] if "leaf_targets_" in kept else []
    if "kept_errors_" in kept:
        kind = "intervals" if model.forest_.task is Task.REGRESSION else "prediction sets"
        lost.append(f"prediction errors: no {kind}")
    return lost


def not_compared(*lost: str) -> Parity:
    """Return the parity of an export that was not compared."""
    return Parity("", "", 0, 0, 0, 0.0, lost)


def compare(consumer: str, compared: str, ours: FloatArray, theirs: FloatArray, tolerance: float, *lost: str) -> Parity:
    """Compare two predictions of the same rows. A difference beyond the tolerance is an error of the export."""
    if ours.shape != theirs.shape:
        raise ExportError(f"{consumer} predicts shape {theirs.shape}, but weald {ours.shape}. Try another version.")
    is_different = ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.abs(ours - theirs)[is_different]
    largest = float(np.max(np.where(np.isnan(gaps), np.inf, gaps), initial=0.0))
    parity = Parity(consumer, compared, len(ours), ours.size, int(is_different.sum()), largest, lost)
    if largest > tolerance * max(1.0, float(np.nanmax(np.abs(ours), initial=0.0))):
        row = int(np.argwhere(is_different)[0][0])
        raise ExportError(
            f"{consumer} does not predict the same as weald: {parity.n_different} of {parity.n_values} {compared} "
            f"differ, by at most {largest:.3g}. The first is in row {row}: {theirs[row]} instead of {ours[row]}. "
            "Do not use this export; try another version of the program."
        )
    return parity


def answer(model: "TreeModel", rows: FloatArray) -> FloatArray:
    """Predict rows whose categories are numbers: probabilities, or means (rows x 1)."""
    forest = model.forest_
    if forest.task is Task.CLASSIFICATION:
        return sum_votes(model, forest, rows) / forest.vote_total
    means = votes.average(forest, lambda f, _: (sum_votes(model, f, rows), f.n_trees))
    return means[:, np.newaxis]


def compared_values(forest: Forest) -> str:
    """Return the kind of values to compare: probabilities or predictions."""
    return "probabilities" if forest.task is Task.CLASSIFICATION else "predictions"


# ----------------------------------------------------------------------------------------------- rows at the edges


def rows_to_compare(model: "TreeModel", X: TableLike) -> FloatArray:
    """Return the user's rows, followed by rows at the edges of leaves."""
    made = edge_rows(model.forest_, n_categories(model))
    if X is None:
        return made
    return np.vstack([np.asarray(read_matrix(model, X), dtype=np.float64), made])


def n_categories(model: "TreeModel") -> list[int]:
    """Count the categories of each feature; 0 if it is split by thresholds."""
    return [0 if c is None or c.is_ordered else len(c.labels) for c in model.schema_.categories]


def edge_rows(forest: Forest, n_labels: list[int], n_rows: int = N_ROWS, seed: int = 0) -> FloatArray:
    """Make edge cases.

    Half of them are corners of leaves: each value is exactly the last threshold that bounds the leaf from above, or the
    next double above the one that bounds it from below, so that one wrong comparison leads to another leaf. The others
    combine thresholds, their neighbors, infinities, zeros of both signs, missing values and categories.
    """
    n_rows = max(64, min(n_rows, MOST_CELLS // forest.n_features))
    rng = np.random.default_rng(seed)
    rows = _mixed_rows(forest, n_labels, n_rows, rng)
    parents = parents_of(forest)
    leaves = np.flatnonzero(forest.feature < 0)
    for row, leaf in zip(rows[: int(n_rows * AT_THE_EDGE)], rng.choice(leaves, n_rows), strict=False):
        _move_to_corner(row, forest, n_labels, _path_to(parents, leaf), rng)
    return rows


def _mixed_rows(forest: Forest, n_labels: list[int], n_rows: int, rng: np.random.Generator) -> FloatArray:
    """Draw each value from the edges of its feature."""
    rows = np.empty((n_rows, forest.n_features))
    is_cut = (forest.feature >= 0) & (forest.flags & CATEGORICAL == 0)
    order = np.argsort(forest.feature[is_cut], kind="stable")
    thresholds, features = forest.threshold[is_cut][order], forest.feature[is_cut][order]
    starts = np.searchsorted(features, np.arange(forest.n_features + 1))
    for f, (begin, end) in enumerate(itertools.pairwise(starts)):
        if n_labels[f]:
            rows[:, f] = rng.integers(0, n_labels[f], n_rows)
            continue
        edges = thresholds[begin:end]
        pool = np.concatenate(
            [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), [0.0, -0.0, 1.0, -np.inf, np.inf]]
        )
        rows[:, f] = rng.choice(pool, n_rows)
    rows[rng.random(rows.shape) < MISSING] = np.nan
    return rows


def parents_of(forest: Forest) -> IntArray:
    """Return each node's parent among all nodes, negative if the node is its right child; roots have n_nodes."""
    parents = np.full(forest.n_nodes, forest.n_nodes, dtype=np.int64)
    split = np.flatnonzero(forest.feature >= 0)
    parents[split + 1] = split
    parents[forest.right_children()[split]] = -1 - split
    return parents


def _path_to(parents: IntArray, leaf: int) -> list[tuple[int, bool]]:
    """List the splits above a leaf, and whether the path goes left."""
    path, node = [], int(parents[leaf])
    while node < len(parents):
        goes_left = node >= 0
        split = node if goes_left else -1 - node
        path.append((split, goes_left))
        node = int(parents[split])
    return path


def _move_to_corner(
    row: FloatArray, forest: Forest, n_labels: list[int], path: list[tuple[int, bool]], rng: np.random.Generator
) -> None:
    """Set values at the edges of the range that the splits of a path allow."""
    by_feature: dict[int, list[tuple[int, bool]]] = {}
    for split, goes_left in path:
        by_feature.setdefault(int(forest.feature[split]), []).append((split, goes_left))
    for f, steps in by_feature.items():
        choices = _categories_of(forest, n_labels[f], steps) if n_labels[f] else _ends_of(forest, steps)
        if all(bool(forest.flags[split] & MISSING_LEFT) == goes_left for split, goes_left in steps):
            choices.append(np.nan)
        if choices:  # otherwise no row reaches the leaf, and values do not change
            row[f] = rng.choice(choices)


def _ends_of(forest: Forest, steps: list[tuple[int, bool]]) -> list[float]:
    """Return the largest and the smallest value that pass all splits on a feature."""
    low = max((forest.threshold[split] for split, goes_left in steps if not goes_left), default=-np.inf)
    high = min((forest.threshold[split] for split, goes_left in steps if goes_left), default=np.inf)
    least = np.nextafter(low, np.inf) if low > -np.inf else -np.inf
    return [high, least] if low < high else []


def _categories_of(forest: Forest, n_labels: int, steps: list[tuple[int, bool]]) -> list[float]:
    """Return the categories that pass all splits on a feature."""
    is_allowed = np.ones(n_labels, dtype=bool)
    for split, goes_left in steps:
        if forest.flags[split] & CATEGORICAL:
            is_left = np.full(n_labels, bool(forest.flags[split] & OTHERS_LEFT))
            is_left[forest.category_set(split)] ^= True
        else:  # a feature with many categories is split by their order
            is_left = np.arange(n_labels) <= forest.threshold[split]
        is_allowed &= is_left == goes_left
    return list(np.flatnonzero(is_allowed).astype(float))
