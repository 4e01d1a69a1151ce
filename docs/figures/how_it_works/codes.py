"""Codes of a column: distinct values are numbered in ascending order, and thresholds lie between them."""

from matplotlib.figure import Figure

from docs.figures.drawing import FAINT, LEAF, SHADES, arrow, blank, cell, note, save, title
from weald.engines.reference.definition import code_column, place_threshold

VALUES = [61.5, 48.0, 61.5, float("nan"), 70.25, 48.0, 55.0]


def draw() -> Figure:
    """Draw the column, its codes, the extremes of each code, and a threshold."""
    column = code_column(VALUES, [1] * len(VALUES), range(len(VALUES)), max_bins=65_535)
    figure, axes = blank(8.2, 3.1)
    title(axes, 0.35, 0.3, "column")
    title(axes, 2.0, 0.3, "codes")
    for i, (value, code) in enumerate(zip(VALUES, column.codes, strict=True)):
        y = 0.5 + 0.3 * i
        cell(
            axes, 0.3, y, "missing" if value != value else f"{value:g}", 0.9, color=FAINT if code is None else "#1f2933"
        )
        fill = "#ffffff" if code is None else SHADES[code]
        cell(axes, 1.95, y, "255" if code is None else str(code), 0.7, fill=fill)
        arrow(axes, (1.28, y + 0.15), (1.88, y + 0.15))
    note(axes, 0.33, 2.85, "one byte per value here; 255, the largest, means missing")

    title(axes, 3.65, 0.3, "the values of each code")
    for j, head in enumerate(("code", "smallest", "largest")):
        note(axes, 3.65 + 0.5 * (j > 0) + 0.85 * max(0, j - 1) + 0.12, 0.65, head)
    for code, (low, high) in enumerate(zip(column.lows, column.highs, strict=True)):
        y = 0.8 + 0.3 * code
        cell(axes, 3.6, y, str(code), 0.5, fill=SHADES[code])
        cell(axes, 4.1, y, f"{low:g}", 0.85)
        cell(axes, 4.95, y, f"{high:g}", 0.85)

    last_left = 1
    y = 0.8 + 0.3 * (last_left + 1)
    axes.plot([3.5, 6.2], [y, y], color=LEAF, lw=2, solid_capstyle="round")
    threshold = place_threshold(column.highs[last_left], column.lows[last_left + 1])
    axes.text(6.3, y, f"cut after code {last_left}:\nx ≤ {threshold:g} goes left", va="center", fontsize=10, color=LEAF)
    note(axes, 3.65, 2.35, "halfway between the nearest values in the node")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
