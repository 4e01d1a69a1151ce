"""The arguments of `importance`, checked.

ByRow, FitArguments    the arguments of the fit
Groups                 features that are evaluated together
ImportanceRequest      the input of every kind of importance
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsInt, TypedDict

import numpy as np

from weald.data.arguments import is_whole
from weald.data.types import ColumnLike, IntArray, TableLike
from weald.errors import ParameterError
from weald.estimators.training_data import TrainingData


class ByRow(TypedDict, total=False):
    """Arguments of `fit` with one entry per row, other than the weights."""

    groups: ColumnLike
    stratify: ColumnLike


class FitArguments(TypedDict, total=False):
    """Arguments of `fit` other than X and y.

    sample_weight   array: as given to `fit`
    fit_params      dict: other arguments of `fit` by row, `{"groups": ..., "stratify": ...}`
    """

    sample_weight: ColumnLike
    fit_params: Mapping[str, ColumnLike] | None


@dataclass(frozen=True)
class Groups:
    """Features that are evaluated together."""

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    def group_of(self, n_features: int) -> IntArray:
        """By feature: the number of its group, -1 for none."""
        found = np.full(n_features, -1, dtype=np.int32)
        for group, members in enumerate(self.members):
            found[list(members)] = group
        return found

    def ids(self) -> IntArray:
        """The number of a group in the address of its draws: its first feature."""
        return np.array([min(members) for members in self.members], dtype=np.uint32)


@dataclass(frozen=True)
class ImportanceRequest:
    """The input of a method of importance."""

    training: TrainingData
    groups: Groups
    n_repeats: int
    n_null: int
    names: tuple[str, ...]  # names of the features
    X: TableLike  # as given by the user, for growing other forests
    y: ColumnLike
    sample_weight: ColumnLike
    by_row: ByRow


def read_fit_arguments(function: str, given: FitArguments) -> tuple[ColumnLike, ByRow]:
    """Read the weights and `fit_params`; refuse names that are not arguments of `fit`."""
    unknown = [name for name in given if name not in FitArguments.__annotations__]
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}")
    rest, by_row = dict(given.get("fit_params") or {}), ByRow()
    if "groups" in rest:
        by_row["groups"] = rest.pop("groups")
    if "stratify" in rest:
        by_row["stratify"] = rest.pop("stratify")
    if rest:
        raise ParameterError(f'fit_params has the name {next(iter(rest))!r}. Give "groups" and "stratify" only.')
    return given.get("sample_weight"), by_row


def group_features(groups: Mapping[str, Sequence[str | int]] | None, names: Sequence[str]) -> Groups:
    """Find the features of each group; without groups each feature is its own group."""
    if groups is None:
        return Groups(tuple(names), tuple((f,) for f in range(len(names))))
    members = tuple(tuple(_number_of(feature, names) for feature in features) for features in groups.values())
    found = [feature for group in members for feature in group]
    if not members or not all(members) or len(set(found)) < len(found):
        raise ParameterError("groups must not be empty, and a feature may be in one group only.")
    return Groups(tuple(str(name) for name in groups), members)


def _number_of(feature: object, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, SupportsInt) and is_whole(feature) and 0 <= int(feature) < len(names):
        return int(feature)
    raise ParameterError(f"groups names the feature {feature!r}, which is neither one of {list(names)} nor a number.")
