"""Disagreement of models trained on different samples: a tree and a forest on two moons."""

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

import weald
from docs.figures.drawing import BARK, INK, LEAF, PAPER, save
from weald.inspection.resample import fit_repeatedly

N_SAMPLES, SIDE = 15, 90


def draw() -> Figure:
    """Shade each point by how often two models disagree there."""
    X, y = make_moons(300, noise=0.3, random_state=0)
    low, high = np.quantile(X, 0.01, axis=0), np.quantile(X, 0.99, axis=0)
    across, up = (np.linspace(a, b, SIDE) for a, b in zip(low, high, strict=True))
    places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    shades = LinearSegmentedColormap.from_list("change", [PAPER, BARK])
    models = {"a tree": weald.DecisionTreeClassifier(), "a forest": weald.RandomForestClassifier(60, n_jobs=1)}
    figure = Figure(figsize=(8.2, 3.3))
    for i, (name, model) in enumerate(models.items()):
        share = np.mean([m.predict(places) for m, _ in fit_repeatedly(model, X, y, N_SAMPLES, 0)], axis=0)
        found = weald.stability(model, X, y, X_test=places, n_repeats=N_SAMPLES)
        axes = figure.add_axes((0.02 + 0.49 * i, 0.03, 0.47, 0.82))
        axes.imshow(
            (2 * share * (1 - share)).reshape(SIDE, SIDE),
            origin="lower",
            extent=(low[0], high[0], low[1], high[1]),
            cmap=shades,
            vmin=0,
            vmax=0.5,
            aspect="auto",
            interpolation="bilinear",
        )
        axes.scatter(*X.T, c=np.array([LEAF, INK])[y], s=9, lw=0.4, edgecolors=PAPER)
        axes.set_title(
            f"{name}: two samples disagree on {100 * found.change:.0f}% of the plane", fontsize=10, loc="left"
        )
        axes.set(xticks=(), yticks=(), xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
