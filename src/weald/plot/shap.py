"""SHAP values of many rows.

ShapBarDisplay     mean magnitude of the values of each feature
BeeswarmDisplay    the values of each feature, a point for each row
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from weald.forest.describe.markup import legible
from weald.inspection.beeswarm import ranks_of, spread
from weald.inspection.explanation import Explanation
from weald.plot.axes import figure_of, new_axes
from weald.plot.palette import FIRST, LINE, SCALE, SOFT, calm, class_colors, tint

MOST = 20  # maximum number of features drawn by default
UNIT = "SHAP value: change of the prediction"

Floats = npt.NDArray[np.float64]


class ShapBarDisplay:
    """Mean magnitude of the SHAP values of each feature, as bars, the largest first; for several classes stacked.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    values : array of shape (n_features, n_outputs)
        Mean of the absolute SHAP values over rows.
    outputs : sequence of str or None
        Names of the outputs; None: there is one.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import weald
    >>> iris = load_iris(as_frame=True)
    >>> forest = weald.RandomForestClassifier(20, random_state=0).fit(iris.data, iris.target)
    >>> display = weald.plot.ShapBarDisplay.from_explanation(weald.explain(forest, iris.data))
    >>> display.values.shape
    (4, 3)
    """

    def __init__(self, names: Sequence[str], values: Floats, outputs: Sequence[str] | None) -> None:
        self.names, self.values, self.outputs = list(names), values, outputs

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, most: int = MOST, ax: Axes | None = None) -> Self:
        """Draw the result of `weald.explain`.

        Parameters
        ----------
        explanation : Explanation
            The SHAP values. Of two classes, the second is drawn.
        most : int, default=20
            Maximum number of features to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ShapBarDisplay
        """
        shown = explanation.one_output() if len(explanation.output_names or "") == 2 else explanation
        outputs = None if shown.output_names is None else [legible(str(name)) for name in shown.output_names]
        values = shown.mean_magnitudes().reshape(len(shown.feature_names), -1)
        return cls([legible(name) for name in shown.feature_names], values, outputs).plot(ax=ax, most=most)

    def plot(self, ax: Axes | None = None, *, most: int = MOST) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.
        most : int, default=20
            Maximum number of features to draw.

        Returns
        -------
        ShapBarDisplay
            Itself.
        """
        shown = _largest(self.values.sum(axis=1), most)
        self.ax_ = ax or new_axes(6.2, 0.8 + 0.28 * len(shown))
        self.figure_ = figure_of(self.ax_)
        colors = [tint(FIRST, 0.75)] if self.outputs is None else class_colors(len(self.outputs))
        begin = np.zeros(len(shown))
        for k, color in enumerate(colors):
            label = None if self.outputs is None else self.outputs[k]
            self.ax_.barh(
                np.arange(len(shown)), self.values[shown, k], left=begin, color=color, height=0.62, label=label
            )
            begin += self.values[shown, k]
        _name_rows(self.ax_, [self.names[f] for f in shown], len(self.names))
        self.ax_.set_xlabel("mean of |SHAP value|")
        if self.outputs is not None:
            self.ax_.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 0.06))
        return self


class BeeswarmDisplay:
    """The SHAP values of each feature: a point for each row, pale for low and dark for high values of the feature.

    Features are in the order of their mean magnitude, the largest at the top. Where many rows have similar SHAP values,
    points are spread vertically. Features without an order (categories) and missing values are gray.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    values : array of shape (n_rows, n_features)
        SHAP values.
    numbers : array of shape (n_rows, n_features)
        Values of the features; NaN: no order, or missing.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import weald
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = weald.RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> display = weald.plot.BeeswarmDisplay.from_explanation(weald.explain(forest, X), most=5)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][-1]
    'bmi'
    """

    def __init__(self, names: Sequence[str], values: Floats, numbers: Floats) -> None:
        self.names, self.values, self.numbers = list(names), values, numbers

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, most: int = MOST, ax: Axes | None = None) -> Self:
        """Draw the result of `weald.explain`.

        Parameters
        ----------
        explanation : Explanation
            The SHAP values of one output. Of two classes, the second is drawn.
        most : int, default=20
            Maximum number of features to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        BeeswarmDisplay
        """
        one = explanation.one_output()
        numbers = np.where(one.ordered, one.numbers, np.nan)
        return cls([legible(name) for name in one.feature_names], one.values, numbers).plot(ax=ax, most=most)

    def plot(self, ax: Axes | None = None, *, most: int = MOST) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.
        most : int, default=20
            Maximum number of features to draw.

        Returns
        -------
        BeeswarmDisplay
            Itself.
        """
        known = ~np.isnan(self.values).any(axis=1)  # rows in every bag have none
        shown = _largest(np.abs(self.values[known]).mean(axis=0), most)
        self.ax_ = ax or new_axes(6.6, 1.0 + 0.34 * len(shown))
        self.figure_ = figure_of(self.ax_)
        self.ax_.axvline(0, color=LINE, linewidth=0.9)
        reach = np.ptp(self.values[known][:, shown]) if known.any() else 1.0
        size = 12 if known.sum() <= 2000 else 4
        for place, f in enumerate(shown):
            values, ranks = self.values[known, f], ranks_of(self.numbers[known, f])
            heights = place + 0.36 * spread(values, reach)
            for of_group, color in ((np.isnan(ranks), tint(SOFT, 0.5)), (~np.isnan(ranks), None)):
                self.ax_.scatter(
                    values[of_group], heights[of_group], s=size, linewidths=0, zorder=3, rasterized=known.sum() > 2000,
                    color=color if color else SCALE(0.12 + 0.88 * ranks[of_group]),
                )  # fmt: skip
        _name_rows(self.ax_, [self.names[f] for f in shown], len(self.names))
        self.ax_.set_xlabel(UNIT)
        self._explain_colors()
        return self

    def _explain_colors(self) -> None:
        """Name the ends of the scale above the points."""
        for k, (label, at) in enumerate((("low", 0.12), ("high", 1.0))):
            self.ax_.scatter([], [], s=20, color=[SCALE(at)], label=f"{label} value of the feature", zorder=k)
        self.ax_.legend(
            frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, labelcolor=SOFT,
            handletextpad=0.1, columnspacing=1.2,
        )  # fmt: skip


def _largest(magnitudes: Floats, most: int) -> npt.NDArray[np.int64]:
    """Return the features with the largest magnitudes, the largest last: at the top of a plot."""
    return np.argsort(-magnitudes, kind="stable")[:most][::-1]


def _name_rows(ax: Axes, names: list[str], n_features: int) -> None:
    """Write the names of features beside their rows."""
    calm(ax, grid="x")
    ax.set_yticks(np.arange(len(names)), names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(-0.6, len(names) - 0.4)
    if len(names) < n_features:
        note = f"{len(names)} of {n_features} features"
        ax.text(0.99, 0.02, note, transform=ax.transAxes, ha="right", fontsize=8, color=SOFT)
