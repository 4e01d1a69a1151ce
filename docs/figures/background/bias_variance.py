"""A tree and a forest: fits to several samples of a wave, and the bias and variance of their errors."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import BARK, FAINT, INK, LEAF, LINE, save
from weald.inspection.resample import fit_repeatedly

N_ROWS, N_SAMPLES = 60, 10
GRID = np.linspace(0, 1, 300)[:, None]


def wave(x: np.ndarray) -> np.ndarray:
    """The true function."""
    return np.sin(2 * np.pi * x[:, 0]) + 0.5 * np.sin(6 * np.pi * x[:, 0])


def draw() -> Figure:
    """Draw fits to several samples of both, and their bias and variance."""
    random = np.random.RandomState(0)
    X = random.uniform(size=(N_ROWS, 1))
    y = wave(X) + 0.4 * random.normal(size=N_ROWS)
    models = {"a tree": weald.DecisionTreeRegressor(), "a forest": weald.RandomForestRegressor(40, n_jobs=1)}
    figure = Figure(figsize=(8.2, 3.0))
    bars = figure.add_axes((0.78, 0.17, 0.2, 0.68))
    most = 0.0
    for i, (name, model) in enumerate(models.items()):
        axes = figure.add_axes((0.05 + 0.345 * i, 0.17, 0.315, 0.68))
        for fitted, _ in fit_repeatedly(model, X, y, N_SAMPLES, 0):
            axes.plot(GRID[:, 0], fitted.predict(GRID), color=LEAF if i else BARK, lw=0.8, alpha=0.45)
        axes.plot(GRID[:, 0], wave(GRID), color=INK, lw=1.4)
        axes.plot(X[:, 0], y, ".", color=FAINT, ms=3)
        axes.set_title(f"{name}, fitted to {N_SAMPLES} samples", fontsize=10, loc="left", color=LEAF if i else BARK)
        axes.set(ylim=(-2.1, 2.1), xticks=(0, 1), yticks=(-1, 0, 1))
        found = weald.bias_variance(model, X, y, X_test=GRID, y_test=wave(GRID), n_repeats=30)
        bars.bar(i, found.bias, color=LINE, width=0.6)
        bars.bar(i, found.variance, bottom=found.bias, color=LEAF if i else BARK, width=0.6)
        bars.text(i, found.bias / 2, "bias", ha="center", va="center", fontsize=8)
        bars.text(i, found.bias + found.variance + 0.003, f"{found.error:.3f}", ha="center", fontsize=9)
        bars.text(i, found.bias + found.variance / 2, "variance", ha="center", va="center", fontsize=8, color="white")
        most = max(most, found.error)
    bars.set_xticks((0, 1), models)
    bars.set(yticks=(), ylim=(0, 1.12 * most))
    bars.spines["left"].set_visible(False)
    bars.set_title("squared error", fontsize=10, loc="left")
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
