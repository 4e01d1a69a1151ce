"""Out-of-bag error and 5-fold cross-validation agree on the best number of features per node."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_friedman1
from sklearn.model_selection import cross_val_score

import weald
from docs.figures.drawing import BARK, LEAF, save

FEATURES = (1, 2, 3, 4, 5, 6, 8, 10)


def draw() -> Figure:
    """Draw both errors over the number of features."""
    X, y = make_friedman1(500, 10, noise=1.0, random_state=1)
    forest = weald.RandomForestRegressor(60, random_state=0)
    found = weald.tune(forest, X, y, grid={"max_features": FEATURES}, search="grid")
    errors = np.array([step.error for step in found.path])
    bands = np.array([step.interval for step in found.path])
    folds = [
        -cross_val_score(forest.set_params(max_features=m), X, y, cv=5, scoring="neg_mean_squared_error").mean()
        for m in FEATURES
    ]
    figure = Figure(figsize=(8.2, 3.2))
    axes = figure.add_axes((0.08, 0.18, 0.88, 0.76))
    axes.fill_between(FEATURES, *bands.T, color=LEAF, alpha=0.13, lw=0)
    axes.plot(FEATURES, errors, color=LEAF, lw=1.8, marker="o", ms=4)
    axes.plot(FEATURES, folds, color=BARK, lw=1.2, marker="s", ms=3.5, ls=(0, (5, 2)))
    axes.text(
        3.6, errors[0] * 0.96, "out of bag, with its 95% interval: one forest for each point", color=LEAF, weight="bold"
    )
    axes.text(3.6, errors[0] * 0.86, "5-fold cross-validation: five forests for each point", color=BARK, weight="bold")
    axes.set(xlim=(0.8, 10.2), ylim=(0, None), xlabel="features per node (max_features)", ylabel="mean squared error")
    axes.set_xticks(FEATURES)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
