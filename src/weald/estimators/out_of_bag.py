"""Out-of-bag predictions and errors.

A row is out of a tree's bag if none of its weight was drawn. The trees that never saw a row predict it, so the error of
these predictions estimates the error on new data at no cost.

    estimate_out_of_bag       predict each row by the trees that did not see it -> OutOfBag
    OutOfBag                  predictions, errors, scores, the error curve over trees, and the bags

Bags are drawn again from the seed on access. The table that was read stays in memory for `surface`, until the estimates
are pickled: a saved forest keeps them but no training data, and `forest.out_of_bag(X, y)` computes everything again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from weald.data.arguments import Fraction, OneOf, WholeNumber, check_argument, is_whole
from weald.data.short_repr import short_repr
from weald.data.table import Reading, Table, up_to_one
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.interface import Codes, Engine, OutOfBagVotes
from weald.engines.params import Growth
from weald.errors import DataError, ParameterError, warn
from weald.estimators import metrics
from weald.estimators.calibration.calibrator import METHODS, Calibrator, calibrate_by_folds
from weald.estimators.metrics import Calibration, Metric, Threshold
from weald.estimators.resampling import BAGGING
from weald.forest import votes
from weald.forest.error_sums import mean_loss, scale_of
from weald.forest.forest import Forest, Origin

if TYPE_CHECKING:
    from weald.estimators.error_surface import ErrorSurface, RowsToScore


@dataclass(frozen=True, repr=False)
class Curve:
    """The out-of-bag error after each tree."""

    n_trees: IntArray  # 1, 2, 3 ...
    error: FloatArray  # misclassification rate or mean squared error by weight; NaN: no row is out of bag yet
    share: FloatArray  # fraction of the rows, by weight, that are out of at least one bag

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True)
class Bagged:
    """A forest together with the table from which its bags are drawn."""

    engine: Engine
    codes: Codes
    growth: Growth
    forest: Forest
    voting: str
    n_threads: int

    def add_votes(self, X: Array, forest: Forest, start: OutOfBagVotes | None = None, room: int = 0) -> OutOfBagVotes:
        """Add the out-of-bag votes of some trees to those of earlier ones. The engine may keep the sums elsewhere."""
        return self.engine.sum_votes_out_of_bag(
            self.codes, self.growth, forest, X, self.voting, self.n_threads, None, start, room
        )

    def sum_votes(self, X: Array, forest: Forest, start: OutOfBagVotes | None = None, room: int = 0) -> OutOfBagVotes:
        """Add the votes of all trees, and return the sums as arrays of this process."""
        return self.engine.collect(self.add_votes(X, forest, start, room))


def require_bags(forest: Forest) -> None:
    """Refuse trees whose bags cannot be drawn again."""
    if any(origin.resampling != BAGGING for origin in forest.origins):
        raise DataError(
            "In boosting and arcing, the bag of a tree depends on the mistakes of earlier trees on all rows. So no "
            "row is "
            'new to the forest, and an out-of-bag error would be biased. Fit with resampling="bagging".'
        )
    if forest.origins and not any(origin.bags.bootstrap for origin in forest.origins):
        raise DataError(
            "There are no out-of-bag rows: with bootstrap=False every tree sees every row. Fit with bootstrap=True."
        )


def estimate_out_of_bag(how: Bagged, reading: Reading, found: OutOfBagVotes | None = None) -> "OutOfBag":
    """Compute out-of-bag predictions and errors; `found` has the votes if they were added up before."""
    spoken: list[OutOfBagVotes] = [how.engine.collect(found)] if found else []

    def add_up(forest: Forest, room: int) -> tuple[FloatArray, IntArray]:
        if room or not spoken:
            spoken[:] = [how.sum_votes(reading.table.X, forest, room=room)]
        return spoken[0].sums, spoken[0].n_trees

    averages = votes.average(how.forest, add_up)
    spoken[:] = [spoken[0]._replace(sums=averages)]  # frees the sums, which may be large
    result = OutOfBag(how, reading, spoken[0])
    if result.share < 1:
        _warn_of_unseen(result)
    return result


def _mean_error(table: Table, found: OutOfBagVotes) -> float:
    """Return the error of mean votes: that of an error surface, to the last bit."""
    known, weight = found.n_trees > 0, np.ones(table.n_rows) if table.weight is None else table.weight
    if table.task is Task.CLASSIFICATION:
        wrong = found.sums.argmax(axis=1) != table.target
        return mean_loss(wrong.astype(np.float64), up_to_one(weight), known)
    scale = scale_of(table.target)
    apart = np.ldexp(table.target, -scale) - np.ldexp(found.sums, -scale)
    with np.errstate(over="ignore"):  # overflows with very large numbers
        return float(np.ldexp(mean_loss(apart * apart, up_to_one(weight), known), 2 * scale))


class OutOfBag:
    """Out-of-bag predictions and errors of a forest: `forest.oob_`, or `forest.out_of_bag(X, y)`.

    Rows are in the order of the training data. A row that is in the bag of every tree has no out-of-bag prediction and
    does not count in errors. Errors and scores weight rows by `sample_weight`.

    For `surface`, the training table stays in memory as long as this object, until it is pickled or saved. An array of
    numbers, or a data frame stored as one, is shared with the caller; of other data frames it is the converted copy: 8
    bytes for each cell, 76 MiB for 200,000 x 50. To avoid this, fit without `oob_score`, and use
    `forest.out_of_bag(X, y)`.

    Attributes
    ----------
    n_trees : int
        Number of trees.
    counts : array of shape (n_rows,)
        Number of trees that predict each row: those whose bags lack it, a little more than a third of all.
    mask : array of bool, shape (n_rows,)
        Which rows are out of at least one bag.
    share : float
        Fraction of rows that are out of at least one bag.
    predictions : array of shape (n_rows,)
        Predictions: labels (a masked array), or means. Rows in every bag are masked, or NaN.
    shares : array of shape (n_rows, n_classes)
        Class probabilities, averaged over the trees that did not see the row; NaN for rows in every bag. Classification
        only.
    votes : array of shape (n_rows, n_classes)
        The same as sums over trees: with `voting="hard"`, the number of trees for each class. Classification only.
    margins : array of shape (n_rows,)
        Probability of the true class minus the largest probability of another class; negative where the forest is
        wrong. Classification only.
    error : float
        Fraction of rows misclassified, or mean squared error.
    curve : Curve
        `n_trees`, `error` and `share` after each tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=100, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_
    <out of bag: 150 rows, 100 trees, error 0.05333, 95% from 0.02727 to 0.1017>
    >>> forest.oob_.confusion()
    array([[50,  0,  0],
           [ 0, 46,  4],
           [ 0,  4, 46]])
    >>> forest.oob_.curve.error[[0, 9, 99]].round(3)
    array([0.088, 0.06 , 0.053])
    """

    def __init__(self, how: Bagged, reading: Reading, found: OutOfBagVotes) -> None:
        """Take the predictions; their sums have been divided by the numbers of trees."""
        table = reading.table
        weight = np.broadcast_to(1.0, table.n_rows) if table.weight is None else table.weight
        self.classes = reading.classes
        self.n_trees = how.forest.n_trees
        self.counts: IntArray = _spread(found.n_trees, reading, 0)
        self.mask: BoolArray = self.counts > 0
        self.share = float(self.mask.sum() / table.n_rows)
        self._averages: FloatArray = _spread(found.sums, reading, np.nan)
        self._hard = how.voting == "hard"
        self._truth: Array | None = _spread(table.target, reading, 0)
        self._weight: FloatArray | None = _spread(weight, reading, 0)
        source = how.engine.bag_source(how.codes)
        self._bags: TrainingBags | None = TrainingBags(
            how.engine.local, source, how.growth, how.forest.origins, how.n_threads, reading.kept
        )
        self.curve = Curve(np.arange(1, self.n_trees + 1), found.errors, found.shares)
        # Whole weights are copies of rows; other weights are importances of rows (Kish's effective number of rows).
        self.rows_to_score: RowsToScore | None = None  # the model and its table, until pickled
        self._n_effective = metrics.effective_rows(weight[found.n_trees > 0], whole=table.weights_whole)
        self._error_spread = self._spread_of_errors()
        self.error = _mean_error(table, found)

    # ------------------------------------------------------------------------------------------------ predictions

    @property
    def predictions(self) -> Array:
        """Out-of-bag predictions: labels, or means. Rows in every bag are masked, or NaN."""
        if self.classes is None:
            return self._averages
        return np.ma.masked_array(self.classes[self._winners()], mask=~self.mask)

    @property
    def probabilities(self) -> FloatArray:
        """Class probabilities, averaged over the trees that did not see the row; NaN for rows in every bag."""
        self._require_classes("probabilities")
        return self._averages

    @property
    def votes(self) -> FloatArray:
        """Sums of the predictions of the trees that did not see the row."""
        self._require_classes("votes")
        sums: FloatArray = np.nan_to_num(self._averages) * self.counts[:, None]
        return np.rint(sums) if self._hard else sums

    @property
    def margins(self) -> FloatArray:
        """Probability of the true class minus the largest other probability; NaN for rows in every bag."""
        self._require_classes("margins")
        return metrics.margins(self._averages, self._known()[0])

    def _winners(self) -> IntArray:
        # All are NaN for a row in every bag: argmax gives the first class
        winners: IntArray = self._averages.argmax(axis=1)
        return winners

    # ----------------------------------------------------------------------------------------------------- errors

    def _spread_of_errors(self) -> float:
        """Standard deviation of the squared errors of a regression."""
        if self.classes is not None or not self.mask.any():
            return np.nan
        truth, weight = self._seen()
        return metrics.spread_of_squares(truth, self._averages[self.mask], weight)

    def error_interval(self, level: float = 0.95, *, method: str = "independent") -> tuple[float, float]:
        """Confidence interval of the error on new rows.

        For classification this is Wilson's interval of a fraction; for regression the mean of the squared errors plus
        and minus their standard error times the normal quantile.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level: how often such intervals contain the true error.
        method : {"independent", "delta"}, default="independent"
            "independent" treats the errors of rows as independent, though they share trees. Whole weights count as
            copies, other weights by Kish's effective number of rows. Such intervals are often too narrow. "delta" also
            counts how each row affects the trees that predict the others (the delta method after the bootstrap; the
            misclassification rate is smoothed); it is never narrower. It needs the training data in memory, one pass
            over the trees, and many trees: at least as many as rows is best.

        Returns
        -------
        low, high : float
        """
        check_argument("method", method, (OneOf(("independent", "delta")),))
        if not Fraction(one=False).is_satisfied_by(level):
            raise ParameterError(f"level={level!r} is not allowed. Give {Fraction(one=False).describe()[0]}.")
        z = NormalDist().inv_cdf(0.5 + level / 2)
        n_rows = self._n_effective if method == "independent" else self._n_independent()
        if self.classes is not None:
            return metrics.wilson(self.error, n_rows, z)
        if math.isinf(self.error):  # squares of huge numbers overflow float64
            return 0.0, math.inf
        half = z * self._error_spread / math.sqrt(n_rows) if n_rows else math.nan
        return max(0.0, self.error - half), self.error + half

    def _n_independent(self) -> float:
        """Number of independent rows that would give an error of this variance; not more than there are."""
        from weald.uncertainty.error_interval import delta_variance

        of_one = self.error * (1 - self.error) if self.classes is not None else self._error_spread**2
        rows = self._rows_in_memory("error_interval(method='delta')")
        if not of_one or not math.isfinite(of_one):
            return self._n_effective
        variance = delta_variance(self, rows)
        return min(self._n_effective, of_one / variance) if variance > 0 else self._n_effective

    def score(self, metric: "Metric | str | None" = None, *, of: str = "predictions") -> float:
        """Score the out-of-bag predictions by any metric or loss.

        Parameters
        ----------
        metric : callable, str or None, default=None
            A function of (y_true, y_pred), from `sklearn.metrics` for example; it also gets `sample_weight` if there
            are weights and it accepts them. Or a scorer of scikit-learn: a name, for example "roc_auc", or what
            `sklearn.metrics.make_scorer` returns. For regression also "absolute_error" (the mean) and
            "poisson_deviance" (the mean; 0 for predictions of 0 that are right, infinite for wrong ones). None:
            accuracy, or R squared.
        of : {"predictions", "probabilities"}, default="predictions"
            Input of a metric function: labels or means, or class probabilities (with two classes, of the second).

        Returns
        -------
        float
        """
        truth, weight = self._seen()
        if not len(truth):
            return np.nan
        weights = None if (weight == 1).all() else weight
        if metric is None:
            if self.classes is not None:
                return 1.0 - self.error
            return metrics.score_numbers(truth, self._averages[self.mask], weight)[1]
        labels = truth if self.classes is None else self.classes[truth]
        if self.classes is None and isinstance(metric, str) and metric in metrics.ERRORS:
            return metrics.ERRORS[metric](truth, self._averages[self.mask], weights)
        if isinstance(metric, str) or metrics.is_scorer(metric):
            return metrics.call_scorer(metric, self.classes, self._averages[self.mask], labels, weights)
        if of not in ("predictions", "probabilities"):
            raise ParameterError(f'of={of!r} is not allowed. Give "predictions" or "probabilities".')
        predicted = (
            metrics.scores_for_metrics(self.probabilities[self.mask])
            if of == "probabilities"
            else np.asarray(self.predictions[self.mask])
        )
        return metrics.call_metric(metric, labels, predicted, weights)

    def confusion(self, *, normalize: str | None = None) -> Array:
        """Confusion matrix of the out-of-bag predictions.

        Parameters
        ----------
        normalize : {"true", "pred", "all"} or None, default=None
            Fractions of the true class, of the predicted class, or of all, instead of counts.

        Returns
        -------
        array of shape (n_classes, n_classes)
            Entry (i, j): weight of the rows of class i that are predicted as class j.
        """
        classes = self._require_classes("confusion")
        truth, weight = self._seen()
        return metrics.confusion(truth, self._winners()[self.mask], len(classes), weight, normalize)

    def calibration(self, label: object = None, *, n_bins: int = 10, method: str | None = None) -> Calibration:
        """Calibration curve: compare predicted probabilities with observed frequencies.

        Parameters
        ----------
        label : label of a class, default=None
            The class to check. None: with two classes the second; with more, the predicted class of each row.
        n_bins : int, default=10
            Number of equal bins of the probabilities from 0 to 1.
        method : {"isotonic", "sigmoid", "beta", "venn-abers"} or None, default=None
            Check the probabilities after this calibration, of `calibrated_probabilities`. None: those of the trees.

        Returns
        -------
        Calibration
            `predicted` (mean probability), `observed` (frequency) and `weight` of each bin that has rows, and `brier`,
            the mean squared difference.
        """
        if not is_whole(n_bins) or n_bins < 1:
            raise ParameterError(f"n_bins={n_bins!r} is not allowed. Give a whole number from 1.")
        shares = None if method is None else self.calibrated_probabilities(method)
        predicted, happened = self._event(label, shares)
        return metrics.calibrate(predicted, happened, self._seen()[1], int(n_bins))

    def calibrator(self, method: str) -> Calibrator:
        """Fit a calibration to the out-of-bag probabilities: what `calibrate=method` of a forest does.

        Parameters
        ----------
        method : {"isotonic", "sigmoid", "beta", "venn-abers"}
            Kind of the calibration.

        Returns
        -------
        weald.estimators.calibration.calibrator.Calibrator
            A function of class probabilities (rows x classes).
        """
        self._require_classes("calibration")
        check_argument("method", method, (OneOf(tuple(METHODS)),))
        if not self.mask.any():
            raise DataError("No row is out of bag, so there is nothing to calibrate on. Grow more trees.")
        return Calibrator.fit(method, self.probabilities[self.mask], *self._seen())

    def calibrated_probabilities(self, method: str, *, n_folds: int = 5) -> FloatArray:
        """Calibrate the out-of-bag probabilities, each fold of the rows by the others.

        So the calibration of a row does not depend on its own class. Compare the result with `probabilities` to see
        what `calibrate=method` changes on new rows.

        Parameters
        ----------
        method : {"isotonic", "sigmoid", "beta", "venn-abers"}
            Kind of the calibration.
        n_folds : int, default=5
            Number of folds. Rows are dealt to the folds in the order of their probabilities. So metrics of the result
            do not depend on the order of rows; only rows of the same probabilities and class may change places.

        Returns
        -------
        array of shape (n_rows, n_classes)
            NaN for rows in every bag.
        """
        self._require_classes("calibration")
        check_argument("method", method, (OneOf(tuple(METHODS)),))
        check_argument("n_folds", n_folds, (WholeNumber(2),))
        truth, weight = self._seen()
        found = np.full(self._averages.shape, np.nan)
        if len(truth) < n_folds:
            raise DataError(
                f"{len(truth)} rows are out of bag, fewer than n_folds={n_folds}. Give fewer folds, or grow more trees."
            )
        found[self.mask] = calibrate_by_folds(method, self.probabilities[self.mask], (truth, weight), int(n_folds))
        return found

    def threshold(
        self,
        label: object = None,
        *,
        by: str = "f1",
        costs: tuple[float, float] = (1.0, 1.0),
        method: str | None = None,
    ) -> Threshold:
        """Choose the probability threshold from which a row is predicted as a class.

        Parameters
        ----------
        label : label of a class, default=None
            None: with two classes the second. With more classes it is required: the label against all others.
        by : {"f1", "youden", "accuracy", "cost"}, default="f1"
            What to optimize: the F1 score; sensitivity + specificity - 1; the accuracy; or the mean cost.
        costs : (float, float), default=(1.0, 1.0)
            With `by="cost"`: the cost of a false positive and of a false negative.
        method : {"isotonic", "sigmoid", "beta", "venn-abers"} or None, default=None
            Choose a threshold for probabilities after this calibration, of `calibrated_probabilities`: give it for a
            forest with `calibrate=method`. None: for those of the trees.

        Returns
        -------
        Threshold
            `value`: rows with at least this probability are predicted as the label; `score`: the metric at this
            threshold. `values` and `scores` have all possible thresholds. Of equally good ones the one nearest to 0.5
            is chosen.
        """
        if label is None and len(self._require_classes("threshold")) > 2:
            raise ParameterError(
                f"There are more than two classes. Give the label to predict: one of {self._labels()}."
            )
        shares = None if method is None else self.calibrated_probabilities(method)
        predicted, happened = self._event(label, shares)
        return metrics.choose_threshold(predicted, happened, self._seen()[1], by, costs)

    def surface(
        self,
        *parameters: str,
        values: Mapping[str, Sequence[Any]] | None = None,
        scoring: Metric | str | None = None,
        verbose: int = 0,
    ) -> "ErrorSurface":
        """Compute the out-of-bag error for every setting of some stopping rules, without growing a tree.

        Each number is the `oob_error_` of a fit with that setting, to the last bit: see `truncate`. The training table
        is still in memory, unless the forest was saved, pickled or fitted on a cluster: then use `forest.out_of_bag(X,
        y).surface(...)`. If X or y was changed in place since the fit, an error says so.

        Parameters
        ----------
        *parameters : str
            One or more of "max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes", "ccp_alpha",
            "shrinkage" and "n_estimators". All combinations of their values are compared.
        values : dict of parameter: list, optional
            The values to compare. By default up to 64 for each parameter, chosen from the forest (up to 16 where there
            are several besides `n_estimators`).
        scoring : str, callable or None, default=None
            As in `weald.tune`: None is the error; otherwise `errors` are minus the score. It is called once for each
            setting, which can take longer than all the rest.
        verbose : int, default=0
            1 shows progress.

        Returns
        -------
        weald.estimators.error_surface.ErrorSurface
            `errors`, `standard_errors` and `leaves`, an axis for each parameter; `choose()` takes the best setting.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
        >>> surface = forest.oob_.surface("max_depth", "n_estimators")
        >>> surface.errors.shape, bool(surface.errors[-1, -1] == forest.oob_error_)
        ((7, 50), True)
        """
        return self._rows_in_memory("surface(...)").surface(parameters, values, scoring, verbose)

    def _rows_in_memory(self, call: str) -> "RowsToScore":
        """Return the model with its training data, which must be in memory and as it was."""
        if self.rows_to_score is None:
            raise DataError(
                f"{call} needs the training table in memory: a saved or copied forest keeps no training data, and "
                f"rows on a cluster stay there. Give the table again: forest.out_of_bag(X, y).{call}."
            )
        self.rows_to_score.require_unchanged()
        return self.rows_to_score

    # ------------------------------------------------------------------------------------------------------- bags

    def rows(self, tree: int) -> IntArray:
        """List the out-of-bag rows of a tree."""
        if not is_whole(tree) or not 0 <= tree < self.n_trees:
            raise ParameterError(f"There is no tree {tree!r}: give a number from 0 to {self.n_trees - 1}.")
        return np.flatnonzero(self._drawn().outside(int(tree)))

    def trees(self, row: int) -> IntArray:
        """List the trees whose bags lack a row: those that predict it out of bag."""
        if not is_whole(row) or not 0 <= row < len(self.mask):
            raise ParameterError(f"There is no row {row!r}: give a number from 0 to {len(self.mask) - 1}.")
        bags = self._drawn()
        return np.array([t for t in range(self.n_trees) if bags.outside(t)[row]], dtype=np.int64)

    # ------------------------------------------------------------------------------------------------------ inside

    def _known(self) -> tuple[Array, FloatArray]:
        if self._truth is None or self._weight is None:
            raise DataError(_FORGOTTEN)
        return self._truth, self._weight

    def _seen(self) -> tuple[Array, FloatArray]:
        """Target and weight of the rows that are out of at least one bag."""
        truth, weight = self._known()
        return truth[self.mask], weight[self.mask]

    def _drawn(self) -> "TrainingBags":
        if self._bags is None:
            raise DataError(_FORGOTTEN)
        return self._bags

    def _require_classes(self, what: str) -> Array:
        if self.classes is None:
            raise AttributeError(f"A regression forest has no {what}: it predicts numbers, not classes.")
        classes: Array = self.classes
        return classes

    def _labels(self) -> list[object]:
        return list(self._require_classes("labels").tolist())

    def _event(self, label: object, calibrated: FloatArray | None = None) -> tuple[FloatArray, BoolArray]:
        """Probabilities of a class, and which rows are of it; no label: the second of two, or the predicted one."""
        labels = self._labels()
        if label is not None and label not in labels:
            raise ParameterError(f"label={label!r} is not a class of this forest. Its classes are {labels}.")
        shares = self.probabilities if calibrated is None else calibrated
        second = 1 if len(labels) == 2 else None
        return metrics.event(shares[self.mask], self._seen()[0], second if label is None else labels.index(label))

    def __getstate__(self) -> dict[str, object]:
        """Leave out the training data when pickling: targets, weights, and the source of the bags."""
        return {**self.__dict__, "_truth": None, "_weight": None, "_bags": None, "rows_to_score": None}

    def __repr__(self) -> str:
        low, high = self.error_interval()
        return (
            f"<out of bag: {len(self.mask)} rows, {self.n_trees} trees, error {self.error:.4g}, "
            f"95% from {low:.4g} to {high:.4g}>"
        )


_FORGOTTEN = (
    "A saved or copied forest does not store its training data, which is needed here. Call forest.out_of_bag(X, y) "
    "with the training data: its result has everything that forest.oob_ had."
)


@dataclass(frozen=True)
class TrainingBags:
    """Draws bags again, one at a time, without the training table: from its ranks and weights."""

    engine: Engine
    source: Codes
    growth: Growth
    origins: tuple[Origin, ...]
    n_threads: int
    kept: BoolArray | None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Leave the order of the training rows out of pickles and deep copies: None takes its place."""
        return type(None), ()

    def outside(self, tree: int) -> BoolArray:
        """Mark the rows outside the bag of a tree; rows of weight 0 are not marked."""
        outside: BoolArray = self._for_all_rows(self._counts(tree) == 0)
        return outside

    def rows(self, tree: int) -> IntArray:
        """List the rows in the bag of a tree, each as often as it was drawn."""
        counts = self._for_all_rows(self._counts(tree))
        return np.repeat(np.arange(len(counts), dtype=np.int32 if len(counts) < 2**31 else np.int64), counts)

    def _counts(self, tree: int) -> IntArray:
        ends = np.cumsum([origin.n_trees for origin in self.origins])
        of_run = int(np.searchsorted(ends, tree, side="right"))
        run = self.origins[of_run]
        number = run.first_tree + tree - int(ends[of_run]) + run.n_trees
        origin = replace(run, first_tree=number, n_trees=1)
        counts: IntArray = self.engine.bags(self.source, self.growth, [origin], self.n_threads)[0]
        return counts

    def _for_all_rows(self, found: Array) -> Array:
        if self.kept is None:
            return found
        spread = np.zeros(len(self.kept), dtype=found.dtype)
        spread[self.kept] = found
        return spread


def _warn_of_unseen(out: OutOfBag) -> None:
    n_rows = round(out.mask.sum() / out.share) if out.share else len(out.mask)
    warn_of_unseen(n_rows - int(out.mask.sum()), n_rows)


def warn_of_unseen(n_unseen: int, n_rows: int) -> None:
    """Warn if some rows are in every bag."""
    warn(
        f"Some inputs do not have OOB scores: {n_unseen} of {n_rows} rows are in the bag of every tree. Use more trees "
        "for a reliable estimate (see oob_fraction_)."
    )


def _spread(of_rows: Array, reading: Reading, missing: float) -> Array:
    """Add entries for the rows of weight 0, which were left out of the fit."""
    if reading.kept is None:
        return of_rows
    spread = np.full((len(reading.kept), *of_rows.shape[1:]), missing, dtype=of_rows.dtype)
    spread[reading.kept] = of_rows
    return spread
