"""The plane of two features: its limits, its points, and the lines between classes.

limits_of       the limits of the plane
draw_points     rows of a table
lines_between   lines between grid cells that differ
"""

from collections.abc import Iterable
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from weald.data.types import Array, BoolArray, ColumnLike, IntArray, TableLike
from weald.errors import DataError
from weald.plot.palette import INK, SCALE, calm, class_colors, class_markers

Floats = npt.NDArray[np.float64]
Limits = tuple[tuple[float, float], tuple[float, float]]


@runtime_checkable
class DataFrame(Protocol):
    """A data frame of any library: columns by name."""

    columns: Iterable[str]

    def __getitem__(self, name: str, /) -> object:
        """Return a column."""


MARGIN = 0.06  # margin around the points, as a fraction of the range


def columns_of(X: TableLike) -> list[Array]:
    """List the columns of an array or a data frame."""
    if isinstance(X, DataFrame):
        return [np.asarray(X[name]) for name in X.columns]
    return list(np.asarray(X).T)


def read_points(X: TableLike, features: tuple[int, int] = (0, 1)) -> Floats:
    """Return two columns of a table as numbers."""
    columns = columns_of(X)
    if max(features) >= len(columns):
        raise DataError(f"features={features} is out of range: X has {len(columns)} columns, numbered from 0.")
    try:
        return np.column_stack([np.asarray(columns[f], dtype=np.float64) for f in features])
    except (TypeError, ValueError) as error:
        raise DataError(f"The plane needs two numerical features: {error}") from error


def refuse_categories(estimator: object, features: tuple[int, int]) -> None:
    """Refuse features that are split by sets of categories: an axis needs an order."""
    schema = getattr(estimator, "schema_", None)
    found = [f for f in features if schema is not None and f in schema.categorical]
    if found:
        raise DataError(f"Column {found[0]} has categories, which have no order. A plane needs two numerical columns.")


def limits_of(points: Floats) -> Limits:
    """Return the limits of the plane: slightly beyond the finite points."""
    low, high = (
        (column[np.isfinite(column)].min(initial=np.inf), column[np.isfinite(column)].max(initial=-np.inf))
        for column in points.T
    )
    return _widen(low), _widen(high)


def _widen(pair: tuple[float, float]) -> tuple[float, float]:
    low, high = pair
    if low > high:
        raise DataError("X has a column without finite numbers, so the plane has no limits.")
    room = MARGIN * (high - low) or 0.5
    return float(low - room), float(high + room)


def set_plane(ax: Axes, limits: Limits, names: tuple[str, str]) -> None:
    """Set limits and names of the axes."""
    calm(ax)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel=names[0], ylabel=names[1])


def draw_points(
    ax: Axes,
    points: Floats,
    y: ColumnLike,
    labels: list[str] | None,
    classes: Array | None = None,
    span: tuple[float, float] | None = None,
) -> None:
    """Draw rows, colored by class (each with its own marker) or by number (from pale to dark).

    Without y all have the same color.
    """
    size = float(np.clip(4000 / max(len(points), 1), 12, 30))
    draw = partial(ax.scatter, s=size, linewidths=0.5, edgecolors=INK, zorder=4)
    if y is None:
        draw(points[:, 0], points[:, 1], color=INK)
        return
    if labels is None or classes is None:
        numbers = np.asarray(y, dtype=np.float64)
        low, high = span or (numbers.min(), numbers.max())
        draw(points[:, 0], points[:, 1], c=numbers, cmap=SCALE, vmin=low, vmax=high)
        return
    target = np.asarray(y)
    for label, name, color, marker in zip(
        classes, labels, class_colors(len(labels)), class_markers(len(labels)), strict=True
    ):
        here = target == label
        draw(points[here, 0], points[here, 1], color=color, marker=marker, label=name)


def lines_between(winner: IntArray, x: Floats, y: Floats) -> list[Floats]:
    """Return the lines between neighboring cells of a grid that differ.

    Parameters
    ----------
    winner : array of shape (n_y, n_x)
        Prediction of each cell.
    x, y : arrays of shape (n_x + 1,), (n_y + 1,)
        Edges of the cells.

    Returns
    -------
    list of arrays of shape (2, 2)
        Both ends of each line. Adjacent pieces of one line are joined.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.plot.plane import lines_between
    >>> edges = np.array([0.0, 1.0, 2.0])
    >>> [line.tolist() for line in lines_between(np.array([[0, 1], [0, 1]]), edges, edges)]
    [[[1.0, 0.0], [1.0, 2.0]]]
    """
    upright = [np.array([[x[i + 1], y[a]], [x[i + 1], y[b]]]) for i, a, b in _runs(winner[:, 1:] != winner[:, :-1])]
    level = [np.array([[x[a], y[i + 1]], [x[b], y[i + 1]]]) for i, a, b in _runs((winner[1:] != winner[:-1]).T)]
    return upright + level


def _runs(marks: BoolArray) -> list[tuple[int, int, int]]:
    """List runs of marks down each column: the column, the first, one past the last."""
    padded = np.zeros((marks.shape[0] + 2, marks.shape[1]), dtype=np.int8)
    padded[1:-1] = marks
    change = np.diff(padded, axis=0).T
    begins, ends = np.argwhere(change == 1), np.argwhere(change == -1)
    return [(int(column), int(a), int(b)) for (column, a), (_, b) in zip(begins, ends, strict=True)]
