"""The smallest nodes: no sorting. Each lane of a vector is a feature, each step compares two rows in all of them."""

from drawing import BARK, FAINT, LEAF, LINE, PAPER, SHADES, blank, cell, note, save, title
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Codes of five rows by four features, and a target for each row.
CODES = [(3, 21, 2, 40), (9, 19, 2, 11), (1, 8, 6, 25), (5, 17, 0, 30), (9, 2, 4, 8)]
TARGETS = [2.0, -1.0, 1.5, 0.5, -3.0]
ROW = 3  # the row whose codes are tried as cuts
STEP = 0.6


def left_sums(row: int) -> list[float]:
    """Return for each feature the sum of the targets that go left when the cut is after the code of a row."""
    return [
        sum(target for codes, target in zip(CODES, TARGETS, strict=True) if codes[f] <= CODES[row][f]) for f in range(4)
    ]


def draw_codes(axes: Axes, x: float) -> None:
    """Draw the table of codes; the row that is tried stands out."""
    for f in range(4):
        note(axes, x + STEP * (f + 0.5), 0.72, f"lane {f + 1}", ha="center")
    for i, codes in enumerate(CODES):
        y = 0.9 + 0.36 * i
        note(axes, x - 0.1, y + 0.15, f"row {i + 1}", ha="right")
        for f, code in enumerate(codes):
            is_tried = i == ROW
            cell(axes, x + STEP * f, y, str(code), width=STEP, edge=BARK if is_tried else LINE)


def draw_sides(axes: Axes, x: float) -> None:
    """Draw what goes left in each lane, and the sums below."""
    for i, codes in enumerate(CODES):
        y = 0.9 + 0.36 * i
        for f, code in enumerate(codes):
            goes_left = code <= CODES[ROW][f]
            word = f"{TARGETS[i]:+g}" if goes_left else "·"
            look = {"fill": SHADES[0], "color": LEAF} if goes_left else {"fill": PAPER, "color": FAINT}
            cell(axes, x + STEP * f, y, word.replace("-", "−"), width=STEP, **look)
    for f, total in enumerate(left_sums(ROW)):
        cell(axes, x + STEP * f, 2.85, f"{total:+g}".replace("-", "−"), width=STEP, edge=LEAF, weight="bold")
    note(axes, x - 0.1, 3.0, "A =", ha="right")


def draw() -> Figure:
    """Draw the codes on the left, and who goes left on the right."""
    figure, axes = blank(7.6, 3.45)
    title(axes, 0.8, 0.3, "codes: a lane is a feature")
    draw_codes(axes, 0.8)
    title(axes, 4.2, 0.3, "cuts after the codes of row 4")
    note(axes, 4.2, 0.72, "targets that go left, all lanes at once")
    draw_sides(axes, 4.2)
    axes.annotate(
        "",
        (3.95, 1.8),
        (3.4, 1.8),
        arrowprops={"arrowstyle": "-|>", "color": FAINT, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
    )
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
