"""Whether another program answers as weald does: rows that are hard to get right, and what came of them.

edge_rows    rows on the edges of leaves, beside them, beyond all of them, and with missing values
answer       what weald predicts for such rows
compare      both answers -> Parity
Parity       what was compared, on how many rows, the largest difference, and what cannot be carried over
Export       the model in its new form, and its parity
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
MOST_CELLS = 2**22  # of the rows that are made
AT_THE_EDGE = 0.5  # share of the rows that lie at the corners of leaves; others are mixed from all edges
MISSING = 0.1  # share of missing values among the others


@dataclass(frozen=True)
class Parity:
    """How the answers of another program compare with weald's.

    Examples
    --------
    >>> import weald
    >>> model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [3.0, 4.0])
    >>> parity = model.to_c(check=False).parity
    >>> parity.n_rows, parity.lost[0]
    (0, 'how the model was fitted')
    """

    consumer: str  # the program, with its version; "" where none was asked
    compared: str  # what was compared: "probabilities", "predictions"
    n_rows: int  # 0: nothing was compared
    n_values: int
    n_different: int  # values of which at least one bit differs
    largest_difference: float
    lost: tuple[str, ...]  # what cannot be carried over

    @property
    def is_exact(self) -> bool:
        """Whether something was compared, and every bit is the same."""
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
    """A model in another form, and how it compares."""

    model: Native  # the text, the bytes or the object that the other program takes
    parity: Parity

    def __repr__(self) -> str:
        return f"<Export: {str(self.parity).splitlines()[0]}>"

    def __str__(self) -> str:
        return str(self.parity)


def not_compared(*lost: str) -> Parity:
    """Say that nothing was compared."""
    return Parity("", "", 0, 0, 0, 0.0, lost)


def compare(consumer: str, compared: str, ours: FloatArray, theirs: FloatArray, tolerance: float, *lost: str) -> Parity:
    """Compare two answers for the same rows. A difference beyond the tolerance means that the export is wrong."""
    if ours.shape != theirs.shape:
        raise ExportError(f"{consumer} answers with shape {theirs.shape} where weald's answer has {ours.shape}.")
    is_different = ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.abs(ours - theirs)[is_different]
    largest = float(np.max(np.where(np.isnan(gaps), np.inf, gaps), initial=0.0))
    parity = Parity(consumer, compared, len(ours), ours.size, int(is_different.sum()), largest, lost)
    if largest > tolerance * max(1.0, float(np.nanmax(np.abs(ours), initial=0.0))):
        row = int(np.argwhere(is_different)[0][0])
        raise ExportError(
            f"{consumer} does not answer as weald does: {parity.n_different} of {parity.n_values} {compared} differ, "
            f"by {largest:.3g} at most. The first is of row {row}: {theirs[row]} instead of {ours[row]}. Do not use "
            "this export; try another version of the program."
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
    """Name what is compared."""
    return "probabilities" if forest.task is Task.CLASSIFICATION else "predictions"


# ----------------------------------------------------------------------------------------------- rows at the edges


def rows_to_compare(model: "TreeModel", X: TableLike) -> FloatArray:
    """Make rows at the edges of leaves; those that the user gives come first."""
    made = edge_rows(model.forest_, n_categories(model))
    if X is None:
        return made
    return np.vstack([np.asarray(read_matrix(model, X), dtype=np.float64), made])


def n_categories(model: "TreeModel") -> list[int]:
    """Count the categories of each feature; 0 where it is cut like a number."""
    return [0 if c is None or c.is_ordered else len(c.labels) for c in model.schema_.categories]


def edge_rows(forest: Forest, n_labels: list[int], n_rows: int = N_ROWS, seed: int = 0) -> FloatArray:
    """Make rows that are hard to get right.

    Half of them are corners of leaves: each value lies exactly on the last threshold that bounds the leaf from above,
    or is the next double above the one that bounds it from below, so that one wrong comparison leads elsewhere. The
    others mix thresholds, their neighbors, infinities, zeros of both signs, missing values and
    categories.
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
    """Number of each node's parent among all nodes, negative where the node is its right child; roots have n_nodes."""
    parents = np.full(forest.n_nodes, forest.n_nodes, dtype=np.int64)
    roots = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    split = np.flatnonzero(forest.feature >= 0)
    parents[split + 1] = split
    parents[roots[split] + forest.right[split]] = -1 - split
    return parents


def _path_to(parents: IntArray, leaf: int) -> list[tuple[int, bool]]:
    """List the splits above a leaf, and whether the way leads left."""
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
    """Choose values at the edge of what the splits of a path allow."""
    by_feature: dict[int, list[tuple[int, bool]]] = {}
    for split, goes_left in path:
        by_feature.setdefault(int(forest.feature[split]), []).append((split, goes_left))
    for f, steps in by_feature.items():
        choices = _categories_of(forest, n_labels[f], steps) if n_labels[f] else _ends_of(forest, steps)
        if all(bool(forest.flags[split] & MISSING_LEFT) == goes_left for split, goes_left in steps):
            choices.append(np.nan)
        if choices:  # else the leaf is out of reach, and the row stays as it was
            row[f] = rng.choice(choices)


def _ends_of(forest: Forest, steps: list[tuple[int, bool]]) -> list[float]:
    """The largest and the smallest value that pass all cuts of a feature."""
    low = max((forest.threshold[split] for split, goes_left in steps if not goes_left), default=-np.inf)
    high = min((forest.threshold[split] for split, goes_left in steps if goes_left), default=np.inf)
    least = np.nextafter(low, np.inf) if low > -np.inf else -np.inf
    return [high, least] if low < high else []


def _categories_of(forest: Forest, n_labels: int, steps: list[tuple[int, bool]]) -> list[float]:
    """Categories that pass all splits of a feature."""
    is_allowed = np.ones(n_labels, dtype=bool)
    for split, goes_left in steps:
        if forest.flags[split] & CATEGORICAL:
            is_left = np.full(n_labels, bool(forest.flags[split] & OTHERS_LEFT))
            is_left[forest.category_set(split)] ^= True
        else:  # many categories are cut in their order
            is_left = np.arange(n_labels) <= forest.threshold[split]
        is_allowed &= is_left == goes_left
    return list(np.flatnonzero(is_allowed).astype(float))
