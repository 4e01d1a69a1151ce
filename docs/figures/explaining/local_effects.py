"""Individual curves, accumulated local effects and the joint dependence of two features."""

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import save
from docs.figures.explaining.dependence import make_rents
from weald.plot import DependenceDisplay


def draw() -> Figure:
    """Draw the area three times: for each row, locally, and together with the district."""
    X, rent = make_rents()
    forest = weald.RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, rent)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9.4, 3.1), layout="constrained")
    DependenceDisplay.from_estimator(forest, X, ["area"], kind="individual", ax=left)
    DependenceDisplay.from_estimator(forest, X, ["area"], kind="ale", ax=middle)
    DependenceDisplay.from_estimator(forest, X, [("area", "district")], ax=right)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
