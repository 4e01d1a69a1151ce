"""Out-of-bag estimates: calibration of probabilities, and the best threshold for malignant tumors."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, LEAF, LINE, save


def draw() -> Figure:
    """Draw calibration, and the mean cost over the threshold."""
    X, y = load_breast_cancer(return_X_y=True)
    out = weald.RandomForestClassifier(200, oob_score=True, random_state=0).fit(X, y).oob_
    figure = Figure(figsize=(8.2, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    calibration = out.calibration(label=0)
    left.plot([0, 1], [0, 1], color=LINE, lw=1.2, zorder=0)
    left.scatter(calibration.predicted, calibration.observed, s=10 + 1.2 * calibration.weight, color=LEAF, linewidths=0)
    left.set(xlabel="predicted probability of malignant", ylabel="observed fraction of malignant", aspect="equal")
    chosen = out.threshold(label=0, by="cost", costs=(1, 10))
    order = np.argsort(chosen.values)
    right.plot(chosen.values[order], chosen.scores[order], color=FAINT, lw=1.4)
    right.plot(chosen.value, chosen.score, "o", color=BARK, ms=7)
    right.annotate(
        f"threshold {chosen.value:.2f}", (chosen.value, chosen.score), (-2, 22), textcoords="offset points", color=BARK
    )
    right.set(
        xlabel="threshold on the probability of malignant",
        ylabel="mean cost (missed tumor: 10)",
        xlim=(0, 1),
        ylim=(0, 2.05),
    )
    for ax in (left, right):
        ax.grid(color=GRAY, lw=0.8)
        ax.set_axisbelow(True)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
