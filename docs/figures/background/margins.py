"""Margins: the confidence of a forest in the right class, row by row, compared with a single tree."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, LEAF, SHADES, SKY, save


def draw() -> Figure:
    """Draw the cumulative distribution of the margins, for three forests."""
    X, y = load_digits(return_X_y=True)
    X, y = X[::2], y[::2]
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    ax = figure.subplots()
    ax.axvspan(-0.7, 0, color=SHADES[1], lw=0)
    ax.text(-0.68, 0.95, "misclassified", color=BARK, weight="bold", va="top")
    for m, color, place in ((1, BARK, (0.4, 0.6)), (8, LEAF, (0.66, 0.6)), (64, SKY, (0.72, 0.29))):
        forest = weald.RandomForestClassifier(150, max_features=m, random_state=0).fit(X, y)
        margins = np.sort(weald.strength(forest, X, y).margins)
        ax.step(margins, np.arange(1, len(margins) + 1) / len(margins), color=color, lw=1.8, where="post")
        ax.annotate(f"m = {m}", place, color=color, weight="bold")
    ax.axvline(0, color=FAINT, lw=0.8)
    ax.grid(axis="y", color=GRAY, lw=0.8)
    ax.set(xlim=(-0.7, 1.02), ylim=(0, 1.02), xlabel="margin", ylabel="fraction of rows up to this margin")
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
