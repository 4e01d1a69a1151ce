"""The three impurities of two classes, and a split that misclassification does not see."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, PAPER, SKY, save
from weald import impurity as impurities

LOOKS = {"entropy": SKY, "gini": LEAF, "misclassification": BARK}
SIZE = 1000
PARENT, CHILDREN = 0.25, (0.0, 0.4)  # fractions of the rarer class


def impurity(name: str, share: float) -> float:
    """Compute the impurity of a node by the fraction of its second class; entropy is halved for comparison."""
    of = getattr(impurities, name)
    return float(of([1 - share, share])) * (0.5 if name == "entropy" else 1.0)


def draw_curves(axes: Axes) -> None:
    """Draw impurity against the fraction of one class."""
    shares = np.arange(0, SIZE + 1, 5) / SIZE
    for name, color in LOOKS.items():
        label = "entropy / 2" if name == "entropy" else name
        axes.plot(shares, [impurity(name, share) for share in shares], color=color, lw=1.8, label=label)
    axes.set(xlabel="fraction of one class", ylabel="impurity", xlim=(0, 1), ylim=(0, 0.56))
    axes.legend(loc="lower center", fontsize=9)


def draw_cut(axes: Axes) -> None:
    """Draw a split whose sides keep the most common class: on a straight line the gain is zero."""
    shares = np.arange(0, SIZE // 2 + 1, 5) / SIZE
    for name, color in (("gini", LEAF), ("misclassification", BARK)):
        axes.plot(shares, [impurity(name, share) for share in shares], color=color, lw=1.8)
        ends = [impurity(name, share) for share in CHILDREN]
        axes.plot(CHILDREN, ends, "o--", color=color, lw=1, ms=5)
        part = (PARENT - CHILDREN[0]) / (CHILDREN[1] - CHILDREN[0])
        mean, whole = ends[0] + part * (ends[1] - ends[0]), impurity(name, PARENT)
        axes.plot(PARENT, whole, "o", color=color, ms=7, mec=PAPER)
        if whole - mean > 1e-9:
            axes.annotate("", (PARENT, mean), (PARENT, whole), arrowprops={"arrowstyle": "-|>", "color": color})
            axes.text(PARENT - 0.012, whole + 0.03, f"gain {whole - mean:.3f}", color=color, ha="right", fontsize=9)
        else:
            axes.text(PARENT + 0.012, whole - 0.028, "gain 0", color=color, va="center", fontsize=9)
    axes.set(xlabel="fraction of the rarer class", xlim=(-0.01, 0.5), ylim=(0, 0.56))
    axes.set_title(f"a node of {PARENT:.0%}, split into {CHILDREN[0]:.0%} and {CHILDREN[1]:.0%}", fontsize=10)


def draw() -> Figure:
    """Draw both parts."""
    figure = Figure(figsize=(8.2, 3.4), facecolor=PAPER, layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_curves(left)
    draw_cut(right)
    for axes in (left, right):
        axes.tick_params(color=FAINT)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
