"""Two identical features: permuting one of them increases the error, dropping one does not."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import FAINT, GRAY, INK, LEAF, SKY, save

NAMES = ("a copied feature", "its copy", "no copy", "noise")


def draw() -> Figure:
    """Draw permutation importance next to drop-column importance."""
    rng = np.random.default_rng(1)
    n = 800
    X = rng.normal(size=(n, 4))
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=n)
    y = (X[:, 0] + 0.7 * X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(int)
    forest = weald.RandomForestClassifier(200, random_state=0).fit(X, y)
    figure = Figure(figsize=(8.2, 2.5), layout="constrained")
    panels = {"permutation": SKY, "drop_column": LEAF}
    for ax, (kind, color) in zip(figure.subplots(1, 2, sharey=True), panels.items(), strict=True):
        found = weald.importance(forest, X, y, kind=kind, names=NAMES)
        places = np.arange(len(NAMES))[::-1]
        look = {"ecolor": INK, "elinewidth": 1.0}
        ax.barh(places, found.values, xerr=2 * found.std_error, color=color, height=0.62, error_kw=look)
        ax.axvline(0, color=FAINT, lw=0.8)
        ax.set_yticks(places, NAMES)
        ax.set_title(kind, loc="left", fontsize=10, weight="bold")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.locator_params(axis="x", nbins=5)
        ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}%")
        ax.grid(axis="x", color=GRAY, lw=0.8)
        ax.set_axisbelow(True)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
