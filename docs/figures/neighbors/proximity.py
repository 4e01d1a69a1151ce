"""Proximities of the iris flowers: three blocks, two of which touch."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import weald
from docs.figures.drawing import FAINT, INK, save


def draw() -> Figure:
    """Draw the fraction of trees in which two flowers share a leaf, ordered by species and petal width."""
    iris = load_iris()
    X, y = iris.data, iris.target
    forest = weald.RandomForestClassifier(300, min_samples_leaf=3, random_state=0).fit(X, y)
    order = np.lexsort((X[:, 3], y))
    near = forest.neighbors(X, y).proximity(out_of_bag=True).toarray()[np.ix_(order, order)]
    figure = Figure(figsize=(5.4, 4.3), layout="constrained")
    ax = figure.subplots()
    shades = LinearSegmentedColormap.from_list("leaf", ["#ffffff", "#bcd9c3", "#3f7d4f", "#173d22"])
    picture = ax.imshow(near, cmap=shades, vmin=0, vmax=1, interpolation="nearest")
    for edge in (49.5, 99.5):
        ax.axhline(edge, color=FAINT, lw=0.6)
        ax.axvline(edge, color=FAINT, lw=0.6)
    names = [str(name) for name in iris.target_names]
    ax.set_xticks([24.5, 74.5, 124.5], names)
    ax.set_yticks([24.5, 74.5, 124.5], names, rotation=90, va="center")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(True)
    bar = figure.colorbar(picture, shrink=0.8)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    bar.set_label("fraction of trees, out of bag", color=INK)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
