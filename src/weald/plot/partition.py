"""The regions into which a tree divides the plane of two features, beside the tree.

PartitionDisplay
"""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.typing import ColorType

from weald.data.targets import labels_of
from weald.data.task import OF_COUNTS, Task
from weald.data.types import Array, ColumnLike, IntArray, TableLike
from weald.engines import criteria
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.forest.describe.summary import Sketch, one_tree, sketch_tree
from weald.forest.forest import Forest
from weald.plot.axes import figure_of, new_axes, two_axes
from weald.plot.naming import name_features
from weald.plot.palette import INK, PAPER, SCALE, class_colors, tint
from weald.plot.plane import Limits, draw_points, limits_of, read_points, refuse_categories, set_plane
from weald.plot.tree import TreeDisplay

FIRST, LAST = 2.4, 0.9  # thickness of lines, from the first split to the last
STRENGTH = 0.3
ROOM = 0.06  # minimum length of a line with a letter, as a fraction of the plane

Floats = npt.NDArray[np.float64]


class PartitionDisplay:
    """The regions of a tree in the plane of two features. Splits have letters, here and in the tree beside it.

    Create it with `from_estimator`. Splits are ordered by depth, from left to right; the first one is the root's.

    Parameters
    ----------
    sketch : weald.forest.describe.summary.Sketch
        The tree.
    limits : ((float, float), (float, float))
        Limits of the two axes.
    names : (str, str)
        Names of the features.
    points : array of shape (n_rows, 2)
        The rows to draw.
    y : array of shape (n_rows,) or None
        Targets of the rows.
    classes : array or None
        The labels as in y.
    impurities : array of shape (n_cuts + 1,)
        Impurity of the tree before the first split and after each.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plane.
    tree_ax_ : matplotlib Axes or None
        The axes of the tree.
    figure_ : matplotlib Figure
        The figure of these axes.
    cuts_ : array of shape (n_cuts,)
        Indices of the nodes that are split, in the order of the splits.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import DecisionTreeClassifier
    >>> from weald.plot import PartitionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=4).fit(X[:, 2:], y)
    >>> display = PartitionDisplay.from_estimator(tree, X[:, 2:], y)
    >>> display.impurities.round(3)
    array([0.667, 0.333, 0.074, 0.044])
    """

    def __init__(
        self,
        sketch: Sketch,
        limits: Limits,
        names: tuple[str, str],
        points: Floats,
        y: ColumnLike,
        classes: Array | None,
        impurities: Floats,
    ) -> None:
        self.sketch, self.limits, self.names = sketch, limits, names
        self.points, self.y, self.classes = points, y, classes
        self.impurities = impurities

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        X: TableLike,
        y: ColumnLike = None,
        *,
        tree: int = 0,
        n_cuts: int | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        with_tree: bool = True,
        ax: Axes | None = None,
        tree_ax: Axes | None = None,
    ) -> Self:
        """Draw the partition, and the tree beside it.

        Parameters
        ----------
        estimator : fitted tree or forest on two features
        X : array or data frame of shape (n_rows, 2)
            Rows to draw.
        y : array of shape (n_rows,) or None, default=None
            Targets of the rows.
        tree : int, default=0
            Number of the tree in a forest.
        n_cuts : int or None, default=None
            Draw only the first splits. None: all.
        feature_names, class_names : sequence of str or None, default=None
            None: the names seen in `fit`.
        with_tree : bool, default=True
            Whether the tree is drawn beside the plane; with `ax` given, only if there is a `tree_ax`.
        ax, tree_ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        PartitionDisplay
        """
        forest = one_tree(estimator, tree)
        if forest.n_features != 2:
            raise DataError(
                f"A partition is drawn in the plane, but the tree was grown on {forest.n_features} features. Fit it on "
                "two columns."
            )
        refuse_categories(estimator, (0, 1))
        sketch = sketch_tree(estimator, tree=tree, feature_names=feature_names, class_names=class_names)
        points = read_points(X)
        names = name_features(estimator, feature_names)
        classes = labels_of(estimator)
        impurities = _impurities(forest, sketch, estimator.growth_.criterion)
        display = cls(sketch, limits_of(points), (names[0], names[1]), points, y, classes, impurities)
        return display.plot(ax=ax, tree_ax=tree_ax, n_cuts=n_cuts, with_tree=with_tree)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        tree_ax: Axes | None = None,
        n_cuts: int | None = None,
        with_tree: bool = True,
    ) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax, tree_ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.
        n_cuts : int or None, default=None
            Draw only the first splits. None: all.
        with_tree : bool, default=True
            Whether the tree is drawn beside the plane; with `ax` given, only if there is a `tree_ax`.

        Returns
        -------
        PartitionDisplay
            Itself.
        """
        if ax is None:
            ax, tree_ax = two_axes(9.6, 4.2) if with_tree else (new_axes(4.6, 4.2), None)
        self.ax_, self.tree_ax_ = ax, tree_ax
        self.figure_ = figure_of(ax)
        order = order_of_cuts(self.sketch)
        drawn = order if n_cuts is None else order[:n_cuts]
        self.cuts_ = self.sketch.node[drawn]
        regions = self._regions()
        set_plane(ax, self.limits, self.names)
        self._fill(regions, set(drawn.tolist()))
        for place, cut in enumerate(drawn):
            self._draw_cut(regions[cut], cut, name_cut(place), place / max(len(order) - 1, 1))
        span = None if self.sketch.labels else self._span()
        draw_points(ax, self.points, self.y, self.sketch.labels or None, self.classes, span)
        if tree_ax is not None:
            tags = [""] * len(self.sketch.node)
            for place, cut in enumerate(order):
                tags[cut] = name_cut(place)
            TreeDisplay(self.sketch).plot(ax=tree_ax, tags=tags)
        return self

    def _regions(self) -> Floats:
        """Return the rectangle of each node: minimum and maximum of x, minimum and maximum of y."""
        sketch = self.sketch
        regions = np.zeros((len(sketch.node), 4))
        regions[0] = [*self.limits[0], *self.limits[1]]
        for node in np.flatnonzero(sketch.is_open):
            low, high = 2 * sketch.feature[node], 2 * sketch.feature[node] + 1
            cut = np.clip(sketch.threshold[node], regions[node, low], regions[node, high])
            regions[sketch.left[node]] = regions[sketch.right[node]] = regions[node]
            regions[sketch.left[node], high] = cut
            regions[sketch.right[node], low] = cut
        return regions

    def _fill(self, regions: Floats, cut: set[int]) -> None:
        """Fill regions that are not divided further with the color of their prediction."""
        shown = {0}
        for node in sorted(cut):
            shown |= {int(self.sketch.left[node]), int(self.sketch.right[node])}
        for node in sorted(shown - cut):
            x0, x1, y0, y1 = regions[node]
            area = Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor=self._color(node), linewidth=0, zorder=0)
            self.ax_.add_patch(area)

    def _color(self, node: int) -> ColorType:
        if self.sketch.probabilities is not None:
            colors = class_colors(len(self.sketch.labels))
            return tint(colors[int(self.sketch.probabilities[node].argmax())], STRENGTH)
        assert self.sketch.mean is not None  # noqa: S101  (for the type checker)
        low, high = self._span()
        return SCALE(float((self.sketch.mean[node] - low) / ((high - low) or 1.0)))

    def _span(self) -> tuple[float, float]:
        """Return the range of the colors of numbers: that of the drawn targets, else of the means."""
        numbers = self.sketch.mean if self.y is None else np.asarray(self.y, dtype=np.float64)
        assert numbers is not None  # noqa: S101  (for the type checker)
        return float(numbers.min()), float(numbers.max())

    def _draw_cut(self, region: Floats, node: int, name: str, late: float) -> None:
        """Draw a line across the node's region, with its letter in a small disc; nothing outside the plane."""
        threshold, upright = self.sketch.threshold[node], self.sketch.feature[node] == 0
        x0, x1, y0, y1 = region
        low, high = (x0, x1) if upright else (y0, y1)
        if not low < threshold < high:
            return
        ends = ([threshold] * 2, [y0, y1]) if upright else ([x0, x1], [threshold] * 2)
        self.ax_.plot(*ends, color=INK, linewidth=FIRST + late * (LAST - FIRST), solid_capstyle="butt", zorder=2)
        whole = self.limits[1] if upright else self.limits[0]
        if np.ptp(ends[1 if upright else 0]) < ROOM * (whole[1] - whole[0]):
            return  # too short for its letter, which is shown in the tree
        self.ax_.annotate(
            name,
            (np.mean(ends[0]), np.mean(ends[1])),
            ha="center",
            va="center",
            fontsize=8.5,
            color=INK,
            zorder=6,
            bbox={"boxstyle": "circle,pad=0.22", "facecolor": PAPER, "edgecolor": INK, "linewidth": 0.7},
        )


