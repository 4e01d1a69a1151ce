"""A bag: draws are positions on a line of row weights; the number of draws of each row is kept."""

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from docs.figures.drawing import BARK, FAINT, INK, SHADES, blank, cell, note, save, title
from weald.engines.reference import definition

WEIGHTS = (1, 3, 1, 2, 1, 2)
SEED, TREE = 5, 0
WIDTH = 7.2


def place_of(j: int, total: int) -> int:
    """Find the position of a draw on the line."""
    return definition.below(definition.draw(SEED, j // 2, TREE, definition.PURPOSE_BAG, j % 2), total)


def draw() -> Figure:
    """Draw the line, the drawn positions, and the counts."""
    total = sum(WEIGHTS)
    places = [place_of(j, total) for j in range(total)]
    figure, axes = blank(8.2, 2.75)
    unit = WIDTH / total
    title(axes, 0.5, 0.3, f"{total} draws")
    note(axes, 1.4, 0.305, "each is a position on the line, computed from (seed, tree, number of the draw)")
    begin = 0
    for rank, weight in enumerate(WEIGHTS):
        x = 0.5 + begin * unit
        box = Rectangle((x, 1.15), weight * unit, 0.42, facecolor=SHADES[rank], edgecolor=FAINT, lw=0.8)
        axes.add_patch(box)
        axes.text(x + weight * unit / 2, 1.36, f"rank {rank}", ha="center", va="center", fontsize=9, color=INK)
        count = sum(begin <= place < begin + weight for place in places)
        cell(axes, x + weight * unit / 2 - 0.28, 1.85, str(count), 0.56, fill=SHADES[rank] if count else "#ffffff")
        if not count:
            note(axes, x + weight * unit / 2, 2.27, "out of bag", ha="center")
        begin += weight
    for place in sorted(set(places)):
        for i in range(places.count(place)):
            axes.plot(0.5 + (place + 0.5) * unit, 1.03 - 0.15 * i, marker="v", color=BARK, ms=7, mec="white", mew=0.5)
    note(axes, 0.5, 2.55, "a bag is a list of counts: a row drawn twice is stored once, with count 2")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
