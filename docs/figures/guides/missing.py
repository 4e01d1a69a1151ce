"""Accuracy over the fraction of missing cells: missing values in splits, or mean imputation.

`python -m docs.figures.guides.missing` draws what stands in missing.csv; with --measure it measures anew (minutes).
"""

import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docs.figures.drawing import BARK, FAINT, LEAF, PAPER, SKY, save

FILE = Path(__file__).with_suffix(".csv")
SHARES = (0.0, 0.15, 0.3, 0.45, 0.6)
WAYS = {"at random": "cells are missing at random", "if large": "large values are missing"}
LOOKS = {"weald": LEAF, "scikit-learn": SKY, "means filled in first": BARK}
N_SEEDS = 20


def make_models(seed: int) -> dict:
    """Return the forests to compare, all of 100 trees."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    import weald

    return {
        "weald": weald.RandomForestClassifier(100, random_state=seed),
        "scikit-learn": RandomForestClassifier(100, random_state=seed, n_jobs=1),
        "means filled in first": make_pipeline(
            SimpleImputer(keep_empty_features=True), weald.RandomForestClassifier(100, random_state=seed)
        ),
    }


def remove(X: np.ndarray, share: float, way: str, rng: np.random.Generator) -> np.ndarray:
    """Remove cells: at random, or larger values with a higher probability."""
    rank = X.argsort(axis=0).argsort(axis=0) / len(X)
    chance = np.full(X.shape, share) if way == "at random" else np.clip(2 * share * rank, 0, 1)
    return np.where(rng.random(X.shape) < chance, np.nan, X)


def measure() -> None:
    """Write the accuracies on held-out rows of the breast cancer data, one line for each forest."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["way", "share", "seed", "forest", "accuracy"])
        for way in WAYS:
            for share in SHARES:
                for seed in range(N_SEEDS):
                    holed = remove(X, share, way, np.random.default_rng(seed))
                    X_train, X_test, y_train, y_test = train_test_split(holed, y, random_state=seed, stratify=y)
                    for name, model in make_models(seed).items():
                        accuracy = model.fit(X_train, y_train).score(X_test, y_test)
                        writer.writerow([way, share, seed, name, f"{accuracy:.4f}"])


def read() -> dict[tuple[str, str], np.ndarray]:
    """Return the accuracies by method and forest, fractions x seeds."""
    found: dict[tuple[str, str], dict[float, list[float]]] = {}
    with FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            of_share = found.setdefault((row["way"], row["forest"]), {})
            of_share.setdefault(float(row["share"]), []).append(float(row["accuracy"]))
    return {key: np.array(list(of_share.values())) for key, of_share in found.items()}


def draw_way(axes: Axes, way: str, found: dict[tuple[str, str], np.ndarray]) -> None:
    """Draw one panel: means over seeds, with twice their standard error."""
    for i, (name, color) in enumerate(LOOKS.items()):
        accuracy = found[way, name]
        error = 2 * accuracy.std(axis=1, ddof=1) / np.sqrt(accuracy.shape[1])
        at = 100 * (np.array(SHARES) + 0.006 * (i - 1))
        axes.errorbar(at, 100 * accuracy.mean(axis=1), 100 * error, color=color, lw=1.6, marker="o", ms=4, label=name)
    axes.set_title(WAYS[way], fontsize=10)
    axes.set(xlabel="missing cells, %", xlim=(-3, 63))
    axes.tick_params(color=FAINT)


def draw() -> Figure:
    """Draw both panels."""
    found = read()
    figure = Figure(figsize=(8.2, 3.4), facecolor=PAPER, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw_way(left, "at random", found)
    draw_way(right, "if large", found)
    left.set_ylabel("accuracy on test rows, %")
    left.legend(loc="lower left", fontsize=9)
    return figure


if __name__ == "__main__":
    if "--measure" in sys.argv:
        measure()
    save(draw(), __file__)
