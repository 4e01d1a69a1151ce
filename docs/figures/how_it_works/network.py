"""A bitonic network sorts eight keys: which keys are compared does not depend on the keys."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, INK, LEAF, blank, note, save

KEYS = [31, 7, 44, 12, 3, 25, 40, 18]  # codes of a node's eight rows


def steps(n: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """List the steps: the length of the runs that a step helps to sort, and the pairs (smaller, larger)."""
    found = []
    run = 2
    while run <= n:
        distance = run // 2
        while distance:
            pairs = []
            for i in range(n):
                j = i ^ distance
                if i < j:
                    pairs.append((i, j) if i & run == 0 else (j, i))
            found.append((run, pairs))
            distance //= 2
        run *= 2
    return found


def draw_pairs(axes: Axes, x: float, pairs: list[tuple[int, int]], lane: float) -> float:
    """Draw the comparisons of one step side by side where they would overlap; return the width."""
    columns: list[list[tuple[int, int]]] = []
    for pair in pairs:
        low, high = min(pair), max(pair)
        free = (c for c in columns if all(high < min(p) or low > max(p) for p in c))
        column = next(free, None)
        if column is None:
            columns.append([pair])
        else:
            column.append(pair)
    for i, column in enumerate(columns):
        at = x + 0.13 * i
        for smaller, larger in column:
            axes.plot([at, at], [0.75 + lane * smaller, 0.75 + lane * larger], color=BARK, lw=1.4, zorder=2)
            axes.plot(at, 0.75 + lane * smaller, "o", ms=5, color=BARK, zorder=3)
            axes.plot(at, 0.75 + lane * larger, "o", ms=5, color="white", mec=BARK, zorder=3)
    return 0.13 * (len(columns) - 1)


def draw() -> Figure:
    """Draw the lanes, the comparisons, and the keys between them."""
    figure, axes = blank(8.2, 3.95)
    lane, x, keys = 0.36, 0.75, list(KEYS)
    write_keys(axes, 0.45, keys, lane, INK)
    for number, (_, pairs) in enumerate(steps(len(keys))):
        x += 0.45
        note(axes, x, 0.38, f"step {number + 1}")
        x += draw_pairs(axes, x, pairs, lane) + 0.48
        for smaller, larger in pairs:
            keys[smaller], keys[larger] = min(keys[smaller], keys[larger]), max(keys[smaller], keys[larger])
        write_keys(axes, x, keys, lane, LEAF if keys == sorted(keys) else FAINT)
    for i in range(len(keys)):
        axes.plot([0.6, x], [0.75 + lane * i] * 2, color="#d5dae0", lw=1, zorder=0)
    note(
        axes,
        0.35,
        3.72,
        "each bar moves the smaller key to the filled dot; a step is one vector minimum and one vector maximum",
    )
    return figure


def write_keys(axes: Axes, x: float, keys: list[int], lane: float, color: str) -> None:
    """Write the keys on their lanes."""
    for i, key in enumerate(keys):
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        axes.text(x, 0.75 + lane * i, str(key), ha="center", va="center_baseline", fontsize=9, color=color, bbox=box)


if __name__ == "__main__":
    save(draw(), __file__)
