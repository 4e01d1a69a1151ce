"""Uncertainty of the predictions of a regressor: intervals of rows, and a fan chart of quantiles.

IntervalDisplay    the interval of each row, with its prediction and its target
FanDisplay         bands of quantiles along an axis
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import Fraction, WholeNumber, check_argument, is_list
from weald.data.types import ColumnLike, FloatArray, TableLike
from weald.errors import DataError, ParameterError, shown
from weald.estimators.tasks import TreeRegressor
from weald.plot.axes import figure_of, new_axes
from weald.plot.palette import FIRST, LINE, SECOND, SOFT, calm

MOST_ROWS = 150  # limit for rows that can be told apart


class IntervalDisplay:
    """Prediction intervals of rows, from the lowest prediction to the highest, with their targets.

    Parameters
    ----------
    predicted : array of shape (n_rows,)
    intervals : array of shape (n_rows, 2)
    truth : array of shape (n_rows,) or None
        The targets, if they are known.
    coverage : float
        The nominal coverage of the intervals.

    Attributes
    ----------
    covered : float or None
        Fraction of the targets that are in their intervals; of all rows, also of those that are not drawn.
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import RandomForestRegressor
    >>> from weald.plot import IntervalDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(100, keep_errors=True, random_state=0).fit(X[:300], y[:300])
    >>> display = IntervalDisplay.from_estimator(forest, X[300:], y[300:])
    >>> round(display.covered, 2)
    0.89
    """

    def __init__(self, predicted: FloatArray, intervals: FloatArray, truth: FloatArray | None, coverage: float) -> None:
        self.predicted, self.intervals, self.truth, self.coverage = predicted, intervals, truth, coverage

    @property
    def covered(self) -> float | None:
        """Fraction of the targets that are in their intervals."""
        if self.truth is None:
            return None
        return float(((self.intervals[:, 0] <= self.truth) & (self.truth <= self.intervals[:, 1])).mean())

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeRegressor,
        X: TableLike,
        y: ColumnLike = None,
        *,
        coverage: float = 0.9,
        method: str | None = None,
        n_rows: int = MOST_ROWS,
        ax: Axes | None = None,
    ) -> Self:
        """Predict intervals, and draw.

        Parameters
        ----------
        estimator : fitted regressor that keeps its errors
            Fit with `keep_errors=True`.
        X : array or data frame of shape (n_rows, n_features)
            Rows that the model has not seen.
        y : array of shape (n_rows,), optional
            Their targets.
        coverage : float, default=0.9
            The nominal coverage: the probability that an interval contains the target.
        method : str, optional
            As in `predict_interval`.
        n_rows : int, default=150
            Number of rows to draw, evenly spaced by prediction.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        IntervalDisplay
        """
        model = _require_regressor(estimator)
        check_argument("n_rows", n_rows, (WholeNumber(1),))
        intervals = model.predict_interval(X, coverage, method=method)
        if not np.isfinite(intervals).all():
            raise DataError(
                f"Intervals of coverage={coverage:g} are infinite: too few rows have errors. Give a lower coverage, or "
                "fit to more rows."
            )
        truth = None if y is None else _read_targets(y, len(intervals))
        return cls(model.predict(X), intervals, truth, coverage).plot(n_rows=n_rows, ax=ax)

    def plot(self, *, n_rows: int = MOST_ROWS, ax: Axes | None = None) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        n_rows : int, default=150
            Number of rows to draw, evenly spaced by prediction.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        IntervalDisplay
            Itself.
        """
        self.ax_ = ax or new_axes(6.4, 3.8)
        self.figure_ = figure_of(self.ax_)
        calm(self.ax_, grid="y")
        order = np.argsort(self.predicted, kind="stable")
        chosen = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), n_rows)).astype(int))]
        at = np.arange(len(chosen))
        low, high = self.intervals[chosen].T
        self.ax_.vlines(at, low, high, color=LINE, linewidth=max(1.0, min(5.0, 320 / len(at))), zorder=1)
        self.ax_.plot(at, self.predicted[chosen], color=FIRST, linewidth=1.4, label="prediction", zorder=2)
        words = f"{100 * self.coverage:g} % intervals"
        if self.truth is not None:
            truth = self.truth[chosen]
            is_in = (low <= truth) & (truth <= high)
            for which, color, marker, label in ((is_in, FIRST, "o", "target"), (~is_in, SECOND, "x", "target outside")):
                self.ax_.plot(
                    at[which], truth[which], color=color, marker=marker, markersize=3.5 if marker == "o" else 5,
                    linestyle="none", label=label, zorder=3,
                )  # fmt: skip
            words += f" contain {100 * (self.covered or 0.0):.1f} % of {len(self.truth):,} targets"
        self.ax_.set(xlabel="rows by prediction", ylabel="target", title=words)
        self.ax_.title.set_fontsize(10)
        self.ax_.legend(loc="upper left", fontsize=9, frameon=True, edgecolor=LINE, framealpha=0.9)
        return self


