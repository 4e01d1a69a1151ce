"""Adaptive neighbors: weights of the training rows in a prediction, where only one of two features matters."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import BARK, FAINT, INK, LINE, SKY, save

CASES = ((-0.55, 0.0), (0.45, 0.35))


def draw() -> Figure:
    """Draw the weights of two predictions as the areas of points."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(500, 2))
    y = np.where(X[:, 0] < 0, np.sin(6 * X[:, 0]), np.sin(6 * X[:, 1])) + 0.1 * rng.normal(size=500)
    forest = weald.RandomForestRegressor(n_estimators=300, random_state=0, max_features=2, min_samples_leaf=4).fit(X, y)
    weights = forest.weights(np.array(CASES), X, y).toarray()
    figure = Figure(figsize=(8.4, 3.9), layout="constrained")
    for ax, case, weight, title in zip(
        figure.subplots(1, 2, sharey=True), CASES, weights,
        ("Here only the first feature matters", "Here only the second does"), strict=True,
    ):  # fmt: skip
        ax.plot(*X.T, ".", ms=3, color=LINE)
        seen = weight > 0
        ax.scatter(*X[seen].T, s=2600 * weight[seen], color=SKY, alpha=0.6, lw=0)
        ax.plot(*case, "x", ms=9, mew=2.4, color=BARK)
        ax.axvline(0, color=FAINT, lw=0.8, ls=":")
        ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), xlabel="first feature", aspect="equal")
        ax.set_title(title, loc="left", fontsize=10, weight="bold", color=INK)
    figure.axes[0].set_ylabel("second feature")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
