"""Forests on a Dask cluster: the same forest, bit for bit, that one machine grows.

    RandomForestClassifier, RandomForestRegressor    the ordinary forests, with engine="dask"
    ExtraTreesClassifier, ExtraTreesRegressor        the same with random cuts
    to_local                                         the estimator that needs no cluster

The modules:

    engine              the engine of a cluster
    coding              a table becomes codes on the workers
    coded_partitions    codes of partitions
    scheduler           trees and votes are divided among the workers
    task_queue          which worker is next
    work_split          how work is divided
    tree_tasks          what workers do
    tree_pieces         one tree on several workers
    joining             trees become a forest
    prediction          predictions of Dask collections
    cluster             all that is known of Dask
    malloc_tuning       memory of the workers

The workers code their partitions where they lie. The codes, one to four bytes a cell, travel to every worker that grows
trees. Predictions of Dask collections are lazy, those of arrays and data frames are made here.
"""

from typing import Unpack

import weald
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


@parameters(ForestClassifierParams, criterion="gini", max_features="sqrt", engine="dask")
class RandomForestClassifier(RandomForest, TreeClassifier):
    """A random forest for classes, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import RandomForestClassifier
    >>> client = Client()  # doctest: +SKIP
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """

    oob_decision_function_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestClassifierParams]) -> None:
        set_parameters(self, RandomForestClassifier, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeClassifier]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, DecisionTreeClassifier)


@parameters(ForestRegressorParams, criterion="squared_error", max_features="third", engine="dask")
class RandomForestRegressor(RandomForest, TreeRegressor):
    """A random forest for numbers, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import RandomForestRegressor
    >>> client = Client()  # doctest: +SKIP
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """

    oob_prediction_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestRegressorParams]) -> None:
        set_parameters(self, RandomForestRegressor, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeRegressor]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, DecisionTreeRegressor)


@parameters(ForestClassifierParams, criterion="gini", max_features="sqrt", bootstrap=False, engine="dask")
class ExtraTreesClassifier(RandomForest, TreeClassifier):
    """Extra-trees for classes, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import ExtraTreesClassifier
    >>> client = Client()  # doctest: +SKIP
    >>> forest = ExtraTreesClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """

    _splitter = "random"

    oob_decision_function_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestClassifierParams]) -> None:
        set_parameters(self, ExtraTreesClassifier, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[ExtraTreeClassifier]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, ExtraTreeClassifier)


@parameters(ForestRegressorParams, criterion="squared_error", max_features=1.0, bootstrap=False, engine="dask")
class ExtraTreesRegressor(RandomForest, TreeRegressor):
    """Extra-trees for numbers, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import ExtraTreesRegressor
    >>> client = Client()  # doctest: +SKIP
    >>> forest = ExtraTreesRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """

    _splitter = "random"

    oob_prediction_: FloatArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[ForestRegressorParams]) -> None:
        set_parameters(self, ExtraTreesRegressor, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[ExtraTreeRegressor]:
        """The trees as fitted estimators, created on access."""
        return TreeList(self, ExtraTreeRegressor)


def to_local(model: RandomForest) -> RandomForest:
    """Return the estimator that a fit has left, for one machine: it knows nothing of clusters.

    Parameters
    ----------
    model : a forest that was fitted on a cluster

    Returns
    -------
    an estimator of `weald`, with engine="auto", the same other parameters and the same forest
    """
    ordinary: type[RandomForest] = getattr(weald, type(model).__name__)
    local = ordinary(**model.get_params(deep=False))
    local.__dict__.update(vars(model), engine="auto")
    return local
