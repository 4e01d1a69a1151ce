"""Names of features and classes of models with scikit-learn's interface, from any library."""

from collections.abc import Sequence
from typing import Protocol

from weald.data.targets import labels_of
from weald.errors import DataError
from weald.forest.describe.markup import legible
from weald.inspection.resample import Predictor


class FittedModel(Predictor, Protocol):
    """A fitted model with scikit-learn's interface."""

    n_features_in_: int


def name_features(estimator: FittedModel, given: Sequence[str] | None) -> list[str]:
    """Return the given names, else those of the training table, else x0, x1 and so on."""
    n_features = estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None) if given is None else given
    if names is None:
        return [f"x{f}" for f in range(n_features)]
    if len(names) != n_features:
        raise DataError(f"feature_names has {len(names)} names for {n_features} features. Give one for each.")
    return [legible(str(name)) for name in names]


def name_classes(estimator: FittedModel, given: Sequence[str] | None) -> list[str] | None:
    """Return the given names, else the labels; None for regression."""
    labels = labels_of(estimator)
    if labels is None:
        return None
    names = labels if given is None else given
    if len(names) != len(labels):
        raise DataError(f"class_names has {len(names)} names for {len(labels)} classes. Give one for each.")
    return [legible(str(name)) for name in names]
