"""Forests on a Dask cluster: the same forest, bit for bit, that one machine grows.

    RandomForestClassifier, RandomForestRegressor    fit to Dask data frames and arrays
    ExtraTreesClassifier, ExtraTreesRegressor        the same with random cuts
    to_local                                         the ordinary estimator that a fit has left

The workers code their partitions where they lie. The codes, one to four bytes a cell, are joined once and travel to
every worker that grows trees. Predictions of Dask collections are lazy. With arrays and data frames, these estimators
do as the ordinary ones.
"""

from typing import Any, Self

import numpy as np

from weald import extra_trees, forests, params
from weald.cluster import Cluster, CodedOnCluster, deal_trees, is_collection, partitions
from weald.engines.native import NativeEngine
from weald.errors import ParameterError
from weald.estimator import TreeClassifier
from weald.model import Forest
from weald.parts import CodedTable, Labels
from weald.table import Reading, Table


class OnCluster(forests.RandomForest):
    """What forests add to grow on a cluster, and to predict there."""

    def _learn(self, before: Self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        if not is_collection(X):
            super()._learn(before, X, y, sample_weight, **by_row)
            return
        self._check_params()
        self._refuse_what_needs_all_rows(by_row)
        given, cluster = params.gather(self), Cluster()
        coded = CodedOnCluster(cluster, self, partitions(X, y, sample_weight), params.count_bins(given["max_bins"]))
        labels = coded.labels
        self.schema_, self.n_features_in_ = labels.schema, labels.n_features
        if labels.schema.names is not None:
            self.feature_names_in_ = np.array(labels.schema.names, dtype=object)
        outline = Outline(labels)
        self.growth_ = params.resolve(given, outline, labels.classes, labels.schema.names)
        self._keep_schema(Reading(outline, labels.classes, None))
        old = before.forest_ if self.warm_start and hasattr(before, "forest_") else None
        self.seed_ = params.draw_seed(self.random_state) if old is None else before.seed_
        if old is not None:
            self._check_that_it_goes_on(before, old)
        self.forest_ = self._deal(cluster, coded, int(self.n_estimators), old)
        if self.oob_score:
            found = cluster.gather(cluster.submit(look_out_of_bag, coded.table, to_local(self), labels))
            self.__dict__.update(found)

    def _deal(self, cluster: Cluster, coded: CodedOnCluster, n_trees: int, old: Forest | None) -> Forest:
        """Grow trees all over the cluster until there are so many."""
        if old is None:
            first, *rest = deal_trees(cluster, coded, self, 0, n_trees)
            return first.join(*rest)
        n_more = n_trees - old.n_trees
        return old.join(*deal_trees(cluster, coded, self, old.next_tree(self.seed_), n_more)) if n_more else old

    def _refuse_what_needs_all_rows(self, by_row: dict[str, Any]) -> None:
        refused = {f"{name}=..." for name, value in by_row.items() if value is not None}
        if not isinstance(self.bootstrap, bool):
            refused.add(f"bootstrap={self.bootstrap!r}")
        if isinstance(self.max_samples, dict):
            refused.add("max_samples by class")
        if getattr(self, "resampling", "bagging") != "bagging":
            refused.add(f"resampling={self.resampling!r}")
        if isinstance(self.n_estimators, str):
            refused.add(f"n_estimators={self.n_estimators!r}")
        if refused:
            raise ParameterError(
                f"{', '.join(sorted(refused))} cannot be had on a cluster yet. Leave it out, or fit on one machine."
            )

    def predict(self, X: Any, **how: Any) -> Any:
        """Predict; lazily, partition by partition, where X is a Dask collection.

        Parameters
        ----------
        X : array, data frame, or Dask array or data frame of shape (n_rows, n_features)
        **how
            As the ordinary estimator has them.

        Returns
        -------
        array, or Dask array or series, of shape (n_rows,)
        """
        return _call(self, "predict", X, how)


class OnClusterWithClasses(OnCluster):
    """What classifiers add."""

    def predict_proba(self, X: Any, **how: Any) -> Any:
        """Average what the trees say; lazily, partition by partition, where X is a Dask collection.

        Parameters
        ----------
        X : array, data frame, or Dask array or data frame of shape (n_rows, n_features)
        **how
            As the ordinary estimator has them.

        Returns
        -------
        array, or Dask array or data frame, of shape (n_rows, n_classes)
        """
        return _call(self, "predict_proba", X, how)


class RandomForestClassifier(OnClusterWithClasses, forests.RandomForestClassifier):
    """A random forest for classes, grown on a Dask cluster."""


class RandomForestRegressor(OnCluster, forests.RandomForestRegressor):
    """A random forest for numbers, grown on a Dask cluster."""


class ExtraTreesClassifier(OnClusterWithClasses, extra_trees.ExtraTreesClassifier):
    """Extra-trees for classes, grown on a Dask cluster."""


class ExtraTreesRegressor(OnCluster, extra_trees.ExtraTreesRegressor):
    """Extra-trees for numbers, grown on a Dask cluster."""


def to_local(model: Any) -> Any:
    """Return the ordinary estimator that a fit has left: it knows nothing of Dask.

    Parameters
    ----------
    model : an estimator of `weald.dask`

    Returns
    -------
    an estimator of `weald`, with the same parameters and the same forest
    """
    ordinary = next(kind for kind in type(model).__mro__ if kind.__module__ in ("weald.forests", "weald.extra_trees"))
    local = ordinary(**model.get_params(deep=False))
    vars(local).update(vars(model))
    return local


# --------------------------------------------------------------------------------------------------------------- fit


class Outline(Table):
    """What parameters are resolved against: a table whose rows are elsewhere."""

    def __init__(self, labels: Labels) -> None:
        nothing = np.empty((0, labels.n_features))
        categorical = labels.schema.categorical
        super().__init__(
            nothing, nothing[:, 0], labels.n_classes, None, labels.whole, labels.size, categorical=categorical
        )
        object.__setattr__(self, "_n_rows", labels.n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows, wherever they are."""
        n_rows: int = vars(self)["_n_rows"]
        return n_rows


def look_out_of_bag(coded: CodedTable, model: Any, labels: Labels) -> dict[str, Any]:
    """Let the trees speak of the rows outside their bags. Values of one code go the same way: one stands for all."""
    X = np.column_stack([np.append(lows, np.nan)[np.minimum(codes, len(lows))] for codes, lows, *_ in coded.columns])
    table = Table(X, coded.target, coded.n_classes, coded.weight, coded.whole, labels.size)
    model._look_out_of_bag(NativeEngine(), coded.ranked(), Reading(table, labels.classes, None))  # noqa: SLF001
    return {name: value for name, value in vars(model).items() if name.startswith("oob_") and name.endswith("_")}


# ----------------------------------------------------------------------------------------------------------- predict


def _call(model: Any, method: str, X: Any, how: dict[str, Any]) -> Any:
    """Call a method of the ordinary estimator; for each partition by itself where X is a Dask collection."""
    local = to_local(model)
    if not is_collection(X):
        return getattr(local, method)(X, **how)
    is_label = method == "predict" and isinstance(model, TreeClassifier)
    nothing = model.classes_[:0] if is_label else np.empty((0, model.n_classes_) if method == "predict_proba" else 0)
    call = Call(local, method, how, nothing)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(call, meta=_like(X._meta, nothing))  # noqa: SLF001  (Dask has no public name for it)
    X = X.rechunk({1: -1})
    if nothing.ndim == 1:
        return X.map_blocks(call, drop_axis=1, meta=nothing)
    return X.map_blocks(call, chunks=(X.chunks[0], (nothing.shape[1],)), meta=nothing)


class Call:
    """A method of a fitted estimator, as a function that travels."""

    def __init__(self, model: Any, method: str, how: dict[str, Any], nothing: Any) -> None:
        self.model, self.method, self.how, self.nothing = model, method, how, nothing

    def __call__(self, X: Any) -> Any:
        """Predict the rows of one partition; an empty one has nothing to predict."""
        found = getattr(self.model, self.method)(X, **self.how) if len(X) else self.nothing
        return _like(X, found) if hasattr(X, "iloc") else found


def _like(frame: Any, found: Any) -> Any:
    """Give predictions the index of the frame that they are for, in the frame's own library."""
    kind = type(frame) if found.ndim > 1 else type(frame.iloc[:, 0])
    return kind(found, index=frame.index)
