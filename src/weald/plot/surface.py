"""The error for each setting of the stopping rules: a curve or a heat map.

SurfaceDisplay
"""

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes

from weald.errors import ParameterError
from weald.estimators.error_surface import ErrorSurface
from weald.estimators.forest_base import RandomForest
from weald.plot.axes import Display
from weald.plot.palette import FIRST, INK, PAPER, SCALE, SECOND, calm, tint

DESCENDING = ("min_samples_split", "min_impurity_decrease", "ccp_alpha")  # a larger value is stricter
MOST_LABELS = 8


class SurfaceDisplay(Display):
    """Out-of-bag error for every value of one or two stopping rules.

    One parameter is drawn as a curve with its standard error, two as a heat map. Two settings are marked: that of the
    lowest error, and the one with the fewest leaves within one standard error of it. From left to right (and upward)
    forests grow larger.

    Parameters
    ----------
    surface : ErrorSurface
        Of one or two parameters: `forest.oob_.surface(...)`, or `weald.surface(...)` on new data.

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
    >>> from weald.plot import SurfaceDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> display = SurfaceDisplay.from_estimator(forest, "max_depth", "n_estimators")
    >>> display.surface.parameters
    ('max_depth', 'n_estimators')
    """

    def __init__(self, surface: ErrorSurface) -> None:
        if len(surface.parameters) > 2:
            raise ParameterError(
                f"A surface of {len(surface.parameters)} parameters cannot be drawn. Give one of one or two parameters."
            )
        self.surface = surface

    @classmethod
    def from_estimator(cls, estimator: RandomForest, *parameters: str, ax: Axes | None = None, **given: Any) -> Self:
        """Compute the out-of-bag error for one or two parameters, and draw it.

        Parameters
        ----------
        estimator : fitted forest
            With `oob_score=True`.
        *parameters : str
            One or two stopping rules.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.
        **given
            As `values` and `scoring` of `forest.oob_.surface`.

        Returns
        -------
        SurfaceDisplay
        """
        if not hasattr(estimator, "oob_"):
            raise ParameterError(
                "This forest has no out-of-bag estimates. Fit with oob_score=True, or draw "
                "SurfaceDisplay(weald.surface(model, X, y, ...)) on new data."
            )
        return cls(estimator.oob_.surface(*parameters, **given)).plot(ax=ax)

    def _draw(self) -> None:
        orders = [self._order(axis) for axis in range(len(self.surface.parameters))]
        if len(orders) == 1:
            self._draw_curve(orders[0])
        else:
            self._draw_map(*orders)

    def _order(self, axis: int) -> list[int]:
        """Sort the values of a parameter from the strictest to the loosest; None is the loosest."""
        name, values = self.surface.parameters[axis], self.surface.values[axis]
        sign = -1 if name in DESCENDING else 1
        return sorted(range(len(values)), key=lambda i: np.inf if values[i] is None else sign * float(values[i]))

    def _marks(self) -> list[tuple[tuple[int, ...], str, str, str]]:
        """Return the marked settings: position, marker, color and label."""
        shape = self.surface.errors.shape
        rules = {"minimum": ("o", SECOND, "lowest error")}
        if not np.isnan(self.surface.standard_errors).all():
            rules["one_standard_error"] = ("s", INK, "within one standard error")
        found: dict[int, tuple[tuple[int, ...], str, str, str]] = {}
        for rule, look in rules.items():
            place = self.surface.place(rule)
            found.setdefault(place, (tuple(int(i) for i in np.unravel_index(place, shape)), *look))
        return list(found.values())

    def _words(self, place: tuple[int, ...]) -> str:
        pairs = zip(self.surface.parameters, self.surface.values, place, strict=True)
        return ", ".join(f"{name}={_short(values[i])}" for name, values, i in pairs)

    def _draw_curve(self, order: list[int]) -> None:
        calm(self.ax_, grid="y")
        errors, spreads = self.surface.errors[order], self.surface.standard_errors[order]
        steps = np.arange(len(order))
        self.ax_.fill_between(steps, errors - spreads, errors + spreads, color=tint(FIRST, 0.22), linewidth=0)
        self.ax_.plot(steps, errors, color=FIRST, linewidth=1.8)
        for (place,), marker, color, words in self._marks():
            self.ax_.plot(
                order.index(place), self.surface.errors[place], marker, linestyle="none", color=color, markersize=6.5,
                markeredgecolor=PAPER, label=f"{words}: {self._words((place,))}", zorder=4,
            )  # fmt: skip
        self._label_axis("x", 0, order)
        self.ax_.set_ylabel(self._metric())
        self.ax_.legend(frameon=False, fontsize=9, loc="upper right")

    def _draw_map(self, down: list[int], across: list[int]) -> None:
        calm(self.ax_)
        errors = self.surface.errors[np.ix_(down, across)]
        shown = np.ma.masked_invalid(errors)
        mesh = self.ax_.pcolormesh(shown, rasterized=True, cmap=SCALE.reversed(), vmax=np.nanquantile(errors, 0.9))
        bar = self.figure_.colorbar(mesh, ax=self.ax_, extend="max")
        bar.set_label(self._metric(), color=INK)
        bar.outline.set_visible(False)
        for (row, column), marker, color, words in self._marks():
            self.ax_.plot(
                across.index(column) + 0.5, down.index(row) + 0.5, marker, linestyle="none", color=color, ms=7.5,
                markeredgecolor=PAPER, label=f"{words}: {self._words((row, column))}", zorder=4, clip_on=False,
            )  # fmt: skip
        self._label_axis("y", 0, down, 0.5)
        self._label_axis("x", 1, across, 0.5)
        legend = self.ax_.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1))
        legend.set_in_layout(False)  # otherwise the map would shrink to the width of the legend

    def _label_axis(self, which: str, axis: int, order: list[int], shift: float = 0.0) -> None:
        values = self.surface.values[axis]
        places = np.unique(np.linspace(0, len(order) - 1, MOST_LABELS).round().astype(int))
        labels = [_short(values[order[p]]) for p in places]
        draw = self.ax_.set_xticks if which == "x" else self.ax_.set_yticks
        draw(places + shift, labels=labels)
        self.ax_.set(**{f"{which}label": self.surface.parameters[axis]})

    def _metric(self) -> str:
        if self.surface.metric in ("error", "squared error"):
            return "mean squared error" if self.surface.metric == "squared error" else "error"
        return f"minus {self.surface.metric}"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
