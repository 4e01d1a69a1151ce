"""Jackknife+-after-bootstrap intervals (Kim, Xu, Barber 2020).

jackknife_intervals    a regression forest, rows, kept errors and a coverage  ->  lower and upper ends

For each training row i, the trees that have not seen it predict the new row: f_(-i)(x). With R_i, the error of row i
itself, the interval reaches from a low quantile of f_(-i)(x) - R_i to a high one of f_(-i)(x) + R_i. Rows in every bag
have no such prediction, and count as infinite errors.

Means over trees are sums of whole numbers: predictions are rounded to a grid so fine that sums of all trees are exact
in doubles. So the result does not depend on the library that multiplies matrices.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weald.data.types import BoolArray, FloatArray, IntArray, TableLike
from weald.engines.choose import open_engine
from weald.engines.threads import count_threads
from weald.estimators.calibration.kept_errors import CLOSE, RegressionErrors, cumulate, weight_needed
from weald.estimators.chunked_prediction import RowProgress
from weald.estimators.features import RowBlocks
from weald.estimators.prediction import read_rows, voting_of

if TYPE_CHECKING:
    from weald.estimators.tasks import TreeRegressor

BLOCK_BYTES = 2**25  # memory limit for leave-one-out predictions
MOST_ROWS = 4096  # new rows predicted at a time
BITS = 53  # precision of a double


def jackknife_intervals(model: "TreeRegressor", X: TableLike, errors: RegressionErrors, coverage: float) -> FloatArray:
    """Compute intervals, block by block."""
    rows, n_threads = read_rows(model, X), count_threads(model.n_jobs)
    leaving_out = _LeavingOut.of(errors, coverage)
    n_rows = len(rows) if isinstance(rows, RowBlocks) else int(rows.shape[0])
    watch = RowProgress(n_rows) if model.verbose else None
    step = max(1, min(MOST_ROWS, BLOCK_BYTES // (8 * len(leaving_out.error) * n_threads)))
    engine, trees = open_engine(model.engine).local, [model.forest_.take([t]) for t in range(model.forest_.n_trees)]
    found: list[FloatArray] = []
    n_done = 0
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            for block in rows.row_blocks() if isinstance(rows, RowBlocks) else (rows,):
                for begin in range(0, block.shape[0], MOST_ROWS):
                    part = block[begin : begin + MOST_ROWS]
                    votes = np.stack(
                        [engine.sum_votes(tree, part, voting_of(model), n_threads, None) for tree in trees]
                    )
                    for first in range(0, part.shape[0], step * n_threads):
                        pieces = _cut(votes[:, first : first + step * n_threads], step)
                        found += pool.map(leaving_out.intervals, pieces)
                        if watch:
                            watch((n_done + min(first + step * n_threads, part.shape[0])) / n_rows)
                    n_done += part.shape[0]
    finally:
        if watch:
            watch.stop()
    return np.concatenate(found)


def _cut(votes: FloatArray, step: int) -> Iterator[FloatArray]:
    """Divide predictions (trees x rows) into pieces of some rows."""
    for begin in range(0, votes.shape[1], step):
        yield votes[:, begin : begin + step]


@dataclass(frozen=True)
class _LeavingOut:
    """The training rows that are out of some bag: the trees that have not seen them, their errors and weights."""

    outside: FloatArray  # rows x trees: 1, or 0 for a tree that has seen the row
    n_outside: IntArray  # indexed by row
    error: FloatArray  # indexed by row
    weight: FloatArray | None
    needed: float  # weight of rows required below an upper end
    center: float
    exponent: int  # predictions minus the center are rounded to multiples of 2^-exponent

    @classmethod
    def of(cls, errors: RegressionErrors, coverage: float) -> "_LeavingOut":
        seen: BoolArray = errors.is_seen
        n_trees, target = errors.forest.n_trees, errors.target
        outside = errors.trees_outside(slice(None))[seen].astype(np.float64)
        weighing = errors.weighing
        size = weighing.size(errors.n_rows)  # rows in every bag count as infinite errors
        weight, needed = None, weight_needed(coverage, size)
        if weighing.weight is not None:
            total = cumulate(weighing.weight, size)[-1] / np.cumsum(weighing.weight)[-1]
            weight = weighing.weight[seen] * total
            needed *= 1.0 if weighing.whole else 1.0 - CLOSE
        center = float(target.min() / 2 + target.max() / 2)
        reach = int(np.frexp(float(np.abs(target - center).max()))[1])
        exponent = BITS - 2 - n_trees.bit_length() - reach
        away = np.abs(target - errors.prediction)[seen]
        return cls(outside, outside.sum(axis=1), away, weight, needed, center, exponent)

    def intervals(self, votes: FloatArray) -> FloatArray:
        """Compute the intervals of some rows from the predictions of the trees (trees x rows)."""
        whole = np.rint(np.ldexp(votes - self.center, self.exponent))
        sums = whole.T @ self.outside.T  # exact, since sums of whole numbers stay below 2^53
        means = self.center + np.ldexp(sums / self.n_outside, -self.exponent)
        low = -self._upper(self.error - means)
        return np.column_stack([low, self._upper(means + self.error)])

    def _upper(self, ends: FloatArray) -> FloatArray:
        """Return the smallest end of each row that has enough weight below it (rows x training rows)."""
        if self.weight is None:
            rank = int(np.ceil(self.needed))
            if rank > ends.shape[1]:
                return np.full(len(ends), np.inf)
            ends.partition(rank - 1, axis=1)
            return ends[:, rank - 1].copy()
        order = np.argsort(ends, axis=1, kind="stable")
        reached = np.cumsum(self.weight[order], axis=1) >= self.needed
        first = np.take_along_axis(ends, np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1), axis=1)
        return np.where(reached[:, -1], first[:, 0], np.inf)
