"""Five rectangles that no tree can separate with five leaves: every straight line cuts one of them."""

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from weald import DecisionTreeClassifier
from weald.plot import PartitionDisplay
from weald.plot.palette import INK, class_colors, class_markers, tint

# Left, bottom, right, top of the pieces: four in a ring, and the middle.
PIECES = [(0, 0, 2, 1), (2, 0, 3, 2), (1, 2, 3, 3), (0, 1, 1, 3), (1, 1, 2, 2)]


def draw(quick: bool = False) -> Figure:
    """Draw the rectangles, and the regions of a tree."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, size=(400, 2))
    pieces = np.array(PIECES)
    inside = (pieces[:, None, :2] <= X).all(axis=2) & (pieces[:, None, 2:] > X).all(axis=2)
    y = np.argmax(inside, axis=0)
    tree = DecisionTreeClassifier().fit(X, y)
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained")
    for k, (piece, color, marker) in enumerate(zip(PIECES, class_colors(5), class_markers(5), strict=True)):
        left, bottom, right, top = piece
        whole = Rectangle((left, bottom), right - left, top - bottom, facecolor=tint(color, 0.3), edgecolor=INK)
        axes[0].add_patch(whole)
        axes[0].scatter(*X[y == k].T, s=12, color=color, marker=marker, edgecolors=INK, linewidths=0.5, zorder=3)
    PartitionDisplay.from_estimator(tree, X, y, ax=axes[1])
    for ax, words in zip(axes, ("five rectangles", f"a tree of {tree.get_n_leaves()} leaves"), strict=True):
        ax.set(title=words, xlim=(0, 3), ylim=(0, 3), aspect="equal", xlabel="", ylabel="", xticks=[], yticks=[])
        ax.spines[:].set(visible=True, color=INK, linewidth=1.2)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
