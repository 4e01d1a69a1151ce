"""How often the best cut by permutation variance is also the best by hypergeometric variance, and what it loses.

    python -m benchmarks.accuracy.survival_cuts [--write]

A weald.SurvivalTree is grown on each data set of `survival.py`. In each of its nodes that is split, the log-rank
statistic with the hypergeometric variance, which the log-rank test and scikit-survival use, is computed for every
admissible cut of every feature. "Kept" is the statistic of weald's cut over the largest one. Needs scikit-survival.
"""

import numpy as np

from benchmarks import measure
from benchmarks.accuracy.survival import SETS, read

LEAVES = (3, 15)


def statistics_of_cuts(x, time, event, least):
    """The log-rank statistics of all admissible cuts of a feature; cuts by the largest value on the left."""
    times = np.unique(time[event])
    at_risk, dies = time[:, None] >= times, (time[:, None] == times) & event[:, None]
    order = np.argsort(x, kind="stable")
    n, d = at_risk.sum(axis=0), dies.sum(axis=0)
    left, died = np.cumsum(at_risk[order], axis=0)[:-1], np.cumsum(dies[order], axis=0)[:-1]
    less = (died - left * d / n).sum(axis=1)
    share = left / n
    variance = (share * (1 - share) * d * (n - d) / np.maximum(n - 1, 1)).sum(axis=1)
    sizes, is_cut = np.arange(1, len(x)), np.diff(x[order]) > 0
    admissible = is_cut & (np.minimum(sizes, len(x) - sizes) >= least) & (variance > 1e-12)
    values = np.where(admissible, less**2 / np.where(admissible, variance, 1.0), 0.0)
    return x[order][:-1], values


def compare(name, least):
    from weald import SurvivalTree

    X, y = read(name)
    X, y = X[:600], y[:600]
    tree = SurvivalTree(min_samples_split=2 * least, min_samples_leaf=least, random_state=0).fit(X, y)
    paths = tree.decision_path(X).tocsc()
    kept = []
    for node in np.flatnonzero(tree.tree_.feature >= 0):
        rows = paths.indices[paths.indptr[node] : paths.indptr[node + 1]]
        time, event = y["time"][rows], y["event"][rows]
        found = [statistics_of_cuts(column, time, event, least) for column in X[rows].T]
        values, of_cuts = found[tree.tree_.feature[node]]
        ours = of_cuts[np.searchsorted(values, tree.tree_.threshold[node], side="right") - 1]
        best = max(of_feature.max() for _, of_feature in found)
        if best > 0:
            kept.append((len(rows), ours / best))
    return np.array(kept)


def main():
    given = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "survival-analysis.md").parse_args()
    lines = []
    for least in LEAVES:
        for name in list(SETS)[:1] if given.quick else SETS:
            size, kept = compare(name, least).T
            large = kept[size >= 100]
            same = f"{np.mean(kept > 1 - 1e-9):.0%}"
            lines.append([least, name, len(kept), same, f"{kept.mean():.1%}", f"{large.mean():.1%}"])
            measure.say(*lines[-1])
    header = ["min_samples_leaf", "Data set", "Nodes", "Same cut", "Statistic kept", "Nodes of 100 rows and more"]
    text = measure.markdown(header, lines)
    text += f"\n\nThe first 600 rows of each set. {measure.describe_machine('weald', 'scikit-survival')}."
    measure.publish(given, "survival_cuts", text)


if __name__ == "__main__":
    main()
