"""XOR: no single split helps, two in sequence solve it; so a gain of zero must be allowed."""

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save
from matplotlib.figure import Figure

from weald import DecisionTreeClassifier
from weald.plot import PartitionDisplay


def make_square(n_rows: int = 30) -> tuple[Array, Array]:
    """Mirror some points into all four quadrants; opposite quadrants belong to the same class."""
    rng = np.random.default_rng(0)
    quarter = rng.uniform(0.05, 1, size=(n_rows, 2))
    corners = [(1, 1), (-1, 1), (1, -1), (-1, -1)]
    X = np.concatenate([quarter * corner for corner in corners])
    return X, np.where(X[:, 0] * X[:, 1] > 0, "same sign", "other sign")


def draw(quick: bool = False) -> Figure:
    """Draw a tree that requires a gain, and one that does not."""
    X, y = make_square()
    figure, axes = plt.subplots(1, 3, figsize=(9.4, 3.2), layout="constrained", width_ratios=[1, 1, 1.5])
    careful = DecisionTreeClassifier(min_impurity_decrease=1e-6).fit(X, y)
    bold = DecisionTreeClassifier().fit(X, y)
    PartitionDisplay.from_estimator(careful, X, y, ax=axes[0])
    PartitionDisplay.from_estimator(bold, X, y, ax=axes[1], tree_ax=axes[2])
    for ax, tree, name in zip(axes, (careful, bold), ("min_impurity_decrease=1e-6", "default"), strict=False):
        ax.set(title=f"{name}: {1 - tree.score(X, y):.0%} errors", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
