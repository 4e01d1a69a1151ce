"""Decision boundaries of a random forest and a kernel forest: an oblique line and an arc. 100 trees each."""

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from weald import KernelForestClassifier, RandomForestClassifier
from weald.plot import BoundaryDisplay


def border(x: Array) -> Array:
    """The true boundary: an oblique line, then an arc."""
    return np.where(x < 0, -0.8 * x - 0.9, np.sqrt(np.maximum(0.0, 1.3**2 - (x - 1.05) ** 2)) - 1.66)


def show(ax: Axes, model: RandomForestClassifier, X: Array, y: Array, resolution: int) -> None:
    """Draw a model, its training rows, and the true boundary."""
    BoundaryDisplay.from_estimator(model, X, y, ax=ax, resolution=resolution)
    x = np.linspace(*ax.get_xlim(), 400)
    ax.plot(x, border(x), color="white", linewidth=3.2)
    ax.plot(x, border(x), color="black", linewidth=1.2, linestyle="--")


def draw(quick: bool = False) -> Figure:
    """Draw both forests, trained on the same rows."""
    rng = np.random.default_rng(3)
    X, fresh = rng.uniform([-2, -1.8], [2, 1.2], size=(2, 500, 2))
    y, truth = X[:, 1] > border(X[:, 0]), fresh[:, 1] > border(fresh[:, 0])
    n_trees, resolution = (5, 40) if quick else (100, 300)
    models = {
        "random forest": RandomForestClassifier(n_trees, random_state=0).fit(X, y),
        "kernel forest": KernelForestClassifier(n_trees, random_state=0).fit(X, y),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        show(ax, model, X, y, resolution)
        ax.set(
            title=f"{name}, {n_trees} trees: {1 - model.score(fresh, truth):.1%} errors on new rows",
            ylabel="x1" if ax is axes[0] else "",
        )
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
