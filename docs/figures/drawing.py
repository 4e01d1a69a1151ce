"""Shared functions of the figures of the docs: colors, fonts, saving.

Each script of this folder computes one picture from weald itself and writes it beside the script:

    python -m docs.figures.how_it_works.bounds      ->  docs/figures/how_it_works/bounds.svg

The pictures are kept in the tree, so that the docs can be read without running anything.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

INK = "#1f2933"
FAINT = "#8a94a0"
LINE = "#d5dae0"
PAPER = "#ffffff"
LEAF = "#3f7d4f"  # the result; the left side
BARK = "#b9622f"  # the alternatives; the right side
SKY = "#3b6ea5"
GRAY = "#e8ebee"
SHADES = ("#dcebdf", "#f6e3d7", "#dce7f2", "#efe6f3", "#f4efcf", "#e3eeee")  # distinguishable colors

mpl.use("svg")
mpl.rcParams.update(
    {
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "text.color": INK,
        "axes.edgecolor": FAINT,
        "axes.labelcolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "svg.hashsalt": "weald",  # equal pictures give equal bytes
    }
)


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """Make a figure without axes; one unit is one inch, the origin is top left."""
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def cell(axes: Axes, x: float, y: float, text: str, width: float = 0.7, height: float = 0.3, **look: str) -> None:
    """Draw a box with a text; (x, y) is its top left corner."""
    box = FancyBboxPatch(
        (x + 0.03, y + 0.03),
        width - 0.06,
        height - 0.06,
        boxstyle="round,pad=0,rounding_size=0.04",
        facecolor=look.get("fill", PAPER),
        edgecolor=look.get("edge", LINE),
        linewidth=0.8,
    )
    axes.add_patch(box)
    axes.text(
        x + width / 2,
        y + height / 2,
        text,
        ha="center",
        va="center_baseline",
        fontsize=9,
        color=look.get("color", INK),
        family=look.get("family", "DejaVu Sans"),
        weight=look.get("weight", "normal"),
    )


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], color: str = FAINT) -> None:
    """Draw an arrow."""
    axes.annotate(
        "", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    )


def title(axes: Axes, x: float, y: float, text: str, color: str = INK) -> None:
    """Write a label."""
    axes.text(x, y, text, ha="left", va="center", fontsize=10, weight="bold", color=color)


def note(axes: Axes, x: float, y: float, text: str, ha: str = "left") -> None:
    """Write a remark."""
    axes.text(x, y, text, ha=ha, va="center", fontsize=9, color=FAINT)


def save(figure: Figure, script: str) -> None:
    """Save a figure next to its script."""
    figure.savefig(Path(script).with_suffix(".svg"), metadata={"Date": None}, facecolor=PAPER)
