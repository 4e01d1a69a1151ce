"""Survival models: the time until an event, of which some rows are only known to have survived up to a time.

SurvivalTree            one tree
RandomSurvivalForest    each node takes the best split of the drawn features
ExtraSurvivalTrees      each feature offers one split at a random place
"""

from collections.abc import Callable
from typing import NoReturn, Unpack

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from weald.data.dask_collections import is_dask_collection
from weald.data.survival import Survival, read_survival
from weald.data.table import read_weight
from weald.data.task import Task
from weald.data.types import Array, ColumnLike, FloatArray, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.forest_base import RandomForest
from weald.estimators.parameters import SurvivalForestParams, SurvivalTreeParams, parameters, set_parameters
from weald.estimators.prediction import find_leaves, predict_collection, predict_into, read_rows
from weald.estimators.survival.out_of_bag import check_times
from weald.estimators.survival.prediction import as_functions, cumulative_hazards, survival_functions
from weald.estimators.survival.scores import CensoringDistribution, brier_score, concordance_index, integrate
from weald.estimators.tree_base import SingleTree
from weald.estimators.tree_list import TreeList
from weald.forest.leaf_times import LeafTimes


class TreeSurvival(TreeModel):
    """Prediction methods of survival models."""

    task = Task.SURVIVAL

    ccp_alpha = 0.0  # neither is a parameter
    shrinkage = 0.0

    unique_times_: FloatArray
    event_times_: FloatArray
    leaf_times_: LeafTimes
    oob_prediction_: FloatArray  # of forests

    def predict(
        self, X: TableLike, *, out: Array | None = None, dtype: DTypeLike | None = None, check_input: bool = True
    ) -> FloatArray:
        """Predict the risk of each row: the higher, the earlier is the event expected.

        The risk is the sum of the cumulative hazard over the event times of the training rows, averaged over the trees:
        the number of events expected if all training rows were like this one ("mortality", Ishwaran et al. 2008).

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        out : array of shape (n_rows,), optional
            Output array: float64 or float32, with any strides; a memory map, for example.
        dtype : {float64, float32}, optional
            Type of the result. Risks are computed in float64 and rounded once.
        check_input : bool, default=True
            For compatibility with scikit-learn's trees. Input is always checked.

        Returns
        -------
        array of shape (n_rows,)
        """
        if is_dask_collection(X):
            return predict_collection(self, "predict", X)
        return predict_into(self, read_rows(self, X), out, dtype)

    def predict_survival_function(self, X: TableLike, return_array: bool = False) -> Array:
        """Predict the survival function of each row: the probability that the event is later than each time.

        It is the mean of the Kaplan-Meier estimates of the row's leaves.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        return_array : bool, default=False
            Whether to return an array of probabilities at `unique_times_` instead of functions.

        Returns
        -------
        array of StepFunction, shape (n_rows,); or array of shape (n_rows, n_times)
            Call a function with a time, or an array of times.

        Examples
        --------
        >>> from weald import SurvivalTree
        >>> y = {"time": [1.0, 2.0, 3.0, 4.0], "event": [True, True, False, True]}
        >>> tree = SurvivalTree(max_depth=1).fit([[0.0], [0.0], [0.0], [0.0]], y)
        >>> (survival,) = tree.predict_survival_function([[0.0]])
        >>> survival([0.5, 1.0, 3.5, 4.0])
        array([1.  , 0.75, 0.5 , 0.  ])
        """
        found = self._functions(X, survival_functions)
        return found if return_array else as_functions(self.unique_times_, found, 1.0)

    def predict_cumulative_hazard_function(self, X: TableLike, return_array: bool = False) -> Array:
        """Predict the cumulative hazard function of each row: the number of events expected up to each time.

        It is the mean of the Nelson-Aalen estimates of the row's leaves.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        return_array : bool, default=False
            Whether to return an array of cumulative hazards at `unique_times_` instead of functions.

        Returns
        -------
        array of StepFunction, shape (n_rows,); or array of shape (n_rows, n_times)
            Call a function with a time, or an array of times.
        """
        found = self._functions(X, cumulative_hazards)
        return found if return_array else as_functions(self.unique_times_, found, 0.0)

    def _functions(self, X: TableLike, average: Callable[..., FloatArray]) -> FloatArray:
        check_is_fitted(self)
        curves: LeafTimes | None = vars(self).get("leaf_times_")
        if curves is None:
            raise DataError(
                f"This {type(self).__name__} has no times in its leaves, only risks. Use the model as it was fitted."
            )
        return average(curves, find_leaves(self, X))

    # ------------------------------------------------------------------------------------------------------ scores

    def score(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> float:
        """Concordance index of the risks (Harrell's C): the fraction of comparable pairs that are in the right order.

        A pair of rows is comparable if the one with the earlier time had the event. Equal risks count half.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : times and events, as in `fit`
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        float
            1 is perfect, 0.5 is chance.
        """
        survival, risk = self._rows(X, y)
        return concordance_index(survival, risk, read_weight(sample_weight, n_rows=len(risk)))

    def brier_score(self, X: TableLike, y: ColumnLike, times: object, sample_weight: ColumnLike = None) -> FloatArray:
        """Brier score of the survival probabilities at some times: their mean squared error, for rows not in the fit.

        Censored rows are weighted by the inverse probability of censoring (Graf et al. 1999), estimated from these
        rows.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : times and events, as in `fit`
        times : array
            Times at which to score.
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        array of shape (n_times,)
            Smaller is better; 0.25 is that of a probability of 1/2 for every row.
        """
        at = check_times(times)
        survival, _ = self._rows(X, y)
        weight = read_weight(sample_weight, n_rows=len(survival))
        found = self._functions(X, survival_functions)
        place = np.searchsorted(self.unique_times_, at, side="right")
        predicted = np.column_stack([np.ones(len(found)), found])[:, place]
        return brier_score(survival, predicted, at, CensoringDistribution.of(survival, weight), weight)

    def integrated_brier_score(
        self, X: TableLike, y: ColumnLike, times: object, sample_weight: ColumnLike = None
    ) -> float:
        """Mean Brier score over a range of times, by trapezoids.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : times and events, as in `fit`
        times : array
            At least two, ascending.
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        float
        """
        return integrate(check_times(times), self.brier_score(X, y, times, sample_weight))

    def _rows(self, X: TableLike, y: ColumnLike) -> tuple[Survival, FloatArray]:
        survival, risk = read_survival(y), self.predict(X)
        if len(survival) != len(risk):
            raise DataError(f"X has {len(risk)} rows but y has {len(survival)}. Give a time and an event for each row.")
        return survival, risk

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


# What the base classes offer and survival models cannot do, and why.
RESIDUALS = (
    "the impurity of a survival tree's node is the variance of its own martingale residuals, and its children compute "
    "theirs again, so impurities do not add up"
)
REFUSED = {
    "prune": f"{RESIDUALS}. Use max_depth, min_samples_leaf or max_leaf_nodes",
    "pruning_path": f"{RESIDUALS}. Use max_depth, min_samples_leaf or max_leaf_nodes",
    "choose_alpha": f"{RESIDUALS}. Use max_depth, min_samples_leaf or max_leaf_nodes",
    "cost_complexity_pruning_path": f"{RESIDUALS}. Use max_depth, min_samples_leaf or max_leaf_nodes",
    "total_impurity": f"{RESIDUALS}. `tree.score(X, y)` is the concordance index",
    "training_error": "a survival model has no error of single rows. `tree.score(X, y)` is the concordance index",
    "compact": "leaves of equal risk have different survival functions. Save the model as it is",
    "truncate": "the leaves of the smaller trees would need the times of all rows below them. Fit again",
    "attach_errors": "a survival model has no error of single rows, as censored rows have no known time. Use "
    "`brier_score(X, y, times)`",
    "weights": "the risk is not a weighted mean of training targets. `neighbors(X, y)` has the leaves' rows",
    "explain_row": "it describes changes of a mean or of a class. `shap_values(X)` explains the risk of a row",
    "explain_split": "it describes impurities. `export_text()` and `nodes()` show the splits",
    "report": "its sections are about classes and numbers. Use `score`, `brier_score` and `weald.importance`",
    "to_sklearn": "scikit-learn has no survival forests. `to_onnx`, `to_c`, `to_sql` and `to_js` export the risk",
}


def _refuse(name: str, reason: str) -> Callable[..., NoReturn]:
    def method(self: TreeModel, *given: object, **how: object) -> NoReturn:
        raise ParameterError(f"{type(self).__name__} has no {name}: {reason}.")

    method.__name__ = name
    method.__doc__ = f"Not available: {reason}."
    return method


for _name, _reason in REFUSED.items():
    setattr(TreeSurvival, _name, _refuse(_name, _reason))


@parameters(SurvivalTreeParams, criterion="log_rank", min_samples_split=6, min_samples_leaf=3)
class SurvivalTree(TreeSurvival, SingleTree):
    """A survival tree: it predicts risks, survival functions and cumulative hazards.

    Every split is the one with the largest log-rank statistic over all thresholds of the features considered.

    Examples
    --------
    >>> from weald import SurvivalTree
    >>> X = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> y = {"time": [9.0, 8.0, 7.0, 3.0, 2.0, 1.0], "event": [True, False, True, True, True, True]}
    >>> tree = SurvivalTree().fit(X, y)
    >>> tree.get_n_leaves(), tree.predict(X).round(2).tolist()
    (2, [1.67, 1.67, 1.67, 6.67, 6.67, 6.67])
    """

    def __init__(self, **given: Unpack[SurvivalTreeParams]) -> None:
        set_parameters(self, SurvivalTree, **given)


@parameters(SurvivalForestParams, criterion="log_rank", max_features="sqrt", min_samples_split=6, min_samples_leaf=3)
class RandomSurvivalForest(TreeSurvival, RandomForest):
    """A random survival forest: the time until an event, where some rows are only known to have survived up to a time.

    Each tree is grown from a bag of rows, each node draws features, and every split is the one with the largest
    log-rank statistic over all thresholds. Leaves keep events and censored rows by time. The forest depends only on
    table, parameters and seed, not on the number of threads or the order of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import RandomSurvivalForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = {"time": rng.exponential(np.exp(-X[:, 0])), "event": rng.random(300) < 0.7}
    >>> forest = RandomSurvivalForest(100, oob_score=True, random_state=0).fit(X, y)
    >>> 0.65 < forest.oob_score_ < 0.75  # concordance index
    True
    >>> forest.predict_survival_function([[1.0, 0.0, 0.0]])[0]([0.1, 0.5, 1.0]).round(1)
    array([0.9, 0.6, 0.4])
    """

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[SurvivalForestParams]) -> None:
        set_parameters(self, RandomSurvivalForest, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[SurvivalTree]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, SurvivalTree)


@parameters(
    SurvivalForestParams,
    criterion="log_rank",
    max_features="sqrt",
    min_samples_split=6,
    min_samples_leaf=3,
    bootstrap=False,
)
class ExtraSurvivalTrees(TreeSurvival, RandomForest):
    """A survival forest of extremely randomized trees.

    Each tree is grown from all rows. Each node draws features, each of these offers one cut at a random place between
    the minimum and the maximum of the node, and the one with the largest log-rank statistic is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import ExtraSurvivalTrees
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = {"time": rng.exponential(np.exp(-X[:, 0])), "event": rng.random(300) < 0.7}
    >>> forest = ExtraSurvivalTrees(100, random_state=0).fit(
    ...     X[:200], {name: column[:200] for name, column in y.items()}
    ... )
    >>> forest.score(X[200:], {name: column[200:] for name, column in y.items()}) > 0.65
    True
    """

    _splitter = "random"

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[SurvivalForestParams]) -> None:
        set_parameters(self, ExtraSurvivalTrees, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[SurvivalTree]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, SurvivalTree)
