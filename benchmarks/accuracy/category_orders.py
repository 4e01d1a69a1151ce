"""Multiclass categorical splits: the best split along weald's category orders, compared with the best of all subsets.

    python -m benchmarks.accuracy.category_orders [--tables 400] [--write]

Each table is small and has one categorical feature. The best subset is found by exhaustive search. The loss is a
fraction of the decrease in impurity. `--write` puts the table into docs/guides/input-data.md.
"""

import numpy as np
import pandas as pd

import weald
from benchmarks import measure

PAGE = measure.ROOT / "docs" / "guides" / "input-data.md"


def impurity_terms(counts):
    """Sum of squared class counts divided by the count, for one side or many (classes on the last axis)."""
    return (counts**2).sum(axis=-1) / np.maximum(counts.sum(axis=-1), 1)


def best_decrease(kinds, y, n_kinds, n_classes):
    """Try every subset without the last category; the others are their complements."""
    table = np.zeros((n_kinds, n_classes))
    np.add.at(table, (kinds, y), 1.0)
    subsets = (np.arange(1, 2 ** (n_kinds - 1))[:, None] >> np.arange(n_kinds)) & 1
    left = subsets @ table
    total = table.sum(axis=0)
    return ((impurity_terms(left) + impurity_terms(total - left)).max() - impurity_terms(total)) / len(y)


def found_decrease(kinds, y):
    X = pd.DataFrame({"kind": pd.Categorical([f"{k:02}" for k in kinds])})
    return float(weald.DecisionTreeClassifier(max_depth=1).fit(X, y).forest_.decrease[0])


def measure_losses(n_kinds, n_classes, n_rows, n_tables):
    """Return the losses as fractions of the best decrease; half of the tables are noise, half have a signal."""
    losses = []
    for seed in range(n_tables):
        rng = np.random.default_rng([n_kinds, n_classes, n_rows, seed])
        kinds = rng.permutation(np.arange(n_rows) % n_kinds)
        shares = rng.dirichlet(np.full(n_classes, 0.7 if seed % 2 else 50.0), size=n_kinds)
        y = np.array([rng.choice(n_classes, p=shares[k]) for k in kinds])
        if len(set(y)) < 3:
            continue
        best = best_decrease(kinds, y, n_kinds, n_classes)
        losses.append(1 - found_decrease(kinds, y) / best)
    return np.array(losses)


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--tables", type=int, default=400)
    arguments = parser.parse_args()
    n_tables = 10 if arguments.quick else arguments.tables
    rows = []
    for n_kinds, n_classes, n_rows in ((4, 3, 60), (8, 3, 60), (12, 3, 120), (8, 5, 120), (12, 5, 240), (8, 10, 240)):
        losses = measure_losses(n_kinds, n_classes, n_rows, n_tables)
        exact = losses < 1e-9
        lost = losses[~exact] if not exact.all() else np.zeros(1)
        shares = [f"{exact.mean():.0%}", f"{losses.mean():.1%}", f"{lost.max():.1%}"]
        rows.append([n_kinds, n_classes, n_rows, len(losses), *shares])
        measure.say(rows[-1])
    header = ["categories", "classes", "rows", "tables", "optimum found", "lost on average", "lost at most"]
    table = measure.markdown(header, rows)
    caption = f"Loss: fraction of the decrease in Gini impurity. {measure.describe_machine('weald')}."
    measure.publish(arguments, "orders", f"{table}\n\n{caption}")


if __name__ == "__main__":
    main()
