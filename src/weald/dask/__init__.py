"""Forests on a Dask cluster: the same forest, bit for bit, that one machine grows.

    RandomForestClassifier, RandomForestRegressor    the ordinary forests, with engine="dask"
    ExtraTreesClassifier, ExtraTreesRegressor        the same with random cuts
    to_local                                         the estimator that needs no cluster

The workers code their partitions where they lie. The codes, one to four bytes a cell, travel to every worker that grows
trees. Predictions of Dask collections are lazy, those of arrays and data frames are made here.
"""

from typing import Any

from weald.estimators import extra_trees, forests
from weald.estimators.extra_trees import with_defaults


@with_defaults(engine="dask")
class RandomForestClassifier(forests.RandomForestClassifier):
    """A random forest for classes, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import RandomForestClassifier
    >>> client = Client()  # doctest: +SKIP
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """


@with_defaults(engine="dask")
class RandomForestRegressor(forests.RandomForestRegressor):
    """A random forest for numbers, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import RandomForestRegressor
    >>> client = Client()  # doctest: +SKIP
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """


@with_defaults(engine="dask")
class ExtraTreesClassifier(extra_trees.ExtraTreesClassifier):
    """Extra-trees for classes, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import ExtraTreesClassifier
    >>> client = Client()  # doctest: +SKIP
    >>> forest = ExtraTreesClassifier(random_state=0).fit(X, y)  # doctest: +SKIP
    """


@with_defaults(engine="dask")
class ExtraTreesRegressor(extra_trees.ExtraTreesRegressor):
    """Extra-trees for numbers, grown on the cluster of the Dask client in scope.

    X, y and sample_weight are Dask data frames or arrays, or tables that are here.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> from weald.dask import ExtraTreesRegressor
    >>> client = Client()  # doctest: +SKIP
    >>> forest = ExtraTreesRegressor(random_state=0).fit(X, y)  # doctest: +SKIP
    """


def to_local(model: Any) -> Any:
    """Return the estimator that a fit has left, for one machine: it knows nothing of clusters.

    Parameters
    ----------
    model : a forest that was fitted on a cluster

    Returns
    -------
    an estimator of `weald`, with engine="auto", the same other parameters and the same forest
    """
    ordinary = next(
        kind
        for kind in type(model).__mro__
        if kind.__module__ in ("weald.estimators.forests", "weald.estimators.extra_trees")
    )
    local = ordinary(**model.get_params(deep=False))
    vars(local).update(vars(model), engine="auto")
    return local
