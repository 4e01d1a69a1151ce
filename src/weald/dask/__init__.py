"""Forests on a Dask cluster: bit for bit the same forest as on one machine.

    RandomForestClassifier, RandomForestRegressor    the ordinary forests, with engine="dask"
    ExtraTreesClassifier, ExtraTreesRegressor        extra-trees, with random thresholds
    to_local                                         converts a fitted forest to an ordinary estimator of weald

The modules:

    engine              the engine of the cluster
    coding              codes a table on the workers
    coded_partitions    the codes of partitions
    scheduler           divides trees and votes among the workers
    task_queue          assigns tasks to workers
    work_split          sizes of tasks
    tree_tasks          the tasks that workers run
    tree_pieces         one tree grown on several workers
    joining             joins trees to a forest
    prediction          predictions for Dask collections
    cluster             the interface to Dask
    malloc_tuning       memory settings of the workers

The workers code the partitions that they hold. The codes, one to four bytes per cell, are sent to every worker that
grows trees. Predictions for Dask collections are lazy; those for arrays and data frames are computed locally.
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
    """A random forest classifier, trained on the cluster of the current Dask client.

    X, y and sample_weight are Dask data frames or arrays, or local tables.

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
    """A random forest regressor, trained on the cluster of the current Dask client.

    X, y and sample_weight are Dask data frames or arrays, or local tables.

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
    """An extra-trees classifier, trained on the cluster of the current Dask client.

    X, y and sample_weight are Dask data frames or arrays, or local tables.

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
    """An extra-trees regressor, trained on the cluster of the current Dask client.

    X, y and sample_weight are Dask data frames or arrays, or local tables.

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
    """Convert a forest that was fitted on a cluster to an ordinary estimator for one machine.

    Parameters
    ----------
    model : fitted estimator of `weald.dask`

    Returns
    -------
    an estimator of `weald` with engine="auto", the same other parameters and the same forest
    """
    ordinary: type[RandomForest] = getattr(weald, type(model).__name__)
    local = ordinary(**model.get_params(deep=False))
    local.__dict__.update(vars(model), engine="auto")
    return local
