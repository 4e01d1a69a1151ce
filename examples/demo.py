"""Train a forest on a data set of scikit-learn, and show the result.

Run it with `make demo`, or `python examples/demo.py` where weald is installed.
"""

import time

from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import weald
from weald import _core
from weald.engines.threads import count_threads

BAR = 32  # characters of the longest bar
SHOWN = 8  # features


def main() -> None:
    """Fit, then print error, importances, timing and fingerprint."""
    cancer = load_breast_cancer()
    X, y = cancer.data, cancer.target_names[cancer.target]
    forest = weald.RandomForestClassifier(n_estimators=500, oob_score=True, random_state=1)

    began = time.perf_counter()
    forest.fit(X, y)
    fitted = time.perf_counter()
    forest.predict(X)
    predicted = time.perf_counter()

    nodes = forest.forest_.n_nodes
    print(f"\nweald {weald.__version__}: {len(X)} tumors, {X.shape[1]} measurements each: benign or malignant?\n")
    print(f"  trees          {forest.forest_.n_trees}, {nodes:,} nodes, up to {forest.get_depth().max()} deep")
    print(
        f"  fit            {fitted - began:.3f} s with out-of-bag estimate, {count_threads(None)} threads, {_core.simd}"
    )
    print(f"  predict        {(predicted - fitted) * 1e6 / len(X):.1f} µs a row")
    print(
        f"  error          {forest.oob_error_:.1%} out of bag, estimated from {forest.oob_fraction_:.0%} of the rows\n"
    )
    show_importances(list(cancer.feature_names), forest.feature_importances_.tolist())
    show_doubt(forest, list(y))
    again = clone(forest).set_params(n_jobs=1).fit(X, y)
    same = "the same" if again.forest_.fingerprint() == forest.forest_.fingerprint() else "NOT THE SAME"
    print(f"  fingerprint    {forest.forest_.fingerprint()}")
    print(f"                 {same} with one thread\n")


def show_importances(names: list[str], importances: list[float]) -> None:
    """Print the most important features, with bars."""
    ranked = sorted(zip(importances, names, strict=True), reverse=True)
    width = max(len(name) for _, name in ranked[:SHOWN])
    print("  what matters (mean decrease in impurity)")
    for importance, name in ranked[:SHOWN]:
        bar = "█" * max(1, round(BAR * importance / ranked[0][0]))
        print(f"    {name:<{width}}  {importance:6.1%}  {bar}")
    rest = sum(importance for importance, _ in ranked[SHOWN:])
    print(f"    {f'{len(ranked) - SHOWN} others':<{width}}  {rest:6.1%}\n")


def show_doubt(forest: weald.RandomForestClassifier, labels: list[str]) -> None:
    """Print the out-of-bag prediction of the row with the least certain prediction."""
    shares = forest.oob_decision_function_
    row = int(abs(shares[:, 0] - shares[:, 1]).argmin())
    probabilities = ", ".join(f"{label} {share:.0%}" for label, share in zip(forest.classes_, shares[row], strict=True))
    print(f"  least sure of  row {row}: {probabilities} (it is {labels[row]})")


if __name__ == "__main__":
    main()
