"""Time of a fit and a prediction on a sparse matrix.

    python -m benchmarks.speed.sparse [--rows 20000] [--words 10000] [--filled 0.01] [--trees 20] [--write]

The table is like word counts of texts: few cells are not zero, words differ in frequency, and some of them depend on
the class. weald and scikit-learn fit the same rows alternately, each in its own process. `--write` puts the
table into docs/guides/sparse-matrices.md.
"""

import numpy as np
from scipy import sparse

from benchmarks import measure

PAGE = measure.ROOT / "docs" / "guides" / "sparse-matrices.md"
LIBRARIES = {"scikit-learn": "sklearn.ensemble", "weald": "weald"}


def make_texts(n_rows: int, n_words: int, filled: float, seed: int = 0):
    """Make word counts; some words are slightly more frequent in one class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    common = 1 / np.arange(10, n_words + 10)
    length = round(filled * n_words * 1.25)  # words may be drawn twice
    words = []
    for k in (0, 1):
        liked = common * np.where(rng.random(n_words) < 0.1, rng.choice([0.4, 2.5], n_words), 1.0) if k else common
        words.append(rng.choice(n_words, size=((y == k).sum(), length), p=liked / liked.sum()))
    columns = np.empty((n_rows, length), dtype=np.int64)
    columns[y == 0], columns[y == 1] = words
    rows = np.repeat(np.arange(n_rows), length)
    counts = sparse.csr_array((np.ones(rows.size), (rows, columns.ravel())), shape=(n_rows, n_words))
    counts.sum_duplicates()
    counts.indices, counts.indptr = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # for scikit-learn
    return counts, y


def fit_once(library: str, size: list, trees: int, jobs: int) -> list[float]:
    """Fit in this process: seconds of fit and prediction, test accuracy, and the fraction of stored cells."""
    module = __import__(LIBRARIES[library], fromlist=["RandomForestClassifier"])
    n_rows, n_words, filled = size
    X, y = make_texts(2 * n_rows, n_words, filled)
    X_train, X_test = X[:n_rows], X[n_rows:]
    model = module.RandomForestClassifier(trees, random_state=0, n_jobs=jobs)
    fit = measure.clock(lambda: model.fit(X_train, y[:n_rows]))
    predicted = []
    predict = measure.clock(lambda: predicted.append(model.predict(X_test)))
    return [fit, predict, float(np.mean(predicted[0] == y[n_rows:])), X_train.nnz / np.prod(X_train.shape)]


def main() -> None:
    """Measure both alternately, and print a table for the docs."""
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--filled", type=float, default=0.01)
    parser.add_argument("--trees", type=int, default=20)
    given = parser.parse_args()
    size = [given.rows, given.words, given.filled]
    if given.quick:
        size, given.trees, given.repeats = [300, 200, 0.05], 3, 1
    found: dict[str, list[list[float]]] = {name: [] for name in LIBRARIES}
    for _ in range(given.repeats):
        for name in LIBRARIES:
            found[name].append(measure.afresh(fit_once, name, size, given.trees, given.jobs))
            measure.say(name, found[name][-1])
    best = {name: np.min(runs, axis=0) for name, runs in found.items()}
    rows = [[name, f"{fit:.2f}", f"{predict:.2f}", f"{right:.3f}"] for name, (fit, predict, right, _) in best.items()]
    table = measure.markdown(["", "fit, s", "predict, s", "accuracy"], rows)
    what = f"{size[0]:,} rows, {size[1]:,} columns, {best['weald'][3]:.1%} of the cells stored, {given.trees} trees"
    machine = measure.describe_machine("weald", "scikit-learn")
    text = f"{table}\n\n{what}, {given.jobs} threads. {measure.best_of(given)}. {machine}."
    measure.publish(given, "sparse", text)


if __name__ == "__main__":
    main()
