"""Partial dependence, individual curves and accumulated local effects, with the distribution of the data.

DependenceDisplay
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import MaxNLocator

from weald.data.schema import DATES
from weald.data.types import FloatArray, IntArray, Label, TableLike
from weald.errors import ParameterError, shown
from weald.estimators.base import TreeModel
from weald.forest.describe.markup import legible
from weald.inspection.dependence_result import DependenceCurve, DependenceCurves
from weald.inspection.free_axes import Axis
from weald.inspection.partial_dependence import dependence
from weald.plot.axes import figure_of, new_axes, new_grid
from weald.plot.palette import FIRST, INK, LINE, PAPER, SCALE, SECOND, SOFT, calm, class_colors, tint

MOST_LINES = 100  # number of individual curves drawn, of evenly spaced rows
MOST_CLASSES = 8  # number of lines in one plot
MOST_TICKS = 5  # ticks of an axis if plots are side by side
COLUMNS = 3  # default number of plots side by side
EDGE = 0.04  # height of the rug, as a fraction of the axes
NAMES = {"partial": "partial dependence", "individual": "prediction", "ale": "accumulated local effect"}


class DependenceDisplay:
    """Curves of `weald.dependence`: lines over numbers, points for categories, a heat map for two features.

    Marks at the lower edge are percentiles of the data; gray bars are frequencies of categories. All plots have the
    same scale, so that steep curves are the important ones.

    Parameters
    ----------
    curves : DependenceCurves, DependenceCurve or sequence of DependenceCurve
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first axes.
    axes_ : list of matplotlib Axes
        One for each curve.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> from weald.plot import DependenceDisplay
    >>> iris = load_iris(as_frame=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(iris.data, iris.target)
    >>> display = DependenceDisplay.from_estimator(forest, iris.data, ["petal width (cm)"])
    >>> display.curves[0].names
    ('petal width (cm)',)
    """

    def __init__(self, curves: DependenceCurves | DependenceCurve | Sequence[DependenceCurve]) -> None:
        self.curves = [curves] if isinstance(curves, DependenceCurve) else list(curves)
        if not self.curves:
            raise ParameterError("There is no curve to draw. Give at least one.")

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        X: TableLike,
        features: Any = None,
        *,
        kind: str = "partial",
        output: Label = None,
        ax: Axes | None = None,
        **given: Any,
    ) -> Self:
        """Compute curves and draw them.

        Parameters
        ----------
        estimator : fitted tree or forest
        X : array or data frame of shape (n_rows, n_features)
        features, kind
            As in `weald.dependence`.
        output : class label or target, optional
            See `plot`.
        ax : matplotlib Axes or None, default=None
            Axes for a single curve. None: a new figure.
        **given
            Other arguments of `weald.dependence`: `points`, `sample_weight`, `names`.

        Returns
        -------
        DependenceDisplay
        """
        return cls(dependence(estimator, X, features, kind=kind, **given)).plot(ax=ax, output=output)

    def plot(self, ax: Axes | None = None, *, output: Label = None, columns: int = COLUMNS) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes for a single curve. None: a new figure.
        output : class label or target, optional
            What to draw. By default all classes (of two classes, the second), or all targets; for two features and
            individual curves the last one.
        columns : int, default=3
            Number of plots side by side.

        Returns
        -------
        DependenceDisplay
            Itself.
        """
        self.axes_ = self._make_axes(ax, columns)
        self.ax_ = self.axes_[0]
        self.figure_ = figure_of(self.ax_)
        scale = self._scale(output)
        for curve, one in zip(self.curves, self.axes_, strict=True):
            _draw(one, curve, _chosen(curve, output), scale)
        return self

    def _make_axes(self, ax: Axes | None, columns: int) -> list[Axes]:
        if ax is not None:
            if len(self.curves) > 1:
                raise ParameterError(
                    f"ax is one pair of axes, but there are {len(self.curves)} curves. Leave ax out, or draw one curve."
                )
            return [ax]
        heights = [1.1 + 0.27 * len(curve.axes[0].points) if _is_categorical(curve) else 3.2 for curve in self.curves]
        if len(self.curves) == 1:
            return [new_axes(5.4 if len(self.curves[0].axes) == 1 else 5.8, max(2.4, heights[0]))]
        return new_grid(len(self.curves), columns, 3.5, max(2.6, *heights))

    def _scale(self, output: Label) -> tuple[float, float] | None:
        """Return the common range of all curves of one feature."""
        ends = [_range(curve, _chosen(curve, output)) for curve in self.curves if len(curve.axes) == 1]
        if not ends:
            return None
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        margin = 0.06 * (high - low) or 0.5
        return low - 2 * margin, high + margin


def _chosen(curve: DependenceCurve, output: Label) -> list[int]:
    """Return the outputs to draw."""
    outputs = curve.outputs
    if outputs is None:
        if output is not None:
            raise ParameterError(
                f"output={shown(output)} names a class, but this model predicts numbers. Leave it out."
            )
        return [0]
    if output is not None:
        if output not in outputs:
            raise ParameterError(f"output={shown(output)} is not one of {', '.join(map(repr, outputs[:30]))}.")
        return [outputs.index(output)]
    only_last = len(curve.axes) > 1 or curve.individual is not None or len(outputs) == 2
    return [len(outputs) - 1] if only_last else list(range(min(len(outputs), MOST_CLASSES)))


def _is_categorical(curve: DependenceCurve) -> bool:
    return len(curve.axes) == 1 and curve.axes[0].labels is not None


def _range(curve: DependenceCurve, chosen: list[int]) -> tuple[float, float]:
    """Return the smallest and the largest value drawn."""
    values = curve.values[: len(curve.axes[0].points), chosen]
    if curve.individual is not None:
        values = _lines_of(curve, chosen[0])
    if curve.axes[0].missing and curve.kind != "ale":
        values = np.append(values.ravel(), curve.values[-1, chosen])
    return float(values.min()), float(values.max())


def _draw(ax: Axes, curve: DependenceCurve, chosen: list[int], scale: tuple[float, float] | None) -> None:
    if len(curve.axes) > 1:
        _draw_map(ax, curve, chosen[0])
    elif _is_categorical(curve):
        _draw_categories(ax, curve, chosen, scale)
    else:
        _draw_lines(ax, curve, chosen, scale)


def _words(curve: DependenceCurve, chosen: list[int]) -> str:
    """Describe the values."""
    name = NAMES[curve.kind]
    if curve.outputs is None or len(chosen) > 1:
        return name
    return f"{name}: {legible(str(curve.outputs[chosen[0]]))}"


# -------------------------------------------------------------------------------------------------------- numbers


def _draw_lines(ax: Axes, curve: DependenceCurve, chosen: list[int], scale: tuple[float, float] | None) -> None:
    calm(ax, grid="y")
    axis = curve.axes[0]
    if curve.individual is not None:
        for line in _lines_of(curve, chosen[0]):
            ax.plot(*_line(axis, line), color=tint(FIRST, 0.35), linewidth=0.5)
    colors = [FIRST] if len(chosen) == 1 else class_colors(len(chosen))
    for color, k in zip(colors, chosen, strict=True):
        label = None if curve.outputs is None else legible(str(curve.outputs[k]))
        ax.plot(*_line(axis, curve.values[: len(axis.points), k]), color=color, linewidth=1.8, label=label)
        if axis.missing and curve.kind != "ale":
            ax.axhline(curve.values[-1, k], color=color, linewidth=1, linestyle=(0, (2, 2)))
            ax.annotate(
                "missing", (1, curve.values[-1, k]), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                fontsize=8, color=SOFT,
            )  # fmt: skip
    if scale is not None:
        ax.set_ylim(*scale)
    _draw_rug(ax, axis, "x")
    _name_axis(ax, axis, "x")
    ax.set_ylabel(_words(curve, chosen))
    if len(chosen) > 1:
        ax.legend(frameon=False, fontsize=8)


def _lines_of(curve: DependenceCurve, k: int) -> FloatArray:
    """Return the individual curves to draw: those of evenly spaced rows."""
    assert curve.individual is not None  # noqa: S101  (for the type checker: the caller has asked)
    lines = curve.individual if curve.outputs is None else curve.individual[..., k]
    some: FloatArray = lines[np.linspace(0, len(lines) - 1, min(len(lines), MOST_LINES)).astype(int)]
    return some


def _line(axis: Axis, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the vertices of a line: a step function over the range of the data, or straight lines between points."""
    if not axis.is_exact:
        return axis.points, values
    low, high = axis.edges() if len(axis.percentiles) else (0.0, 1.0)
    inside = (axis.points > low) & (axis.points < high)
    cuts = axis.points[inside]
    x = np.concatenate([[low], np.repeat(cuts, 2), [high]])
    first = int(np.searchsorted(axis.points, low, side="left"))
    return x, np.repeat(values[first : first + len(cuts) + 1], 2)


def _draw_rug(ax: Axes, axis: Axis, side: str) -> None:
    """Mark percentiles of the data."""
    marks = axis.percentiles
    if side == "x":
        ax.vlines(marks, 0, EDGE, transform=ax.get_xaxis_transform(), color=SOFT, linewidth=0.6, alpha=0.7)
    else:
        ax.hlines(marks, 0, EDGE, transform=ax.get_yaxis_transform(), color=SOFT, linewidth=0.6, alpha=0.7)


def _name_axis(ax: Axes, axis: Axis, side: str) -> None:
    """Label an axis with the feature, and dates as dates."""
    which = ax.xaxis if side == "x" else ax.yaxis
    if axis.time == DATES:
        locator = AutoDateLocator(maxticks=MOST_TICKS)  # type: ignore[no-untyped-call]
        which.set_major_locator(locator)
        which.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif side == "x" and axis.labels is None:
        which.set_major_locator(MaxNLocator(MOST_TICKS - 1))
    which.set_label_text(legible(axis.name) + (" (days)" if axis.time not in (None, DATES) else ""), parse_math=False)


# ----------------------------------------------------------------------------------------------------- categories


def _draw_categories(ax: Axes, curve: DependenceCurve, chosen: list[int], scale: tuple[float, float] | None) -> None:
    """Draw a point for each category, the first at the top, over bars of their frequencies."""
    calm(ax, grid="x")
    axis = curve.axes[0]
    rows = [legible(str(label)) for label in curve.labels()]
    values, frequencies = curve.values[: len(rows), chosen], axis.frequencies
    if axis.missing and curve.kind != "ale":
        rows.append("(missing)")
        values = np.concatenate([values, curve.values[-1:, chosen]])
        frequencies = np.append(frequencies, axis.missing)
    places = np.arange(len(rows))
    low, high = scale if scale is not None else (float(values.min()), float(values.max()))
    widths = frequencies / max(float(frequencies.max()), 1e-300) * 0.3 * (high - low)
    ax.barh(places, widths, left=low, color=tint(LINE, 0.7), height=0.7, zorder=0)
    if curve.individual is not None:
        for line in _lines_of(curve, chosen[0]):
            ax.plot(line, places[: len(line)], ".", color=tint(FIRST, 0.35), markersize=2)
    colors = [FIRST] if len(chosen) == 1 else class_colors(len(chosen))
    for number, (color, k) in enumerate(zip(colors, chosen, strict=True)):
        label = None if curve.outputs is None else legible(str(curve.outputs[k]))
        ax.plot(values[:, number], places, "o", color=color, markersize=6, markeredgecolor=PAPER, label=label)
    ax.set_yticks(places, rows, parse_math=False)
    ax.set(xlim=(low, high), ylim=(len(rows) - 0.4, -0.6), xlabel=_words(curve, chosen))
    ax.set_ylabel(legible(axis.name), parse_math=False)
    ax.tick_params(axis="y", length=0)
    if len(chosen) > 1:
        ax.legend(frameon=False, fontsize=8)


# ----------------------------------------------------------------------------------------------------- two features


def _draw_map(ax: Axes, curve: DependenceCurve, k: int) -> None:
    calm(ax)
    one, other = curve.axes
    values = curve.values[: len(one.points), : len(other.points), k]
    (x, across), (y, up) = _cells(one), _cells(other)
    mesh = ax.pcolormesh(x, y, values[np.ix_(across, up)].T, cmap=SCALE, rasterized=True)
    bar = figure_of(ax).colorbar(mesh, ax=ax)
    bar.set_label(_words(curve, [k]), color=INK)
    bar.outline.set_visible(False)
    for axis, side in ((one, "x"), (other, "y")):
        _name_axis(ax, axis, side)
        if axis.labels is not None:
            ticks = ax.set_xticks if side == "x" else ax.set_yticks
            ticks(axis.points, [legible(str(label)) for label in axis.labels], parse_math=False)
        else:
            marks = axis.percentiles
            lines = ax.axvline if side == "x" else ax.axhline
            for mark in marks[::10]:
                lines(mark, 0, EDGE, color=SECOND, linewidth=1)
    if one.labels is not None and len(one.labels) > 4:
        ax.tick_params(axis="x", labelrotation=45)


def _cells(axis: Axis) -> tuple[FloatArray, IntArray]:
    """Return the edges of the cells of a heat map, and which points they show."""
    points = axis.points
    if axis.labels is not None:
        return np.append(points - 0.5, points[-1] + 0.5), np.arange(len(points))
    if axis.is_exact:
        low, high = axis.edges()
        inside = np.flatnonzero((points > low) & (points < high))
        first = int(np.searchsorted(points, low, side="left"))
        return np.concatenate([[low], points[inside], [high]]), np.arange(first, first + len(inside) + 1)
    middle = (points[:-1] + points[1:]) / 2 if len(points) > 1 else np.empty(0)
    return np.concatenate([[points[0]], middle, [points[-1]]]), np.arange(len(points))
