"""Feature selection: the out-of-bag error of the path, the chosen set, and the cross-validated error."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

import weald
from docs.figures.drawing import BARK, FAINT, GRAY, INK, LEAF, save


def draw() -> Figure:
    """Draw errors over the number of features: 6 informative ones among 60."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 60))
    y = (X[:, :6].sum(axis=1) + rng.normal(size=300) > 0).astype(int)
    forest = weald.RandomForestClassifier(n_estimators=200, random_state=0)
    chosen = weald.select_features(forest, X, y)
    figure = Figure(figsize=(7.6, 3.2), layout="constrained")
    ax = figure.subplots()
    sizes = [len(step.features) for step in chosen.path_]
    errors, spread = np.array([(step.error, step.std_error) for step in chosen.path_]).T
    ax.errorbar(sizes, errors, yerr=spread, color=LEAF, marker="o", ms=4, lw=1.6, elinewidth=0.9)
    n = int(chosen.support_.sum())
    ax.plot(n, chosen.oob_error_, "o", ms=11, mfc="none", mec=INK, mew=1.4)
    right = int(chosen.support_[:6].sum())
    ax.annotate(
        f"chosen: {n} features,\n{right} of the 6 that matter", (n, chosen.oob_error_), (n, 0.135),
        fontsize=9, color=INK, ha="center", va="top",
    )  # fmt: skip
    ax.axhline(chosen.honest_error_, color=BARK, lw=1.4, ls="--")
    ax.annotate(
        f"honest_error_ {chosen.honest_error_:.3f} (cross-validated)", (0.95, chosen.honest_error_ + 0.006), color=BARK,
        ha="left", va="bottom", fontsize=9,
    )  # fmt: skip
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator([1, 2, 3, 5, 10, 20, 40, 60]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.set(xlabel="number of features", ylabel="out-of-bag error", ylim=(0.08, 0.47))
    ax.grid(axis="y", color=GRAY, lw=0.8)
    ax.tick_params(color=FAINT)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
