"""The out-of-bag errors that a fit stores, from which prediction intervals and sets are computed.

RegressionErrors        targets, predictions by trees that have not seen the row, and which trees these are
ClassificationErrors    a score of the true class of each row
keep_errors             a forest, its training table and out-of-bag predictions -> one of the two
of_new_rows             the errors of rows that no tree has seen
bound                   a conformal quantile of errors

Rows are in rank order, so the result does not depend on the order of the table. Rows in every bag are kept with a
prediction of NaN.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from weald.data.table import Table
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.draws import draw_many
from weald.engines.interface import Codes, Engine
from weald.engines.params import Growth
from weald.errors import DataError
from weald.estimators.metrics import effective_rows
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.out_of_bag import OutOfBag

BATCH_BYTES = 2**27  # memory for the bags and leaves of one batch
PURPOSE_SCORES = 33  # purpose of the random draws for scores of training rows
CLOSE = 1e-12  # relative tolerance of sums of weights


@dataclass(frozen=True, eq=False)
class Weighing:
    """The weight of each row, and the number of rows that the total weight is worth."""

    weight: FloatArray | None  # None: 1
    whole: bool  # whether weights are whole (copies of rows); otherwise the size is Kish's effective number

    def take(self, rows: BoolArray) -> "Weighing":
        """Return the weights of some rows."""
        return Weighing(None if self.weight is None else self.weight[rows], self.whole)

    def size(self, n_rows: int) -> float:
        """Count the rows."""
        return float(n_rows) if self.weight is None else effective_rows(self.weight, whole=self.whole)


def bound(errors: FloatArray, weighing: Weighing, coverage: float) -> float:
    """Return the conformal quantile of errors: it covers this fraction of them and a new one. It may be infinite.

    For n errors without weights it is the error of rank ceil(coverage * (n + 1)).

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.calibration.kept_errors import Weighing, bound
    >>> nine = np.array([9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0])
    >>> bound(nine, Weighing(None, whole=True), 0.8), bound(nine, Weighing(None, whole=True), 0.95)
    (8.0, inf)
    """
    size = weighing.size(len(errors))
    if not len(errors):
        return math.inf
    needed = weight_needed(coverage, size)
    if weighing.weight is None:
        rank = math.ceil(needed)
        return float(np.partition(errors, rank - 1)[rank - 1]) if rank <= len(errors) else math.inf
    order = np.argsort(errors, kind="stable")
    reached = cumulate(weighing.weight[order], size) >= needed * (1.0 if weighing.whole else 1.0 - CLOSE)
    return float(errors[order][reached.argmax()]) if reached[-1] else math.inf


def weight_needed(coverage: float, size: float) -> float:
    """Compute coverage * (size + 1) exactly, with the coverage as a decimal number."""
    return float(exact(coverage) * (Fraction(size) + 1))


def exact(coverage: float) -> Fraction:
    """Return the decimal number that the float is printed as."""
    return Fraction(repr(float(coverage)))


def cumulate(weight: FloatArray, size: float) -> FloatArray:
    """Cumulate weights, scaled so that the total is the number of rows."""
    summed: FloatArray = np.cumsum(weight)
    return summed if summed[-1] == size else summed * (size / summed[-1])


@dataclass(frozen=True, eq=False, repr=False)
class RegressionErrors:
    """Targets of rows, and their predictions by trees that have not seen them.

    Attributes
    ----------
    forest : Forest
        The forest that made the predictions.
    is_held_out : bool
        Whether they come from rows that no tree has seen; otherwise from out-of-bag training rows.
    target, prediction : array of shape (n_rows,)
        The prediction of a row in every bag is NaN.
    weighing : Weighing
        The weights of the rows.
    outside : array of shape (n_rows, ceil(n_trees / 8)) or None
        Bits for the trees that have not seen a row. None if the rows are held out.
    leaf : array of shape (n_outside,) or None
        The leaves of each row in these trees, row by row; only if targets are kept.
    """

    forest: Forest
    is_held_out: bool
    target: FloatArray
    prediction: FloatArray
    weighing: Weighing
    outside: Array | None
    leaf: Array | None
    derived: dict[str, tuple[float, ...]] = field(default_factory=dict)  # cache of numbers derived from the errors

    @property
    def is_seen(self) -> BoolArray:
        """Marks the rows that have a prediction."""
        found: BoolArray = ~np.isnan(self.prediction)
        return found

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.target)

    @property
    def n_bytes(self) -> int:
        """Memory in bytes."""
        parts = (self.target, self.prediction, self.weighing.weight, self.outside, self.leaf)
        return sum(part.nbytes for part in parts if part is not None)

    def trees_outside(self, rows: slice) -> BoolArray:
        """Mark the trees that have not seen some rows (rows x trees)."""
        n_trees = self.forest.n_trees
        if self.outside is None:
            return np.ones((len(self.target[rows]), n_trees), dtype=np.bool_)
        return np.unpackbits(self.outside[rows], axis=1, count=n_trees).astype(np.bool_)

    def leaves(self, step: int) -> Iterator[IntArray]:
        """Yield the leaves of some rows at a time (rows x trees); -1 where a tree has seen the row."""
        assert self.leaf is not None  # noqa: S101  (for the type checker: the caller has asked)
        begin = 0
        for first in range(0, self.n_rows, step):
            is_outside = self.trees_outside(slice(first, first + step))
            found = np.full(is_outside.shape, -1, dtype=np.int32)
            end = begin + int(np.count_nonzero(is_outside))
            found[is_outside] = self.leaf[begin:end]
            begin = end
            yield found

    def __getstate__(self) -> dict[str, object]:
        """Pickle without the cache."""
        return {**vars(self), "derived": {}}

    def __repr__(self) -> str:
        kind = "held-out rows" if self.is_held_out else "training rows, out of bag"
        return f"<errors of {self.n_rows:,} {kind}, {self.n_bytes / 2**20:.1f} MiB>"


@dataclass(frozen=True, eq=False, repr=False)
class ClassificationErrors:
    """Scores of the true class of each row that has a prediction: larger scores mean less probable classes.

    Attributes
    ----------
    forest : Forest
        The forest that made the predictions.
    is_held_out : bool
        Whether they come from rows that no tree has seen; otherwise from out-of-bag training rows.
    lac : array of shape (n_rows,)
        1 minus the probability of the true class.
    aps : array of shape (n_rows,)
        Probability of all more probable classes, plus that of the true class times a random number below 1.
    weighing : Weighing
        The weights of the rows.
    voting : {"soft", "hard"}
        The voting of the forest; predictions of new rows must use the same.
    """

    forest: Forest
    is_held_out: bool
    lac: FloatArray
    aps: FloatArray
    weighing: Weighing
    voting: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lac)

    @property
    def n_bytes(self) -> int:
        """Memory in bytes."""
        weight = self.weighing.weight
        return self.lac.nbytes + self.aps.nbytes + (0 if weight is None else weight.nbytes)

    def __repr__(self) -> str:
        kind = "held-out rows" if self.is_held_out else "training rows, out of bag"
        return f"<scores of {self.n_rows:,} {kind}, {self.n_bytes / 2**20:.1f} MiB>"


KeptErrors = RegressionErrors | ClassificationErrors


@dataclass(frozen=True)
class TableOfRows:
    """A coded table in rank order, and the trees that predict it."""

    engine: Engine
    codes: Codes
    table: Table
    growth: Growth
    forest: Forest
    seed: int
    n_threads: int
    keeps_leaves: bool
    voting: str

    @property
    def order(self) -> IntArray:
        """Rows in rank order."""
        return self.engine.order(self.codes).astype(np.int64)


def keep_errors(rows: TableOfRows, found: "OutOfBag", kept: BoolArray | None) -> KeptErrors:
    """Store the out-of-bag errors for intervals or sets; `kept`: the rows of `found` that are in the table."""
    averages = found.predictions if found.classes is None else found.probabilities
    averages = averages if kept is None else averages[kept]
    if not found.mask.any():
        raise DataError("No row is out of bag, so there are no errors to keep. Grow more trees.")
    if rows.table.task is Task.CLASSIFICATION:
        return _scores(rows, averages, is_held_out=False)
    order = rows.order
    outside, leaf = _outside(rows, order)
    return RegressionErrors(
        rows.forest, False, rows.table.target[order] + 0.0, averages[order], _weighing(rows, order), outside, leaf
    )


def of_new_rows(rows: TableOfRows, averages: FloatArray) -> KeptErrors:
    """Store the errors for intervals or sets from rows that no tree has seen."""
    if rows.table.task is Task.CLASSIFICATION:
        return _scores(rows, averages, is_held_out=True)
    order, leaf = rows.order, None
    if rows.keeps_leaves:
        found = rows.engine.leaves(rows.forest, rows.table.in_memory().X, rows.n_threads, None)[order]
        leaf = found.astype(np.uint32).ravel()
    target = rows.table.target[order] + 0.0
    return RegressionErrors(rows.forest, True, target, averages[order], _weighing(rows, order), None, leaf)


def _weighing(rows: TableOfRows, order: IntArray) -> Weighing:
    table = rows.table
    weight = None if table.weight is None or (table.weight == 1).all() else table.weight[order]
    return Weighing(weight, table.weights_whole)


def _outside(rows: TableOfRows, order: IntArray) -> tuple[Array, Array | None]:
    """Find the trees that have not seen each row, as bits, and the leaves of the row in these trees."""
    X, forest = rows.table.in_memory().X, rows.forest
    is_outside = np.empty((len(order), forest.n_trees), dtype=np.bool_)
    leaves = np.empty(is_outside.shape, dtype=np.uint32) if rows.keeps_leaves else None
    step = max(1, BATCH_BYTES // (8 * len(order)))
    for begin in range(0, forest.n_trees, step):
        end = min(forest.n_trees, begin + step)
        part = forest.take(list(range(begin, end)))
        bags = rows.engine.bags(rows.codes, rows.growth, part.origins, rows.n_threads)
        is_outside[:, begin:end] = bags[:, order].T == 0
        if leaves is not None:
            leaves[:, begin:end] = rows.engine.leaves(part, X, rows.n_threads, None)[order]
    return np.packbits(is_outside, axis=1), None if leaves is None else leaves[is_outside]


def _scores(rows: TableOfRows, averages: FloatArray, *, is_held_out: bool) -> ClassificationErrors:
    """Score the true class of each row that has a prediction."""
    order = rows.order
    shares, truth = averages[order], rows.table.target[order].astype(np.int64)
    is_seen = ~np.isnan(shares[:, 0])
    u = uniform(rows.seed, np.flatnonzero(is_seen), PURPOSE_SCORES, 0)
    shares, truth = shares[is_seen], truth[is_seen]
    lac, aps = (of_all[np.arange(len(truth)), truth] for of_all in (1.0 - shares, cumulated_scores(shares, u)))
    weighing = _weighing(rows, order).take(is_seen)
    return ClassificationErrors(rows.forest, is_held_out, lac, aps, weighing, rows.voting)


def uniform(seed: int, addresses: IntArray, purpose: int, i: int) -> FloatArray:
    """Draw numbers from 0 to 1, 1 excluded, by address."""
    bits = draw_many(seed, addresses, 0, purpose, i)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cumulated_scores(shares: FloatArray, u: FloatArray) -> FloatArray:
    """Score each class of each row: the probability of all more probable classes, plus u times its own."""
    order = np.argsort(-shares, axis=1, kind="stable")  # stable: on a tie, the first class counts as more probable
    sorted_shares = np.take_along_axis(shares, order, axis=1)
    before = np.cumsum(sorted_shares, axis=1)
    before = np.concatenate([np.zeros((len(shares), 1)), before[:, :-1]], axis=1)
    scores = np.empty_like(shares)
    np.put_along_axis(scores, order, before + u[:, None] * sorted_shares, axis=1)
    return scores
