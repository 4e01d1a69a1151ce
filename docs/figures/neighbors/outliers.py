"""Outliers: rows that share few leaves with others of their class. Six labels of the iris data are wrong here."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from sklearn.datasets import load_iris

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, INK, SKY, save


def draw() -> Figure:
    """Draw the scores row by row."""
    X, truth = load_iris(return_X_y=True)
    rng = np.random.default_rng(3)
    wrong = np.sort(rng.choice(len(truth), 6, replace=False))
    y = truth.copy()
    y[wrong] = (y[wrong] + rng.integers(1, 3, 6)) % 3
    forest = weald.RandomForestClassifier(n_estimators=500, random_state=0, max_features=2).fit(X, y)
    scores = forest.neighbors(X, y).outliers(out_of_bag=True)
    figure = Figure(figsize=(7.6, 3.0), layout="constrained")
    ax = figure.subplots()
    right = np.setdiff1d(np.arange(len(y)), wrong)
    ax.plot(right, scores[right], "o", ms=4, color=SKY, mew=0, alpha=0.8, label="original label")
    ax.plot(wrong, scores[wrong], "D", ms=6, color=BARK, mew=0, label="changed label")
    ax.axhline(10, color=FAINT, lw=0.8, ls=":")
    ax.set_yscale("symlog", linthresh=2)
    ax.set_yticks([-1, 0, 1, 10, 100], ["-1", "0", "1", "10", "100"])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set(xlabel="row", ylabel="outlier score", ylim=(-1.6, 150))
    ax.grid(axis="y", color=GRAY, lw=0.8)
    ax.legend(loc="upper right", bbox_to_anchor=(1, 1.16), ncols=2, fontsize=9, labelcolor=INK)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
