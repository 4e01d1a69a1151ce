"""Importance by mixing: how much worse predictions become when a feature's values are shuffled among rows.

    at_trees     Breiman's: each tree on its own out-of-bag rows, averaged over trees

Standard errors are over trees. They say how well the number of trees pins the value down, not whether the feature
would matter in another sample. For that there is the p-value: a row's loss is its mean over the trees that have not
seen it, and a one-sided t-test over rows asks whether mixing makes it larger. For a feature that is independent of all
others and of the target, a row's own value and another row's are exchangeable, so the expected difference is 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from weald.engines.door import Mixing
from weald.model import FloatArray, IntArray
from weald.training import Training

ERROR_OVER_TREES = "over trees: spread of the trees' values by the root of their number"
TEST_OVER_ROWS = (
    "one-sided t-test over rows: is the loss of a row, averaged over the trees that have not seen it, larger when the "
    "feature is mixed?"
)


@dataclass(frozen=True)
class Groups:
    """Which features are mixed together."""

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    def group_of(self, n_features: int) -> IntArray:
        """By feature: the number of its group, -1 for none."""
        found = np.full(n_features, -1, dtype=np.int32)
        for group, members in enumerate(self.members):
            found[list(members)] = group
        return found

    def ids(self) -> IntArray:
        """What stands for a group in the address of its draws: its first feature."""
        return np.array([min(members) for members in self.members], dtype=np.uint32)


@dataclass(frozen=True)
class Increases:
    """What mixing costs: means over the new rows of a tree, and over the trees to which a row is new."""

    by_tree: FloatArray  # trees x groups; NaN: the tree has no new rows
    sums: FloatArray  # rows x groups: what a row loses in all trees
    squares: FloatArray | None
    n_trees: IntArray  # by row: to how many trees it is new

    def by_row(self) -> FloatArray:
        """Mean over trees; NaN where there is none."""
        with np.errstate(invalid="ignore"):
            return self.sums / self.n_trees[:, None]


def mix(training: Training, groups: Groups, n_repeats: int, *, squares: bool = False) -> Increases:
    """Mix each group in each tree."""
    table, forest = training.reading.table, training.forest
    shape = (training.n_rows, len(groups.names))
    sums, squared = np.zeros(shape), np.zeros(shape) if squares else None
    n_trees = np.zeros(training.n_rows, dtype=np.int64)
    by_tree = np.zeros((forest.n_trees, len(groups.names)))
    names, order, weight = training.names_of_trees(), training.order(), training.weight
    for trees in training.batches():
        is_new = training.out_of_bag(trees)
        n_trees += is_new.sum(axis=0)
        total = is_new @ weight
        for repeat in range(n_repeats):
            mixing = Mixing(
                trees=trees,
                names=[names[t] for t in trees],
                is_new=is_new,
                order=order,
                target=table.target.astype(np.float64),
                weight=weight,
                group_of=groups.group_of(table.n_features),
                group_id=groups.ids(),
                repeat=repeat,
                sums=sums,
                squares=squared,
            )
            increase = training.engine.mix(forest, table.X, mixing, training.n_threads, None)
            by_tree[trees.start : trees.stop] += increase / np.where(total > 0, total, np.nan)[:, None]
    return Increases(by_tree / n_repeats, sums / n_repeats, squared, n_trees)


def compare_rows(losses: FloatArray, weight: FloatArray) -> FloatArray:
    """Test, column by column, whether the mean is above 0: one-sided p-values."""
    known = ~np.isnan(losses).any(axis=1)
    losses, weight = losses[known], weight[known] / weight[known].sum()
    mean = weight @ losses
    spread = np.sqrt(weight**2 @ (losses - mean) ** 2 * len(losses) / max(1, len(losses) - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = np.where(spread > 0, mean / spread, np.where(mean > 0, np.inf, 0.0))
    p_value: FloatArray = stats.t.sf(statistic, df=max(1, len(losses) - 1))
    return p_value


def error_over_trees(by_tree: FloatArray) -> FloatArray:
    """Standard error of the mean over trees."""
    known = ~np.isnan(by_tree).any(axis=1)
    n_trees = int(known.sum())
    if n_trees < 2:
        return np.full(by_tree.shape[1], np.nan)
    error: FloatArray = by_tree[known].std(axis=0, ddof=1) / np.sqrt(n_trees)
    return error


def at_trees(training: Training, groups: Groups, n_repeats: int) -> dict[str, Any]:
    """Breiman's importance: the mean increase of a tree's loss on its own new rows."""
    found = mix(training, groups, n_repeats)
    return {
        "values": np.nanmean(found.by_tree, axis=0),
        "std_error": error_over_trees(found.by_tree),
        "p_value": compare_rows(found.by_row(), training.weight),
        "by_tree": found.by_tree,
        "methods": {"std_error": ERROR_OVER_TREES, "p_value": TEST_OVER_ROWS},
    }
