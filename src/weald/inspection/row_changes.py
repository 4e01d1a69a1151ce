"""The smallest changes of one feature that change the prediction of a row.

    Change         a feature, its new value, and the resulting prediction
    list_changes   a row    ->    changes, the smallest first

A forest's prediction for a row is a step function of each feature. One pass gives the functions of all features,
exact between all thresholds of the forest. Every reported change is checked by predicting the changed row.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weald.data.table import Matrix
from weald.data.task import OF_MEDIANS, Task
from weald.data.types import BoolArray, FloatArray, IntArray, Label
from weald.estimators.prediction import sum_votes
from weald.forest.describe.conditions import Names, format_number, format_value
from weald.inspection.dependence_request import Request, WeightedRows
from weald.inspection.free_axes import Axis, Column, thresholds_of
from weald.inspection.partial_dependence import partial_values

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

AT_ONCE = 16  # number of candidates predicted together
ROUNDING = 1e-9  # tolerance for the step function, relative to its largest value
HALF = 0.5  # default change of a mean, in standard deviations of the training targets


@dataclass(frozen=True)
class Change:
    """A change of one feature that changes the prediction."""

    feature: str
    value: str  # value of the feature in the row
    to: str  # "above 2.45", "at most 2.45", or a category
    prediction: Label  # after the change
    result: float  # probability of the new class, or the new mean
    distance: float  # fraction of the data (without data, of the feature's thresholds) between both values


@dataclass(frozen=True)
class Aim:
    """The goal of a change."""

    predicted: FloatArray  # prediction for the row: probabilities, or the mean
    move: float | None  # required change of a mean; None: the class must change

    @classmethod
    def of(cls, model: "TreeModel", predicted: FloatArray, move: float | None) -> "Aim":
        """Return the default change of a mean: half a standard (or mean absolute) deviation of the training targets."""
        if model.task is Task.CLASSIFICATION:
            return cls(predicted, None)
        spread = float(model.forest_.impurity[model.forest_.tree_start[:-1]].mean())
        if model.growth_.criterion not in OF_MEDIANS:
            spread = float(np.sqrt(spread))
        return cls(predicted, HALF * spread if move is None else float(move))

    def may_be_met(self, values: FloatArray) -> BoolArray:
        """Mark the predictions (points x outputs) that reach the goal within rounding."""
        margin = ROUNDING * float(np.abs(values).max())
        if self.move is None:
            now = int(self.predicted.argmax())
            others = np.delete(values, now, axis=1)
            return np.asarray((others >= values[:, [now]] - margin).any(axis=1), dtype=np.bool_)
        away = np.abs(values[:, 0] - self.predicted[0])
        return np.asarray(away >= self.move - margin, dtype=np.bool_)

    def is_met(self, values: FloatArray) -> BoolArray:
        """Mark the predictions that reach the goal."""
        if self.move is None:
            return np.asarray(values.argmax(axis=1) != self.predicted.argmax(), dtype=np.bool_)
        away = np.abs(values[:, 0] - self.predicted[0])
        return np.asarray((away >= self.move) & (away > 0), dtype=np.bool_)

    def words(self) -> str:
        """Describe the goal."""
        if self.move is None:
            return "change the prediction"
        distance = f"{self.move:,.0f}" if self.move >= 1000 else format_number(self.move)
        return f"move the prediction by {distance} or more"


def list_changes(
    model: "TreeModel",
    row: Matrix,
    table: WeightedRows | None,
    predicted: FloatArray,
    names: Names,
    move: float | None,
    most: int,
) -> tuple[tuple[Change, ...], str]:
    """Find the smallest change of each feature that reaches the goal."""
    aim = Aim.of(model, predicted, move)
    features = np.unique(model.forest_.feature[model.forest_.feature >= 0]).tolist()
    groups = tuple((feature,) for feature in features)
    request = Request(model, WeightedRows((row,), None), tuple(names.features), groups, None)
    thresholds = thresholds_of(model.forest_)
    axes = {f: request.column(f).thresholds(thresholds[f]) for f in features}
    found = []
    for f, values in zip(features, partial_values(request, groups, axes), strict=True):
        data = None if table is None else Column(f, names.features[f], table.column(f), model.schema_)
        change = _Search(model, request, axes[f], data, names).find(values[: len(axes[f].points)], aim)
        if change is not None:
            found.append(change)
    return tuple(sorted(found, key=lambda change: change.distance)[:most]), aim.words()


@dataclass(frozen=True)
class _Search:
    """The search for the smallest change of one feature."""

    model: "TreeModel"
    request: Request
    axis: Axis
    data: Column | None
    names: Names

    @property
    def feature(self) -> int:
        """Its number."""
        return self.axis.feature

    @property
    def value(self) -> float:
        """Its value in the row."""
        return float(self.request.rows.column(self.feature)[0])

    def find(self, values: FloatArray, aim: Aim) -> Change | None:
        """Find the nearest point that reaches the goal."""
        here, distances = self._here(), self._distances()
        places = np.flatnonzero(aim.may_be_met(values))
        places = places[(places != here) & np.isfinite(distances[places])]
        places = places[np.argsort(distances[places], kind="stable")]
        for begin in range(0, len(places), AT_ONCE):
            some = places[begin : begin + AT_ONCE]
            predicted = self._predict(some, here)
            met = np.flatnonzero(aim.is_met(predicted))
            if len(met):
                return self._change(int(some[met[0]]), here, predicted[met[0]], float(distances[some[met[0]]]))
        return None

    def _change(self, place: int, here: int, result: FloatArray, distance: float) -> Change:
        best = int(result.argmax())
        classes = None if self.model.task is Task.REGRESSION else self.model.classes_.tolist()
        return Change(
            feature=self.names.features[self.feature],
            value="missing" if np.isnan(self.value) else self._format(self.value),
            to=self._words(place, here),
            prediction=float(result[0]) if classes is None else classes[best],
            result=float(result[best]),
            distance=distance,
        )

    def _here(self) -> int:
        """Return the index of the row's value; for a missing value, the middle."""
        if not np.isnan(self.value):
            return int(self.axis.find(np.array([self.value]))[0])
        if self.data is not None and self.axis.is_ordered and len(self.data.known):
            return int(self.axis.find(np.array([np.quantile(self.data.known, 0.5, method="inverted_cdf")]))[0])
        return len(self.axis.points) // 2

    def _distances(self) -> FloatArray:
        """Return the distance of each point from the row's value: the fraction of data (or points) in between."""
        n = len(self.axis.points)
        if not self.axis.is_ordered:
            if self.data is None:
                return np.ones(n)
            frequencies = np.bincount(self.data.known.astype(np.intp), minlength=n)[:n] / len(self.data.values)
            return np.where(frequencies > 0, 1.0 - frequencies, np.inf)
        here, places = self._here(), np.arange(n)
        steps: FloatArray = np.abs(places - here) / n
        if self.data is None or not len(self.data.known):
            return steps
        ordered = np.sort(self.data.known)
        # The value at each point that is nearest to the row, and the number of data values in between
        new = self._values(places, here)
        now = self.value if not np.isnan(self.value) else self.axis.points[here]
        ranks = np.searchsorted(ordered, np.where(places > here, new, np.inf), side="left")
        up = ranks - np.searchsorted(ordered, now, side="right")
        down = np.searchsorted(ordered, now, side="left") - np.searchsorted(ordered, new, side="right")
        passed = np.where(places > here, up, down).clip(0) / len(ordered)
        return passed + 1e-9 * steps

    def _values(self, places: IntArray, here: int) -> FloatArray:
        """Return the value at each point that is nearest to the row's value."""
        points = self.axis.points
        if self.axis.labels is not None:
            return points[places]
        below = points[np.maximum(places - 1, 0)]
        return np.where(places > here, np.nextafter(below, np.inf), points[places])

    def _predict(self, places: IntArray, here: int) -> FloatArray:
        """Predict the row with new values (points x outputs)."""
        rows = np.repeat(self.request.rows.blocks[0].astype(np.float64), len(places), axis=0)
        rows[:, self.feature] = self._values(places, here)
        sums = sum_votes(self.model, self.model.forest_, rows) / self.model.forest_.vote_total
        return sums.reshape(len(places), -1)

    def _words(self, place: int, here: int) -> str:
        if self.axis.labels is not None:
            return str(self.axis.labels[place])
        above = place > here
        bound = self._format(float(self.axis.points[place - 1 if above else place]))
        return f"above {bound}" if above else f"at most {bound}"

    def _format(self, value: float) -> str:
        return format_value(value, self.axis.labels, self.axis.time)
