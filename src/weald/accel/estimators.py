"""scikit-learn's trees and forests with another `fit`: weald grows the trees if it can.

    RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor
    DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

Each class is a subclass of scikit-learn's class of that name, with its parameters and defaults, so `isinstance` checks
pass. `weald_` is the model that weald fitted and that predicts; `estimators_` and `tree_` are scikit-learn's own
objects, converted on access. As in scikit-learn, rows are rounded to float32, so that the predictions of both are the
same.

Unsupported fits are done by scikit-learn: see `weald.accel.summary`. Worker processes and unpickling import
these classes, whether or not `install` was called there.
"""

import copy
from functools import cached_property
from typing import Any, Self

import joblib
import numpy as np
import sklearn.ensemble
import sklearn.tree
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

import weald
from weald.accel.records import record
from weald.data.arguments import is_whole
from weald.data.task import Task
from weald.data.types import ColumnLike, FloatArray, IntArray, Native, TableLike
from weald.engines.criteria import names
from weald.errors import WealdError
from weald.estimators.base import TreeModel

OOB = ("oob_score_", "oob_decision_function_", "oob_prediction_")
THEIRS: dict[str, type] = {  # the original classes: `install` imports this module first
    name: getattr(module, name)
    for module, group in (
        (
            sklearn.tree,
            ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        ),
        (
            sklearn.ensemble,
            ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        ),
    )
    for name in group
}


class Accelerated(BaseEstimator):
    """Base class of all estimators."""

    _made_of_it = ""  # the attribute with scikit-learn's own trees
    _name = ""  # name of weald's and of scikit-learn's class

    weald_: TreeModel

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        """Accept instances of scikit-learn's own class: after `install`, scripts' isinstance checks name this class."""
        own = vars(cls).get("_name")
        return True if own and THEIRS[own] in other.__mro__ else NotImplemented

    def _fit_with_weald(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, *, check_input: bool) -> bool:
        """Fit and return True; if weald cannot fit the estimator, record the reason and return False."""
        self._validate_params()
        reason = why_not(self, y, sample_weight)
        if not reason:
            try:
                fitted = grow(self, X, y, sample_weight, check_input=check_input)
            except WealdError as error:  # scikit-learn may accept the data, or raises its own error
                reason = str(error)
        record(type(self).__name__, reason)
        if reason:
            if getattr(self, "warm_start", False):
                getattr(self, self._made_of_it, None)  # scikit-learn continues with the trees that weald grew
            else:
                self.__dict__.pop(self._made_of_it, None)
            self.__dict__.pop("weald_", None)
            return False
        self.__dict__.pop(self._made_of_it, None)
        self._learn(fitted)
        return True

    def _learn(self, fitted: TreeModel) -> None:
        """Set the attributes that scikit-learn's fit would set."""
        self.weald_, self.n_outputs_ = fitted, fitted.n_outputs_
        if fitted.task is Task.CLASSIFICATION:
            self.classes_, self.n_classes_ = fitted.classes_, fitted.n_classes_

    def _rows(self, X: TableLike, *, check_input: bool = True) -> Native:
        """Validate rows to predict as scikit-learn does."""
        return read(self, X, reset=False) if check_input else X

    def _converted(self) -> Native:
        """Convert to scikit-learn's own estimator; before a fit, raise the usual error for a missing attribute."""
        if "weald_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {self._made_of_it!r}")
        return self.weald_.to_sklearn(check=False).model

    @property
    def _is_wealds(self) -> bool:
        return "weald_" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the trees that can be converted again."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if not (self._is_wealds and name == self._made_of_it)}


def why_not(model: Accelerated, y: ColumnLike, sample_weight: ColumnLike) -> str:
    """Return why weald cannot fit an estimator; "" if it can."""
    task = getattr(weald, model._name).task  # noqa: SLF001  (these functions belong to the class)
    if not isinstance(model.criterion, str) or model.criterion not in names(task):
        return f"weald has no criterion {model.criterion!r}"
    if not isinstance(getattr(model, "splitter", "best"), str):
        return "weald does not accept splitter objects"
    if getattr(model, "warm_start", False) and "estimators_" in vars(model) and "weald_" not in vars(model):
        return "warm_start continues with trees that scikit-learn grew"
    if sparse.issparse(y):
        return "y is sparse"
    if sample_weight is not None and np.min(np.asarray(sample_weight, dtype=np.float64), initial=0.0) < 0:
        return "sample_weight has negative weights"
    return ""


