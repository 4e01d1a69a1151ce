"""Permuting a feature among all rows creates impossible rows; permuting it inside cells hardly does."""

import numpy as np
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, LINE, save

N_CELLS = 8


def draw() -> Figure:
    """Draw weight over height, original and with permuted weights."""
    rng = np.random.default_rng(3)
    height = rng.normal(size=220)
    weight = height + 0.35 * rng.normal(size=220)
    cuts = np.quantile(height, np.arange(1, N_CELLS) / N_CELLS)
    cells = np.searchsorted(cuts, height)
    inside = weight.copy()
    for cell in range(N_CELLS):
        rows = np.flatnonzero(cells == cell)
        inside[rows] = weight[rng.permutation(rows)]
    figure = Figure(figsize=(8.2, 2.9), layout="constrained")
    panels = {
        "as it is": (weight, FAINT),
        "permuted among all rows": (rng.permutation(weight), BARK),
        "permuted within cells": (inside, LEAF),
    }
    for ax, (name, (values, color)) in zip(figure.subplots(1, 3, sharey=True), panels.items(), strict=True):
        if color == LEAF:
            for cut in cuts:
                ax.axvline(cut, color=LINE, lw=0.9, zorder=0)
        if color != FAINT:
            ax.scatter(height, weight, s=9, color=LINE, linewidths=0)
        ax.scatter(height, values, s=11, color=color, linewidths=0)
        ax.set_title(name, loc="left", fontsize=10, weight="bold")
        ax.set(xticks=[], yticks=[], xlabel="height")
    figure.axes[0].set_ylabel("weight")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
