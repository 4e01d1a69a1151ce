"""Three correlated features: each appears less important than the group."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

import weald
from docs.figures.drawing import FAINT, GRAY, INK, LEAF, SKY, save

GROUPS = {
    "size": ["mean radius", "mean perimeter", "mean area"],
    "shape": ["mean concavity", "mean concave points", "mean compactness"],
}


def draw() -> Figure:
    """Draw the features of each group one by one, and the group below them."""
    table = load_breast_cancer()
    X, y, names = table.data[:, :8], table.target, list(table.feature_names[:8])
    forest = weald.RandomForestClassifier(200, random_state=0).fit(X, y)
    single = weald.importance(forest, X, y, names=names)
    together = weald.importance(forest, X, y, names=names, groups=GROUPS)
    figure = Figure(figsize=(8.2, 3.1), layout="constrained")
    ax = figure.subplots()
    places, labels, row = [], [], 0.0
    for group, members in GROUPS.items():
        for name in [*members, group]:
            found, color = (together, LEAF) if name == group else (single, SKY)
            at = found.names.index(name)
            look = {"ecolor": INK, "elinewidth": 1.0}
            ax.barh(row, found.values[at], xerr=2 * found.std_error[at], color=color, height=0.7, error_kw=look)
            places.append(row)
            labels.append(f"{group}: all three" if name == group else name)
            row += 1
        row += 0.6
    ax.set_yticks(places, labels)
    for label in ax.get_yticklabels()[3::4]:
        label.set_weight("bold")
    ax.axvline(0, color=FAINT, lw=0.8)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=GRAY, lw=0.8)
    ax.set_axisbelow(True)
    ax.invert_yaxis()
    ax.set_xlabel("increase of a tree's error rate, ± 2 standard errors")
    ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}%")
    ax.set_xticks(np.arange(0, 0.21, 0.05))
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
