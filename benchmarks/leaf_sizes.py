"""Where trees end, in weald and in scikit-learn, and what that does to the AUC of a noisy table.

    python benchmarks/leaf_sizes.py FOLDER [--data adult] [--seeds 3] [--write]

FOLDER holds parquet files, as for frames.py. Trees have no limit but `min_samples_leaf`. A node of scikit-learn is a
leaf when none of the features that it drew can be cut without making a leaf too small. weald draws on until it has seen
as many features that can be cut as it was told to look at: its trees go on as long as any feature can be cut. Deep down
these are the columns of many values, so one column may have many of the cuts.

Both see the same numbers (categories in the order of the alphabet), and weald the frame as it is, too. Nothing here
depends on the machine.
"""

from functools import partial
from pathlib import Path

import frames
import measure
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OrdinalEncoder

import weald

TREES = 50
ROWS, DRAWS = 5, (8, 12, 16)  # the fewest of a leaf: rows for scikit-learn, draws for weald


def as_numbers(X, X_test):
    """Number the categories in the order of the alphabet; what is new or missing is missing."""
    text = frames.text_columns(X)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    encoder.fit(X[text])
    return [
        table.assign(**dict(zip(text, encoder.transform(table[text]).T, strict=True))).astype(float)
        for table in (X, X_test)
    ]


def look(make, tables, y, y_test, seeds):
    """Mean leaves and depth of a tree, share of the cuts by the column that has most of them, and AUC."""
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
    parser.add_argument("--rows", type=int, help="at most")
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
