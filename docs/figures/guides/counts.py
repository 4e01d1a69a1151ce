"""Trees of counts and of numbers with outliers: each by squared error, and by the criterion made for it."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, LINE, PAPER, SKY, save
from weald import DecisionTreeRegressor

N = 600
LOOKS = {"squared_error": BARK, "poisson": LEAF, "absolute_error": SKY}


def draw_trees(axes: Axes, x: np.ndarray, y: np.ndarray, other: str, **given: int) -> None:
    """Draw the predictions of trees with both criteria."""
    grid = np.linspace(0, 1, 2000)
    for criterion in ("squared_error", other):
        tree = DecisionTreeRegressor(criterion=criterion, **given).fit(x[:, None], y)
        axes.plot(grid, tree.predict(grid[:, None]), color=LOOKS[criterion], lw=1.8, label=criterion)


def draw_counts(axes: Axes) -> None:
    """Draw counts whose rate grows by a factor of a thousand."""
    rng = np.random.default_rng(1)
    x = rng.random(N)
    y = rng.poisson(0.02 * 1000**x)
    grid = np.linspace(0, 1, 200)
    axes.plot(grid, 0.02 * 1000**grid, color=FAINT, lw=1, ls="--", label="true rate")
    draw_trees(axes, x, y, "poisson", max_leaf_nodes=6)
    axes.set(xlabel="x", ylabel="count (logarithmic)", yscale="log", xlim=(0, 1))
    axes.set_title("counts: six leaves", fontsize=10)
    axes.legend(loc="upper left", fontsize=9)


def draw_outliers(axes: Axes) -> None:
    """Draw numbers of which one in twelve is far too large."""
    rng = np.random.default_rng(2)
    x = rng.random(N)
    y = np.sin(5 * x) + rng.normal(size=N) / 5
    y[rng.random(N) < 1 / 12] += 8
    axes.plot(x, y, ".", color=LINE, ms=4)
    draw_trees(axes, x, y, "absolute_error", max_leaf_nodes=12, min_samples_leaf=20)
    axes.set(xlabel="x", ylabel="y", xlim=(0, 1), ylim=(-2, 5))
    axes.set_title("one target in twelve is 8 too large", fontsize=10)
    axes.legend(loc="upper left", fontsize=9)


def draw() -> Figure:
    """Draw both parts."""
    figure = Figure(figsize=(8.2, 3.6), facecolor=PAPER, layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_counts(left)
    draw_outliers(right)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
