"""Prediction methods of classifiers and regressors.

TreeClassifier    classes, probabilities and votes
TreeRegressor     means
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags

from weald.data import arguments
from weald.data.dask_collections import is_dask_collection
from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray, TableLike
from weald.estimators import metrics, multi_output
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import Calibrator, calibrator_of
from weald.estimators.features import Rows
from weald.estimators.multi_output import is_multi_output
from weald.estimators.prediction import (
    predict_calibrated,
    predict_collection,
    predict_into,
    read_rows,
    sum_votes,
)
from weald.forest import votes

if TYPE_CHECKING:
    from weald.forest.leaf_targets import LeafTargets
    from weald.uncertainty.distribution import Distribution


class TreeClassifier(ClassifierMixin, TreeModel):
    """Prediction methods of classifiers: classes, probabilities and votes."""

    task = Task.CLASSIFICATION

    calibrator_: Calibrator

    def predict_votes(self, X: TableLike) -> FloatArray:
        """Sum the predictions of the trees, in tree order.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Sums over trees: of class probabilities, or with `voting="hard"` the number of trees for each class. They
            are not calibrated.
            For multi-output, a list of such arrays.
        """
        rows = read_rows(self, X)
        if is_multi_output(self):
            return self._sum_votes_of_targets(rows)  # type: ignore[return-value]
        return sum_votes(self, self.forest_, rows)

    def _sum_votes_of_targets(self, rows: Rows) -> list[FloatArray]:
        return [sum_votes(self, forest, rows) for forest in self.forests_]

    def predict_proba(
        self, X: TableLike, *, out: Array | None = None, dtype: DTypeLike | None = None, check_input: bool = True
    ) -> FloatArray:
        """Predict class probabilities: the mean over the trees, calibrated if the model is.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        out : array of shape (n_rows, n_classes), optional
            Output array: float64 or float32, with any strides; a memory map, for example.
        dtype : {float64, float32}, optional
            Type of the result. Probabilities are computed in float64 and rounded once.
        check_input : bool, default=True
            For compatibility with scikit-learn's trees. Input is always checked.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`. It is `out` if given. For multi-output, a list of such arrays.
        """
        if is_dask_collection(X):
            return predict_collection(self, "predict_proba", X)
        if is_multi_output(self):
            _require_no_room(self, out, dtype)
            sums = self._sum_votes_of_targets(read_rows(self, X))
            return [of_target / self.forests_[0].vote_total for of_target in sums]  # type: ignore[return-value]
        if calibrator_of(self) is not None:
            rows = read_rows(self, X)
            return predict_calibrated(self, rows, out, dtype)
        return predict_into(self, read_rows(self, X), out, dtype, self.n_classes_)

    def predict_log_proba(self, X: TableLike) -> FloatArray:
        """Predict the logarithm of class probabilities; a probability of 0 becomes minus infinity.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            shares = self.predict_proba(X)
            if is_multi_output(self):
                return [np.log(of_target) for of_target in shares]  # type: ignore[return-value]
            return np.log(shares)

    def predict(self, X: TableLike, *, rule: str = "majority", repeat: int = 0, check_input: bool = True) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        rule : {"majority", "sample"}, default="majority"
            "majority" predicts the class with the most votes, or with the highest calibrated probability; ties go to
            the first in `classes_`. "sample" draws a class by the probabilities of `predict_proba`. It has more errors:
            on the training rows of a tree its expected error is the Gini impurity of the leaves.
        repeat : int, default=0
            Number of the draw of "sample". It is drawn from the seed of the model and the position of the row in X, so
            the same `repeat` gives the same classes.
        check_input : bool, default=True
            For compatibility with scikit-learn's trees. Input is always checked.

        Returns
        -------
        array of shape (n_rows,)

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[1.0]] * 4, ["a", "a", "a", "b"])
        >>> print(*model.predict([[1.0]] * 8))
        a a a a a a a a
        >>> print(*model.predict([[1.0]] * 8, rule="sample"))
        a a a b a a a a
        """
        from weald.engines.draws import draw_classes

        if is_dask_collection(X):
            return predict_collection(self, "predict", X, rule=rule, repeat=repeat)
        arguments.check_argument("rule", rule, (arguments.OneOf(("majority", "sample")),))
        arguments.check_argument("repeat", repeat, (arguments.WholeNumber(0, 2**24),))
        if is_multi_output(self):
            if rule == "sample":
                raise multi_output.one_target_only(self.n_outputs_)
            self.forests_[0].require_votes()
            return multi_output.winners(self._sum_votes_of_targets(read_rows(self, X)), self.classes_)
        rows = read_rows(self, X)
        self.forest_.require_votes()
        calibrated = calibrator_of(self) is not None
        sums = predict_calibrated(self, rows) if calibrated else sum_votes(self, self.forest_, rows)
        winners = sums.argmax(axis=1) if rule == "majority" else draw_classes(sums, self.seed_, repeat)
        labels: Array = self.classes_[winners]
        return labels

    def predict_set(self, X: TableLike, coverage: float = 0.9, *, method: str = "lac", repeat: int = 0) -> BoolArray:
        """Predict a set of classes for each row, from the errors of out-of-bag predictions.

        The model needs them: fit a forest with `keep_errors=True`, or call `attach_errors`. A set may be empty: then
        no class is probable enough. A calibration changes nothing: the probabilities are those of the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        coverage : float, default=0.9
            How often the set is meant to contain the class.
        method : {"lac", "aps"}, default="lac"
            "lac": all classes above a threshold of the probability (Sadinle, Lei and Wasserman 2019), which gives the
            smallest sets. "aps": the most probable classes until their probabilities reach a threshold (Romano, Sesia
            and Candès 2020), which covers easy and hard rows more evenly. Whether it takes the last of these classes
            is drawn.
        repeat : int, default=0
            Number of the draw of "aps". It is drawn from the seed of the model and the position of the row in X, so
            the same `repeat` gives the same sets.

        Returns
        -------
        array of bool, shape (n_rows, n_classes)
            Columns in the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RandomForestClassifier(100, keep_errors=True, random_state=0).fit(X, y)
        >>> model.predict_set(X[[0, 70]], 0.99)
        array([[ True, False, False],
               [False,  True,  True]])
        """
        from weald.uncertainty import prediction_sets

        if is_dask_collection(X):
            return predict_collection(self, "predict_set", X, coverage=coverage, method=method, repeat=repeat)
        return prediction_sets.predict_set(self, X, coverage, method, repeat)

    def calibrated(
        self,
        method: str | None,
        X: TableLike = None,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        held_out: bool = False,
    ) -> Self:
        """Copy this model with calibrated probabilities, given the training data again, or rows it has not seen.

        Parameters
        ----------
        method : {"isotonic", "sigmoid", "beta", "venn-abers"} or None
            As the parameter `calibrate` of forests. None: a copy that is not calibrated; it needs no rows.
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order: the calibration is that of a fit with
            `calibrate=method`. Other data is refused. With `held_out=True`, rows that no tree has seen.
        held_out : bool, default=False
            Whether these are rows that no tree has seen: then all trees predict them. The training data is refused.

        Returns
        -------
        model of the same class
            With the same trees; this one stays as it is.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from weald import RandomForestClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> forest = RandomForestClassifier(100, random_state=0).fit(X, y)
        >>> forest.predict_proba(X[68:69]).round(3)
        array([[0.13, 0.87]])
        >>> forest.calibrated("sigmoid", X, y).predict_proba(X[68:69]).round(3)
        array([[0.034, 0.966]])
        """
        from weald.estimators.calibration.calibrated import calibrated as calibrate_with

        return calibrate_with(self, method, TrainingArguments(X, y, sample_weight, groups, stratify), held_out=held_out)

    def score(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> float:
        """Accuracy: the fraction of rows predicted correctly, for multi-output in all of them.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,), or (n_rows, n_targets)
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        float
        """
        if is_multi_output(self):
            return multi_output.score_classes(np.asarray(y), self.predict(X), sample_weight)
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags


class TreeRegressor(RegressorMixin, TreeModel):
    """Prediction methods of regressors: means."""

    task = Task.REGRESSION

    leaf_targets_: "LeafTargets"

    def predict_votes(self, X: TableLike) -> FloatArray:
        """Sum the predictions of the trees, in tree order.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        rows = read_rows(self, X)
        return sum_votes(self, self.forest_, rows)

    def predict(
        self, X: TableLike, *, out: Array | None = None, dtype: DTypeLike | None = None, check_input: bool = True
    ) -> FloatArray:
        """Predict the mean over the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        out : array of shape (n_rows,), optional
            Output array: float64 or float32, with any strides; a memory map, for example.
        dtype : {float64, float32}, optional
            Type of the result. Means are computed in float64 and rounded once.
        check_input : bool, default=True
            For compatibility with scikit-learn's trees. Input is always checked.

        Returns
        -------
        array of shape (n_rows,)
            It is `out` if given.
        """
        if is_dask_collection(X):
            return predict_collection(self, "predict", X)
        rows = read_rows(self, X)
        if is_multi_output(self):
            _require_no_room(self, out, dtype)
            return multi_output.average(self.forests_, lambda forest: sum_votes(self, forest, rows))
        means = predict_into(self, rows, out, dtype)
        if not np.isfinite(means).all():  # sums that overflow, or numbers too large for float32
            add_up = votes.average(self.forest_, lambda forest, _: (sum_votes(self, forest, rows), forest.n_trees))
            with np.errstate(over="ignore"):
                means[...] = add_up
        return means

    # ---------------------------------------------------------------------------------------------- distributions

    def predict_quantiles(self, X: TableLike, q: float | Sequence[float]) -> FloatArray:
        """Predict quantiles of the target (quantile regression forest, Meinshausen 2006).

        The training rows that share leaves with a row are a sample of its target. Each counts by its weight in the
        prediction: its share of the leaf, averaged over trees. The quantile is the smallest target at which the
        cumulated weight reaches q.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        q : float or list of floats
            Levels between 0 and 1; 0.5 is the median.

        Returns
        -------
        array of shape (n_rows, n_levels), or (n_rows,) for a single level

        Examples
        --------
        >>> import numpy as np
        >>> from weald import RandomForestRegressor
        >>> X = np.arange(1000.0)[:, None]
        >>> y = X[:, 0] % 10
        >>> model = RandomForestRegressor(min_samples_leaf=50, keep_targets=True, random_state=0).fit(X, y)
        >>> model.predict_quantiles([[500.0]], [0.1, 0.5, 0.9])
        array([[0., 4., 8.]])
        """
        from weald.uncertainty import distribution

        if is_dask_collection(X):
            return predict_collection(self, "predict_quantiles", X, width=np.size(q) if np.ndim(q) else 0, q=q)
        return distribution.predict_quantiles(self, X, q)

    def predict_cdf(self, X: TableLike, y: float | Sequence[float]) -> FloatArray:
        """Predict the probability that the target is at most y: the cumulative distribution function.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : float or list of floats
            Values of the target.

        Returns
        -------
        array of shape (n_rows, n_values), or (n_rows,) for a single value
        """
        from weald.uncertainty import distribution

        if is_dask_collection(X):
            return predict_collection(self, "predict_cdf", X, width=np.size(y) if np.ndim(y) else 0, y=y)
        return distribution.predict_cdf(self, X, y)

    def predict_std(self, X: TableLike) -> FloatArray:
        """Predict the standard deviation of the target: how much rows like these differ, not the error of the mean.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        from weald.uncertainty import distribution

        if is_dask_collection(X):
            return predict_collection(self, "predict_std", X)
        return distribution.predict_std(self, X)

    def predict_distribution(self, X: TableLike) -> "Distribution":
        """Predict the distribution of the target at one row: training targets and their weights.

        Parameters
        ----------
        X : array or data frame of shape (1, n_features)

        Returns
        -------
        Distribution
            `values`, ascending, and `weights`, which sum to 1.
        """
        from weald.uncertainty import distribution

        return distribution.predict_distribution(self, X)

    def attach_targets(
        self,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> Self:
        """Keep the training targets of each leaf, given the training data again; `keep_targets=True` does so in `fit`.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order.

        Returns
        -------
        self
        """
        from weald.uncertainty import distribution

        return distribution.attach_targets(self, TrainingArguments(X, y, sample_weight, groups, stratify))

    # -------------------------------------------------------------------------------------------------- intervals

    def predict_interval(self, X: TableLike, coverage: float = 0.9, *, method: str | None = None) -> FloatArray:
        """Predict an interval for the target of each row, from the errors of out-of-bag predictions.

        The model needs them: fit a forest with `keep_errors=True`, or call `attach_errors`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        coverage : float, default=0.9
            How often the interval is meant to contain the target.
        method : {"oob", "oob-scaled", "jackknife+ab", "cqr", "split", "split-scaled"}, optional
            "oob": the prediction plus and minus a quantile of the out-of-bag errors. "oob-scaled": the same for errors
            in units of `predict_std`. "jackknife+ab": the same with the predictions of the trees that have not seen a
            training row (Kim, Xu and Barber 2020). "cqr": quantiles, shifted until they contain this fraction of
            the out-of-bag rows (Romano, Patterson and Candès 2019). "oob-scaled" and "cqr" also need the targets:
            `keep_targets=True`. After `attach_errors(..., held_out=True)`, "split", "split-scaled" and "cqr" do the
            same with held-out rows. By default "oob", or "split".

        Returns
        -------
        array of shape (n_rows, 2)
            Lower and upper ends; infinite if there are too few rows for this coverage.

        Examples
        --------
        >>> import numpy as np
        >>> from weald import RandomForestRegressor
        >>> X = np.arange(1000.0)[:, None]
        >>> y = X[:, 0] % 10
        >>> model = RandomForestRegressor(min_samples_leaf=50, keep_errors=True, random_state=0).fit(X, y)
        >>> model.predict_interval([[500.0]], 0.9).round(1)
        array([[-0.3,  9. ]])
        """
        from weald.uncertainty import intervals

        if is_dask_collection(X):
            return predict_collection(self, "predict_interval", X, width=2, coverage=coverage, method=method)
        return intervals.predict_interval(self, X, coverage, method)

    # ------------------------------------------------------------------------------------------------------ score

    def score(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> float:
        """R squared of the predictions; for multi-output, the mean over targets.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,), or (n_rows, n_targets)
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        float
        """
        truth, predicted = metrics.with_finite_squares(y, self.predict(X))
        return float(r2_score(truth, predicted, sample_weight=sample_weight))


def _require_no_room(model: TreeModel, out: object, dtype: object) -> None:
    """Refuse `out` and `dtype` for multi-output."""
    if out is not None or dtype is not None:
        raise multi_output.one_target_only(model.n_outputs_)