class FanDisplay:
    """Fan chart: the median and bands of quantiles along an axis, for example time or the values of a feature.

    Parameters
    ----------
    x : array of shape (n_rows,)
        Positions on the axis.
    quantiles : array of shape (n_rows, 2 * n_bands + 1)
        Lower ends from the widest band on, the median, upper ends to the widest band.
    bands : sequence of float
        Probability of each band, from the widest on.
    truth : array of shape (n_rows,) or None
        The targets, if they are known.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import RandomForestRegressor
    >>> from weald.plot import FanDisplay
    >>> X = np.linspace(0, 10, 400)[:, None]
    >>> y = X[:, 0] + np.random.default_rng(0).normal(size=400) * X[:, 0] / 5
    >>> forest = RandomForestRegressor(100, min_samples_leaf=10, keep_targets=True, random_state=0).fit(X, y)
    >>> display = FanDisplay.from_estimator(forest, X[::4], x=X[::4, 0])
    >>> display.quantiles.shape
    (100, 7)
    """

    def __init__(self, x: FloatArray, quantiles: FloatArray, bands: Sequence[float], truth: FloatArray | None) -> None:
        self.x, self.quantiles, self.bands, self.truth = x, quantiles, tuple(bands), truth

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeRegressor,
        X: TableLike,
        y: ColumnLike = None,
        *,
        x: ColumnLike = None,
        bands: Sequence[float] = (0.5, 0.8, 0.95),
        ax: Axes | None = None,
    ) -> Self:
        """Predict quantiles, and draw.

        Parameters
        ----------
        estimator : fitted regressor that keeps its targets
            Fit with `keep_targets=True`.
        X : array or data frame of shape (n_rows, n_features)
            Rows along the axis: days, or rows that differ in one feature.
        y : array of shape (n_rows,), optional
            Their targets.
        x : array of shape (n_rows,), optional
            Positions on the axis. By default the numbers of the rows.
        bands : sequence of float, default=(0.5, 0.8, 0.95)
            Probability of each band: 0.8 reaches from the 10 % to the 90 % quantile.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        FanDisplay
        """
        model = _require_regressor(estimator)
        if not is_list(bands) or not len(bands) or not all(Fraction(one=False).is_satisfied_by(b) for b in bands):
            raise ParameterError(
                f"bands={shown(bands)} is not a list of fractions between 0 and 1. Give, for example, (0.5, 0.9)."
            )
        widest = sorted(map(float, bands), reverse=True)
        levels = [0.5 - band / 2 for band in widest] + [0.5] + [0.5 + band / 2 for band in reversed(widest)]
        quantiles = model.predict_quantiles(X, levels)
        places = np.arange(len(quantiles), dtype=np.float64) if x is None else _read_targets(x, len(quantiles), "x")
        truth = None if y is None else _read_targets(y, len(quantiles))
        return cls(places, quantiles, widest, truth).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        FanDisplay
            Itself.
        """
        self.ax_ = ax or new_axes(6.4, 3.8)
        self.figure_ = figure_of(self.ax_)
        calm(self.ax_, grid="y")
        order, n = np.argsort(self.x, kind="stable"), len(self.bands)
        x, quantiles = self.x[order], self.quantiles[order]
        for i, band in enumerate(self.bands):
            self.ax_.fill_between(
                x, quantiles[:, i], quantiles[:, 2 * n - i], color=FIRST, linewidth=0,
                alpha=0.14 + 0.3 * i / max(1, n), label=f"{100 * band:g} %", zorder=1,
            )  # fmt: skip
        self.ax_.plot(x, quantiles[:, n], color=FIRST, linewidth=1.6, label="median", zorder=2)
        if self.truth is not None:
            self.ax_.plot(
                x, self.truth[order], color=SOFT, marker="o", markersize=2.5, linestyle="none", label="target", zorder=3
            )
        self.ax_.set(xlabel="x", ylabel="target")
        self.ax_.legend(loc="upper left", fontsize=9, frameon=True, edgecolor=LINE, framealpha=0.9)
        return self


def _require_regressor(estimator: object) -> TreeRegressor:
    if not isinstance(estimator, TreeRegressor):
        raise ParameterError(f"{type(estimator).__name__} is not a regressor of weald, which has intervals. Give one.")
    check_is_fitted(estimator)
    return estimator


def _read_targets(given: ColumnLike, n_rows: int, name: str = "y") -> FloatArray:
    """Read one number for each row."""
    try:
        numbers: FloatArray = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} has entries that are not numbers. Give one number for each row of X.") from error
    if numbers.shape != (n_rows,):
        raise DataError(f"{name} has shape {numbers.shape}, but X has {n_rows} rows. Give one number for each row.")
    return numbers
