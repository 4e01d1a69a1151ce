"""Each stopping rule on one data set: error on training rows and on test rows, by the number of leaves."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from docs.figures.drawing import BARK, FAINT, LEAF, LINE, PAPER, save
from weald import DecisionTreeClassifier

# From loose to tight.
RULES = {
    "max_depth": [20, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1],
    "min_samples_split": [2, 5, 10, 20, 40, 80, 120, 160, 240, 320, 480, 640, 1000, 1900],
    "min_samples_leaf": [1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 400, 700],
    "max_leaf_nodes": [240, 160, 120, 80, 60, 40, 30, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2],
    "min_impurity_decrease": [0, 2e-4, 4e-4, 6e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 5e-3, 8e-3, 1.2e-2, 2e-2, 3e-2, 6e-2],
}
N_TRAIN, N_TEST, NOISE = 2000, 20_000, 0.35


def errors_of_rules():
    """Fit a tree for each value of each rule: (leaves, training error, error on new rows)."""
    (X, y), (X_new, y_new) = (make_moons(n, noise=NOISE, random_state=s) for n, s in ((N_TRAIN, 0), (N_TEST, 1)))
    found = {}
    for rule, values in RULES.items():
        models = [DecisionTreeClassifier(**{rule: value}).fit(X, y) for value in values]
        found[rule] = [(m.get_n_leaves(), m.training_error(), 1 - m.score(X_new, y_new)) for m in models]
    path = DecisionTreeClassifier().fit(X, y)
    pruned = [path.prune(alpha) for alpha in path.pruning_path(frame="dict")["alpha"]]
    found["pruning: ccp_alpha"] = [(m.get_n_leaves(), m.training_error(), 1 - m.score(X_new, y_new)) for m in pruned]
    return found


def draw_rule(axes: Axes, rule: str, found: list[tuple[int, float, float]], least: float) -> None:
    """Draw both errors by the number of leaves, and mark the minimum."""
    leaves, training, new = np.array(found).T
    axes.axhline(least, color=LINE, lw=1, zorder=0)
    axes.plot(leaves, training, color=FAINT, lw=1.4)
    axes.plot(leaves, new, color=LEAF, lw=1.8)
    at = int(new.argmin())
    axes.plot(leaves[at], new[at], "o", color=BARK, ms=6, mec=PAPER)
    axes.annotate(
        f"{new[at]:.3f}\n{leaves[at]:.0f} leaves",
        (leaves[at], new[at]),
        xytext=(0, 9),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8.5,
        color=BARK,
    )
    axes.set_title(rule, fontsize=10, loc="left")
    axes.set(xscale="log", xlim=(1.8, 300), ylim=(0, 0.3))
    axes.set_xticks([2, 5, 10, 20, 50, 100, 200], labels=["2", "5", "10", "20", "50", "100", "200"])
    axes.minorticks_off()


def draw() -> Figure:
    """Draw a panel for each rule."""
    found = errors_of_rules()
    figure = Figure(figsize=(8.2, 5.2), facecolor=PAPER, layout="constrained")
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    least = min(new for errors in found.values() for _, _, new in errors)
    for axes, (rule, errors) in zip(panels.flat, found.items(), strict=True):
        draw_rule(axes, rule, errors, least)
    panels[0, 0].set_ylabel("error")
    panels[1, 0].set_ylabel("error")
    for axes in panels[1]:
        axes.set_xlabel("leaves")
    panels[0, 0].text(150, 0.185, "test rows", color=LEAF, ha="right", fontsize=9)
    panels[0, 0].text(30, 0.055, "training rows", color=FAINT, ha="right", fontsize=9)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
