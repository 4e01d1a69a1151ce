"""A regression tree: each region of the plane has one mean."""

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from matplotlib.figure import Figure

from weald import DecisionTreeRegressor
from weald.plot import PartitionDisplay


def draw(quick: bool = False) -> Figure:
    """Draw the regions next to their tree."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, size=(250, 2))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 4 * X[:, 1] + rng.normal(scale=0.5, size=250)
    tree = DecisionTreeRegressor(max_leaf_nodes=5).fit(X, y)
    figure, (plane, beside) = plt.subplots(1, 2, figsize=(9.4, 3.4), layout="constrained", width_ratios=[1, 2.1])
    PartitionDisplay.from_estimator(tree, X, y, ax=plane, tree_ax=beside)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
