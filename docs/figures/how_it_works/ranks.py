"""Rows are ranked by a hash of their contents: two orders of the same rows have the same ranks."""

from matplotlib.figure import Figure

from docs.figures.drawing import FAINT, SHADES, arrow, blank, cell, note, save, title
from weald.engines.reference.definition import code_table, hash_row

ROWS = [(5.1, 0.2, 0), (6.7, 1.4, 1), (5.9, 2.1, 2), (6.7, 1.5, 1), (4.8, 0.2, 0)]  # two features and a class
ORDERS = ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1])


def draw() -> Figure:
    """Draw two orders of one table, and their ranks."""
    figure, axes = blank(8.2, 4.5)
    title(axes, 0.3, 0.3, "one table, two orders")
    title(axes, 3.15, 0.3, "hash of the codes")
    title(axes, 5.6, 0.3, "rank order: one for both")
    for part, order in enumerate(ORDERS):
        rows = [ROWS[i] for i in order]
        top = 0.55 + 2.0 * part
        columns = [[row[0] for row in rows], [row[1] for row in rows]]
        classes = [row[2] for row in rows]
        coded = code_table(columns, classes, [], 3, [1.0] * len(rows), whole=True, max_bins=65_535)
        by_row = {place: rank for rank, place in enumerate(coded.position)}
        for i, row in enumerate(rows):
            y = top + 0.34 * i
            fill = SHADES[order[i]]
            for j, text in enumerate((f"{row[0]:g}", f"{row[1]:g}", "abc"[row[2]])):
                cell(axes, 0.3 + 0.65 * j, y, text, 0.65, fill=fill)
            rank = by_row[i]
            codes = [column.codes[rank] for column in coded.columns]
            cell(axes, 3.1, y, f"{hash_row(codes) >> 48:04x}…", 0.95, family="DejaVu Sans Mono", fill=fill)
            arrow(axes, (2.32, y + 0.15), (3.05, y + 0.15))
            target = 1.56 + 0.34 * rank
            axes.plot([4.1, 5.55], [y + 0.15, target + 0.15], color=FAINT, lw=1, ls="-" if part == 0 else (0, (3, 2)))
            if part == 0:
                cell(axes, 5.6, target, f"rank {rank}", 0.8, fill=fill)
                for j, text in enumerate((f"{row[0]:g}", f"{row[1]:g}", "abc"[row[2]])):
                    cell(axes, 6.4 + 0.5 * j, target, text, 0.5, fill=fill)
    note(axes, 5.6, 3.5, "bags are drawn from the ranks,")
    note(axes, 5.6, 3.72, "so the order of rows does not matter")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
