"""Feature selection: finding features that can be left out.

    select_features     the function that users call
    FeatureSelector     the same as a transformer for pipelines

After Díaz-Uriarte and Alvarez de Andrés (2006): rank the features by importance once, then grow forests on the best of
them, leaving out a fraction at each step, and choose the smallest set whose out-of-bag error is within one standard
error of the lowest. Ranking again at each step would overfit.

The out-of-bag error of the chosen set is biased downward: the features were chosen by the same rows, and it is the
lowest of many errors. An unbiased error comes from cross-validation of the whole procedure: in each fold, features are
ranked and chosen without the fold's rows, and the resulting forest is tested on them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import is_whole
from weald.data.table import TrainingArguments
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray, IntArray, TableLike
from weald.errors import ParameterError
from weald.estimators.features import features_of
from weald.estimators.forest_base import RandomForest
from weald.estimators.survival.refusals import refuse_survival
from weald.estimators.training_data import read_again
from weald.inspection.drop_column import grow_on, take
from weald.inspection.importance import KINDS, importance
from weald.inspection.importance_request import ByRow
from weald.inspection.importance_result import Importance


@dataclass(frozen=True)
class Trial:
    """A set of features, with its error."""

    features: tuple[int, ...]  # feature numbers, ascending
    error: float  # misclassification rate or mean squared error, out of bag
    std_error: float


@dataclass(frozen=True)
class SelectionData:
    """The training data, as given by the user."""

    X: TableLike
    y: ColumnLike
    weight: ColumnLike
    groups: ColumnLike = None
    stratify: ColumnLike = None

    @property
    def by_row(self) -> ByRow:
        """Groups and stratify, if given."""
        given = ByRow()
        if self.groups is not None:
            given["groups"] = self.groups
        if self.stratify is not None:
            given["stratify"] = self.stratify
        return given

    def fit(self, model: RandomForest) -> RandomForest:
        """Fit a forest to all features."""
        return model.fit(self.X, self.y, self.weight, **self.by_row)

    def grow_on(self, model: RandomForest, features: tuple[int, ...]) -> tuple[RandomForest, TableLike]:
        """Fit a forest with the same parameters to some features; return it and the selected columns."""
        return grow_on(model, list(features), self.X, self.y, self.weight, **self.by_row)

    def take(self, rows: IntArray) -> "SelectionData":
        """Select rows."""
        given = (self.weight, self.groups, self.stratify)
        by_row = (None if column is None else np.asarray(column)[rows] for column in given)
        return SelectionData(take(self.X, rows), np.asarray(self.y)[rows], *by_row)


class FeatureSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Select the features that a forest needs.

    Parameters
    ----------
    forest : RandomForestClassifier or RandomForestRegressor
        A forest, fitted or not; its clones are fitted.
    n_features : int or None, default=None
        Number of features to keep. None: the fewest with an out-of-bag error within one standard error of the lowest.
    kind : str, default="permutation"
        Importance by which features are ranked, see `weald.importance`.
    drop : float, default=0.2
        Fraction of the features that is left out at each step.
    folds : int, default=5
        Number of cross-validation folds for `honest_error_`; 0: do not compute it.

    Attributes
    ----------
    support_ : array of shape (n_features,)
        Mask of the selected features.
    importance_ : Importance
        The importances that ranked them.
    path_ : list of Trial
        The sets that were tried, with their out-of-bag errors.
    forest_ : RandomForestClassifier or RandomForestRegressor
        The forest fitted to the selected features.
    oob_error_ : float
        Its out-of-bag error. It is biased downward, since the same rows chose the features.
    honest_error_ : float
        Cross-validation error of the whole procedure; NaN if `folds=0`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Their names, if X had names that are all strings.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(300, 8))
    >>> y = X[:, 2] - X[:, 5] > 0
    >>> forest = weald.RandomForestClassifier(50, random_state=0)
    >>> chosen = weald.select_features(forest, X, y)
    >>> np.flatnonzero(chosen.support_)
    array([2, 5])
    >>> chosen.transform(X).shape
    (300, 2)
    """

    forest_: RandomForest
    support_: BoolArray
    importance_: Importance
    path_: list[Trial]
    oob_error_: float
    honest_error_: float
    n_features_in_: int

    def __init__(
        self,
        forest: RandomForest,
        *,
        n_features: int | None = None,
        kind: str = "permutation",
        drop: float = 0.2,
        folds: int = 5,
    ) -> None:
        self.forest = forest
        self.n_features = n_features
        self.kind = kind
        self.drop = drop
        self.folds = folds

    def fit(
        self,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> Self:
        """Rank the features, fit forests to fewer and fewer of them, and choose a set.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
        groups, stratify : arrays of shape (n_rows,), optional
            As for `fit` of the forest. Cross-validation folds contain whole groups, too.

        Returns
        -------
        self
        """
        self._check()
        data = SelectionData(X, y, sample_weight, groups, stratify)
        whole = data.fit(clone(self.forest))
        self.n_features_in_ = whole.n_features_in_
        if hasattr(whole, "feature_names_in_"):
            self.feature_names_in_ = whole.feature_names_in_
        if self.n_features is not None and self.n_features > whole.n_features_in_:
            raise ParameterError(
                f"n_features={self.n_features} is more than the {whole.n_features_in_} features of X. Give at most "
                "that many."
            )
        self.importance_, self.path_, chosen = choose(self, whole, data)
        self.support_ = np.zeros(whole.n_features_in_, dtype=np.bool_)
        self.support_[list(chosen.features)] = True
        self.forest_, _ = data.grow_on(whole, chosen.features)
        self.oob_error_ = chosen.error
        self.honest_error_ = cross_validate(self, data) if self.folds else float("nan")
        return self

    def _check(self) -> None:
        """Refuse invalid parameters."""
        if not features_of(self.forest).is_table:
            raise ParameterError(
                "The features of a kernel forest are prototypes, not columns of X. Use prototypes_.prune instead."
            )
        if self.kind not in KINDS or self.kind == "local":
            choices = ", ".join(repr(kind) for kind in KINDS if kind != "local")
            raise ParameterError(f"kind={self.kind!r} is not allowed. Give {choices}.")
        if self.n_features is not None and not (is_whole(self.n_features) and self.n_features >= 1):
            raise ParameterError(f"n_features={self.n_features!r} is not allowed. Give a whole number from 1 or None.")
        if not 0 < self.drop < 1:
            raise ParameterError(f"drop={self.drop!r} is not allowed. Give a fraction between 0 and 1.")
        if not is_whole(self.folds) or self.folds < 0 or self.folds == 1:
            raise ParameterError(f"folds={self.folds!r} is not allowed. Give 0 or a whole number from 2.")

    def _get_support_mask(self) -> BoolArray:
        """Return the mask of the selected features, for scikit-learn's SelectorMixin."""
        check_is_fitted(self, "support_")
        return self.support_


def choose(
    selector: FeatureSelector, whole: RandomForest, data: SelectionData
) -> tuple[Importance, list[Trial], Trial]:
    """Rank the features by one forest, grow forests on the best of them, and choose a set."""
    ranked = importance(
        whole, data.X, data.y, kind=selector.kind, sample_weight=data.weight, fit_params={**data.by_row}
    )
    order = ranked.order()
    sizes = [selector.n_features] if selector.n_features else list(fewer(len(order), selector.drop))
    path = [try_features(whole, order[:n], data) for n in sizes]
    best = min(path, key=lambda step: step.error)
    enough = [step for step in path if step.error <= best.error + best.std_error]
    return ranked, path, min(enough, key=lambda step: len(step.features))


def fewer(n_features: int, drop: float) -> Iterator[int]:
    """Numbers of features to try: at each step a fraction is left out, at least one."""
    while n_features >= 1:
        yield n_features
        n_features -= max(1, int(drop * n_features))


def try_features(whole: RandomForest, features: IntArray, data: SelectionData) -> Trial:
    """Fit a forest to some features and compute its out-of-bag error."""
    numbers = tuple(sorted(int(f) for f in features))
    model, columns = data.grow_on(whole, numbers)
    training = read_again(model, TrainingArguments(columns, data.y, data.weight, **data.by_row))
    losses = training.losses(training.averages(training.reading.table.X))
    error, std_error = mean_and_error(losses, training.weight)
    return Trial(numbers, error, std_error)


def mean_and_error(losses: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Average losses by weight, with the standard error of the mean over rows."""
    known = ~np.isnan(losses)
    losses, weight = losses[known], weight[known] / weight[known].sum()
    mean = float(weight @ losses)
    return mean, float(np.sqrt(weight**2 @ (losses - mean) ** 2))


def cross_validate(selector: FeatureSelector, data: SelectionData) -> float:
    """Cross-validate: for each fold, select features on the other folds and test the forest on this one."""
    target = np.asarray(data.y)
    is_classifier = hasattr(selector.forest, "predict_proba")
    losses = np.empty(len(target))
    for rest, fold in divide(selector.folds, target, data.groups, classes=is_classifier):
        part = data.take(rest)
        whole = part.fit(clone(selector.forest))
        _, _, chosen = choose(selector, whole, part)
        model, _ = part.grow_on(whole, chosen.features)
        predicted = model.predict(take(data.X, fold, list(chosen.features)))
        losses[fold] = predicted != target[fold] if is_classifier else (predicted - target[fold]) ** 2
    return float(np.average(losses, weights=None if data.weight is None else np.asarray(data.weight)))


def divide(n_folds: int, target: Array, groups: ColumnLike, *, classes: bool) -> Iterator[tuple[IntArray, IntArray]]:
    """Divide rows into folds, stratified by class; a group is in one fold."""
    shuffled = {"shuffle": True, "random_state": 0}
    if groups is None:
        folds = StratifiedKFold(n_folds, **shuffled) if classes else KFold(n_folds, **shuffled)
    else:
        folds = StratifiedGroupKFold(n_folds, **shuffled) if classes else GroupKFold(n_folds)
    found: Iterator[tuple[IntArray, IntArray]] = folds.split(np.zeros(len(target)), target, groups)
    return found


def select_features(
    forest: RandomForest,
    X: TableLike,
    y: ColumnLike,
    *,
    sample_weight: ColumnLike = None,
    groups: ColumnLike = None,
    stratify: ColumnLike = None,
    n_features: int | None = None,
    kind: str = "permutation",
    drop: float = 0.2,
    folds: int = 5,
) -> FeatureSelector:
    """Select the features that a forest needs.

    The features are ranked by importance, and forests are fitted to fewer and fewer of the best. See `FeatureSelector`
    for how a set is chosen, and why its out-of-bag error is biased downward.

    Parameters
    ----------
    forest : RandomForestClassifier or RandomForestRegressor
        A forest, fitted or not; its clones are fitted.
    X, y : the data
    sample_weight : array, optional
    groups, stratify : arrays, optional
        As for `fit` of the forest. Cross-validation folds contain whole groups, too.
    n_features : int or None, default=None
        Number of features to keep. None: the fewest with an out-of-bag error within one standard error of the lowest.
    kind : str, default="permutation"
        Importance by which features are ranked, see `weald.importance`.
    drop : float, default=0.2
        Fraction of the features that is left out at each step.
    folds : int, default=5
        Number of cross-validation folds for `honest_error_`; 0: do not compute it.

    Returns
    -------
    FeatureSelector
        Fitted: `support_`, `forest_`, `path_`, `oob_error_`, `honest_error_`, and `transform`.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(200, 6))
    >>> forest = weald.RandomForestRegressor(50, random_state=0)
    >>> chosen = weald.select_features(forest, X, X[:, 3] ** 2, folds=3)
    >>> np.flatnonzero(chosen.support_)
    array([3])
    """
    refuse_survival(forest, "weald.select_features", "Use weald.importance(forest, X, y).")
    selector = FeatureSelector(forest, n_features=n_features, kind=kind, drop=drop, folds=folds)
    return selector.fit(X, y, sample_weight, groups=groups, stratify=stratify)
