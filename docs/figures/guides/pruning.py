"""The trees of a pruning path: error on training rows, on test rows and by cross-validation, and the choice."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from docs.figures.drawing import BARK, FAINT, LEAF, PAPER, SKY, save
from weald import DecisionTreeClassifier

N_TRAIN, N_TEST, NOISE = 2000, 20_000, 0.35


def draw() -> Figure:
    """Draw error over size."""
    (X, y), (X_new, y_new) = (make_moons(n, noise=NOISE, random_state=s) for n, s in ((N_TRAIN, 0), (N_TEST, 1)))
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    path = tree.pruning_path(frame="dict")
    choice = tree.choose_alpha(X, y, cv=10)
    new = tree.choose_alpha(X_new, y_new, method="holdout").errors
    leaves = path["leaves"]

    figure = Figure(figsize=(8.2, 3.8), facecolor=PAPER, layout="constrained")
    axes = figure.subplots()
    low, high = choice.errors - choice.standard_errors, choice.errors + choice.standard_errors
    axes.fill_between(leaves, low, high, color=SKY, alpha=0.15, lw=0)
    axes.plot(leaves, choice.errors, color=SKY, lw=1.6, label="10-fold cross-validation, ± one standard error")
    axes.plot(leaves, new, color=LEAF, lw=1.8, label=f"{N_TEST:,} test rows")
    axes.plot(leaves, path["error"], color=FAINT, lw=1.4, label="training rows")
    for at, word, side in ((choice.best, "lowest error", 1), (choice.chosen, "chosen", -1)):
        axes.plot(leaves[at], choice.errors[at], "o", color=BARK, ms=6, mec=PAPER)
        axes.annotate(
            f"{word}: {leaves[at]} leaves",
            (leaves[at], choice.errors[at]),
            xytext=(0, 34 * side if side > 0 else -30),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            color=BARK,
            arrowprops={"arrowstyle": "-", "color": BARK, "lw": 0.8, "shrinkB": 4},
        )
    axes.set(xscale="log", xlabel="leaves", ylabel="error", ylim=(0, 0.3), xlim=(1.8, leaves[0] * 1.05))
    axes.set_xticks([2, 5, 10, 20, 50, 100, 200], labels=["2", "5", "10", "20", "50", "100", "200"])
    axes.minorticks_off()
    axes.legend(loc="lower left", fontsize=9)
    assert (np.diff(path["error"]) >= 0).all()  # noqa: S101  (training error can only rise as leaves go)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
