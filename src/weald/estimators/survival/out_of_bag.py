"""Out-of-bag estimates of survival forests: each training row is predicted by the trees that have not seen it.

estimate             the training table and the forest -> SurvivalOutOfBag
SurvivalOutOfBag     risks, survival functions, concordance and Brier score of the training rows
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from weald.data.short_repr import short_repr
from weald.data.survival import Survival
from weald.data.table import Reading
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.interface import Codes, Engine
from weald.errors import DataError, warn
from weald.estimators.out_of_bag import Bagged
from weald.estimators.survival.prediction import cumulative_hazards, survival_functions
from weald.estimators.survival.scores import CensoringDistribution, brier_score, concordance_index, integrate

if TYPE_CHECKING:
    from weald.estimators.survival.models import TreeSurvival


@dataclass(frozen=True, repr=False)
class SurvivalOutOfBag:
    """Out-of-bag predictions and scores of a survival forest: `forest.oob_`, or `forest.out_of_bag(X, y)`.

    Rows are in the order of the training data. A row that is in the bag of every tree has no out-of-bag prediction and
    does not count in scores; rows of weight 0 do not either.

    Attributes
    ----------
    n_trees : int
        Number of trees.
    counts : array of shape (n_rows,)
        Number of trees that predict each row.
    mask : array of bool, shape (n_rows,)
        Which rows are out of at least one bag.
    share : float
        Fraction of rows that are out of at least one bag.
    predictions : array of shape (n_rows,)
        Risks; NaN for rows in every bag.
    score : float
        Concordance index.
    error : float
        1 - concordance index.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = {"time": rng.exponential(np.exp(-X[:, 0])), "event": rng.random(200) < 0.7}
    >>> forest = RandomSurvivalForest(100, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_
    <out of bag: 200 rows, 100 trees, concordance 0.6891>
    >>> forest.out_of_bag(X, y).brier_score([0.5, 1.0]).round(2)
    array([0.18, 0.21])
    """

    n_trees: int
    counts: IntArray
    predictions: FloatArray
    score: float
    training: "TrainingRows"

    @property
    def mask(self) -> BoolArray:
        """Which rows are out of at least one bag."""
        mask: BoolArray = self.counts > 0
        return mask

    @property
    def share(self) -> float:
        """Fraction of rows that are out of at least one bag."""
        return float(self.mask.sum() / self.training.reading.table.n_rows)

    @property
    def error(self) -> float:
        """1 - concordance index."""
        return 1.0 - self.score

    def survival_function(self) -> FloatArray:
        """Compute the out-of-bag survival function of each row at `unique_times_` of the forest (rows x times)."""
        return self.training.functions(survival_functions)

    def cumulative_hazard_function(self) -> FloatArray:
        """Compute the out-of-bag cumulative hazard of each row at `unique_times_` of the forest (rows x times)."""
        return self.training.functions(cumulative_hazards)

    def brier_score(self, times: object = None) -> FloatArray:
        """Brier score at some times: the mean squared error of the survival probability.

        Censored rows are weighted by the inverse probability of censoring (Graf et al. 1999), estimated from the
        training rows.

        Parameters
        ----------
        times : array, optional
            By default `unique_times_` of the forest, without those from which on no row is left to be censored later.

        Returns
        -------
        array of shape (n_times,)
        """
        return self._score_at(self._times(times))

    def integrated_brier_score(self, times: object = None) -> float:
        """Mean Brier score over a range of times.

        Parameters
        ----------
        times : array, optional
            At least two, ascending; by default as in `brier_score`.

        Returns
        -------
        float
            Smaller is better; 0.25 is that of a probability of 1/2 for every row at all times.
        """
        at = self._times(times)
        return integrate(at, self._score_at(at))

    def __getattr__(self, name: str) -> NoReturn:
        """Explain what other forests have here."""
        if not name.startswith("_"):
            raise AttributeError(
                f"The out-of-bag estimates of survival have no {name}: concordance compares pairs of rows, so no "
                "row has an error by itself. Use score, brier_score and integrated_brier_score."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _times(self, times: object) -> FloatArray:
        if times is not None:
            return check_times(times)
        known: FloatArray = self.training.times
        return known[self._censoring().at(known) > 0]

    def _censoring(self) -> CensoringDistribution:
        return CensoringDistribution.of(self.training.survival(), self.training.weight())

    def _score_at(self, times: FloatArray) -> FloatArray:
        seen, at = self.training.kept(self.counts) > 0, np.searchsorted(self.training.times, times, side="right")
        found = np.column_stack([np.ones(len(self.counts)), self.survival_function()])[:, at]
        rows, weight = self.training.survival(), self.training.weight()
        chosen = Survival(rows.time[seen], rows.event[seen])
        return brier_score(chosen, self.training.kept(found)[seen], times, self._censoring(), weight[seen])

    def __repr__(self) -> str:
        return f"<out of bag: {len(self.counts):,} rows, {self.n_trees:,} trees, concordance {self.score:.4g}>"


@dataclass(frozen=True, repr=False)
class TrainingRows:
    """The training table of a survival forest, and its bags."""

    model: "TreeSurvival"
    engine: Engine
    codes: Codes
    reading: Reading
    n_threads: int

    @property
    def times(self) -> FloatArray:
        """The distinct times of the fit."""
        times: FloatArray = self.model.unique_times_
        return times

    def survival(self) -> Survival:
        """Return the times and events of the rows in the table."""
        place, event = np.divmod(self.reading.table.target.astype(np.int64), 2)
        return Survival(self.times[place], event == 1)

    def weight(self) -> FloatArray:
        """Return the weights of these rows."""
        given = self.reading.table.weight
        return np.ones(self.reading.table.n_rows) if given is None else given

    def kept(self, of_rows: Array) -> Array:
        """Return the entries of the rows in the table, without those of weight 0."""
        return of_rows if self.reading.kept is None else of_rows[self.reading.kept]

    def functions(self, average: Callable[..., FloatArray]) -> FloatArray:
        """Average functions of time over the trees that have not seen a row."""
        forest, table = self.model.forest_, self.reading.table
        leaves = self.engine.leaves(forest, table.X, self.n_threads, None)
        bags = self.engine.bags(self.codes, self.model.growth_, forest.origins, self.n_threads)
        found = average(self.model.leaf_times_, leaves, (bags == 0).T)
        everywhere: FloatArray = spread(found, self.reading, np.nan)
        return everywhere

    def __repr__(self) -> str:
        return short_repr(self)


def estimate(model: "TreeSurvival", how: Bagged, reading: Reading) -> SurvivalOutOfBag:
    """Predict each training row by the trees that have not seen it."""
    found = how.sum_votes(reading.table.X, how.forest)
    rows = TrainingRows(model, how.engine, how.codes, reading, how.n_threads)
    with np.errstate(invalid="ignore"):
        risk = found.sums / found.n_trees
    seen, survival = found.n_trees > 0, rows.survival()
    if not seen.all():
        warn(
            f"{int((~seen).sum())} of {len(seen)} rows are in the bag of every tree, so they have no out-of-bag "
            "prediction. Give more trees."
        )
    score = concordance_index(Survival(survival.time[seen], survival.event[seen]), risk[seen], rows.weight()[seen])
    counts = spread(found.n_trees, reading, 0)
    return SurvivalOutOfBag(how.forest.n_trees, counts, spread(risk, reading, np.nan), score, rows)


def spread(of_table: Array, reading: Reading, nothing: float) -> Array:
    """Add the rows of weight 0, which are not in the table."""
    if reading.kept is None:
        return of_table
    found = np.full((len(reading.kept), *of_table.shape[1:]), nothing, dtype=of_table.dtype)
    found[reading.kept] = of_table
    return found


def check_times(times: object) -> FloatArray:
    """Read times at which a score is wanted."""
    try:
        found = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise DataError(f"times cannot be read as numbers: {error}. Give an array of times.") from error
    if found.ndim != 1 or not len(found) or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise DataError(f"times={times!r} is not allowed. Give finite times, each later than the one before.")
    return found
