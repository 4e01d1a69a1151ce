"""Bars: how much each feature matters."""

from typing import Any

from matplotlib.axes import Axes

from weald.plot.axes import new_axes
from weald.plot.palette import FIRST, INK, calm


def draw_importance(result: Any, ax: Axes | None, most: int) -> Axes:
    """Draw the most important features of an `Importance`, with two standard errors to each side."""
    values = result.means()
    shown = result.order()[:most][::-1]
    if ax is None:
        ax = new_axes(6.4, 0.8 + 0.3 * len(shown))
    error = None if result.std_error is None or result.is_local else 2 * result.std_error[shown]
    look = {"ecolor": INK, "elinewidth": 1.2}
    ax.barh(range(len(shown)), values[shown], xerr=error, color=FIRST, height=0.62, error_kw=look)
    ax.set_yticks(range(len(shown)), [result.names[f] for f in shown])
    ax.set_xlabel(result.unit)
    calm(ax, grid="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color=INK, linewidth=0.8)
    return ax
