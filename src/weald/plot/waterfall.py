"""SHAP values of one row.

WaterfallDisplay    from the base value to the prediction, feature by feature
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from weald.forest.describe.markup import legible
from weald.inspection.explanation import Explanation
from weald.plot.axes import figure_of, new_axes
from weald.plot.palette import FIRST, INK, LINE, SECOND, SOFT, calm, tint

MOST = 12  # maximum number of features drawn by default

Floats = npt.NDArray[np.float64]


class WaterfallDisplay:
    """Contributions of the features, from the base value (bottom) to the prediction of one row (top).

    Parameters
    ----------
    labels : sequence of str
        Names of the features and their values in the row.
    values : array of shape (n_features,)
        SHAP values of the row.
    base : float
        The base value.

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
    >>> display = weald.plot.WaterfallDisplay.from_explanation(weald.explain(forest, X), row=3, most=4)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][0]
    '6 other features'
    """

    def __init__(self, labels: Sequence[str], values: Floats, base: float) -> None:
        self.labels, self.values, self.base = list(labels), values, base

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, row: int = 0, *, most: int = MOST, ax: Axes | None = None
    ) -> Self:
        """Draw one row of the result of `weald.explain`.

        Parameters
        ----------
        explanation : Explanation
            The SHAP values of one output. Of two classes, the second is drawn.
        row : int, default=0
            Number of the row.
        most : int, default=12
            Maximum number of features to draw; the others are summed up.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        WaterfallDisplay
        """
        one = explanation.one_output()
        at = one.require_row(row)
        labels = [f"{legible(name)} = {word(x)}" for name, x in zip(one.feature_names, one.data[at], strict=True)]
        return cls(labels, one.values[at], float(one.base_values[at])).plot(ax=ax, most=most)

    def plot(self, ax: Axes | None = None, *, most: int = MOST) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.
        most : int, default=12
            Maximum number of features to draw.

        Returns
        -------
        WaterfallDisplay
            Itself.
        """
        labels, steps = self._steps(most)
        ends = self.base + np.cumsum(steps)
        begins = ends - steps
        self.ax_ = ax or new_axes(6.6, 1.2 + 0.32 * len(steps))
        self.figure_ = figure_of(self.ax_)
        calm(self.ax_, grid="x")
        places = np.arange(len(steps))
        colors = [tint(SECOND, 0.8) if step > 0 else tint(FIRST, 0.8) for step in steps]
        self.ax_.barh(places, steps, left=begins, color=colors, height=0.62, zorder=3)
        for place, (begin, end, step) in enumerate(zip(begins, ends, steps, strict=True)):
            if place + 1 < len(steps):
                self.ax_.plot([end, end], [place - 0.31, place + 1.31], color=SOFT, linewidth=0.7, zorder=2)
            self.ax_.annotate(
                f"{step:+.3g}", (max(begin, end), place), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=8, color=INK, zorder=4,
            )  # fmt: skip
        self._mark_ends(float(ends[-1]) if len(ends) else self.base, len(steps))
        self.ax_.set_yticks(places, labels, parse_math=False)
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.spines["left"].set_visible(False)
        low, high = min([self.base, *ends]), max([self.base, *ends])
        room = (high - low or 1.0) / 8
        self.ax_.set(xlim=(low - room / 2, high + room), ylim=(-1.1, len(steps) + 0.1), xlabel="prediction")
        return self

    def _steps(self, most: int) -> tuple[list[str], Floats]:
        """Return labels and values from bottom to top: the sum of the small ones first, the largest last."""
        order = np.argsort(-np.abs(self.values), kind="stable")
        shown, rest = order[:most][::-1], order[most:]
        labels, steps = [self.labels[f] for f in shown], self.values[shown]
        if len(rest):
            labels.insert(0, "1 other feature" if len(rest) == 1 else f"{len(rest)} other features")
            steps = np.concatenate([[self.values[rest].sum()], steps])
        return labels, steps

    def _mark_ends(self, prediction: float, n_steps: int) -> None:
        """Mark the base value below the bars, and the prediction above them."""
        for x, y, text in ((self.base, -0.8, "base value"), (prediction, n_steps - 0.25, "prediction")):
            self.ax_.axvline(x, color=LINE, linewidth=0.9, linestyle="--", zorder=1)
            self.ax_.annotate(
                f"{text} {x:.4g}", (x, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8,
                color=SOFT,
            )  # fmt: skip


def word(value: object) -> str:
    """Write a value of a feature in short.

    Examples
    --------
    >>> from weald.plot.waterfall import word
    >>> word(0.123456), word("red"), word(None), word(float("nan"))
    ('0.1235', 'red', 'missing', 'missing')
    """
    if value is None or value != value:
        return "missing"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else legible(str(value))
