"""Colors, markers and the style of axes shared by all plots.

Neighboring classes differ in hue and in lightness, so they can be distinguished by color-blind readers and in black and
white. Points of each class also have their own marker.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

INK = "#1f2933"
SOFT = "#66717d"  # secondary text
LINE = "#c9d0d7"
GRID = "#e6eaee"
PAPER = "#ffffff"

CLASSES = ("#33649a", "#f0b54d", "#3c9880", "#842b48", "#c795c9", "#a8d4ee", "#7d6b35", "#2a2a2a")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")

# From low to high: pale to dark in one hue, so that the order is also visible in grayscale.
SCALE = LinearSegmentedColormap.from_list("weald", ["#f3f7f2", "#b9d8c0", "#5f9f86", "#2d6a73", "#1d3f5e"])

# Colors of lines: a thin line on white must be darker than an area.
FIRST, SECOND, THIRD = CLASSES[0], "#c77c1e", CLASSES[2]

Color = npt.NDArray[np.float64]


def class_colors(n_classes: int) -> list[str]:
    """Return a color for each class; beyond the list, colors repeat, paler.

    Examples
    --------
    >>> from weald.plot.palette import class_colors
    >>> class_colors(2)
    ['#33649a', '#f0b54d']
    >>> len(set(class_colors(24)))
    24
    """
    return [tint(CLASSES[k % len(CLASSES)], 0.62 ** (k // len(CLASSES))) for k in range(n_classes)]


def class_markers(n_classes: int) -> list[str]:
    """Return a marker for each class; beyond the list, markers repeat."""
    return [MARKERS[k % len(MARKERS)] for k in range(n_classes)]


def tint(color: str, strength: float) -> str:
    """Mix a color with white: 1 is the color itself, 0 is white."""
    red, green, blue = (1 - strength * (1 - part) for part in to_rgb(color))
    return to_hex((red, green, blue))


def mix(colors: list[str], shares: npt.NDArray[np.float64]) -> Color:
    """Mix colors by weights (rows x colors): one color for each row, as red, green and blue from 0 to 1."""
    mixed: Color = shares @ np.array([to_rgb(color) for color in colors])
    return mixed.clip(0, 1)


def calm(ax: Axes, *, grid: Literal["x", "y", "both"] | None = None) -> None:
    """Remove the frame at the top and the right, and make the ticks pale; add a pale grid if requested."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    ax.tick_params(color=LINE, labelcolor=INK, labelsize=9)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(INK)
        label.set_fontsize(10)
    if grid:
        ax.grid(axis=grid, color=GRID, linewidth=0.8)
        ax.set_axisbelow(True)
