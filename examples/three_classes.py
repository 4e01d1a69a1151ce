"""Three classes, split in the order a to e, and the tree with the same splits."""

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save
from matplotlib.figure import Figure

from weald import DecisionTreeClassifier
from weald.plot import PartitionDisplay

NAMES = ["circle", "square", "triangle"]


def make_points(n_rows: int = 90) -> tuple[Array, Array]:
    """Scatter points over six rectangles, each of one class, with gaps between them."""
    points = np.random.default_rng(6).uniform(0, 1, size=(8 * n_rows, 2))
    x, y = points.T
    left, low, middle = x < 0.5, y < np.where(x < 0.5, 0.55, 0.4), x < 0.78
    classes = np.select([left & low, left, low, middle, y < 0.72], [0, 1, 2, 0, 1], default=2)
    border = np.minimum(abs(x - 0.5), abs(y - np.where(left, 0.55, 0.4)))
    border = np.where(left | low, border, np.minimum(border, abs(x - 0.78)))
    border = np.where(left | low | middle, border, np.minimum(border, abs(y - 0.72)))
    free = border > 0.03
    return points[free][:n_rows], classes[free][:n_rows]


def draw(quick: bool = False) -> Figure:
    """Draw each split in order, then all of them next to their tree."""
    X, y = make_points()
    tree = DecisionTreeClassifier().fit(X, y)
    figure = plt.figure(figsize=(9, 6.2), layout="constrained")
    axes = figure.subplot_mosaic("012345;pppttt", height_ratios=[1, 2.2])
    for n_cuts in range(tree.get_n_leaves()):
        ax = axes[str(n_cuts)]
        display = PartitionDisplay.from_estimator(tree, X, y, n_cuts=n_cuts, ax=ax)
        ax.set(xlabel=f"impurity {display.impurities[n_cuts]:.2f}", ylabel="", xticks=[], yticks=[])
        if n_cuts:
            cut = tree.tree_.impurity[display.cuts_[-1]]
            ax.set_title(f"{'abcde'[n_cuts - 1]} cuts {cut:.2f}")
    PartitionDisplay.from_estimator(tree, X, y, class_names=NAMES, ax=axes["p"], tree_ax=axes["t"])
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
