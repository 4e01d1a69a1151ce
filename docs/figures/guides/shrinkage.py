"""Error for every lambda of hierarchical shrinkage: of a single tree on new rows, and of a forest out of bag."""

from matplotlib.figure import Figure
from sklearn.datasets import make_friedman1

import weald
from docs.figures.drawing import PAPER, save
from weald.plot import SurfaceDisplay


def draw() -> Figure:
    """Draw two curves."""
    X, y = make_friedman1(1200, noise=3.0, random_state=0)
    tree = weald.DecisionTreeRegressor(random_state=0).fit(X[::2], y[::2])
    forest = weald.RandomForestRegressor(200, oob_score=True, random_state=0).fit(X[::2], y[::2])
    figure = Figure(figsize=(9.6, 3.8), facecolor=PAPER, layout="constrained")
    left, right = figure.subplots(1, 2)
    SurfaceDisplay(weald.surface(tree, X[1::2], y[1::2], "shrinkage")).plot(ax=left)
    SurfaceDisplay.from_estimator(forest, "shrinkage", ax=right)
    left.set_title("a tree, on new rows", fontsize=10)
    right.set_title("a forest, out of bag", fontsize=10)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
