"""Accuracy and training time of bagging, random features, boosting and arcing.

    python -m benchmarks.accuracy.resampling [--folder FOLDER] [--data NAMES] [--trees 100] [--seeds 3]
        [--rows 4000] [--write]

Mean test error and best time of a fit over seeds, on one thread. scikit-learn's AdaBoost is measured with deep trees,
each fitted to all rows with weights, and with stumps, its default. `--write` puts the table into
docs/guides/boosting-and-arcing.md. A folder of parquet files adds data sets (see forests.py).
"""

import sys
import time

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.tree import DecisionTreeClassifier

import weald
from benchmarks import measure
from benchmarks.accuracy import forests

PAGE = measure.ROOT / "docs" / "guides" / "boosting-and-arcing.md"
NAMES = "small,clusters,cover,load_digits,load_breast_cancer"


def weald_forest(**parameters):
    return lambda trees, seed: weald.RandomForestClassifier(trees, n_jobs=1, random_state=seed, **parameters)


WAYS = {
    "forest": weald_forest(),
    "one feature": weald_forest(max_features=1),
    "bagging": weald_forest(max_features="all"),
    "boosting": weald_forest(resampling="boosting"),
    "arcing": weald_forest(resampling="arcing"),
    "AdaBoost, trees": lambda trees, seed: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=10), n_estimators=trees, random_state=seed
    ),
    "AdaBoost, stumps": lambda trees, seed: AdaBoostClassifier(n_estimators=trees, random_state=seed),
    "sklearn bagging": lambda trees, seed: BaggingClassifier(n_estimators=trees, random_state=seed, n_jobs=1),
}


def find(given):
    """Yield a name and a function from seed to Split for each classification data set."""
    given.folder = given.folder or ""
    for name, task, split_by_seed in forests.find(given):
        if task == "classes":
            yield name, split_by_seed


def measure_way(make, split, trees, seed):
    began = time.perf_counter()
    model = make(trees, seed).fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - began
    return measure.error_of("classes", split.y_test, model.predict(split.X_test)), seconds


def row(name, split_by_seed, given):
    """Measure all methods on one data set, seed by seed, so that other load affects all of them alike."""
    found = {way: [] for way in WAYS}
    for seed in range(given.seeds):
        split = split_by_seed(seed)
        split = split._replace(X_train=np.nan_to_num(split.X_train, nan=-1), X_test=np.nan_to_num(split.X_test, nan=-1))
        for way, make in WAYS.items():
            found[way].append(measure_way(make, split, given.trees, seed))
    # The shortest time is the least affected by other load.
    means = {way: (np.mean(pairs, axis=0)[0], np.min(pairs, axis=0)[1]) for way, pairs in found.items()}
    best = min(error for error, _ in means.values())
    unit = means["forest"][1]
    cells = []
    for error, seconds in means.values():
        shown = f"{100 * error:.1f} %"
        cells.append(f"{f'**{shown}**' if error == best else shown} ({seconds / unit:.1f})")
    return [name, *cells]


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--folder", help="a folder of parquet files")
    parser.add_argument("--data", default=NAMES, help="names of data sets, with commas")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4000, help="use no more for training")
    given = parser.parse_args()
    if given.quick:
        given.data, given.trees, given.seeds, given.rows = "small", 5, 1, 200
    rows = []
    for name, split_by_seed in find(given):
        rows.append(row(name, split_by_seed, given))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    text = measure.markdown(["data", *WAYS], rows)
    machine = measure.describe_machine("scikit-learn", "weald", "numpy")
    text += (
        "\n\nErrors on test data; in brackets the time of a fit, with that of the forest as 1. "
        f"{given.trees} trees, at most {given.rows:,} rows, mean error and shortest time of {given.seeds} seeds, one "
        "thread. "
        f"Measured with `benchmarks/accuracy/resampling.py` on {machine}."
    )
    print(text)
    if given.write:
        measure.write_block(given.write, "resampling", text)


if __name__ == "__main__":
    main()
