"""Keeping the training targets in the leaves, for quantiles: `keep_targets=True`, or `model.attach_targets(X, y)`.

require_local    refuse `keep_targets` and the like for a table on a cluster
collect          a forest and the table that it was grown from -> LeafTargets
"""

from collections.abc import Iterator

import numpy as np

from weald.data.table import Table
from weald.data.types import Array, FloatArray, IntArray
from weald.engines.interface import Codes, Engine
from weald.engines.params import Growth
from weald.errors import ParameterError
from weald.forest.forest import Forest
from weald.forest.leaf_targets import LeafTargets

BATCH_BYTES = 2**27  # memory limit for bags and leaves


def require_local(engine: Engine, parameter: str = "keep_targets", method: str = "attach_targets") -> None:
    """Raise an error if the table, whose targets or errors should be kept, is not in this process."""
    if engine.local is not engine:
        raise ParameterError(
            f"{parameter}=True cannot be used with a fit on a Dask cluster. Set {parameter}=False, and call "
            f"{method}(X, y) on the fitted model."
        )


def collect(engine: Engine, codes: Codes, table: Table, growth: Growth, forest: Forest, n_threads: int) -> LeafTargets:
    """Add up the weight of each target value in each leaf, over the rows of the tree's bag."""
    order = engine.order(codes)  # the sums must not depend on the order of rows
    X = table.in_memory().X
    value, place = np.unique(table.target[order] + 0.0, return_inverse=True)  # -0.0 + 0.0 is 0.0
    sizes, places, weights = [], [], []
    for trees in _batches(forest.n_trees, table.n_rows):
        part = forest.take(trees)
        leaves = engine.leaves(part, X, n_threads, None)[order]
        counts = _counts(engine, codes, table, growth, part, n_threads)[:, order]
        for tree, n_nodes in enumerate(np.diff(part.tree_start).tolist()):
            rows = np.flatnonzero(counts[tree])
            entry, of_row = np.unique(
                leaves[rows, tree].astype(np.int64) * len(value) + place[rows], return_inverse=True
            )
            node, at = np.divmod(entry, len(value))
            sizes.append(np.bincount(node, minlength=n_nodes))
            places.append(at)
            weights.append(np.bincount(of_row, weights=counts[tree, rows]))
    start = np.concatenate([[0], np.cumsum(np.concatenate(sizes), dtype=np.int64)])
    used, at = np.unique(np.concatenate(places), return_inverse=True)  # rows in no bag are in no leaf
    return LeafTargets(forest, value[used], start, at.astype(np.uint32), _smallest(np.concatenate(weights)))


def _batches(n_trees: int, n_rows: int) -> Iterator[list[int]]:
    """Divide the trees into batches whose arrays of rows x trees fit into memory."""
    step = max(1, BATCH_BYTES // (16 * n_rows))
    for begin in range(0, n_trees, step):
        yield list(range(begin, min(n_trees, begin + step)))


def _counts(
    engine: Engine, codes: Codes, table: Table, growth: Growth, part: Forest, n_threads: int
) -> IntArray | FloatArray:
    """Return how often each row was drawn for each tree (trees x rows); without bags, its weight."""
    if any(origin.bags.bootstrap for origin in part.origins):
        return engine.bags(codes, growth, part.origins, n_threads)
    weight = np.ones(table.n_rows) if table.weight is None else table.weight
    return np.tile(weight, (part.n_trees, 1))


def _smallest(counts: Array) -> Array:
    """Store whole numbers in the smallest type that holds them."""
    if (counts == np.floor(counts)).all() and counts.max() < 2**32:
        return counts.astype(np.min_scalar_type(int(counts.max())))
    return counts.astype(np.float64)
