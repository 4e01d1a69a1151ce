"""Test error over the number of trees: forest, bagging, boosting, arcing, AdaBoost."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import weald
from docs.figures.drawing import BARK, FAINT, INK, LEAF, SKY, save

N_TREES = 60
STEPS = (1, 2, 3, 5, 8, 12, 16, 20, 30, 40, 50, 60)


def draw() -> Figure:
    """Draw the errors on test rows."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    ways = {
        "bagging, all features": ({"max_features": "all"}, SKY),
        "forest": ({}, LEAF),
        "arcing": ({"resampling": "arcing"}, FAINT),
        "boosting": ({"resampling": "boosting"}, BARK),
    }
    figure = Figure(figsize=(8.2, 3.4))
    axes = figure.add_axes((0.08, 0.17, 0.68, 0.76))
    ends = {}
    for name, (given, color) in ways.items():
        model = weald.RandomForestClassifier(N_TREES, random_state=0, **given).fit(X, y)
        errors = [1 - model[:n].score(X_test, y_test) for n in STEPS]
        axes.plot(STEPS, errors, color=color, lw=1.8, marker="o", ms=3)
        ends[name] = errors[-1], color
    ada = AdaBoostClassifier(DecisionTreeClassifier(max_depth=10), n_estimators=N_TREES, random_state=0).fit(X, y)
    errors = [np.mean(predicted != y_test) for predicted in ada.staged_predict(X_test)]
    axes.plot(range(1, len(errors) + 1), errors, color=INK, lw=1.1, ls=(0, (5, 2)))
    ends["AdaBoost"] = errors[-1], INK
    place = 0.012
    for name, (error, color) in sorted(ends.items(), key=lambda item: item[1][0]):
        place = max(place, error)
        axes.text(N_TREES * 1.02, place, f"{name} {100 * error:.1f}%", color=color, va="center", fontsize=9)
        place += 0.0105
    axes.set(xlim=(0, N_TREES), ylim=(0, 0.18), xlabel="trees", ylabel="error rate")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}%")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
