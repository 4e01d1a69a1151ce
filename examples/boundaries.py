"""Decision boundaries of forests with 1, 10, 100 and 500 trees."""

import matplotlib.pyplot as plt
from gallery import save
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from weald import RandomForestClassifier
from weald.plot import BoundaryDisplay


def draw(quick: bool = False) -> Figure:
    """Draw forests of increasing size; the first trees of a larger one are those of the smaller."""
    X, y = make_moons(300, noise=0.28, random_state=4)
    sizes = (1, 3) if quick else (1, 10, 100, 500)
    figure, axes = plt.subplots(1, len(sizes), figsize=(11, 3.1), layout="constrained", sharey=True)
    for ax, n_trees in zip(axes, sizes, strict=True):
        forest = RandomForestClassifier(n_trees, random_state=2).fit(X, y)
        BoundaryDisplay.from_estimator(forest, X, y, ax=ax, resolution=60 if quick else 240)
        ax.set(title="1 tree" if n_trees == 1 else f"{n_trees} trees", xlabel="", ylabel="", xticks=[], yticks=[])
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
