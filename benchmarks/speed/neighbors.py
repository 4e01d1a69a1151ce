"""Time and memory of proximities and neighbors among 100,000 rows.

    python -m benchmarks.speed.neighbors [--rows 100000] [--trees 100] [--repeats 1] [--write]

Three forests: noisy labels, which give small leaves; labels without noise, which give large, pure leaves; and trees of
depth 3, which have the largest leaves. All cores are used. Memory is the peak of the process. The last column is the
time of a product of sparse matrices in SciPy for the first task, measured on a hundredth of the rows against all
others, times 100.
"""

import resource

import numpy as np

from benchmarks import measure

FORESTS = {"noisy labels": {}, "pure leaves": {}, "depth 3": {"max_depth": 3}}


def make(name, n_rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 10))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + (name == "noisy labels") * rng.normal(size=n_rows) > 0


def find_neighbors(name, n_rows, n_trees, n_jobs):
    """Return seconds of a fit and of the three tasks, and gigabytes."""
    import weald

    X, y = make(name, n_rows)
    forest = weald.RandomForestClassifier(n_trees, random_state=0, n_jobs=n_jobs, **FORESTS[name])
    seconds = [measure.clock(lambda: forest.fit(X, y))]
    neighbors = forest.neighbors(X, y)
    questions = (lambda: forest.proximity(X, k=10), lambda: neighbors.nearest(k=10), neighbors.outliers)
    seconds += [measure.clock(question) for question in questions]
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [*seconds, held, multiply(forest, X)]


def multiply(forest, X):
    """Return SciPy's seconds for all rows, extrapolated from a hundredth of them."""
    from scipy import sparse

    nodes = (forest.apply(X) + forest.forest_.tree_start[:-1]).ravel()
    starts = np.arange(0, len(nodes) + 1, forest.forest_.n_trees)
    marks = sparse.csr_array((np.ones(len(nodes)), nodes, starts), shape=(len(X), forest.forest_.n_nodes))
    few = max(1, len(X) // 100)
    members = sparse.csr_array(marks.T)
    return measure.clock(lambda: marks[:few] @ members) * len(X) / few


def row(name, runs):
    fit, *questions, held, scipy = (min(times) for times in zip(*runs, strict=True))
    return [name, f"{fit:.1f} s", *(f"{s:.1f} s" for s in questions), f"{held:.1f} GiB", f"{scipy:.0f} s"]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "neighbors.md")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    if given.quick:
        given.rows, given.trees, given.repeats = 500, 3, 1
    runs = {name: [] for name in FORESTS}
    for _ in range(given.repeats):
        for name, found in runs.items():
            found.append(measure.afresh(find_neighbors, name, given.rows, given.trees, given.jobs))
            measure.say(name, found[-1])
    header = [f"{given.rows:,} rows, {given.trees} trees", "fit", "proximity, k = 10", "nearest, k = 10", "outliers"]
    text = measure.markdown([*header, "memory", "SciPy"], [row(name, found) for name, found in runs.items()])
    text += f"\n\n{measure.best_of(given)}. {measure.describe_machine('weald', 'scipy')}."
    measure.publish(given, "neighbors", text)


if __name__ == "__main__":
    main()
