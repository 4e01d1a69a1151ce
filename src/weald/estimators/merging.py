"""Merging and slicing forests.

    merge         join several forests into one
    take_trees    make a forest of some of the trees

Trees keep their origins, so the bags of the new forest can be drawn again from the training data.
"""

import copy
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.errors import DataError, ParameterError, warn
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.multi_output import forests_of
from weald.estimators.stopping_rules import note_mixed
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.forest_base import RandomForest
    from weald.forest.leaf_targets import LeafTargets

# Attributes that must be equal in merged forests, and their names in messages.
SCHEMA = {
    "n_features_in_": "features",
    "feature_names_in_": "names of the features",
    "categories_": "categories",
    "n_outputs_": "numbers of targets",
    "classes_": "classes",
    "unique_times_": "times",
    "event_times_": "times with events",
    "_kept_": "prototypes",
    "_columns_": "columns",
}


AnyForest = TypeVar("AnyForest", bound="RandomForest")


def merge(models: Iterable[AnyForest]) -> AnyForest:
    """Join fitted forests into one that has the trees of all, in order.

    The forests may come from other machines, seeds, parameters or tables, but must be of the same class, with the same
    features, classes and criterion. The result has the parameters and the seed of the first forest.

    Parameters
    ----------
    models : iterable of fitted forests
        All of one class. `a + b` is short for `merge([a, b])`.

    Returns
    -------
    forest
        A new estimator; the given ones are unchanged. Out-of-bag estimates are not carried over:
        `forest.out_of_bag(X, y)` computes them.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> parts = [weald.RandomForestClassifier(10, random_state=seed).fit(X, y) for seed in range(3)]
    >>> forest = weald.merge(parts)
    >>> len(forest.estimators_), forest.forest_.n_trees
    (30, 30)
    >>> forest.out_of_bag(X, y).error < 0.1
    True
    """
    given = list(models)
    if not given:
        raise ParameterError("merge was called without forests. Give at least one.")
    for model in given:
        check_is_fitted(model)
    for model in given:
        require_uncalibrated(model, "merge")
    for model in given[1:]:
        _require_same_schema(given[0], model)
    _warn_of_duplicates(given)
    of_targets = zip(*map(forests_of, given), strict=True)
    merged = _with_forests(given[0], [reduce(Forest.join, forests) for forests in of_targets])
    if "leaf_times_" in vars(given[0]):
        times = [vars(model)["leaf_times_"] for model in given]
        merged.__dict__["leaf_times_"] = reduce(lambda one, two: one.join(two, merged.forest_), times)
    for model in given[1:]:
        note_mixed(merged, model, "merge")
    for name in ("n_samples_fit_", "target_name_", "data_hash_"):
        if hasattr(merged, name) and len({getattr(model, name, None) for model in given}) > 1:
            delattr(merged, name)  # names that come from different tables
    return merged


def take_trees(model: AnyForest, trees: Sequence[int]) -> AnyForest:
    """Make a model of some of the trees, in the order given."""
    require_uncalibrated(model, "A slice")
    forests = forests_of(model)
    if not trees:
        raise IndexError(f"The slice selects no trees. The forest has trees 0 to {forests[0].n_trees - 1}.")
    taken = _with_forests(model, [forest.take(trees) for forest in forests])
    if "_training_bags" in vars(model):
        taken.__dict__["_training_bags"] = vars(model)["_training_bags"]  # the training table is the same
    targets: LeafTargets | None = vars(model).get("leaf_targets_")
    if targets is not None and targets.forest is model.forest_:
        taken.__dict__["leaf_targets_"] = targets.take(trees, taken.forest_)
    if "leaf_times_" in vars(model):
        taken.__dict__["leaf_times_"] = vars(model)["leaf_times_"].take(trees, taken.forest_)
    return taken


def _with_forests(model: AnyForest, forests: Sequence[Forest]) -> AnyForest:
    made = copy.copy(model)
    if made.n_outputs_ == 1:
        (made.forest_,) = forests
    else:
        made.forests_ = tuple(forests)
    made.n_estimators = forests[0].n_trees
    # Computed from other trees or another table
    for name in ("leaf_targets_", "leaf_times_", "kept_errors_", "_training_bags"):
        made.__dict__.pop(name, None)
    return drop_out_of_bag(made)


def drop_out_of_bag(model: AnyForest) -> AnyForest:
    """Delete out-of-bag estimates, which belong to the old trees."""
    for name in [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]:
        delattr(model, name)
    return model


def _require_same_schema(first: "RandomForest", other: "RandomForest") -> None:
    """Refuse forests with different features, classes or criteria."""
    if type(first) is not type(other):
        raise ParameterError(
            f"A {type(first).__name__} and a {type(other).__name__} cannot be merged. Give forests of one class."
        )
    for name, words in SCHEMA.items():
        one, two = getattr(first, name, None), getattr(other, name, None)
        if not same_values(one, two):
            raise DataError(
                f"Forests of different {words} cannot be merged: {_short(one)} and {_short(two)}. Fit them on tables "
                "of the same columns and classes."
            )
    one, two = forests_of(first)[0].contract, forests_of(other)[0].contract
    if one != two:
        raise DataError(
            f"Forests grown under versions {one} and {two} of the contract cannot be merged. Fit the older one again "
            "with this version."
        )
    one, two = first.shrinkage_, other.shrinkage_
    if one != two:
        raise ParameterError(
            f"Forests of shrinkage {one:g} and {two:g} cannot be merged. Give both the same: "
            f"forest.truncate(shrinkage={one:g})."
        )
    one, two = first.growth_.criterion, other.growth_.criterion
    if one != two:
        raise ParameterError(
            f"Forests grown by criterion={one!r} and {two!r} cannot be merged. Give forests of one criterion."
        )


def same_values(one: object, two: object) -> bool:
    """Return whether two arrays, or two lists of arrays, are equal."""
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same_values, one, two))
    return np.array_equal(np.asarray(one), np.asarray(two))


def _short(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):  # a list of arrays, or None for numeric features
        return "; ".join(_short(one) for one in value)
    return f"{', '.join(map(str, value[:5]))}{' ...' if len(value) > 5 else ''}" if np.ndim(value) else str(value)


def _warn_of_duplicates(models: Sequence["RandomForest"]) -> None:
    """Warn about trees that occur more than once: copies add no information."""
    trees = [
        (*tree, origin.data, origin.values, origin.bags)
        for model in models
        for origin in forests_of(model)[0].origins
        for tree in origin.trees()
    ]
    n_twins = len(trees) - len(set(trees))
    if n_twins:
        warn(
            f"{n_twins} of {len(trees)} trees are copies, with the same seed, number and data as others. They add no "
            "information, only weight. Give each forest its own random_state, or merge each forest once."
        )
