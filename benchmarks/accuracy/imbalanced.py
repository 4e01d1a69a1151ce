"""Class weights and balanced bags on imbalanced classes: out-of-bag scores compared with test scores.

Two classes, with 2 % of the rows in the second. Each setting is fitted with several seeds.
"""

import argparse

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, balanced_accuracy_score, recall_score

import weald

WAYS = {
    "plain": {},
    'class_weight="balanced"': {"class_weight": "balanced", "min_samples_leaf": 10},
    'class_weight="balanced_subsample"': {"class_weight": "balanced_subsample", "min_samples_leaf": 10},
    'bootstrap="balanced"': {"bootstrap": "balanced"},
    "max_samples={0: 0.1}": {"max_samples": {0: 0.1}},
}


def make_table(n_rows: int, seed: int):
    """Make twice the number of rows; the second half is for testing."""
    X, y = make_classification(
        2 * n_rows,
        n_features=20,
        n_informative=6,
        n_redundant=4,
        weights=[0.98],
        class_sep=0.8,
        flip_y=0.01,
        random_state=seed,
    )
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def scores(y, shares):
    """Return the recall of the rare class, balanced accuracy and average precision."""
    labels = shares.argmax(axis=1)
    return recall_score(y, labels), balanced_accuracy_score(y, labels), average_precision_score(y, shares[:, 1])


def measure(given, n_rows: int, n_trees: int, n_seeds: int):
    """Return mean scores: (out of bag, held out) x (recall, balanced accuracy, average precision)."""
    found = []
    for seed in range(n_seeds):
        X, y, X_test, y_test = make_table(n_rows, seed)
        model = weald.RandomForestClassifier(n_trees, oob_score=True, random_state=seed, **given).fit(X, y)
        found.append([scores(y, model.oob_decision_function_), scores(y_test, model.predict_proba(X_test))])
    return np.mean(found, axis=0)


def main() -> None:
    """Print a table for the docs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| | recall of the rare class | | balanced accuracy | | average precision | |")
    print("|---|---|---|---|---|---|---|")
    print("| | out of bag | held out | out of bag | held out | out of bag | held out |")
    for name, given in WAYS.items():
        outside, held_out = measure(given, options.rows, options.trees, options.seeds)
        cells = [f"{value:.3f}" for pair in zip(outside, held_out, strict=True) for value in pair]
        print(f"| `{name}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
