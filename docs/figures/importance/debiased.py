"""Noise with more distinct values: its MDI increases, its debiased MDI does not."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, LEAF, save

VALUES = (2, 4, 8, 16, 32, 64, 128, 256)


def draw() -> Figure:
    """Draw both importances of eight noise features over the number of their values, and of a signal."""
    rng = np.random.default_rng(0)
    n = 600
    signal = rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.3, 1 - signal, signal)
    X = np.column_stack([signal, *(rng.integers(0, k, n) for k in VALUES)])
    forest = weald.RandomForestClassifier(200, random_state=0).fit(X, y)
    figure = Figure(figsize=(8.2, 2.9), layout="constrained")
    panels = {"mdi": (BARK, "fraction of the decrease"), "debiased_mdi": (LEAF, "decrease on new rows")}
    for ax, (kind, (color, unit)) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        found = weald.importance(forest, X, y, kind=kind)
        ax.errorbar(VALUES, found.values[1:], 2 * found.std_error[1:], color=color, marker="o", ms=4, lw=1.6)
        ax.axhline(found.values[0], color=FAINT, lw=1.2, ls=(0, (5, 2)))
        ax.annotate("the signal", (2, found.values[0]), (0, 5), textcoords="offset points", color=FAINT)
        ax.axhline(0, color=FAINT, lw=0.8)
        ax.set_xscale("log", base=2)
        ax.set_xticks(VALUES, [str(k) for k in VALUES])
        ax.minorticks_off()
        low, high = ax.get_ylim()
        ax.set(xlabel="distinct values of a noise feature", ylabel=unit, ylim=(low, high + 0.12 * (high - low)))
        ax.set_title(kind, loc="left", fontsize=10, weight="bold")
        ax.grid(axis="y", color=GRAY, lw=0.8)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
