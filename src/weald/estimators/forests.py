"""Forests.

RandomForestClassifier, RandomForestRegressor     each node takes the best split of the drawn features
ExtraTreesClassifier, ExtraTreesRegressor         each feature has one candidate split, with a random threshold
"""

from typing import Unpack

from weald.data.types import FloatArray
from weald.estimators.forest_base import RandomForest
from weald.estimators.parameters import ForestClassifierParams, ForestRegressorParams, parameters, set_parameters
from weald.estimators.tasks import TreeClassifier, TreeRegressor
from weald.estimators.tree_list import TreeList
from weald.estimators.trees import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)


@parameters(ForestClassifierParams, criterion="gini", max_features="sqrt")
class RandomForestClassifier(RandomForest, TreeClassifier):
    """A random forest that predicts classes.

    Each tree is grown from a bag of rows, each node draws features, and every split is the best one over all
    thresholds. The forest depends only on table, parameters and seed, not on the number of threads or the order of
    rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 50, 100]])
    array([0, 1, 2])
    >>> model.oob_error_ < 0.1
    True
    """

    oob_decision_function_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestClassifierParams]) -> None:
        set_parameters(self, RandomForestClassifier, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeClassifier]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, DecisionTreeClassifier)


@parameters(ForestRegressorParams, criterion="squared_error", max_features="third")
class RandomForestRegressor(RandomForest, TreeRegressor):
    """A random forest that predicts numbers.

    Each tree is grown from a bag of rows, each node draws features, and every split is the best one over all
    thresholds. The forest depends only on table, parameters and seed, not on the number of threads or the order of
    rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> 0.3 < model.oob_score_ < 0.6
    True
    """

    oob_prediction_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestRegressorParams]) -> None:
        set_parameters(self, RandomForestRegressor, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeRegressor]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, DecisionTreeRegressor)


@parameters(ForestClassifierParams, criterion="gini", max_features="sqrt", bootstrap=False)
class ExtraTreesClassifier(RandomForest, TreeClassifier):
    """A forest of extremely randomized trees that predicts classes.

    Each tree is grown from all rows. Each node draws features and, for each of them, one random threshold between the
    minimum and the maximum in the node; the best of these splits is used. Compared with a random forest, the trees
    are faster to grow, larger, and less correlated.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    _splitter = "random"

    oob_decision_function_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestClassifierParams]) -> None:
        set_parameters(self, ExtraTreesClassifier, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[ExtraTreeClassifier]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, ExtraTreeClassifier)


@parameters(ForestRegressorParams, criterion="squared_error", max_features=1.0, bootstrap=False)
class ExtraTreesRegressor(RandomForest, TreeRegressor):
    """A forest of extremely randomized trees that predicts numbers.

    Each tree is grown from all rows. Each node considers all features (or a random subset) and, for each of them, one
    random threshold between the minimum and the maximum in the node; the best of these splits is used. Compared
    with a random forest, the trees are faster to grow, larger, and less correlated.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> 0.3 < model.score(X[1::2], y[1::2]) < 0.6
    True
    """

    _splitter = "random"

    oob_prediction_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestRegressorParams]) -> None:
        set_parameters(self, ExtraTreesRegressor, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[ExtraTreeRegressor]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, ExtraTreeRegressor)
