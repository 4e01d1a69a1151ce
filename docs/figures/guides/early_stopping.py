"""The out-of-bag error as trees are added, the error on test rows, and where "auto" stops."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import weald
from docs.figures.drawing import BARK, FAINT, INK, LEAF, save

N_TREES = 320


def draw() -> Figure:
    """Draw both curves over the number of trees."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=1)
    forest = weald.RandomForestClassifier(N_TREES, oob_score=True, random_state=0).fit(X, y)
    curve = forest.oob_.curve
    steps = np.array([1, 2, 4, 8, 12, 16, 24, *range(32, N_TREES + 1, 16)])
    tested = [1 - forest[:n].score(X_test, y_test) for n in steps]
    auto = weald.RandomForestClassifier("auto", random_state=0).fit(X, y).forest_.n_trees
    low, high = forest[:auto].out_of_bag(X, y).error_interval()

    figure = Figure(figsize=(8.2, 3.4))
    axes = figure.add_axes((0.08, 0.17, 0.88, 0.75))
    axes.plot(curve.n_trees, curve.error, color=LEAF, lw=1.8)
    axes.plot(steps, tested, color=BARK, lw=1.2, marker="o", ms=2.5)
    axes.axvline(auto, color=FAINT, lw=0.9, ls=(0, (4, 3)))
    error = curve.error[auto - 1]
    axes.errorbar(auto, error, [[error - low], [high - error]], color=LEAF, capsize=3, lw=1.2, fmt="o", ms=4)
    axes.text(auto + 4, 0.245, f'"auto" stops: {auto} trees', color=INK, va="center")
    axes.text(auto + 4, 0.222, "with the 95% interval of the error", color=FAINT, va="center", fontsize=9)
    axes.text(20, 0.135, "out-of-bag rows", color=LEAF, weight="bold")
    axes.text(4, 0.012, "test rows", color=BARK, weight="bold")
    axes.set(xlim=(0, N_TREES), ylim=(0, 0.27), xlabel="trees", ylabel="error rate")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
