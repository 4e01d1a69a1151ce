"""What a user asks of a forest's features, read and checked.

Groups      which features are looked at together
ImportanceRequest    all that a kind of importance needs to know
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.data.arguments import is_whole
from weald.data.types import IntArray
from weald.errors import ParameterError
from weald.estimators.training_data import TrainingData


@dataclass(frozen=True)
class Groups:
    """Which features are looked at together."""

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    def group_of(self, n_features: int) -> IntArray:
        """By feature: the number of its group, -1 for none."""
        found = np.full(n_features, -1, dtype=np.int32)
        for group, members in enumerate(self.members):
            found[list(members)] = group
        return found

    def ids(self) -> IntArray:
        """What stands for a group in the address of its draws: its first feature."""
        return np.array([min(members) for members in self.members], dtype=np.uint32)


@dataclass(frozen=True)
class ImportanceRequest:
    """All that a kind of importance needs to know."""

    training: TrainingData
    groups: Groups
    n_repeats: int
    n_null: int
    names: tuple[str, ...]  # of the features
    X: Any  # as the user gave them: for forests that are grown anew
    y: Any
    sample_weight: Any
    by_row: Mapping[str, Any]  # what else `fit` was given for each row


def group_features(groups: Mapping[str, Sequence[Any]] | None, names: Sequence[str]) -> Groups:
    """Find the features of each group; without groups each feature is one of its own."""
    if groups is None:
        return Groups(tuple(names), tuple((f,) for f in range(len(names))))
    members = tuple(tuple(_number_of(feature, names) for feature in features) for features in groups.values())
    found = [feature for group in members for feature in group]
    if not members or not all(members) or len(set(found)) < len(found):
        raise ParameterError("groups must not be empty, and a feature may be in one of them only.")
    return Groups(tuple(str(name) for name in groups), members)


def _number_of(feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_whole(feature) and 0 <= feature < len(names):
        return int(feature)
    raise ParameterError(f"groups names the feature {feature!r}, which is neither one of {list(names)} nor a number.")