def grow(model: Accelerated, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, *, check_input: bool) -> TreeModel:
    """Fit weald's estimator with the same parameters."""
    table: Native = X
    if check_input:
        table, y = read(model, X, y)
    else:
        model.n_features_in_ = table.shape[1]
    can_continue = getattr(model, "warm_start", False) and "weald_" in vars(model)
    ours: TreeModel = copy.copy(model.weald_) if can_continue else getattr(weald, model._name)()  # noqa: SLF001
    ours.set_params(**translate(model, ours, table.shape, sample_weight))
    return ours.fit(table, y, sample_weight)


def read(model: Accelerated, X: TableLike, y: ColumnLike = None, *, reset: bool = True) -> Any:
    """Validate X, or X and y, as scikit-learn does: float32, its errors, its feature names."""
    finite = True if sparse.issparse(X) else "allow-nan"
    kinds = {"dtype": np.float32, "accept_sparse": "csc" if reset else "csr", "ensure_all_finite": finite}
    if not reset:
        return validate_data(model, X, reset=False, **kinds)
    return validate_data(model, X, y, multi_output=True, **kinds)


def translate(
    model: Accelerated, ours: TreeModel, shape: tuple[int, ...], sample_weight: ColumnLike
) -> dict[str, object]:
    """Translate scikit-learn's parameters to weald's."""
    theirs, known = model.get_params(deep=False), ours.get_params(deep=False)
    given = {name: value for name, value in theirs.items() if name in known}
    given["n_jobs"] = threads(model)
    if is_whole(given["max_features"]):
        given["max_features"] = min(int(given["max_features"]), shape[1])
    if not is_whole(given["random_state"]):
        given["random_state"] = check_random_state(given["random_state"])  # None: NumPy's global generator
    if given.get("bootstrap"):
        given["max_samples"] = draws(given["max_samples"], shape[0], sample_weight)
    return given


def threads(model: Accelerated) -> int:
    """Return the number of threads: one unless `n_jobs` is set, as in scikit-learn."""
    return int(joblib.effective_n_jobs(getattr(model, "n_jobs", None)))


def draws(max_samples: Any, n_rows: int, sample_weight: ColumnLike) -> object:
    """Return the number of draws per bag: the number of rows, regardless of weights, or a fraction of the weight."""
    if max_samples is None:
        return None if sample_weight is None else n_rows
    if is_whole(max_samples):
        return int(max_samples)
    total = n_rows if sample_weight is None else float(np.sum(np.asarray(sample_weight, dtype=np.float64)))
    return max(1, int(max_samples * total))


# --------------------------------------------------------------------------------------------------------- forests


