"""Survival functions of three rows, and the Brier score of a forest over time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, PAPER, SKY, save
from weald import RandomSurvivalForest

N = 2000
AGES = {45.0: LEAF, 60.0: SKY, 75.0: BARK}


def rate(X: np.ndarray) -> np.ndarray:
    """Events per year."""
    return np.exp((X[:, 0] - 60) / 10 - X[:, 1])


def fit() -> tuple[RandomSurvivalForest, np.ndarray, dict[str, np.ndarray]]:
    """Fit a forest to rows of which some are censored."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(40, 80, N), rng.choice([0.0, 1.0, 2.0], N), rng.normal(size=N)])
    time, end = rng.exponential(1 / rate(X)), rng.uniform(0, 8, N)
    y = {"time": np.minimum(time, end), "event": time <= end}
    forest = RandomSurvivalForest(200, min_samples_leaf=15, oob_score=True, random_state=0).fit(X, y)
    return forest, X, y


def draw_functions(axes: Axes, forest: RandomSurvivalForest) -> None:
    """Draw what the forest predicts for three ages, and the truth."""
    times = np.linspace(0, 6, 400)
    for age, color in AGES.items():
        row = np.array([[age, 1.0, 0.0]])
        (survival,) = forest.predict_survival_function(row)
        axes.plot(times, np.exp(-rate(row)[0] * times), color=FAINT, lw=1.2, ls="--")
        axes.plot(times, survival(times), color=color, lw=1.8, drawstyle="steps-post", label=f"age {age:.0f}")
    axes.plot([], [], color=FAINT, lw=1.2, ls="--", label="true")
    axes.set(xlabel="years", ylabel="probability of survival", xlim=(0, 6), ylim=(0, 1.02))
    axes.set_title("survival functions of three rows", fontsize=10)
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.42), fontsize=9)


def draw_scores(axes: Axes, forest: RandomSurvivalForest, X: np.ndarray, y: dict[str, np.ndarray]) -> None:
    """Draw the out-of-bag Brier score, and that of a forest that knows no features."""
    times = np.linspace(0.05, 6, 60)
    nothing = RandomSurvivalForest(50, oob_score=True, random_state=0).fit(np.zeros((len(X), 1)), y)
    axes.plot(times, nothing.oob_.brier_score(times), color=BARK, lw=1.8, label="no features (Kaplan-Meier)")
    axes.plot(times, forest.oob_.brier_score(times), color=LEAF, lw=1.8, label="forest")
    axes.set(xlabel="years", ylabel="out-of-bag Brier score", xlim=(0, 6), ylim=(0, 0.28))
    axes.set_title(f"concordance {forest.oob_score_:.3f}", fontsize=10)
    axes.legend(loc="lower right", fontsize=9)


def draw() -> Figure:
    """Draw both parts."""
    forest, X, y = fit()
    figure = Figure(figsize=(8.2, 3.6), facecolor=PAPER, layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_functions(left, forest)
    draw_scores(right, forest, X, y)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
