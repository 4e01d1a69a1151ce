"""A map of rows by proximity: rows that share many leaves are close to each other.

ProximityDisplay
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from weald.data.types import Array, ColumnLike, TableLike
from weald.errors import DataError
from weald.estimators.base import TreeModel
from weald.estimators.survival.refusals import refuse_survival
from weald.inspection.neighbors import compare_rows
from weald.inspection.resample import count_rows
from weald.plot.axes import Display
from weald.plot.naming import name_classes
from weald.plot.palette import calm
from weald.plot.plane import draw_points

MOST_ROWS = 2000  # computing time grows with the cube of the number of rows

Floats = npt.NDArray[np.float64]


class ProximityDisplay(Display):
    """A map of rows by proximity: two rows are close if they share a leaf in many trees.

    Create it with `from_estimator`. The proximity of two rows is the fraction of trees in which they share a leaf. The
    map preserves the distances √(1 − proximity) as well as a plane can, by classical multidimensional scaling. Check
    rows that are among rows of another class.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        Coordinates of the rows.
    y : array of shape (n_rows,) or None
        Targets of the rows.
    labels : list of str or None
        Names of the classes; None: regression.
    classes : array or None
        The labels as in y.
    kept : float
        Fraction of the variance of the rows that the plane keeps.

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
    >>> from weald.plot import ProximityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(X, y)
    >>> ProximityDisplay.from_estimator(forest, X, y).points.shape
    (150, 2)
    """

    @property
    def _size(self) -> tuple[float, float]:
        return (5.2, 4.4)

    def __init__(
        self, points: Floats, y: ColumnLike, labels: list[str] | None, classes: Array | None, kept: float
    ) -> None:
        self.points, self.y, self.labels, self.classes, self.kept = points, y, labels, classes, kept

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        X: TableLike,
        y: ColumnLike = None,
        *,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the proximities of rows, and draw their map.

        Parameters
        ----------
        estimator : fitted forest
        X : array or data frame of shape (n_rows, n_features)
            At most 2,000 rows.
        y : array of shape (n_rows,) or None, default=None
            Targets of the rows, shown as colors.
        class_names : sequence of str or None, default=None
            None: the labels.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ProximityDisplay
        """
        refuse_survival(estimator, "ProximityDisplay", "`proximity(X)` has the numbers.")
        check_is_fitted(estimator, "forest_")
        n_rows = count_rows(X)
        if n_rows > MOST_ROWS:
            raise DataError(f"X has {n_rows} rows; a map takes at most {MOST_ROWS}. Draw some of them at random.")
        points, kept = scale_classically(1 - compare_rows(estimator, X).toarray())
        labels = name_classes(estimator, class_names)
        return cls(points, y, labels, getattr(estimator, "classes_", None), kept).plot(ax=ax)

    def _draw(self) -> None:
        calm(self.ax_)
        draw_points(self.ax_, self.points, self.y, self.labels, self.classes)
        self.ax_.set(aspect="equal", xticks=[], yticks=[])
        self.ax_.set_xlabel(
            f"{len(self.points)} rows; the two axes explain {self.kept:.0%} of the variance", fontsize=9
        )
        if self.labels is not None and self.y is not None:
            self.ax_.legend(frameon=False, fontsize=9)


def scale_classically(squares: Floats) -> tuple[Floats, float]:
    """Place points in the plane by classical scaling of squared distances; also return the fraction of variance kept.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.plot.proximity import scale_classically
    >>> line = np.array([0.0, 1.0, 3.0])
    >>> points, kept = scale_classically((line[:, None] - line) ** 2)
    >>> abs(points[:, 0] - points[0, 0]).round(6), round(kept, 6)
    (array([0., 1., 3.]), 1.0)
    """
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    n_rows = len(squares)
    first = max(n_rows - 2, 0)
    eigenvalues, axes = linalg.eigh(-centered / 2, subset_by_index=[first, n_rows - 1])
    eigenvalues = eigenvalues.clip(0)
    points: Floats = (axes * np.sqrt(eigenvalues))[:, ::-1]
    points *= np.where(
        points[np.abs(points).argmax(axis=0), range(points.shape[1])] < 0, -1, 1
    )  # fix the sign, since mirror images are equivalent
    total = float(np.trace(-centered / 2))
    return points, float(eigenvalues.sum() / total) if total > 0 else 1.0
