"""Decision boundary: the prediction of a model at each point of the plane of two features.

BoundaryDisplay
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from sklearn.utils.validation import check_is_fitted

from weald.data.types import Array, ColumnLike, TableLike
from weald.errors import ParameterError
from weald.forest.forest import Forest
from weald.plot.axes import Display
from weald.plot.naming import FittedModel, name_classes, name_features
from weald.plot.palette import INK, SCALE, class_colors, mix, tint
from weald.plot.plane import (
    DataFrame,
    Limits,
    columns_of,
    draw_points,
    limits_of,
    lines_between,
    read_points,
    refuse_categories,
    set_plane,
)

STRENGTH = 0.45  # opacity of a class color at probability 1

Floats = npt.NDArray[np.float64]


class BoundaryDisplay(Display):
    """The decision boundary of a classifier, or the predictions of a regressor, in the plane of two features.

    Create it with `from_estimator`. Colors of classes are mixed by predicted probability, so uncertain areas are pale.
    Lines separate the predicted classes. Trees and forests are constant between thresholds: they are drawn exactly,
    with one cell between neighboring thresholds, up to `resolution` thresholds per feature. Any other classifier or
    regressor with scikit-learn's interface is drawn on a regular grid. If rows are drawn, `display.ax_.legend()` names
    the classes.

    Parameters
    ----------
    x, y : arrays of shape (n_x + 1,), (n_y + 1,)
        Edges of the grid cells.
    values : array of shape (n_y, n_x, n_classes) or (n_y, n_x)
        Class probabilities, or numbers.
    labels : list of str or None
        Names of the classes; None: regression.
    names : (str, str)
        Names of the features.
    exact : bool
        Whether the model is constant on each cell.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> from weald.plot import BoundaryDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=1).fit(X[:, 2:], y)
    >>> display = BoundaryDisplay.from_estimator(forest, X[:, 2:], y)
    >>> display.exact
    True
    """

    @property
    def _size(self) -> tuple[float, float]:
        return (4.6, 4.2)

    def __init__(
        self, x: Floats, y: Floats, values: Floats, labels: list[str] | None, names: tuple[str, str], exact: bool
    ) -> None:
        self.x, self.y, self.values = x, y, values
        self.labels, self.names, self.exact = labels, names, exact

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedModel,
        X: TableLike,
        y: ColumnLike = None,
        *,
        features: tuple[int, int] = (0, 1),
        at: Sequence[object] | None = None,
        resolution: int = 400,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        limits: Limits | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute and draw.

        Parameters
        ----------
        estimator : fitted classifier or regressor
        X : array or data frame of shape (n_rows, n_features)
            Rows that determine the limits of the plane.
        y : array of shape (n_rows,) or None, default=None
            Targets of the rows. If given, the rows are drawn as points.
        features : (int, int), default=(0, 1)
            Numbers of the two features.
        at : sequence or None, default=None
            Values of all features; those not in the plane are fixed at them. None: the medians of X, or the most common
            values of columns that are not numerical.
        resolution : int, default=400
            Number of grid cells along each axis.
        feature_names, class_names : sequence of str or None, default=None
            None: the names seen in `fit`.
        limits : ((float, float), (float, float)) or None, default=None
            Limits of the two axes. None: slightly beyond the rows.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        BoundaryDisplay
        """
        check_is_fitted(estimator)
        _check_resolution(resolution)
        points = read_points(X, features)
        refuse_categories(estimator, features)
        limits = limits or limits_of(points)
        x, y_edges, exact = _grid(estimator, features, limits, resolution)
        rows = _grid_rows(X, features, at, _middles(x), _middles(y_edges))
        values = _predict(estimator, rows).reshape(len(y_edges) - 1, len(x) - 1, -1)
        classify = hasattr(estimator, "classes_")
        names, labels = name_features(estimator, feature_names), name_classes(estimator, class_names)
        of_plane = names[features[0]], names[features[1]]
        display = cls(x, y_edges, values if classify else values[:, :, 0], labels, of_plane, exact)
        display.plot(ax=ax)
        if y is not None:
            span = (float(values.min()), float(values.max()))
            draw_points(display.ax_, points, y, labels, getattr(estimator, "classes_", None), span)
        return display

    def _draw(self) -> None:
        set_plane(self.ax_, ((self.x[0], self.x[-1]), (self.y[0], self.y[-1])), self.names)
        # Areas are drawn as an image: many small squares would be slow, with visible gaps.
        fill = partial(self.ax_.pcolormesh, self.x, self.y, rasterized=True, zorder=0)
        if self.labels is None:
            filled = fill(self.values, cmap=SCALE)
            bar = self.figure_.colorbar(filled, ax=self.ax_, pad=0.02)
            bar.outline.set_visible(False)
            return
        colors = [tint(color, STRENGTH) for color in class_colors(len(self.labels))]
        fill(mix(colors, self.values))
        lines = lines_between(self.values.argmax(axis=2), self.x, self.y)
        self.ax_.add_collection(LineCollection(lines, colors=INK, linewidths=0.8, capstyle="projecting", zorder=2))


