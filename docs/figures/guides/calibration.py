"""Reliability diagram of a forest, before and after sigmoid calibration."""

from matplotlib.figure import Figure
from sklearn.datasets import make_classification

import weald
from docs.figures.drawing import save
from weald.plot import CalibrationDisplay


def draw() -> Figure:
    """Draw the out-of-bag curves of the trees and of the calibrated forest."""
    X, y = make_classification(4000, 20, n_informative=6, flip_y=0.15, class_sep=0.7, random_state=0)
    forest = weald.RandomForestClassifier(200, oob_score=True, random_state=0).fit(X[:2000], y[:2000])
    figure = Figure(figsize=(5.0, 4.6), layout="constrained")
    CalibrationDisplay.from_out_of_bag(forest, methods=["sigmoid"], ax=figure.subplots())
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
