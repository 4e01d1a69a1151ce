"""A monotonic constraint: the same noisy points, an unconstrained forest and an increasing one."""

import numpy as np
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, PAPER, save
from weald import RandomForestRegressor

N = 160


def draw() -> Figure:
    """Draw the points and the predictions of both forests."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0, 10, N))
    y = 4 / (1 + np.exp(5 - x)) + 0.12 * x + rng.normal(scale=0.55, size=N)
    at = np.linspace(0, 10, 1500)[:, np.newaxis]
    figure = Figure(figsize=(8.2, 3.3), facecolor=PAPER, layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, constraint, color, words in (
        (axes[0], None, BARK, "free"),
        (axes[1], [1], LEAF, "monotonic_cst=[1]"),
    ):
        forest = RandomForestRegressor(300, min_samples_leaf=3, monotonic_cst=constraint, random_state=0)
        predicted = forest.fit(x[:, np.newaxis], y).predict(at)
        axis.plot(x, y, "o", color=FAINT, ms=3, alpha=0.6, mew=0)
        axis.plot(at[:, 0], predicted, color=color, lw=1.8)
        axis.set_title(words, loc="left", fontsize=10, weight="bold", color=color)
        falls = int((np.diff(predicted) < 0).sum())
        axis.text(9.9, y.min(), f"falls at {falls} places" if falls else "never falls", ha="right", color=color)
        axis.set_xlabel("feature")
    axes[0].set_ylabel("target")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