def _check_resolution(resolution: object) -> None:
    if not isinstance(resolution, int | np.integer) or isinstance(resolution, bool) or resolution < 2:
        raise ParameterError(f"resolution={resolution!r} is not allowed. Give a whole number from 2.")


def _grid(
    estimator: FittedModel, features: tuple[int, int], limits: Limits, resolution: int
) -> tuple[Floats, Floats, bool]:
    """Divide the plane into cells: at all thresholds of the trees unless there are too many, else evenly."""
    forest = getattr(estimator, "forest_", None)
    cuts_columns = not hasattr(estimator, "kernel_")  # trees of kernel forests split kernel values, not columns
    if forest is not None and cuts_columns:
        x, y = (_cuts_between(forest, feature, *ends) for feature, ends in zip(features, limits, strict=True))
        if max(len(x), len(y)) <= resolution + 1:
            return x, y, True
    return np.linspace(*limits[0], resolution + 1), np.linspace(*limits[1], resolution + 1), False


def _cuts_between(forest: Forest, feature: int, low: float, high: float) -> Floats:
    """Return both limits and the thresholds of a feature between them."""
    thresholds = np.unique(forest.threshold[forest.feature == feature])
    between = thresholds[(thresholds > low) & (thresholds < high)]
    return np.concatenate([[low], between, [high]])


def _middles(edges: Floats) -> Floats:
    middles: Floats = edges[:-1] / 2 + edges[1:] / 2
    return middles


def _grid_rows(X: TableLike, features: tuple[int, int], at: Sequence[object] | None, x: Floats, y: Floats) -> TableLike:
    """Create a table of X's type with one row for each cell: the plane's features vary, all others are fixed."""
    columns = columns_of(X)
    still = [_typical(column) for column in columns] if at is None else list(at)
    n_rows = len(x) * len(y)
    values = [np.full(n_rows, value) for value in still]
    values[features[0]], values[features[1]] = np.tile(x, len(y)), np.repeat(y, len(x))
    if isinstance(X, DataFrame):
        make: Callable[[dict[str, Array]], TableLike] = type(X)
        return make(dict(zip(X.columns, values, strict=True)))
    return np.column_stack([value.astype(object) if value.dtype.kind in "OUST" else value for value in values])


def _typical(values: Array) -> object:
    """Return the median of numbers, or the most common value of anything else."""
    try:
        return np.nanmedian(values.astype(np.float64))
    except (TypeError, ValueError):
        return Counter(value for value in values.tolist() if value is not None and value == value).most_common(1)[0][0]


def _predict(estimator: FittedModel, table: TableLike) -> Floats:
    """Predict class probabilities; if the model has none, the class or the number."""
    if hasattr(estimator, "predict_proba"):
        shares: Floats = estimator.predict_proba(table)
        return shares
    predicted = np.asarray(estimator.predict(table))
    if not hasattr(estimator, "classes_"):
        return predicted.astype(np.float64)
    certain: Floats = (predicted[:, np.newaxis] == estimator.classes_).astype(np.float64)
    return certain
