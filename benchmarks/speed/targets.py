"""Seconds to fit forests by each criterion of regression, in weald and in scikit-learn, and their peak memory.

    python -m benchmarks.speed.targets [--rows 10000] [--trees 10] [--repeats 3] [--write]

Forests of the same parameters (all features at each node, leaves of at least 5 rows) are grown on `rows` rows of
Friedman's first function; for Poisson, the targets are counts of this rate. Every fit runs in a process of its own.
Memory is what the fit adds to the largest size of the process.
"""

import resource

import numpy as np

from benchmarks import measure

CRITERIA = ("squared_error", "poisson", "absolute_error")


def make(n_rows, criterion):
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, 10))
    rate = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, rng.poisson(rate).astype(float) if criterion == "poisson" else rate + rng.normal(size=n_rows)


def fit(library, criterion, n_rows, n_trees, n_jobs):
    if library == "weald":
        from weald import RandomForestRegressor
    else:
        from sklearn.ensemble import RandomForestRegressor
    X, y = make(n_rows, criterion)
    forest = RandomForestRegressor(
        n_trees, criterion=criterion, max_features=1.0, min_samples_leaf=5, random_state=0, n_jobs=n_jobs
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = measure.clock(lambda: forest.fit(X, y))
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "counts-and-medians.md")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--trees", type=int, default=10)
    given = parser.parse_args()
    if given.quick:
        given.rows, given.trees, given.repeats = 300, 2, 1
    libraries = ("weald", "scikit-learn")
    runs = {(library, criterion): [] for criterion in CRITERIA for library in libraries}
    for _ in range(given.repeats):
        for (library, criterion), of_fit in runs.items():
            found = measure.afresh(fit, library, criterion, given.rows, given.trees, given.jobs)
            of_fit.append(found)
            measure.say(library, criterion, *found)
    lines = []
    for criterion in CRITERIA:
        mine, theirs = (
            [min(column) for column in zip(*runs[library, criterion], strict=True)] for library in libraries
        )
        own = min(seconds for seconds, _ in runs["weald", "squared_error"])
        lines.append(
            [
                f"`{criterion}`",
                f"{measure.digits(mine[0])} s",
                f"{measure.digits(mine[0] / own, 2)}",
                f"{measure.digits(theirs[0])} s",
                f"{measure.digits(theirs[0] / mine[0], 2)}",
                f"{mine[1] / 1024:.0f} MiB",
                f"{theirs[1] / 1024:.0f} MiB",
            ]
        )
    header = [
        f"{given.rows:,} rows, {given.trees} trees",
        "weald",
        "over squared error",
        "scikit-learn",
        "over weald",
        "memory of weald",
        "of scikit-learn",
    ]
    text = measure.markdown(header, lines)
    text += f"\n\n{measure.best_of(given)}, {given.jobs} threads. {measure.describe_machine('weald', 'scikit-learn')}."
    measure.publish(given, "costs", text)


if __name__ == "__main__":
    main()