class AcceleratedForest(Accelerated):
    """Base class of the four forests."""

    _made_of_it = "estimators_"

    def fit(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> Self:
        """Build a forest from the training set, as scikit-learn's `fit`."""
        if not self._fit_with_weald(X, y, sample_weight, check_input=True):
            super().fit(X, y, sample_weight)
        return self

    def _learn(self, fitted: TreeModel) -> None:
        super()._learn(fitted)
        self.estimator_ = self.estimator
        for name in OOB:
            self.__dict__.pop(name, None)
            if name in vars(fitted):
                setattr(self, name, vars(fitted)[name])

    @cached_property
    def estimators_(self) -> list[Native]:
        """The trees as scikit-learn's own estimators, converted on first access."""
        found: list[Native] = self._converted().estimators_
        return found

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """The rows of each bag."""
        found: list[IntArray] = self.weald_.estimators_samples_ if self._is_wealds else super().estimators_samples_
        return found

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean decrease in impurity; it sums to 1."""
        found: FloatArray = self.weald_.feature_importances_ if self._is_wealds else super().feature_importances_
        return found

    def _model(self) -> Native:
        """Return weald's model with the current number of threads."""
        wanted = threads(self)
        if self.weald_.n_jobs != wanted:
            self.weald_.n_jobs = wanted
        return self.weald_

    def predict(self, X: TableLike) -> Native:
        """Predict classes or means, as scikit-learn's `predict`."""
        return self._model().predict(self._rows(X)) if self._is_wealds else super().predict(X)

    def apply(self, X: TableLike) -> Native:
        """Find the leaf of each row in each tree."""
        return self._model().apply(self._rows(X)) if self._is_wealds else super().apply(X)

    def decision_path(self, X: TableLike) -> Native:
        """Mark the nodes that each row passes."""
        return self._model().decision_path(self._rows(X)) if self._is_wealds else super().decision_path(X)


class AcceleratedForestClassifier(AcceleratedForest):
    """Base class of the forest classifiers."""

    def predict_proba(self, X: TableLike) -> Native:
        """Predict class probabilities, as scikit-learn's `predict_proba`."""
        return self._model().predict_proba(self._rows(X)) if self._is_wealds else super().predict_proba(X)


class RandomForestClassifier(AcceleratedForestClassifier, sklearn.ensemble.RandomForestClassifier):
    """scikit-learn's random forest classifier, trained by weald."""

    _name = "RandomForestClassifier"


class RandomForestRegressor(AcceleratedForest, sklearn.ensemble.RandomForestRegressor):
    """scikit-learn's random forest regressor, trained by weald."""

    _name = "RandomForestRegressor"


class ExtraTreesClassifier(AcceleratedForestClassifier, sklearn.ensemble.ExtraTreesClassifier):
    """scikit-learn's extra-trees classifier, trained by weald."""

    _name = "ExtraTreesClassifier"


class ExtraTreesRegressor(AcceleratedForest, sklearn.ensemble.ExtraTreesRegressor):
    """scikit-learn's extra-trees regressor, trained by weald."""

    _name = "ExtraTreesRegressor"


# ----------------------------------------------------------------------------------------------------- single trees


class AcceleratedTree(Accelerated):
    """Base class of the four single trees."""

    _made_of_it = "tree_"

    def fit(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None, check_input: bool = True) -> Self:
        """Build a tree from the training set, as scikit-learn's `fit`."""
        if not self._fit_with_weald(X, y, sample_weight, check_input=check_input):
            super().fit(X, y, sample_weight, check_input)
        return self

    def _learn(self, fitted: TreeModel) -> None:
        super()._learn(fitted)
        self.max_features_ = fitted.growth_.max_features
        if isinstance(getattr(self, "n_classes_", None), list):
            self.n_classes_ = np.array(self.n_classes_, dtype=np.intp)

    @cached_property
    def tree_(self) -> Native:
        """The nodes as scikit-learn's own tree, converted on first access."""
        return self._converted().tree_

    def predict(self, X: TableLike, check_input: bool = True) -> Native:
        """Predict classes or means, as scikit-learn's `predict`."""
        if not self._is_wealds:
            return super().predict(X, check_input)
        return self.weald_.predict(self._rows(X, check_input=check_input))

    def apply(self, X: TableLike, check_input: bool = True) -> Native:
        """Find the leaf of each row."""
        if not self._is_wealds:
            return super().apply(X, check_input)
        return self.weald_.apply(self._rows(X, check_input=check_input))


class AcceleratedTreeClassifier(AcceleratedTree):
    """Base class of the tree classifiers."""

    def predict_proba(self, X: TableLike, check_input: bool = True) -> Native:
        """Predict class probabilities, as scikit-learn's `predict_proba`."""
        if not self._is_wealds:
            return super().predict_proba(X, check_input)
        return self.weald_.predict_proba(self._rows(X, check_input=check_input))


class DecisionTreeClassifier(AcceleratedTreeClassifier, sklearn.tree.DecisionTreeClassifier):
    """scikit-learn's decision tree classifier, trained by weald."""

    _name = "DecisionTreeClassifier"


class DecisionTreeRegressor(AcceleratedTree, sklearn.tree.DecisionTreeRegressor):
    """scikit-learn's decision tree regressor, trained by weald."""

    _name = "DecisionTreeRegressor"


class ExtraTreeClassifier(AcceleratedTreeClassifier, sklearn.tree.ExtraTreeClassifier):
    """scikit-learn's extra-tree classifier, trained by weald."""

    _name = "ExtraTreeClassifier"


class ExtraTreeRegressor(AcceleratedTree, sklearn.tree.ExtraTreeRegressor):
    """scikit-learn's extra-tree regressor, trained by weald."""

    _name = "ExtraTreeRegressor"
