"""Out-of-bag error against the number of trees.

OutOfBagDisplay
"""

from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from weald.data.types import ColumnLike, IntArray, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.out_of_bag import OutOfBag
from weald.plot.axes import Display
from weald.plot.palette import FIRST, INK, SECOND, calm, tint

MOST_SIZES = 40  # maximum number of forest sizes that are tested on new rows

Floats = npt.NDArray[np.float64]
Ints = IntArray


class OutOfBagDisplay(Display):
    """Out-of-bag error after each tree, and optionally the error on new rows.

    Create it with `from_estimator`. After the first trees, many rows have no out-of-bag prediction yet: the line is
    pale until 90 % of the rows have one. The bar at the end is the 95 % confidence interval of the last error.

    Parameters
    ----------
    n_trees : array of shape (n_trees,)
        Numbers of trees: 1, 2, 3 and so on.
    error : array of shape (n_trees,)
        Out-of-bag error for each number of trees.
    share : array of shape (n_trees,)
        Fraction of the rows that are out of at least one bag.
    interval : (float, float)
        Confidence interval of the last error.
    sizes, new_error : arrays of shape (n_sizes,) or None
        Numbers of trees, and their errors on new rows.
    classify : bool
        Whether errors are misclassification rates.

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
    >>> from weald.plot import OutOfBagDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=100, oob_score=True, random_state=0).fit(X, y)
    >>> display = OutOfBagDisplay.from_estimator(forest)
    >>> bool(display.error[-1] == forest.oob_error_)
    True
    """

    @property
    def _size(self) -> tuple[float, float]:
        return (5.6, 3.6)

    def __init__(
        self,
        n_trees: Ints,
        error: Floats,
        share: Floats,
        interval: tuple[float, float],
        sizes: Ints | None,
        new_error: Floats | None,
        classify: bool,
    ) -> None:
        self.n_trees, self.error, self.share, self.interval = n_trees, error, share, interval
        self.sizes, self.new_error, self.classify = sizes, new_error, classify

    @classmethod
    def from_estimator(
        cls, estimator: TreeModel, X: TableLike = None, y: ColumnLike = None, *, ax: Axes | None = None
    ) -> Self:
        """Draw the out-of-bag error of a fitted forest.

        Parameters
        ----------
        estimator : forest fitted with `oob_score=True`
        X : array or data frame of shape (n_rows, n_features), optional
            New rows.
        y : array of shape (n_rows,), optional
            Targets of the new rows.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        OutOfBagDisplay
        """
        found = out_of_bag(estimator)
        if (X is None) != (y is None):
            raise DataError("New rows need both X and y. Give both, or neither to draw the out-of-bag error alone.")
        classify = found.classes is not None
        sizes, new_error = None, None
        if X is not None:
            sizes = np.unique(np.geomspace(1, found.n_trees, MOST_SIZES).astype(int))
            new_error = np.array([_error_of(estimator[:n], X, y, classify=classify) for n in sizes])
        curve = found.curve
        display = cls(curve.n_trees, curve.error, curve.share, found.error_interval(), sizes, new_error, classify)
        return display.plot(ax=ax)

    def _draw(self) -> None:
        calm(self.ax_, grid="y")
        known = self.share >= 0.9
        self.ax_.plot(self.n_trees, self.error, color=tint(FIRST, 0.4), linewidth=1.4)
        measured = np.where(known, self.error, np.nan)
        self.ax_.plot(self.n_trees, measured, color=FIRST, linewidth=1.8, label="out of bag")
        if self.sizes is not None and self.new_error is not None:
            self.ax_.plot(self.sizes, self.new_error, "--", color=SECOND, linewidth=1.8, label="new rows")
        last, (low, high) = self.error[-1], self.interval
        if np.isfinite([last, low, high]).all():
            self.ax_.errorbar(
                self.n_trees[-1], last, yerr=[[last - low], [high - last]], label=f"{last:.3g}, 95% interval",
                fmt="o", color=INK, markersize=4.5, elinewidth=1.2, zorder=4,
            )  # fmt: skip
        self.ax_.set_xscale("log")
        self.ax_.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        self.ax_.set(xlabel="trees", ylabel="error" if self.classify else "mean squared error")
        self.ax_.set_xlim(left=0.93)
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend(frameon=False, fontsize=9)


def out_of_bag(estimator: TreeModel) -> OutOfBag:
    """Return the out-of-bag results of a forest."""
    check_is_fitted(estimator, "forest_")
    found = getattr(estimator, "oob_", None)
    if found is None:
        raise ParameterError(
            f"This {type(estimator).__name__} has no out-of-bag results. Fit a forest with oob_score=True."
        )
    kept: OutOfBag = found
    return kept


def _error_of(forest: TreeModel, X: TableLike, y: ColumnLike, *, classify: bool) -> float:
    predicted, truth = forest.predict(X), np.asarray(y)
    return float(np.mean(predicted != truth) if classify else np.mean((predicted - truth) ** 2))