def order_of_cuts(sketch: Sketch) -> IntArray:
    """Order splits by depth, then from left to right."""
    cuts = np.flatnonzero(sketch.is_open)
    ordered: IntArray = cuts[np.argsort(sketch.depth[cuts], kind="stable")]
    return ordered


def name_cut(place: int) -> str:
    """Name splits a to z, then a1 to z1, and so on."""
    letter, again = ascii_lowercase[place % 26], place // 26
    return f"{letter}{again}" if again else letter


def _impurities(forest: Forest, sketch: Sketch, criterion: str) -> Floats:
    """Compute the impurity of the tree before the first split and after each: a split lowers it by its decrease."""
    cuts = sketch.node[order_of_cuts(sketch)]
    if forest.task is Task.CLASSIFICATION:
        whole = float(criteria.class_impurities(criterion, forest.class_weights()[:1])[0])
    else:
        whole = float(forest.impurity[0])
    if criterion in OF_COUNTS:
        raise ParameterError(
            f"A partition display shows the impurity after each split, and nodes of criterion={criterion!r} have "
            "variances, which these splits do not minimize. Use a tree with criterion='squared_error', or plot_tree."
        )
    decreases = np.ldexp(forest.decrease[cuts], -2 * forest.target_exponent)
    after: Floats = whole - np.concatenate([[0.0], np.cumsum(decreases)])
    return after.clip(0)  # rounding errors can make it slightly negative
