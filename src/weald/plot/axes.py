"""Matplotlib axes and figures of displays.

Display       a plot on one pair of axes
new_axes      a new figure with one pair of axes
new_grid      a new figure with several pairs of axes
two_axes      a new figure with two pairs of axes, side by side
figure_of     the figure that axes belong to
"""

from typing import Self

from matplotlib.axes import Axes
from matplotlib.figure import Figure


class Display:
    """A plot on one pair of axes."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot again.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        the display itself
        """
        self.ax_ = ax or new_axes(*self._size)
        self.figure_ = figure_of(self.ax_)
        self._draw()
        return self

    @property
    def _size(self) -> tuple[float, float]:
        """Size of a new figure in inches."""
        return 5.6, 3.8

    def _draw(self) -> None:
        raise NotImplementedError


def new_axes(width: float, height: float) -> Axes:
    """Create a figure of a size in inches, with one pair of axes."""
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def new_grid(n: int, columns: int, width: float, height: float) -> list[Axes]:
    """Create a figure with n pairs of axes of a size in inches, row by row."""
    from matplotlib import pyplot as plt

    columns = min(n, columns)
    rows = -(-n // columns)
    size = (width * columns, height * rows)
    _, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for ax in grid.flat[n:]:
        ax.remove()
    return list(grid.flat[:n])


def two_axes(width: float, height: float) -> tuple[Axes, Axes]:
    """Create a figure of a size in inches, with two pairs of axes side by side."""
    from matplotlib import pyplot as plt

    _, (left, right) = plt.subplots(1, 2, figsize=(width, height), layout="constrained")
    return left, right


def figure_of(ax: Axes) -> Figure:
    """Find the figure that axes belong to, also through subfigures."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # noqa: S101  (for the type checker: axes that are drawn on have one)
    return figure
