"""Six kinds of importance on one table: a signal, a correlated shadow and noise."""

import numpy as np
from matplotlib.figure import Figure

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, INK, LEAF, SKY, save

NAMES = ("signal", "its shadow", "weak signal", "noise, many values", "noise, two values")
COLORS = (LEAF, SKY, LEAF, BARK, BARK)
KINDS = {
    "mdi": "mdi",
    "debiased_mdi": "debiased_mdi",
    "permutation": "permutation",
    "permutation_forest": "permutation_forest",
    "conditional": "conditional",
    "drop_column": "drop_column",
}


def make_table(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Make a table: the shadow is correlated with the signal and has no effect; the weak signal has two values."""
    rng = np.random.default_rng(4)
    signal = rng.normal(size=n)
    weak = rng.integers(0, 2, n)
    X = np.column_stack([
        signal, signal + 0.4 * rng.normal(size=n), weak, rng.normal(size=n), rng.integers(0, 2, n),
    ])  # fmt: skip
    return X, (signal + 0.8 * (weak - 0.5) + 0.9 * rng.normal(size=n) > 0).astype(int)


def draw() -> Figure:
    """Draw bars for every kind, with two standard errors."""
    X, y = make_table()
    forest = weald.RandomForestClassifier(n_estimators=300, random_state=0).fit(X, y)
    figure = Figure(figsize=(9.2, 4.3), layout="constrained")
    axes = figure.subplots(2, 3, sharey=True)
    for ax, (kind, name) in zip(axes.flat, KINDS.items(), strict=True):
        result = weald.importance(forest, X, y, kind=kind, names=NAMES)
        places = np.arange(len(NAMES))[::-1]
        look = {"ecolor": INK, "elinewidth": 1.0}
        ax.barh(places, result.values, xerr=2 * result.std_error, color=COLORS, height=0.62, error_kw=look)
        ax.axvline(0, color=FAINT, lw=0.8)
        ax.set_yticks(places, NAMES)
        ax.set_title(name, loc="left", fontsize=10, weight="bold")
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        ax.locator_params(axis="x", nbins=4)
        ax.grid(axis="x", color=GRAY, lw=0.8)
        ax.set_axisbelow(True)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
