"""How good are the orders in which categories are cut, with more than two classes.

    python benchmarks/category_orders.py [--tables 400] [--write]

Small tables of one categorical feature: the best cut of all orders against the best of all subsets, which is found by
trying them. What is lost is a share of the decrease in impurity. `--write` puts the table into docs/input-data.md.
"""

import measure
import numpy as np
import pandas as pd

import weald

PAGE = measure.ROOT / "docs" / "input-data.md"


def impurity_terms(counts):
    """Sum of squared class counts over the count, of one side or of many (the last axis is the classes)."""
    return (counts**2).sum(axis=-1) / np.maximum(counts.sum(axis=-1), 1)


def best_decrease(kinds, y, n_kinds, n_classes):
    """Try every subset that has not the last category: the others mirror these."""
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
    """What the orders lose, as shares of the best decrease: half of the tables are noise, half have a signal."""
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
    caption = f"What is lost is a share of the decrease in Gini impurity. {measure.describe_machine('weald')}."
    measure.publish(arguments, "orders", f"{table}\n\n{caption}")


if __name__ == "__main__":
    main()
