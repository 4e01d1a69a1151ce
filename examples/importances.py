"""Feature importance of measurements of a tumor, with standard errors; two noise columns are among them."""

import numpy as np
from gallery import save
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

from weald import RandomForestClassifier
from weald.plot import ImportanceDisplay


def draw(quick: bool = False) -> Figure:
    """Draw the importance of ten measurements and of the noise."""
    cancer = load_breast_cancer(as_frame=True)
    X = cancer.data.iloc[:, :10]
    rng = np.random.default_rng(0)
    X = X.assign(noise=rng.normal(size=len(X)), coin=rng.integers(0, 2, len(X)))
    forest = RandomForestClassifier(50 if quick else 500, random_state=0).fit(X, cancer.target)
    return ImportanceDisplay.from_estimator(forest).figure_


if __name__ == "__main__":
    save(draw(), __file__)
