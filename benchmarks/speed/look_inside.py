"""Time of inspecting and pruning a large tree.

    python -m benchmarks.speed.look_inside [--rows 105000]

Grows a tree on random labels, about one node per row, and prints seconds, the best of three, next to those of
scikit-learn's export_text and pruning path on the same rows. scikit-learn's pruning compares all nodes at every step,
so it is also measured on a tenth of the rows.
"""

import argparse
import time

import numpy as np
from sklearn.tree import DecisionTreeClassifier as TheirTree
from sklearn.tree import export_text

from weald import DecisionTreeClassifier
from weald.estimators.tree_view import Tree

N_FEATURES, N_CLASSES, REPEATS = 10, 7, 3


def make(n_rows):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, N_FEATURES)), rng.integers(0, N_CLASSES, n_rows)


def seconds(work, model=None):
    """Time some work, the best of several runs, after clearing the caches of the tree."""
    best = np.inf
    for _ in range(REPEATS):
        if model is not None:
            model.tree_ = Tree(model.forest_, model.growth_.criterion)
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=105_000)
    given = parser.parse_args()
    X, y = make(given.rows)
    tree = DecisionTreeClassifier().fit(X, y)
    middle = np.median(tree.pruning_path(frame="dict")["alpha"])
    print(f"a tree of {tree.tree_.node_count:,} nodes, {tree.get_depth()} deep")
    for name, work in {
        'nodes(frame="dict")': lambda: tree.nodes(frame="dict"),
        "nodes()": tree.nodes,
        "export_text()": tree.export_text,
        "export_text(max_depth=None)": lambda: tree.export_text(max_depth=None),
        "rules()": tree.rules,
        "pruning_path()": tree.pruning_path,
        "prune(alpha)": lambda: tree.prune(middle),
        "explain_row(x)": lambda: tree.explain_row(X[0]),
    }.items():
        print(f"{name:40}{seconds(work, tree):8.3f} s")
    theirs = TheirTree(random_state=0).fit(X, y)
    print(f"{'scikit-learn: export_text(max_depth=10)':40}{seconds(lambda: export_text(theirs)):8.3f} s")
    few = given.rows // 10
    for name, kind in (("weald", DecisionTreeClassifier), ("scikit-learn", TheirTree)):
        fit = seconds(lambda kind=kind: kind(random_state=0).fit(X[:few], y[:few]))
        both = seconds(lambda kind=kind: kind(random_state=0).cost_complexity_pruning_path(X[:few], y[:few]))
        print(f"{f'{name}: pruning path, a tenth of the rows':40}{both - fit:8.3f} s")


if __name__ == "__main__":
    main()
