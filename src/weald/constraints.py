"""What the user says of single features -> plain numbers: which way they act, which may meet, how likely is each.

Features           how the user may call them: by number or by name
bind_features      monotonic_cst    ->  1 rising, -1 falling, 0 free
group_features     interaction_cst  ->  groups, or how many may meet
weigh_features     feature_weights  ->  numbers
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from weald.errors import ParameterError

Groups = tuple[tuple[int, ...], ...]

LARGEST = sys.float_info.max
MOST_SCALED = 2.0**1000  # weight of a feature that engines can scale
SMALLEST = 2.0**-1074  # above 0


@dataclass(frozen=True)
class Features:
    """The features of a table, by number and, where it has names, by name."""

    n: int
    names: Sequence[str] | None = None
    categorical: frozenset[int] = frozenset()

    def name(self, number: int) -> str:
        """Call a feature as the user does."""
        return str(number) if self.names is None else repr(self.names[number])

    def number(self, feature: Any, parameter: str) -> int:
        """Find a feature that the user called by number or by name."""
        if isinstance(feature, str):
            return self._number_of_name(feature, parameter)
        is_number = type(feature) is not bool and isinstance(feature, Integral)
        if not is_number or not 0 <= int(feature) < self.n:
            raise ParameterError(
                f"{parameter} names the feature {feature!r}. Give a number from 0 to {self.n - 1}, or a name."
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
        """Write down one entry for each feature: as given, or by name with `otherwise` for those not named."""
        if isinstance(given, Mapping):
            entries: list[Any] = [otherwise] * self.n
            for feature, entry in given.items():
                entries[self.number(feature, parameter)] = entry
            return entries
        shape = np.shape(given)
        if shape != (self.n,):
            raise ParameterError(
                f"{parameter} has the shape {shape}, but X has {self.n} features. Give one number for each feature, or "
                "a dict by name."
            )
        return list(np.asarray(given).tolist())


def _some(names: Sequence[str]) -> str:
    """List names, but not very many."""
    shown = ", ".join(map(repr, names[:20]))
    return f"its features are {shown}" + (" and others" if len(names) > 20 else "")


def bind_features(monotonic_cst: Any, features: Features, n_classes: int) -> tuple[int, ...]:
    """Say which way each feature must act: 1 rising, -1 falling, 0 free. Nothing where all are free."""
    if monotonic_cst is None:
        return ()
    signs = features.spread(monotonic_cst, "monotonic_cst", 0)
    for sign in signs:
        if sign not in (-1, 0, 1):
            raise ParameterError(
                f"monotonic_cst has the entry {sign!r}. Give 1 (rising), -1 (falling) or 0 (free) for each feature."
            )
    for number in features.categorical:
        if signs[number]:
            raise ParameterError(
                f"monotonic_cst binds the feature {features.name(number)}, whose categories have no order. Make it 0, "
                "or give the categories an order."
            )
    if n_classes > 2:
        raise ParameterError(
            f"monotonic_cst needs an order, but y has {n_classes} classes. It is for numbers and for two classes, "
            "where it speaks of the share of the second; leave it out, or predict one class against the rest."
        )
    return tuple(int(sign) for sign in signs) if any(signs) and n_classes != 1 else ()


def group_features(interaction_cst: Any, features: Features) -> tuple[Groups, int]:
    """Say which features may meet on a path: groups (none: all may meet), and how many at most (0: no limit).

    Features in no group form one of their own, as in scikit-learn.
    """
    if interaction_cst is None:
        return (), 0
    if isinstance(interaction_cst, str):
        return (), {"no_interactions": 1, "pairwise": 2}[interaction_cst]
    groups = []
    for group in interaction_cst:
        if isinstance(group, str) or not hasattr(group, "__iter__"):
            raise ParameterError(
                f"interaction_cst has the entry {group!r}, which is not a group. Give a list of groups of features, "
                'for example [{0, 1}, {2}], "pairwise" or "no_interactions".'
            )
        groups.append({features.number(feature, "interaction_cst") for feature in group})
    rest = set(range(features.n)).difference(*groups)
    return tuple(tuple(sorted(group)) for group in [*groups, rest] if group), 0


def weigh_features(feature_weights: Any, features: Features) -> tuple[float, ...]:
    """Say how likely each feature is drawn. Nothing where all are drawn alike."""
    if feature_weights is None:
        return ()
    weights = features.spread(feature_weights, "feature_weights", 1.0)
    for weight in weights:
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not is_number or not 0 <= weight <= LARGEST:
            raise ParameterError(f"feature_weights has the entry {weight!r}. Give a number from 0 for each feature.")
    if not any(weights):
        raise ParameterError("feature_weights is 0 for every feature. Give at least one feature a positive weight.")
    if len(set(weights)) == 1:
        return ()
    largest = float(max(weights))
    if largest > MOST_SCALED:  # engines multiply by 2^20
        return tuple(max(SMALLEST, float(weight) / largest) if weight else 0.0 for weight in weights)
    return tuple(map(float, weights))
