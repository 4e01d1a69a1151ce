"""Compare forests and single trees with and without hierarchical shrinkage.

    python -m benchmarks.accuracy.shrinkage [FOLDER] [--only NAMES] [--seeds 6] [--rows 3000] [--trees 100]
                                            [--jobs N] [--write]

FOLDER holds parquet files: the last column is `target` (text: classification; numbers: regression), a column `split` is
ignored. Without a folder, the tables of scikit-learn are measured. Each seed draws at most `--rows` rows, a third of
them for testing. A forest chooses lambda by its out-of-bag error (`shrinkage="oob"`), a single tree by 5-fold
cross-validation over the same values. Differences are paired by seed: z is their mean over its standard error, of the
metric where it is lowest. `--write` puts the table into docs/guides/shrinkage.md.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import KFold

import weald
from benchmarks import measure
from benchmarks.accuracy.categories import compare, rate, read_parquet

PAGE = measure.ROOT / "docs" / "guides" / "shrinkage.md"
NAMES = "diabetes,german_credit,titanic,spam,satimage,higgs_small,abalone,boston,california,ames"
BUNDLED = {"breast_cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine, "load_diabetes": load_diabetes}


def list_tables(given):
    if given.folder:
        return {name: read_parquet(Path(given.folder, f"{name}.parquet")) for name in NAMES.split(",")}
    return {name: read_bundled(load) for name, load in BUNDLED.items()}


def read_bundled(load):
    X, y = load(return_X_y=True, as_frame=True)
    return X, y.to_numpy(float) if load is load_diabetes else y.astype(str).to_numpy(dtype=object)


def choose_by_folds(tree, X, y):
    """Lambda of the lowest mean error over 5 folds, with one tree for each fold."""
    errors = []
    for seen, new in KFold(5, shuffle=True, random_state=0).split(X):
        known = np.isin(y[new], y[seen]) if y.dtype == object else np.full(len(new), fill_value=True)
        fitted = tree().fit(X.iloc[seen], y[seen])
        found = weald.surface(fitted, X.iloc[new[known]], y[new[known]], "shrinkage")
        errors.append(found.errors)
    return found.values[0][int(np.mean(errors, axis=0).argmin())]


def measure_once(table, seed, given):
    """Metrics of the four models, larger is better, and both lambdas."""
    X, y = table
    chosen = np.random.default_rng(seed).permutation(len(y))[: given.rows]
    X, y, n_train = X.iloc[chosen].reset_index(drop=True), y[chosen], len(chosen) * 2 // 3
    is_classes = y.dtype == object
    forest = weald.RandomForestClassifier if is_classes else weald.RandomForestRegressor
    tree = weald.DecisionTreeClassifier if is_classes else weald.DecisionTreeRegressor
    train, test = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    known = np.isin(test[1], train[1]) if is_classes else np.full(len(test[1]), fill_value=True)
    shrinkage = choose_by_folds(lambda: tree(random_state=seed), *train)
    models = {
        "tree": tree(random_state=seed),
        "shrunk tree": tree(random_state=seed, shrinkage=shrinkage),
        "forest": forest(given.trees, random_state=seed, n_jobs=given.jobs),
        "shrunk forest": forest(given.trees, random_state=seed, n_jobs=given.jobs, shrinkage="oob"),
    }
    found = {}
    for name, model in models.items():
        model.fit(*train)
        predicted = (model.predict_proba if is_classes else model.predict)(test[0][known])
        found[name] = rate(test[1][known], predicted, getattr(model, "classes_", None))
    return found, {"tree": shrinkage, "forest": models["shrunk forest"].shrinkage_}


def show(results, given):
    rows, better = [], {"tree": 0, "forest": 0}
    for name, found in results.items():
        cells = [name]
        for kind in ("tree", "forest"):
            plain, shrunk = ([metrics[way] for metrics, _ in found] for way in (kind, f"shrunk {kind}"))
            mean, error = compare(shrunk, plain)
            z = float((mean / np.maximum(error, 1e-12)).min()) if mean.any() else 0.0
            better[kind] += bool((mean >= 0).all())
            chosen = np.unique([lambdas[kind] for _, lambdas in found])
            low, high = f"{chosen[0]:g}", f"{chosen[-1]:g}"
            cells += [*map(metrics_of, (plain, shrunk)), low if low == high else f"{low} to {high}", f"{z:+.1f}"]
        rows.append(cells)
    header = ["table", "tree", "shrunk tree", "λ", "z", "forest", "shrunk forest", "λ", "z"]
    caption = (
        "AUC / log-loss on test rows, or RMSE. z: the difference in standard errors, of the metric where it is lowest. "
        f"Shrinkage is no worse in any metric in {better['tree']} of {len(rows)} tables for trees, in "
        f"{better['forest']} for forests. {given.trees} trees, at most {given.rows:,} rows, a third of them for "
        f"testing, {given.seeds} seeds. Measured with `benchmarks/accuracy/shrinkage.py` on "
        f"{measure.describe_machine('weald', 'pandas', 'scikit-learn')}."
    )
    return measure.markdown(header, rows) + "\n\n" + caption


def metrics_of(found):
    return " / ".join(measure.digits(abs(float(x)), 4) for x in np.mean(found, axis=0))


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("folder", nargs="?", help="parquet files")
    parser.add_argument("--only", help="names of tables, comma-separated")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.rows, given.trees = 2, 150, 10
    results = {}
    for name, table in list_tables(given).items():
        if given.only and name not in given.only.split(","):
            continue
        results[name] = [measure_once(table, seed, given) for seed in range(given.seeds)]
        measure.say(name, [lambdas for _, lambdas in results[name]])
    measure.publish(given, "shrinkage", show(results, given))


if __name__ == "__main__":
    main()
