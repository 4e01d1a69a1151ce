"""Keeping the times in the leaves of survival forests: what survival functions are computed from.

collect    a forest and the table that it was grown from -> LeafTimes
"""

import numpy as np

from weald.data.table import Table
from weald.data.types import Array, FloatArray
from weald.engines import leaf_targets
from weald.engines.interface import Codes, Engine
from weald.engines.params import Growth
from weald.forest.forest import Forest
from weald.forest.leaf_times import LeafTimes


def collect(
    engine: Engine, codes: Codes, table: Table, growth: Growth, forest: Forest, time: FloatArray, n_threads: int
) -> LeafTimes:
    """Add up the weight of events and of censored rows at each time in each leaf."""
    found = leaf_targets.collect(engine, codes, table, growth, forest, n_threads)
    place, event = np.divmod(found.value[found.place].astype(np.int64), 2)
    leaf = np.repeat(np.arange(forest.n_nodes), np.diff(found.start))
    is_first = np.ones(len(place), dtype=np.bool_)  # of the one or two entries of a leaf at a time
    is_first[1:] = (place[1:] != place[:-1]) | (leaf[1:] != leaf[:-1])
    entry = np.cumsum(is_first) - 1
    n = int(entry[-1]) + 1
    weight = [np.bincount(entry, weights=found.weight * (event == which), minlength=n) for which in (0, 1)]
    start = np.concatenate([[0], np.cumsum(np.bincount(leaf[is_first], minlength=forest.n_nodes), dtype=np.int64)])
    censored, events = (_like(column, found.weight) for column in weight)
    return LeafTimes(forest, time, start, place[is_first].astype(np.uint32), events, censored)


def _like(column: Array, weight: Array) -> Array:
    """Store sums of whole weights in the smallest type that holds them."""
    return column.astype(np.min_scalar_type(int(column.max()))) if weight.dtype.kind == "u" else column
