"""Permutation importance: the increase in the error when a feature's values are permuted among rows.

    by_trees          Breiman's: each tree on its own out-of-bag rows, averaged over trees
    by_rows           importance for each row: the importance of features for a single prediction
    by_forest         the whole forest, on the votes of the trees that have not seen a row
    by_concordance    the same for a survival forest: the decrease of its concordance index
    within_cells      as by_trees, but only rows with similar values of correlated features exchange values

For a feature that is independent of all others and of the target, a row's own value and another row's are
exchangeable, so the expected increase is 0: this is the null hypothesis of the p-values.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from weald.data.survival import Survival
from weald.data.table import Matrix
from weald.data.types import FloatArray, IntArray
from weald.engines.interface import PermutationTask
from weald.estimators.survival.scores import concordance_index
from weald.inspection.conditional import Cells
from weald.inspection.importance_request import ImportanceRequest
from weald.inspection.importance_result import Found
from weald.inspection.significance import BETWEEN_ROWS, OVER_ROWS, OVER_TREES, compare_rows, error_over_trees

OVER_REPEATS = "over permutations: standard deviation of the repeats over the root of their number"
WHOLE_FOREST = 2**32 - 1  # used as tree number if all trees use the same permuted rows


@dataclass(frozen=True)
class Increases:
    """Increases in loss by permutation."""

    by_tree: FloatArray  # trees x groups: means over its out-of-bag rows; NaN: it has none
    by_row: FloatArray  # rows x groups: means over the trees to which the row is new; NaN: there are none
    squares: FloatArray  # rows x groups: sums of squares over these trees; empty: not requested
    n_trees: IntArray  # by row: number of these trees


def permute(question: ImportanceRequest, cells: Cells | None = None, *, squares: bool = False) -> Increases:
    """Permute each group among the out-of-bag rows of each tree."""
    training, groups = question.training, question.groups
    table, forest = training.reading.table, training.forest
    shape = (training.n_rows, len(groups.names))
    sums, squared = np.zeros(shape), np.zeros(shape if squares else (0, 0))
    n_trees = np.zeros(training.n_rows, dtype=np.int64)
    by_tree = np.zeros((forest.n_trees, len(groups.names)))
    names, order, weight = training.names_of_trees(), training.order(), training.weight
    for trees in training.batches(bytes_per_row=4 if cells is None else 4 * len(groups.names)):
        is_new = training.out_of_bag(trees)
        n_trees += is_new.sum(axis=0)
        total = is_new @ weight
        inside = None if cells is None else cells.of_trees(trees, is_new)
        for repeat in range(question.n_repeats):
            task = PermutationTask(
                trees=trees,
                names=[names[t] for t in trees],
                is_new=is_new,
                order=order,
                target=table.target.astype(np.float64),
                weight=weight,
                group_of=groups.group_of(table.n_features),
                group_id=groups.ids(),
                repeat=repeat,
                cells=inside,
                sums=sums,
                squares=squared if squares else None,
            )
            increase = training.engine.permute(forest, table.X, task, training.n_threads, None)
            by_tree[trees.start : trees.stop] += increase / np.where(total > 0, total, np.nan)[:, None]
    sums /= np.where(n_trees > 0, n_trees, np.nan)[:, None] * question.n_repeats
    return Increases(by_tree / question.n_repeats, sums, squared, n_trees)


def by_trees(question: ImportanceRequest) -> Found:
    """Mean increase in a tree's loss on its out-of-bag rows."""
    return _summed_up(question, permute(question))


def within_cells(question: ImportanceRequest) -> Found:
    """Like `by_trees`, but permuting only among rows with similar values of correlated features."""
    return _summed_up(question, permute(question, Cells(question.training, question.groups)))


def _summed_up(question: ImportanceRequest, found: Increases) -> Found:
    _, _, p_value = compare_rows(found.by_row, question.training.weight)
    return {
        "values": np.nanmean(found.by_tree, axis=0),
        "std_error": error_over_trees(found.by_tree),
        "p_value": p_value,
        "by_tree": found.by_tree,
        "methods": {"std_error": OVER_TREES, "p_value": BETWEEN_ROWS},
    }


def by_rows(question: ImportanceRequest) -> Found:
    """Mean increase in a row's loss over the trees whose bags lack it."""
    found = permute(question, squares=True)
    n = np.where(found.n_trees > 1, found.n_trees, np.nan)[:, None] * question.n_repeats
    variance = np.maximum(found.squares - n * found.by_row**2, 0.0) / (n - 1)
    kept = question.training.for_all_rows
    return {
        "values": kept(found.by_row),
        "std_error": kept(np.sqrt(variance / (n / question.n_repeats))),
        "methods": {"std_error": OVER_TREES},
    }


def by_concordance(question: ImportanceRequest) -> Found:
    """Mean decrease of a survival forest's concordance if all trees use the same permuted rows."""
    training, groups = question.training, question.groups
    place, event = np.divmod(training.reading.table.target, 2)

    def concordance(X: Matrix) -> float:
        risk = training.averages(X)
        seen = ~np.isnan(risk)
        survival = Survival(place[seen], event[seen] == 1)
        return concordance_index(survival, risk[seen], training.weight[seen])

    before = concordance(training.reading.table.X)
    decreases = [[before - concordance(X) for X in _permuted(question, group)] for group in range(len(groups.names))]
    found: Found = {"values": np.mean(decreases, axis=1), "methods": {}}
    if question.n_repeats > 1:
        found["std_error"] = np.std(decreases, axis=1, ddof=1) / math.sqrt(question.n_repeats)
        found["methods"]["std_error"] = OVER_REPEATS
    return found


def _permuted(question: ImportanceRequest, group: int) -> Iterator[Matrix]:
    """Yield the table with a group of features permuted among all rows, once for each repeat."""
    training, groups = question.training, question.groups
    X, order, seed = training.reading.table.X, training.order(), training.names_of_trees()[0][0]
    for repeat in range(question.n_repeats):
        sources = training.engine.shuffle(training.n_rows, seed, WHOLE_FOREST, int(groups.ids()[group]), repeat)
        permuted = X.copy()
        for f in groups.members[group]:
            permuted[order, f] = X[order[sources], f]
        yield permuted


def by_forest(question: ImportanceRequest) -> Found:
    """Mean increase in the forest's loss if all trees use the same permuted rows."""
    training, groups = question.training, question.groups
    before = training.losses(training.averages(training.reading.table.X))
    increases = np.zeros((training.n_rows, len(groups.names)))
    for group in range(len(groups.names)):
        for permuted in _permuted(question, group):
            increases[:, group] += training.losses(training.averages(permuted)) - before
    values, error, p_value = compare_rows(increases / question.n_repeats, training.weight)
    return {
        "values": values,
        "std_error": error,
        "p_value": p_value,
        "methods": {"std_error": OVER_ROWS, "p_value": BETWEEN_ROWS},
    }
