"""How long a sparse table takes: `python benchmarks/sparse.py`.

A table like those of words in texts: few cells are filled, words differ in how common they are, and some of them tell
the classes apart. weald and scikit-learn fit the same rows in turn, each in a process of its own.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np
from scipy import sparse

LIBRARIES = {"scikit-learn": "sklearn.ensemble", "weald": "weald"}


def make_texts(n_rows: int, n_words: int, filled: float, seed: int = 0):
    """Make counts of words: the classes prefer some words a little."""
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


def fit_once(library: str, options) -> None:
    """Fit in this process; print seconds of fit and prediction, and the accuracy on fresh rows."""
    module = __import__(LIBRARIES[library], fromlist=["RandomForestClassifier"])
    X, y = make_texts(2 * options.rows, options.words, options.filled)
    train, test = slice(0, options.rows), slice(options.rows, None)
    X_train, X_test = X[train], X[test]
    model = module.RandomForestClassifier(options.trees, random_state=0, n_jobs=options.threads)
    begin = time.perf_counter()
    model.fit(X_train, y[train])
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    accuracy = model.score(X_test, y[test])
    print(seconds, time.perf_counter() - begin, accuracy, X_train.nnz / np.prod(X_train.shape))


def main() -> None:
    """Measure both in turn, and print a table for the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--filled", type=float, default=0.01)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--library", choices=LIBRARIES, help="fit once in this process")
    options = parser.parse_args()
    if options.library:
        fit_once(options.library, options)
        return
    found: dict[str, list[list[float]]] = {name: [] for name in LIBRARIES}
    for _ in range(options.repeats):
        for name in LIBRARIES:
            command = [sys.executable, *sys.argv, "--library", name]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
            found[name].append([float(word) for word in done.stdout.split()])
    best = {name: np.min(runs, axis=0) for name, runs in found.items()}
    share = best["weald"][3]
    print(f"{options.rows} × {options.words}, {share:.1%} filled, {options.trees} trees, {options.threads} threads,")
    print(f"weald {version('weald')}, scikit-learn {version('scikit-learn')}, {platform.machine()},", end=" ")
    print(f"best of {options.repeats}:\n")
    print("| | fit, s | predict, s | accuracy |\n|---|---|---|---|")
    for name, (fit, predict, accuracy, _) in best.items():
        print(f"| {name} | {fit:.2f} | {predict:.2f} | {accuracy:.3f} |")


if __name__ == "__main__":
    main()
