"""SHAP values of all rows of a table: a point for each row and feature."""

from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes

import weald
from docs.figures.drawing import save
from weald.inspection.explanation import Explanation


def explain() -> Explanation:
    """Explain the predictions of the guide."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X["sex"] = X["sex"].map({1: "male", 2: "female"})
    return weald.explain(weald.RandomForestRegressor(200, random_state=0).fit(X, y), X)


def draw() -> Figure:
    """Draw a beeswarm."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = explain().beeswarm(figure.subplots())
    for points in axes.collections:
        points.set_rasterized(True)  # thousands of shapes would make a large file
    figure.set_dpi(180)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
