"""An oblique and a curved class boundary: one tree makes a staircase, a forest smooths it."""

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from weald import DecisionTreeClassifier, RandomForestClassifier
from weald.plot import BoundaryDisplay


def border(x: Array) -> Array:
    """The true boundary: an oblique line, then a wave."""
    return np.where(x < 0, 0.5 * x, 0.7 * np.sin(2.4 * x))


def show(ax: Axes, model: DecisionTreeClassifier | RandomForestClassifier, X: Array, y: Array) -> None:
    """Draw a model, its training rows, and the true boundary."""
    BoundaryDisplay.from_estimator(model, X, y, ax=ax, resolution=300)
    x = np.linspace(*ax.get_xlim(), 300)
    ax.plot(x, border(x), color="white", linewidth=3.2)
    ax.plot(x, border(x), color="black", linewidth=1.2, linestyle="--")


def draw(quick: bool = False) -> Figure:
    """Draw a tree and a forest trained on the same rows."""
    rng = np.random.default_rng(6)
    X, fresh = rng.uniform([-2, -1.5], [2, 1.5], size=(2, 400, 2))
    y, truth = X[:, 1] > border(X[:, 0]), fresh[:, 1] > border(fresh[:, 0])
    tree = DecisionTreeClassifier().fit(X, y)
    forest = RandomForestClassifier(10 if quick else 300, random_state=0).fit(X, y)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    for ax, model, name in zip(axes, (tree, forest), ("one tree", f"{forest.n_estimators} trees"), strict=True):
        show(ax, model, X, y)
        ax.set(title=f"{name}: {1 - model.score(fresh, truth):.1%} errors on new rows", ylabel="")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
