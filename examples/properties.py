"""CART, nearest neighbors, support vector machines and a random forest: eight properties, measured.

Every method has the defaults of its library; times are those of one thread.
"""

import time
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from gallery import Array, save, where
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from weald import DecisionTreeClassifier, RandomForestClassifier
from weald.plot.palette import INK, SCALE, SOFT

METHODS = {
    "CART": DecisionTreeClassifier(n_jobs=1, random_state=0),
    "kNN": KNeighborsClassifier(),
    "SVM": SVC(),
    "RF": RandomForestClassifier(random_state=0, n_jobs=1),
}
# The parameters that one would tune first.
GRIDS: dict[str, list[dict[str, Any]]] = {
    "CART": [{"max_depth": d} for d in (2, 4, 8, 16, None)],
    "kNN": [{"n_neighbors": k} for k in (1, 3, 9, 27, 81)],
    "SVM": [{"C": c} for c in (0.01, 0.1, 1, 10, 100)],
    "RF": [{"max_features": m} for m in (1, "sqrt", "log2", 0.5, None)],
}
TABLES = (load_digits, load_breast_cancer, load_wine)


def accuracy(model: Any, X: Array, y: Array) -> float:
    """Five-fold cross-validation, in percent."""
    return 100 * float(cross_val_score(model, X, y, cv=5).mean())


def over_tables(measure: Callable[[Array, Array, np.random.Generator], float]) -> float:
    """Average a measurement over data sets of scikit-learn."""
    tables = [load(return_X_y=True) for load in TABLES]
    return float(np.mean([measure(X, y, np.random.default_rng(0)) for X, y in tables]))


def models_for_ten_classes(name: str) -> float:
    """The number of models needed for ten classes."""
    X, y = load_digits(return_X_y=True)
    model = clone(METHODS[name]).fit(X[:500], y[:500])
    return float(len(getattr(model, "intercept_", [0.0])))  # an SVM has one intercept for each pair of classes


def moved_by_units(name: str) -> float:
    """Change of the accuracy in points when every column has another unit."""

    def measure(X: Array, y: Array, rng: np.random.Generator) -> float:
        scales = 2.0 ** rng.integers(-10, 11, (3, X.shape[1]))  # powers of two: numbers change, nothing is rounded
        before = accuracy(METHODS[name], X, y)
        return float(np.mean([abs(accuracy(METHODS[name], X * units, y) - before) for units in scales]))

    return over_tables(measure)


def lost_to_outliers(name: str) -> float:
    """Points lost on clean rows when one training value in fifty is a hundred times too large."""

    def measure(X: Array, y: Array, rng: np.random.Generator) -> float:
        order = rng.permutation(len(X))
        train, test = order[: len(X) // 2], order[len(X) // 2 :]
        dirty = np.where(rng.random((len(train), X.shape[1])) < 0.02, 100 * X[train], X[train])
        clean, spoilt = (clone(METHODS[name]).fit(T, y[train]).score(X[test], y[test]) for T in (X[train], dirty))
        return float(100 * (clean - spoilt))

    return over_tables(measure)


def with_few_rows(name: str) -> float:
    """Accuracy after ten rows of each class."""

    def measure(X: Array, y: Array, rng: np.random.Generator) -> float:
        scores = []
        for _ in range(5):
            train = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:10] for k in np.unique(y)])
            test = np.setdiff1d(np.arange(len(y)), train)
            scores.append(clone(METHODS[name]).fit(X[train], y[train]).score(X[test], y[test]))
        return 100 * float(np.mean(scores))

    return over_tables(measure)


def growth_of_time(name: str, sizes: tuple[int, int]) -> float:
    """Exponent of the CPU time to train on n rows and predict n rows: 1 is twice the time for twice the rows."""
    seconds = []
    for n in sizes:
        X, y = make_classification(n, 20, n_informative=8, random_state=0)
        took = []
        for _ in range(3):
            model, begun = clone(METHODS[name]), time.process_time()
            model.fit(X, y).predict(X)
            took.append(time.process_time() - begun)
        seconds.append(min(took))
    return float(np.log(seconds[1] / seconds[0]) / np.log(sizes[1] / sizes[0]))


def with_defaults(name: str) -> float:
    """Accuracy without preprocessing."""
    return over_tables(lambda X, y, _: accuracy(METHODS[name], X, y))


def with_scaled_columns(name: str) -> float:
    """Accuracy with scaled columns, as nearest neighbors and support vector machines need."""
    return over_tables(lambda X, y, _: accuracy(make_pipeline(StandardScaler(), clone(METHODS[name])), X, y))


def worth_of_tuning(name: str) -> float:
    """Difference in points between the best and the worst value of its first parameter."""

    def measure(X: Array, y: Array, _: np.random.Generator) -> float:
        found = [accuracy(clone(METHODS[name]).set_params(**choice), X, y) for choice in GRIDS[name]]
        return max(found) - min(found)

    return over_tables(measure)


def draw(quick: bool = False) -> Figure:
    """Measure all, and draw the table; darker is better."""
    sizes = (200, 800) if quick else (4000, 32000)
    rows = {
        "models needed for ten classes": (models_for_ten_classes, "{:.0f}", -1),
        "change of accuracy by other units": (moved_by_units, "{:.1f}", -1),
        "accuracy lost to outliers": (lost_to_outliers, "{:.1f}", -1),
        "accuracy with 10 rows per class, %": (with_few_rows, "{:.1f}", 1),
        "training time: exponent of rows": (lambda name: growth_of_time(name, sizes), "{:.2f}", -1),
        "accuracy with defaults, %": (with_defaults, "{:.1f}", 1),
        "the same with scaled columns, %": (with_scaled_columns, "{:.1f}", 1),
        "range of accuracy in tuning": (worth_of_tuning, "{:.1f}", -1),
    }
    if quick:
        rows = {words: rows[words] for words in list(rows)[:1] + list(rows)[4:5]}
    found = np.array([[measure(name) for name in METHODS] for measure, _, _ in rows.values()])
    figure, ax = plt.subplots(figsize=(7.6, 0.62 * len(rows) + 0.9), layout="constrained")
    for i, (words, (_, form, sign)) in enumerate(rows.items()):
        good = sign * found[i]
        shade = (good - good.min()) / (np.ptp(good) or 1)
        ax.text(-0.62, i, words, ha="right", va="center", color=INK)
        for j, value in enumerate(found[i]):
            ax.add_patch(Rectangle((j - 0.47, i - 0.42), 0.94, 0.84, color=SCALE(0.08 + 0.62 * shade[j])))
            text = form.format(value).replace("-", "−").replace("−0.0", "0.0")
            ax.text(j, i, text, ha="center", va="center", color="white" if shade[j] > 0.75 else INK)
    for j, name in enumerate(METHODS):
        ax.text(j, -0.75, name, ha="center", va="center", weight="bold", color=INK)
    ax.text(3.47, len(rows) - 0.25, f"darker is better; {where()}", ha="right", va="center", fontsize=7, color=SOFT)
    ax.set(xlim=(-4.1, 3.5), ylim=(len(rows) - 0.05, -1.1))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
