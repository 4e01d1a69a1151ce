"""More features per node make stronger and more correlated trees; the error is lowest in between."""

from matplotlib.figure import Figure
from sklearn.datasets import load_digits

import weald
from docs.figures.drawing import BARK, INK, LEAF, SKY, save

FEATURES = (1, 2, 4, 8, 16, 32, 64)


def draw() -> Figure:
    """Draw strength, correlation and error over the number of features."""
    X, y = load_digits(return_X_y=True)
    X, y = X[::2], y[::2]
    found = [
        weald.strength(weald.RandomForestClassifier(100, max_features=m, random_state=0).fit(X, y), X, y)
        for m in FEATURES
    ]
    figure = Figure(figsize=(8.2, 3.3))
    left = figure.add_axes((0.07, 0.18, 0.42, 0.72))
    right = figure.add_axes((0.57, 0.18, 0.41, 0.72))
    left.plot(FEATURES, [f.strength for f in found], color=LEAF, lw=1.8, marker="o", ms=4)
    left.plot(FEATURES, [f.correlation for f in found], color=BARK, lw=1.8, marker="o", ms=4)
    left.text(8, found[3].strength + 0.06, "strength", color=LEAF, weight="bold")
    left.text(1.05, found[0].correlation - 0.075, "correlation", color=BARK, weight="bold")
    left.set(ylim=(0, 0.8), xlabel="features per node (max_features)")
    left.plot(
        FEATURES, [f.correlation / f.strength**2 for f in found], color=SKY, lw=1.2, marker="o", ms=3, ls=(0, (5, 2))
    )
    left.text(2.1, 0.38, "correlation / strength²", color=SKY, weight="bold")
    right.plot(FEATURES, [f.error for f in found], color=INK, lw=1.8, marker="o", ms=4)
    right.text(1.1, 0.004, "out-of-bag error", color=INK, weight="bold")
    right.set(ylim=(0, 0.062), xlabel="features per node (max_features)")
    right.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(FEATURES, [str(m) for m in FEATURES])
        axes.minorticks_off()
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
