"""Prediction intervals of rows, and a fan chart, of a forest for a target whose noise grows."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import save
from weald.plot import FanDisplay, IntervalDisplay


def draw() -> Figure:
    """Draw the intervals of new rows, and quantiles along the first feature."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(3000, 2))
    y = X[:, 0] + rng.normal(size=3000) * (0.5 + X[:, 0] / 5)
    forest = weald.RandomForestRegressor(
        200, min_samples_leaf=10, keep_errors=True, keep_targets=True, random_state=0
    ).fit(X[:2000], y[:2000])
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    IntervalDisplay.from_estimator(forest, X[2000:], y[2000:], method="cqr", n_rows=90, ax=left)
    line = np.column_stack([np.linspace(0, 10, 200), np.full(200, 5.0)])
    FanDisplay.from_estimator(forest, line, x=line[:, 0], ax=right)
    right.set_xlabel("first feature")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
