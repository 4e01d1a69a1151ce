"""The score of every split of a real column, and the bounds by which whole bins are skipped.

The bound is computed here as the native engine does (core/score/scores.h): a score is convex in the counts that go
left, so inside a bin it is at most the greater of two corners. The picture has fewer bins than the engine, to be seen.
"""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import load_breast_cancer

from docs.figures.drawing import BARK, FAINT, GRAY, INK, LEAF, PAPER, save
from weald.engines.reference.definition import Tally, gini

FEATURE = "mean concave points"
CODES_PER_BIN = 16


def score(left: np.ndarray, total: np.ndarray) -> float:
    """Score a split by the class counts on the left; an empty side adds nothing."""
    sides = (left, total - left)
    return sum(gini(Tally(0, int(s.sum()), s.tolist()), 0) for s in sides if s.sum())


def draw() -> Figure:
    """Draw all scores as a curve and bins as boxes up to their bounds."""
    cancer = load_breast_cancer()
    values, codes = np.unique(cancer.data[:, list(cancer.feature_names).index(FEATURE)], return_inverse=True)
    counts = np.zeros((len(values), 2), dtype=np.int64)
    np.add.at(counts, (codes, cancer.target), 1)
    lefts, total = counts.cumsum(axis=0), counts.sum(axis=0)
    # Scores are shown as the decrease in impurity that they stand for.
    n, undivided = total.sum(), score(total, total)
    scores = np.array([score(left, total) - undivided for left in lefts[:-1]]) / n

    edges = np.arange(0, len(values) + CODES_PER_BIN, CODES_PER_BIN).clip(max=len(values))
    best_edge = max(scores[e - 1] for e in edges[1:-1])
    figure = Figure(figsize=(8.2, 4.3), facecolor=PAPER, layout="constrained")
    axes = figure.subplots()
    n_skipped = 0
    for begin, end in pairwise(edges):
        before = lefts[begin - 1] if begin else np.zeros(2, dtype=np.int64)
        inside = lefts[end - 1] - before
        corners = (before + inside * [1, 0], before + inside * [0, 1])
        bound = max(score(corner, total) - undivided for corner in corners) / n
        skipped = bound < best_edge
        n_skipped += skipped
        look = {"facecolor": GRAY, "edgecolor": PAPER} if skipped else {"facecolor": "#dcebdf", "edgecolor": LEAF}
        axes.add_patch(Rectangle((begin - 0.5, 0), end - begin, bound, lw=0.8, **look))
    n_bins = len(edges) - 1
    axes.plot(np.arange(len(scores)), scores, color=INK, lw=1.3, label="decrease of every cut")
    cuts = edges[1:-1] - 1
    axes.plot(cuts, scores[cuts], "o", ms=4, color=BARK, label="bin edges: scored first")
    axes.plot([0, len(values)], [best_edge] * 2, color=BARK, lw=1, ls=(0, (4, 3)), zorder=1)
    axes.text(len(values), best_edge + 0.004, "best bin edge", color=BARK, ha="right", va="bottom")
    best = int(scores.argmax())
    axes.plot(best, scores[best], "*", ms=15, color=LEAF, mec=PAPER, label="the best of all cuts")
    axes.add_patch(
        Rectangle((0, 0), 0, 0, facecolor="#dcebdf", edgecolor=LEAF, label="searched: may contain a better cut")
    )
    axes.add_patch(Rectangle((0, 0), 0, 0, facecolor=GRAY, label=f"skipped: {n_skipped} of {n_bins} bins"))
    axes.set(
        xlim=(-1, len(values)),
        ylim=(0, 0.46),
        xlabel=f"cut after code … of “{FEATURE}”, {len(values)} codes in {n_bins} bins",
        ylabel="decrease of the Gini impurity",
    )
    axes.tick_params(color=FAINT)
    axes.legend(loc="upper left", fontsize=9, ncols=2)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
