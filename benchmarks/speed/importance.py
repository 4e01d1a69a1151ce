"""Time of permutation importance, compared with the time of a fit.

    python -m benchmarks.speed.importance [--rows 100000] [--trees 100] [--repeats 3] [--write]

weald permutes each of 50 features among the out-of-bag rows of each tree. scikit-learn's `permutation_importance`
predicts all rows with the whole forest for each feature instead. It gets as many test rows as a tree has out-of-bag
rows (0.368 of the training rows), and permutes each feature once. Both use all cores.
table.py has the seconds of the fits.
"""

import statistics

from benchmarks import data, measure


def cost_weald(n_rows, n_trees, n_jobs):
    """Seconds of a fit and of its importances."""
    import weald

    X, y, _, _ = data.load("clusters", n_rows)
    forest = weald.RandomForestClassifier(n_trees, random_state=0, n_jobs=n_jobs)
    fit = measure.clock(lambda: forest.fit(X, y))
    return fit, measure.clock(lambda: weald.importance(forest, X, y))


def cost_scikit_learn(n_rows, n_trees, n_jobs):
    """Seconds of a fit and of its importances."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.inspection import permutation_importance

    X, y, X_test, y_test = data.load("clusters", n_rows)
    n_test = int(0.368 * n_rows)
    forest = RandomForestClassifier(n_trees, random_state=0, n_jobs=n_jobs)
    fit = measure.clock(lambda: forest.fit(X, y))
    work = lambda: permutation_importance(forest, X_test[:n_test], y_test[:n_test], n_repeats=1, random_state=0)  # noqa: E731
    return fit, measure.clock(work)


COSTS = {"weald": cost_weald, "scikit-learn": cost_scikit_learn}


def row(name, times):
    ratio = statistics.median(b / a for a, b in times)
    return [name, f"{ratio:.1f} fits"]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "feature-importance.md")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    if given.quick:
        given.rows, given.trees, given.repeats = 500, 3, 1
    times = {name: [] for name in COSTS}
    for _ in range(given.repeats):
        for name, cost in COSTS.items():
            times[name].append(measure.afresh(cost, given.rows, given.trees, given.jobs))
            measure.say(name, times[name][-1])
    header = [f"{given.rows:,} × 50, {given.trees} trees", "permutation importance takes as long as"]
    text = measure.markdown(header, [row(name, found) for name, found in times.items()])
    text += f"\n\n{measure.best_of(given)}. {measure.describe_machine('weald', 'scikit-learn')}."
    measure.publish(given, "permutation-cost", text)


if __name__ == "__main__":
    main()
