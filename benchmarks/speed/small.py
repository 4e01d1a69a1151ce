"""Training time on small data: one small fit, a very small one, and a grid search of 200 fits.

    python -m benchmarks.speed.small [--repeats 3] [--write]

On small data more threads can be slower than one, so each library is measured with one thread and with all cores (in
the search: one process and one per core), and the better time counts. Each measurement runs in its own process,
libraries alternate, and the best of the repeats counts.
"""

from sklearn.model_selection import GridSearchCV

from benchmarks import data, measure

LIBRARIES = ("scikit-learn", "weald")
# 40 parameter settings, 5 folds each: 200 fits.
GRID = {"max_features": [1, 2, 3, 5], "min_samples_leaf": [1, 2, 3, 5, 10], "max_depth": [None, 6]}
QUICK_GRID = {"max_features": [1, 2]}


def fit_small(library, n_jobs, quick):
    """1,000 × 20, 100 trees."""
    X, y, _, _ = data.load("small")
    return fit_often(library, X, y, 3 if quick else 100, n_jobs)


def fit_tiny(library, n_jobs, quick):
    """iris, 10 trees."""
    X, y, _, _ = data.load("load_iris")
    return fit_often(library, X, y, 10, n_jobs)


def search(library, n_jobs, quick):
    """Grid search, 200 fits of 500 × 10, 100 trees."""
    X, y = data.clusters(10, 6, 108, flip_y=0.02)(625)  # four of five folds are 500 rows
    forest = measure.make_forest(library, "classes", n_estimators=3 if quick else 100, random_state=0)
    grid = GridSearchCV(forest, QUICK_GRID if quick else GRID, n_jobs=n_jobs, refit=False)
    return measure.clock(lambda: grid.fit(X, y))


def fit_often(library, X, y, n_trees, n_jobs):
    forest = measure.make_forest(library, "classes", n_estimators=n_trees, n_jobs=n_jobs, random_state=0)
    forest.fit(X, y)  # the first fit of a process includes setup
    return measure.clock_often(lambda: forest.fit(X, y))


def best_times(work, given):
    """Return the best seconds of each library and the number of jobs that gave them."""
    best = {}
    for _ in range(given.repeats):
        for n_jobs in dict.fromkeys((1, measure.CORES)):
            for library in LIBRARIES:
                seconds = measure.afresh(work, library, n_jobs, given.quick)
                measure.say(f"{work.__doc__} {library}, {n_jobs} jobs: {seconds:.4f} s")
                best[library] = min(best.get(library, (seconds, n_jobs)), (seconds, n_jobs))
    return best


def row(work, best):
    cells = [f"{1000 * best[library][0]:,.1f} ms ({best[library][1]})" for library in LIBRARIES]
    return [work.__doc__.rstrip("."), *cells, f"{best['scikit-learn'][0] / best['weald'][0]:.1f}×"]


TEXT = """\
Best time, and in brackets the number of threads or processes.

{table}

Measured with `benchmarks/speed/small.py` on {machine}."""


def main():
    given = measure.options(__doc__).parse_args()
    if given.quick:
        given.repeats = 1
    rows = [row(work, best_times(work, given)) for work in (fit_small, fit_tiny, search)]
    measure.publish(
        given,
        "small",
        TEXT.format(
            table=measure.markdown(["", *LIBRARIES, "speedup"], rows),
            machine=measure.describe_machine(*LIBRARIES),
        ),
    )


if __name__ == "__main__":
    main()
