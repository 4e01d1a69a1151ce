"""Small nodes: each lane of a vector is a feature. All lanes are sorted at once, then summed by position."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, SHADES, blank, cell, note, save, title

# Codes of five rows by four features, and a target for each row.
CODES = [(3, 21, 2, 40), (9, 19, 3, 11), (1, 8, 6, 25), (5, 17, 0, 30), (7, 2, 4, 8)]
TARGETS = [2.0, -1.0, 1.5, 0.5, -3.0]
STEP = 0.58
TOP = 0.9
DOWN = 0.36


def sorted_rows(feature: int) -> list[int]:
    """Return the rows in the order of their codes."""
    return sorted(range(len(CODES)), key=lambda row: CODES[row][feature])


def left_sum(feature: int, place: int) -> float:
    """Return the sum of the targets up to a position."""
    return sum(TARGETS[row] for row in sorted_rows(feature)[: place + 1])


def draw_table(axes: Axes, x: float, words: list[list[str]], **look: str) -> None:
    """Draw a table of words, lane by lane."""
    for lane, column in enumerate(words):
        note(axes, x + STEP * (lane + 0.5), 0.72, f"lane {lane + 1}", ha="center")
        for i, word in enumerate(column):
            cell(axes, x + STEP * lane, TOP + DOWN * i, word, width=STEP, **look)


def draw_arrow(axes: Axes, x: float) -> None:
    """Draw an arrow from one table to the next."""
    axes.annotate(
        "",
        (x + 0.42, 1.8),
        (x + 0.05, 1.8),
        arrowprops={"arrowstyle": "-|>", "color": FAINT, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
    )


def draw() -> Figure:
    """Draw the codes, the sorted codes, and the left side at each position."""
    figure, axes = blank(9.2, 3.0)
    lanes = range(4)
    width = 4 * STEP
    title(axes, 0.8, 0.3, "codes")
    for i, target in enumerate(TARGETS):
        note(axes, 0.72, TOP + DOWN * i + 0.15, f"{target:+g}".replace("-", "−"), ha="right")
    draw_table(axes, 0.8, [[str(codes[f]) for codes in CODES] for f in lanes])
    draw_arrow(axes, 0.8 + width)
    title(axes, 3.65, 0.3, "sorted, all lanes at once")
    draw_table(axes, 3.65, [[str(CODES[row][f]) for row in sorted_rows(f)] for f in lanes], edge=BARK)
    draw_arrow(axes, 3.65 + width)
    title(axes, 6.5, 0.3, "targets that go left")
    sums = [[f"{left_sum(f, place):+g}".replace("-", "−") for place in range(4)] for f in lanes]
    draw_table(axes, 6.5, sums, fill=SHADES[0], color=LEAF)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
