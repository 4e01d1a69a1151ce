"""Feature importance.

ImportanceDisplay
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from weald.estimators.base import TreeModel
from weald.forest.forest import Forest
from weald.inspection.importance_result import Importance
from weald.plot.axes import figure_of, new_axes
from weald.plot.naming import name_features
from weald.plot.palette import FIRST, INK, LINE, SOFT, calm, tint

MOST = 30  # maximum number of features drawn by default

Floats = npt.NDArray[np.float64]


class ImportanceDisplay:
    """Feature importances as bars, the largest first, with two standard errors to each side.

    `from_estimator` draws the mean decrease in impurity. It favors features with many distinct values, even if they do
    not help on new rows. `from_importance` draws the result of other methods.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    values : array of shape (n_features,)
        Importances of the features.
    std_error : array of shape (n_features,) or None
        Their standard errors.
    unit : str
        The meaning of a value: the label of the axis.

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
    >>> from weald.plot import ImportanceDisplay
    >>> iris = load_iris(as_frame=True)
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(iris.data, iris.target)
    >>> display = ImportanceDisplay.from_estimator(forest)
    >>> bool((display.values.round(12) == forest.feature_importances_.round(12)).all())
    True
    """

    def __init__(self, names: Sequence[str], values: Floats, std_error: Floats | None, unit: str) -> None:
        self.names, self.values, self.std_error, self.unit = list(names), values, std_error, unit

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        *,
        feature_names: Sequence[str] | None = None,
        most: int = MOST,
        ax: Axes | None = None,
    ) -> Self:
        """Draw `feature_importances_`, with standard errors over trees.

        Parameters
        ----------
        estimator : fitted tree or forest
            A single tree has no standard errors.
        feature_names : sequence of str or None, default=None
            None: the names seen in `fit`.
        most : int, default=30
            Maximum number of features to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ImportanceDisplay
        """
        check_is_fitted(estimator, "forest_")
        shares = importance_by_tree(estimator.forest_)
        values = shares.mean(axis=0) if len(shares) else np.zeros(estimator.n_features_in_)
        std_error = shares.std(axis=0, ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else None
        names = name_features(estimator, feature_names)
        return cls(names, values, std_error, "fraction of the decrease in impurity").plot(ax=ax, most=most)

    @classmethod
    def from_importance(cls, importance: Importance, *, most: int = MOST, ax: Axes | None = None) -> Self:
        """Draw the result of `weald.importance`, or an object with `names`, `values`, `std_error` (or None) and `unit`.

        Parameters
        ----------
        importance : object
            The importances.
        most : int, default=30
            Maximum number of features to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ImportanceDisplay
        """
        values = np.asarray(importance.values, dtype=np.float64)
        return cls(importance.names, values, importance.std_error, importance.unit).plot(ax=ax, most=most)

    def plot(self, ax: Axes | None = None, *, most: int = MOST) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.
        most : int, default=30
            Maximum number of features to draw.

        Returns
        -------
        ImportanceDisplay
            Itself.
        """
        shown = np.argsort(-self.values, kind="stable")[:most][::-1]
        places = np.arange(len(shown))
        self.ax_ = ax or new_axes(6.2, 0.8 + 0.28 * len(shown))
        self.figure_ = figure_of(self.ax_)
        calm(self.ax_, grid="x")
        self.ax_.barh(places, self.values[shown], color=tint(FIRST, 0.75), height=0.62)
        if self.std_error is not None:
            spread = 2 * self.std_error[shown]
            self.ax_.errorbar(self.values[shown], places, xerr=spread, fmt="none", ecolor=INK, elinewidth=1.1)
        self.ax_.axvline(0, color=LINE, linewidth=0.8)
        self.ax_.set_yticks(places, [self.names[f] for f in shown], parse_math=False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.set(xlabel=self.unit, ylim=(-0.6, len(shown) - 0.4))
        if len(shown) < len(self.names):
            note = f"{len(shown)} of {len(self.names)} features"
            self.ax_.text(0.99, 0.02, note, transform=self.ax_.transAxes, ha="right", fontsize=8, color=SOFT)
        return self


def importance_by_tree(forest: Forest) -> Floats:
    """Fraction of the decrease in impurity due to each feature, by tree; trees without splits are left out."""
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))
    cut = forest.feature >= 0
    cells = tree[cut] * forest.n_features + forest.feature[cut]
    n_cells = forest.n_trees * forest.n_features
    sums = np.bincount(cells, weights=forest.decrease[cut], minlength=n_cells).reshape(-1, forest.n_features)
    total = sums.sum(axis=1, keepdims=True)
    shares: Floats = sums[total[:, 0] > 0] / total[total[:, 0] > 0]
    return shares
