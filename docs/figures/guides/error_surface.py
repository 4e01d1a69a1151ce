"""Out-of-bag error for every depth and number of trees, from one fit; and for every depth, with its standard error."""

from matplotlib.figure import Figure
from sklearn.datasets import make_classification

import weald
from docs.figures.drawing import PAPER, save
from weald.plot import SurfaceDisplay


def draw() -> Figure:
    """Draw a heat map and a curve."""
    X, y = make_classification(3000, 20, n_informative=8, flip_y=0.15, random_state=0)
    forest = weald.RandomForestClassifier(200, oob_score=True, random_state=0).fit(X, y)
    figure = Figure(figsize=(9.6, 4.2), facecolor=PAPER, layout="constrained")
    figure.get_layout_engine().set(rect=(0, 0, 1, 0.88))  # space for the text above the map
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    two = SurfaceDisplay.from_estimator(forest, "max_depth", "n_estimators", ax=left)
    one = SurfaceDisplay.from_estimator(forest, "max_depth", ax=right)
    assert two.surface.errors[-1, -1] == forest.oob_error_ == one.surface.errors[-1]  # noqa: S101
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
