"""Parameters of single features as plain numbers: monotonic constraints, interaction constraints, feature weights.

FeatureNames           features by number or by name
bind_features      monotonic_cst    ->  1 increasing, -1 decreasing, 0 unconstrained
group_features     interaction_cst  ->  groups, or the maximum number of interacting features
weigh_features     feature_weights  ->  numbers
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from weald.errors import ParameterError, shown

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class FeatureNames:
    """The features of a table, by number and, if it has names, by name."""

    n: int
    names: Sequence[str] | None = None
    categorical: frozenset[int] = frozenset()

    def name(self, number: int) -> str:
        """Return the name of a feature for messages."""
        return str(number) if self.names is None else repr(self.names[number])

    def number(self, feature: Any, parameter: str) -> int:
        """Find a feature by its number or name."""
        if isinstance(feature, str):
            return self._number_of_name(feature, parameter)
        is_number = type(feature) is not bool and isinstance(feature, Integral)
        if not is_number or not 0 <= int(feature) < self.n:
            raise ParameterError(
                f"{parameter} names the feature {shown(feature)}. Give a number from 0 to {self.n - 1}, or a name."
            )
        return int(feature)

    def _number_of_name(self, name: str, parameter: str) -> int:
        if self.names is None:
            raise ParameterError(
                f"{parameter} names the feature {name!r}, but X has no names. Give X as a data frame, or call features "
                f"by number, from 0 to {self.n - 1}."
            )
        names = list(self.names)
        if name not in names:
            raise ParameterError(f"{parameter} names the feature {name!r}, which X does not have: {_some(names)}.")
        return names.index(name)

    def spread(self, given: Any, parameter: str, otherwise: float) -> list[Any]:
        """Return one entry for each feature: as given, or by name with `otherwise` for the others."""
        if isinstance(given, Mapping):
            entries: list[Any] = [otherwise] * self.n
            for feature, entry in given.items():
                entries[self.number(feature, parameter)] = entry
            return entries
        try:
            shape = np.shape(given)
        except ValueError:  # rows of different lengths
            shape = None
        if shape != (self.n,):
            found = "holds lists of different lengths" if shape is None else f"has shape {_shape(shape)}"
            raise ParameterError(
                f"{parameter} {found} but the input data X has {self.n} features. Give one number for each feature, or "
                "a dict by name."
            )
        return list(np.asarray(given).tolist())


def _shape(shape: tuple[int, ...]) -> int | tuple[int, ...]:
    """Write a shape as scikit-learn does: that of a list is its length."""
    return shape[0] if len(shape) == 1 else shape


def _some(names: Sequence[str]) -> str:
    """List the first names."""
    shown = ", ".join(map(repr, names[:20]))
    return f"its features are {shown}" + (" and more" if len(names) > 20 else "")


def bind_features(monotonic_cst: Any, features: FeatureNames, n_classes: int) -> tuple[int, ...]:
    """Return the direction of each feature: 1 increasing, -1 decreasing, 0 unconstrained. Empty if there are none."""
    if monotonic_cst is None:
        return ()
    signs = features.spread(monotonic_cst, "monotonic_cst", 0)
    others = [sign for sign in signs if not isinstance(sign, Real) or sign not in (-1, 0, 1)]
    if others:
        raise ParameterError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1. It has the entries {shown(others)}. Give 1 "
            "(rising), -1 (falling) or 0 (free) for each feature."
        )
    for number in features.categorical:
        if signs[number]:
            raise ParameterError(
                f"monotonic_cst constrains the feature {features.name(number)}, whose categories have no order. Set "
                "it to 0, or use ordered categories."
            )
    if n_classes > 2:
        raise ParameterError(
            f"Monotonicity constraints are not supported with multiclass classification: y has {n_classes} classes. "
            "monotonic_cst is for regression and for two classes, where it is about the probability of the second. Set "
            "monotonic_cst=None, or predict one class against the rest."
        )
    return tuple(int(sign) for sign in signs) if any(signs) and n_classes != 1 else ()


def group_features(interaction_cst: Any, features: FeatureNames) -> tuple[Groups, int]:
    """Return which features may interact on a path: groups (none: all), and the maximum number (0: no limit).

    Features in no group form one more group, as in scikit-learn.
    """
    if interaction_cst is None:
        return (), 0
    if isinstance(interaction_cst, str):
        return (), {"no_interactions": 1, "pairwise": 2}[interaction_cst]
    groups = []
    for group in interaction_cst:
        is_single = isinstance(group, str) or (isinstance(group, np.ndarray) and group.ndim == 0)
        if is_single or not isinstance(group, Iterable):
            raise ParameterError(
                f"interaction_cst has the entry {shown(group)}, which is not a group. Give a list of groups of "
                'features, for example [{0, 1}, {2}], "pairwise" or "no_interactions".'
            )
        groups.append({features.number(feature, "interaction_cst") for feature in group})
    rest = set(range(features.n)).difference(*groups)
    return tuple(tuple(sorted(group)) for group in [*groups, rest] if group), 0


def weigh_features(feature_weights: Any, features: FeatureNames) -> tuple[float, ...]:
    """Return the weights with which features are drawn. Empty if all are equal."""
    if feature_weights is None:
        return ()
    weights = features.spread(feature_weights, "feature_weights", 1.0)
    for weight in weights:
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not is_number or not 0 <= weight <= sys.float_info.max:
            raise ParameterError(
                f"feature_weights has the entry {shown(weight)}. Give a number from 0 for each feature."
            )
    if not any(weights):
        raise ParameterError("feature_weights is 0 for every feature. Give at least one feature a positive weight.")
    return tuple(map(float, weights)) if len(set(weights)) > 1 else ()
