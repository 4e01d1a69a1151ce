"""The result of `dependence`: how the predictions depend on one feature or two.

DependenceCurves   all requested curves
DependenceCurve    one curve
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.data.arguments import is_list
from weald.data.result_frame import as_frame
from weald.data.schema import Schema
from weald.data.table import read_columns
from weald.data.types import Array, ColumnLike, FloatArray, Label, Native
from weald.errors import DataError, ParameterError, shown
from weald.inspection.free_axes import Axis

SHOWN = 30  # maximum number of curves in the printed text
NAMES_OF_KINDS = {
    "partial": "Partial dependence",
    "individual": "Individual conditional expectation",
    "ale": "Accumulated local effects",
}


@dataclass(frozen=True, eq=False, repr=False)
class DependenceCurve:
    """How the prediction depends on one feature, or on two.

    Attributes
    ----------
    kind : str
        "partial", "individual" or "ale".
    axes : tuple of Axis
        For each feature its points: numbers, or codes of categories.
    average : array of shape (n_points, ...)
        The mean prediction at each point, for two features (n_points, n_points). With classes, the last axis has their
        probabilities, in the order of `outputs`; for multi-output, it has the targets.
    missing : array or float
        The same where the value of the feature is missing. NaN for "ale" and for two features.
    individual : array of shape (n_rows, n_points, ...) or None
        For "individual": the prediction of each row.
    outputs : tuple or None
        The classes or targets; None: a single number.

    Examples
    --------
    >>> import weald
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 1.0]
    >>> curve = weald.dependence(weald.DecisionTreeRegressor().fit(X, y), X)[0]
    >>> curve.axes[0].points, curve.average
    (array([2.5, inf]), array([0., 1.]))
    >>> curve.at([2.0, 3.5])
    array([0., 1.])
    """

    kind: str
    axes: tuple[Axis, ...]
    values: FloatArray  # values at all points: (n_points + 2, ...) x outputs
    outputs: tuple[Label, ...] | None
    individual: FloatArray | None
    schema: Schema

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(axis.name for axis in self.axes)

    @property
    def average(self) -> FloatArray:
        """The mean prediction at each point."""
        return self._shaped(self.values[tuple(slice(len(axis.points)) for axis in self.axes)])

    @property
    def missing(self) -> FloatArray:
        """The mean prediction where the value is missing."""
        if len(self.axes) > 1:
            return self._shaped(np.full(self.values.shape[-1], np.nan))
        return self._shaped(self.values[-1])

    def at(self, *values: ColumnLike) -> FloatArray:
        """Return the mean prediction where the features have some values.

        Parameters
        ----------
        *values : array or number
            Values of each feature: numbers, labels of categories, dates; NaN or None is a missing value.

        Returns
        -------
        array of shape (n_values, ...)
            One entry for each value, or each pair of values of two features; of a single number only one.
        """
        if len(values) != len(self.axes):
            raise ParameterError(
                f"at() got {len(values)} lists of values, but the curve has {len(self.axes)} feature(s). Give values "
                "of each."
            )
        places = [
            axis.find(read_values(self.schema, axis.feature, v)) for axis, v in zip(self.axes, values, strict=True)
        ]
        if len({len(of_axis) for of_axis in places}) > 1:
            raise DataError("Both features need the same number of values.")
        found = self._shaped(self.values[tuple(places)])
        return found if any(is_list(v) for v in values) else np.asarray(found[0])

    def labels(self, axis: int = 0) -> list[Label]:
        """Return the points of an axis as labels of categories, or numbers."""
        one = self.axes[axis]
        return list(one.points.tolist() if one.labels is None else one.labels.tolist())

    def span(self) -> float:
        """Return the range of the curve (maximum minus minimum), for the output with the largest range.

        Points whose value does not occur in the data do not count.
        """
        seen = self.values[np.ix_(*(_seen(axis) for axis in self.axes))]
        flat = seen.reshape(-1, self.values.shape[-1])
        return float(np.max(np.ptp(flat, axis=0))) if len(flat) else 0.0

    def to_frame(self, frame: str = "pandas") -> Native:
        """Make a data frame with a row for each point.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The data frame library; it must be installed. "dict" returns a dict of arrays.

        Returns
        -------
        data frame
            Columns for the features, then the mean prediction, or a column for each class or target.
        """
        shape = tuple(len(axis.points) for axis in self.axes)
        grid = np.indices(shape).reshape(len(shape), -1)
        columns: dict[str, object] = {}
        for number, (axis, places) in enumerate(zip(self.axes, grid, strict=True)):
            labels = self.labels(number)
            columns[axis.name] = [labels[place] for place in places]
        inside = self.values[tuple(slice(n) for n in shape)].reshape(-1, self.values.shape[-1])
        for k, output in enumerate(self.outputs or ("prediction",)):
            columns[str(output)] = inside[:, k]
        return as_frame(columns, frame)

    def _shaped(self, values: FloatArray) -> FloatArray:
        """Drop the axis of outputs if there is only one."""
        shaped: FloatArray = values[..., 0] if self.outputs is None else values
        return shaped

    def __repr__(self) -> str:
        points = " x ".join(str(len(axis.points)) for axis in self.axes)
        return f"<{NAMES_OF_KINDS[self.kind].lower()} on {' and '.join(self.names)}: {points} points>"


class DependenceCurves(Sequence[DependenceCurve]):
    """Curves of features: `found[0]` is the first, `found["age"]` that of a feature, `found["age", "sex"]` of two."""

    def __init__(self, kind: str, curves: Sequence[DependenceCurve], n_rows: int) -> None:
        self.kind, self.curves, self.n_rows = kind, tuple(curves), n_rows

    def __len__(self) -> int:
        return len(self.curves)

    def __iter__(self) -> Iterator[DependenceCurve]:
        return iter(self.curves)

    def __getitem__(self, which: Any) -> Any:
        """Return a curve by position, by the name of its feature or by the names of both features."""
        if isinstance(which, int | np.integer | slice) and not isinstance(which, bool):
            return self.curves[which]
        names = (which,) if isinstance(which, str) else tuple(which) if isinstance(which, list | tuple) else ()
        for curve in self.curves:
            if names in (curve.names, curve.names[::-1]):
                return curve
        known = ", ".join(
            repr(curve.names[0] if len(curve.names) == 1 else curve.names) for curve in self.curves[:SHOWN]
        )
        raise KeyError(f"There is no curve {shown(which)}. There are {known}.")

    def __repr__(self) -> str:
        rows = f"{self.n_rows:,} row{'s' if self.n_rows > 1 else ''}"
        names = [" and ".join(curve.names) for curve in self.curves]
        width = max([len("feature"), *map(len, names)])
        lines = [f"{NAMES_OF_KINDS[self.kind]}, {rows}", f"{'feature':<{width}}  {'points':>9}  {'range':>10}"]
        order = np.argsort([-curve.span() for curve in self.curves], kind="stable")
        for i in order[:SHOWN]:
            points = " x ".join(str(len(axis.points)) for axis in self.curves[i].axes)
            lines.append(f"{names[i]:<{width}}  {points:>9}  {self.curves[i].span():>10.4g}")
        if len(names) > SHOWN:
            lines.append(f"... and {len(names) - SHOWN} more")
        return "\n".join(lines)


def read_values(schema: Schema, feature: int, values: ColumnLike) -> FloatArray:
    """Read values of a feature as numbers: those of categories are codes, dates are days."""
    given: list[Label] = list(values) if is_list(values) else [values]  # type: ignore[call-overload]
    column = np.empty((len(given), 1), dtype=np.object_)
    column[:, 0] = given
    categories = schema.categories[feature]
    if categories is not None:
        unknown = [v for v in given if v == v and v is not None and v not in categories.labels.tolist()]
        if unknown:
            known = ", ".join(map(repr, categories.labels.tolist()[:SHOWN]))
            raise DataError(f"{shown(unknown[0])} is not a category of {schema.where(feature)}. There are {known}.")
    return np.asarray(read_columns(schema, column, np.array([feature]))[:, 0], dtype=np.float64)


def _seen(axis: Axis) -> Array:
    """Mark the points of an axis that occur in the data."""
    if axis.labels is not None:
        return np.flatnonzero(axis.frequencies > 0)
    if not len(axis.percentiles):
        return np.arange(len(axis.points))
    low, high = np.searchsorted(axis.points, axis.edges(), side="left")
    return np.arange(low, min(int(high), len(axis.points) - 1) + 1)
