"""Local importance: two features that matter in different places."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, SKY, save


def draw() -> Figure:
    """Draw each row's importance of two features against the third, which decides between them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(800, 3))
    y = np.where(X[:, 2] < 0, X[:, 0], X[:, 1])
    forest = weald.RandomForestRegressor(n_estimators=200, random_state=0, min_samples_leaf=3).fit(X, y)
    local = weald.importance(forest, X, y, kind="local", names=("a", "b", "place"))
    figure = Figure(figsize=(7.6, 3.0), layout="constrained")
    ax = figure.subplots()
    for f, color, marker in ((0, SKY, "o"), (1, BARK, "^")):
        ax.plot(X[:, 2], local.values[:, f], marker, ms=3, color=color, alpha=0.45, mew=0)
        edges = np.linspace(-1, 1, 21)
        of_bin = np.digitize(X[:, 2], edges[1:-1])
        means = [np.nanmean(local.values[of_bin == b, f]) for b in range(20)]
        ax.plot((edges[:-1] + edges[1:]) / 2, means, color=color, lw=2.2)
        ax.annotate(
            f"feature {local.names[f]}", (-0.95 if f == 0 else 0.95, 1.95), color=color, weight="bold",
            ha="left" if f == 0 else "right",
        )  # fmt: skip
    ax.axhline(0, color=FAINT, lw=0.8)
    ax.axvline(0, color=FAINT, lw=0.8, ls=":")
    ax.set(
        xlabel="third feature (y = a below 0, y = b above 0)",
        ylabel="increase of the squared error",
        ylim=(-0.3, 2.2),
    )
    ax.grid(axis="y", color=GRAY, lw=0.8)
    ax.set_axisbelow(True)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
