"""The axes of partial dependence: the points at which a feature's value is varied.

    Axis            a feature, its points, and how the data is distributed on it
    Column          the values of a feature in the data
    every_threshold    the points of a step function that is exact everywhere
    given_values       points that the user gives
    free_features      axes and groups of features    ->    the input of engines

A forest's prediction is a step function of each numeric feature: it changes at thresholds only. So the points of an
exact axis are all thresholds of the forest, and infinity; each stands for the values up to it. A category is a point.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from weald.data.schema import Schema
from weald.data.types import Array, FloatArray, IntArray
from weald.engines.free_features import FreeFeatures
from weald.errors import DataError, ParameterError, shown
from weald.forest.forest import CATEGORICAL, Forest

PERCENTILES = 101  # number of percentiles stored with an axis


@dataclass(frozen=True, eq=False)
class Axis:
    """A feature whose value is varied, and the points on its axis.

    Attributes
    ----------
    feature : int
        Its number.
    name : str
        Its name.
    points : array
        Ascending values; dates and durations as numbers of days. If `is_exact`, each stands for all values above the
        one before and up to it, and the last one is infinite. Codes of categories.
    is_exact : bool
        Whether the points are all thresholds of the forest, or all categories.
    labels : array or None
        The categories, by code.
    is_ordered : bool
        Whether the points have an order: numbers, dates and ordered categories.
    time : str or None
        "dates" or "durations".
    percentiles : array
        101 percentiles of the data, without missing values; empty for categories.
    frequencies : array
        Fraction of the rows with each category; empty for numbers.
    missing : float
        Fraction of the rows whose value is missing.
    """

    feature: int
    name: str
    points: FloatArray
    is_exact: bool
    labels: Array | None
    is_ordered: bool
    time: str | None
    percentiles: FloatArray
    frequencies: FloatArray
    missing: float

    def find(self, values: FloatArray) -> IntArray:
        """Return the index of the point of each value; missing values have the index after that of infinity."""
        places = np.searchsorted(self.points, values, side="left")
        off = ~np.isnan(values) & (places < len(self.points))
        if not self.is_exact and (self.points[places[off]] != values[off]).any():
            raise DataError(
                f"The dependence on {self.name} was computed at {len(self.points)} points, and some values are not "
                'among them. Give values of `points`, or compute it with points="thresholds".'
            )
        return np.where(np.isnan(values), len(self.points) + 1, places)

    def edges(self) -> FloatArray:
        """Return the range of the data: the smallest and the largest value."""
        return self.percentiles[[0, -1]]


@dataclass(frozen=True)
class Column:
    """A feature with its values in the data."""

    feature: int
    name: str
    values: FloatArray
    schema: Schema

    @property
    def known(self) -> FloatArray:
        """The values that are not missing."""
        return self.values[~np.isnan(self.values)]

    @property
    def is_unordered(self) -> bool:
        """Whether the feature has categories without an order."""
        return self.feature in self.schema.categorical

    def axis(self, points: FloatArray, *, is_exact: bool) -> Axis:
        """Make an axis."""
        categories = self.schema.categories[self.feature]
        known = self.known
        labels = None if categories is None else categories.labels
        frequencies = np.empty(0)
        if labels is not None:
            frequencies = np.bincount(known.astype(np.intp), minlength=len(labels)) / len(self.values)
        percentiles = np.empty(0)
        if labels is None:
            percentiles = (
                np.quantile(known, np.linspace(0, 1, PERCENTILES), method="inverted_cdf") if len(known) else known
            )
        return Axis(
            feature=self.feature,
            name=self.name,
            points=points,
            is_exact=is_exact,
            labels=labels,
            is_ordered=not self.is_unordered,
            time=self.schema.times.get(self.feature),
            percentiles=percentiles,
            frequencies=frequencies,
            missing=1 - len(known) / len(self.values),
        )

    def categories(self) -> Axis | None:
        """Make an axis of all categories; None for numbers."""
        categories = self.schema.categories[self.feature]
        return None if categories is None else self.axis(np.arange(float(len(categories.labels))), is_exact=True)

    def thresholds(self, thresholds: FloatArray) -> Axis:
        """Make an axis of all thresholds, or of all categories."""
        return self.categories() or self.axis(np.append(thresholds[thresholds < np.inf], np.inf), is_exact=True)

    def quantiles(self, n_points: int) -> Axis:
        """Make an axis of evenly spaced quantiles of the data; categories are all included."""
        found = self.categories()
        if found is not None:
            return found
        if not len(self.known):
            raise DataError(f"Column {self.name} of X has only missing values. Leave the feature out, or give points.")
        levels = np.linspace(0, 1, n_points) if n_points > 1 else np.array([0.5])
        return self.axis(np.unique(np.quantile(self.known, levels, method="inverted_cdf")), is_exact=False)

    def given(self, values: FloatArray) -> Axis:
        """Make an axis of values given by the user."""
        found = self.categories()
        return found or self.axis(np.unique(values[~np.isnan(values)]), is_exact=False)


def thresholds_of(forest: Forest) -> list[FloatArray]:
    """Return the distinct thresholds of each feature, ascending."""
    numeric = _numeric_splits(forest)
    order = numeric[np.argsort(forest.feature[numeric], kind="stable")]
    starts = np.searchsorted(forest.feature[order], np.arange(forest.n_features + 1))
    return [np.unique(forest.threshold[order[a:b]]) for a, b in pairwise(starts)]


def free_features(forest: Forest, axes: Sequence[Axis], groups: Sequence[tuple[int, ...]]) -> FreeFeatures:
    """Find the position of each split among the points of its feature. Each feature of a group has one axis."""
    points: list[FloatArray] = [np.empty(0)] * forest.n_features
    for axis in axes:
        points[axis.feature] = axis.points
    place = np.zeros(forest.n_nodes, dtype=np.int32)
    numeric = _numeric_splits(forest)
    order = numeric[np.argsort(forest.feature[numeric], kind="stable")]
    starts = np.searchsorted(forest.feature[order], np.arange(forest.n_features + 1))
    for feature, (begin, end) in enumerate(pairwise(starts)):
        nodes = order[begin:end]
        place[nodes] = np.searchsorted(points[feature], forest.threshold[nodes], side="right")
    has_categories = np.zeros(forest.n_features, dtype=np.bool_)
    has_categories[np.unique(forest.feature[forest.flags & CATEGORICAL != 0])] = True
    n_points = np.array([len(of_feature) for of_feature in points], dtype=np.uint32)
    return FreeFeatures(tuple(groups), n_points, has_categories, place)


def _numeric_splits(forest: Forest) -> IntArray:
    return np.flatnonzero((forest.feature >= 0) & (forest.flags & CATEGORICAL == 0))


def read_points(points: object) -> int | str | None:
    """Check the argument `points` where it does not give values."""
    if points is None or points == "thresholds":
        return points
    if isinstance(points, int | np.integer) and not isinstance(points, bool) and 1 <= points <= 100_000:
        return int(points)
    raise ParameterError(
        f'points={shown(points)} is not allowed. Give None, "thresholds", a whole number from 1 to 100000, or a dict '
        "with values for each feature."
    )
