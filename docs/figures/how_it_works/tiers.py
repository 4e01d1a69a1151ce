"""The tiers of the GPU engine: who divides a node of which size, and the share of a real forest that each divides.

The forest is grown on the CPU, since it is the same.
"""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from sklearn.datasets import make_classification

from docs.figures.drawing import FAINT, INK, LEAF, SHADES, blank, note, save, title
from weald import RandomForestClassifier
from weald.engines.cuda import plan

TIERS = (
    ("huge", plan.HUGE_ROWS, "many blocks", "chunks of its rows,\nin turns"),
    ("large", plan.MIDDLE_ROWS, "one block", "bins in shared memory,\nthen only what can win"),
    ("middle", plan.TWIG_ROWS, "one block", "a warp takes a feature,\ncodes gathered once"),
    ("twigs", 32, "one warp", "all below the node,\nin shared memory"),
    ("lanes", 0, "one warp", "a row is a lane,\na set of rows a mask"),
)
N_ROWS, N_TREES = 100_000, 3


def divided() -> list[float]:
    """Return the fraction of the rows that pass through split nodes, by tier."""
    X, y = make_classification(N_ROWS, 20, n_informative=8, random_state=0)
    forest = RandomForestClassifier(N_TREES, random_state=0).fit(X.astype(np.float32), y).forest_
    sizes = forest.size[forest.feature >= 0].astype(float) * 0.632  # distinct rows of a bootstrap sample
    ends = [np.inf, *(at_least for _, at_least, *_ in TIERS)]
    sums = [sizes[(sizes > low) & (sizes <= high)].sum() for high, low in pairwise(ends)]
    return [float(found / sizes.sum()) for found in sums]


def draw() -> Figure:
    """Draw a box for each tier, and a bar for its share."""
    figure, axes = blank(9.6, 3.3)
    for i, ((name, at_least, who, how), share) in enumerate(zip(TIERS, divided(), strict=True)):
        x = 0.3 + 1.84 * i
        axes.add_patch(Rectangle((x, 0.3), 1.6, 1.55, facecolor=SHADES[i], edgecolor=FAINT, lw=0.8))
        title(axes, x + 0.1, 0.52, name)
        limit = f"over {at_least:,} rows" if at_least else "up to 32 rows"
        note(axes, x + 0.1, 0.8, limit)
        axes.text(x + 0.1, 1.1, who, fontsize=9.5, color=INK, va="center")
        axes.text(x + 0.1, 1.5, how, fontsize=8.5, color=INK, va="center")
        if i:
            arrow = FancyArrowPatch((x - 0.22, 1.05), (x - 0.02, 1.05), arrowstyle="-|>", mutation_scale=9, color=FAINT)
            axes.add_patch(arrow)
        axes.add_patch(Rectangle((x, 2.1), 1.6, 0.2, facecolor="#eef0f2", edgecolor="none"))
        axes.add_patch(Rectangle((x, 2.1), 1.6 * share, 0.2, facecolor=LEAF, edgecolor="none"))
        axes.text(x, 2.48, f"{share:.0%}", fontsize=9.5, color=INK, va="center")
    note(
        axes,
        0.3,
        2.85,
        f"share of the rows that pass through split nodes: {N_ROWS:,} rows, two classes, trees to purity",
    )
    note(axes, 0.3, 3.08, "children of a node wait in a queue of the tier for their size")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
