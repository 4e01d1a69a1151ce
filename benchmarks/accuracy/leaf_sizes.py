"""Sizes of trees in weald and scikit-learn at equal minimum leaf sizes, and the AUC on a noisy table.

    python -m benchmarks.accuracy.leaf_sizes FOLDER [--data adult] [--seeds 3] [--write]

FOLDER holds parquet files, as for frames.py. Trees are limited only by `min_samples_leaf`. In scikit-learn, a node
becomes a leaf if none of the features that it drew can be split without making a leaf too small. In weald, a node
continues to draw until `max_features` features with an admissible split have been considered: its trees grow as long as
any feature can be split. Deep in a tree these are the columns with many values, so one column may have many of the
splits.

Both get the same numbers (alphabetical ordinal codes for categories), and weald also gets the data frame. The results
do not depend on the machine.
"""

from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OrdinalEncoder

import weald
from benchmarks import measure
from benchmarks.accuracy import frames

TREES = 50
ROWS, DRAWS = 5, (8, 12, 16)  # minimum leaf sizes: rows for scikit-learn, draws for weald


def as_numbers(X, X_test):
    """Replace categories by alphabetical ordinal codes; new and missing ones are missing."""
    text = frames.text_columns(X)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    encoder.fit(X[text])
    return [
        table.assign(**dict(zip(text, encoder.transform(table[text]).T, strict=True))).astype(float)
        for table in (X, X_test)
    ]


def look(make, tables, y, y_test, seeds):
    """Return mean leaves and depth, the fraction of splits by the most frequent column, and the AUC."""
    found = []
    for seed in range(seeds):
        model = make(random_state=seed).fit(tables[0], y)
        trees = model.estimators_
        sizes = [np.mean([tree.get_n_leaves() for tree in trees]), np.mean([tree.get_depth() for tree in trees])]
        cuts = np.concatenate([tree.tree_.feature[tree.tree_.feature >= 0] for tree in trees])
        found.append(
            [*sizes, np.bincount(cuts).max() / len(cuts), roc_auc_score(y_test, model.predict_proba(tables[1])[:, 1])]
        )
    return np.mean(found, axis=0)


def main():
    parser = measure.options(__doc__, frames.PAGE)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", default="adult")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, help="maximum number of rows")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds, arguments.rows = 1, 2000
    X, y, X_test, y_test = frames.read(arguments.folder, arguments.data, arguments.rows)
    numbers, frame = as_numbers(X, X_test), (X, X_test)
    peer = partial(RandomForestClassifier, TREES, min_samples_leaf=ROWS, n_jobs=measure.CORES)
    rows = [["scikit-learn", "numbers", f"{ROWS} rows", *look(peer, numbers, y, y_test, arguments.seeds)]]
    for draws in DRAWS:
        ours = partial(weald.RandomForestClassifier, TREES, min_samples_leaf=draws)
        for what, tables in (("numbers", numbers), ("as it is", frame)):
            rows.append(["weald", what, f"{draws} draws", *look(ours, tables, y, y_test, arguments.seeds)])
            measure.say(rows[-1])
    shown = [
        [*names, f"{leaves:,.0f}", f"{depth:.1f}", f"{share:.0%}", f"{auc:.4f}"]
        for *names, leaves, depth, share, auc in rows
    ]
    heads = ["library", "table", "min leaf size", "leaves", "depth", "splits by one column", "AUC"]
    table = measure.markdown(heads, shown)
    machine = measure.describe_machine("weald", "scikit-learn")
    caption = f"{arguments.data}, {TREES} trees without a depth limit, mean of {arguments.seeds} seeds. {machine}."
    measure.publish(arguments, "sizes", f"{table}\n\n{caption}")


if __name__ == "__main__":
    main()
