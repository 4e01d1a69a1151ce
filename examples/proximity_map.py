"""A two-dimensional map of wines, computed from proximities."""

from gallery import save
from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from weald import RandomForestClassifier
from weald.plot import ProximityDisplay


def draw(quick: bool = False) -> Figure:
    """Draw wines of three cultivars."""
    X, y = load_wine(return_X_y=True)
    forest = RandomForestClassifier(50 if quick else 500, min_samples_leaf=3, random_state=0).fit(X, y)
    return ProximityDisplay.from_estimator(forest, X, y, class_names=["cultivar 1", "cultivar 2", "cultivar 3"]).figure_


if __name__ == "__main__":
    save(draw(), __file__)
