"""Stopping rules from one fit, compared with one fit for each setting and with cross-validation: choices, errors, time.

    python -m benchmarks.accuracy.stopping_rules [FOLDER] [--data NAMES] [--rows 3000] [--trees 100] [--large] [--write]

All three search the same grid of `max_depth`, `min_samples_split` and `n_estimators` for weald's forest: `weald.tune`
with a single fit, one fit for each setting by its out-of-bag error, and scikit-learn's GridSearchCV with 5 folds. The
first two must find the same errors. FOLDER holds parquet files: the last column is `target` (text: classification;
numbers: regression), a column `split` is ignored; a third of the rows are for testing. Without a folder, built-in data
sets are measured. `--large` times surfaces of many settings beside the fit instead, at 100,000 x 50. `--write` puts the
table into docs/guides/tuning.md.
"""

import itertools
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

import weald
from benchmarks import data, measure
from benchmarks.accuracy.categories import read_parquet

PAGE = measure.ROOT / "docs" / "guides" / "tuning.md"
NAMES = "small,clusters,collisions,load_digits,friedman-small,load_diabetes"
OF_FOLDER = "abalone,spam,satimage,california,german_credit,diabetes"
HEADER = [
    "data",
    "out-of-bag choice",
    "5-fold choice",
    "test error (out-of-bag)",
    "test error (5-fold)",
    "best in the grid",
]
TIMES = ["one fit", "a fit for each", "5 folds"]
LARGE = (
    ("max_depth", "n_estimators"),
    ("min_samples_split", "n_estimators"),
    ("max_leaf_nodes", "n_estimators"),
    ("ccp_alpha", "n_estimators"),
    ("max_depth", "min_samples_split", "n_estimators"),
    ("max_depth", "ccp_alpha", "n_estimators"),
)


def short(chosen):
    depth, split, trees = (chosen[name] for name in ("max_depth", "min_samples_split", "n_estimators"))
    return f"depth {depth}, split {split}, {trees} trees"


def load(name, given):
    """Return the task, training rows and test rows of a data set."""
    if not given.folder:
        split = data.load(name, given.rows)
        return data.DATA_SETS[name].task, (split.X_train, split.y_train), (split.X_test, split.y_test)
    X, y = read_parquet(Path(given.folder, f"{name}.parquet"))
    chosen = np.random.default_rng(0).permutation(len(y))[: given.rows]
    X, y, n_train = X.iloc[chosen].reset_index(drop=True), y[chosen], len(chosen) * 2 // 3
    return "classes" if y.dtype == object else "numbers", (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


def compare(name, given):
    """Tune in three ways; return a row of the table."""
    task, train, (X_test, y_test) = load(name, given)
    forest = measure.make_forest("weald", task, n_estimators=given.trees, random_state=0, n_jobs=given.jobs)
    trees = sorted({max(1, given.trees // 4), max(1, given.trees // 2), given.trees})
    grid = {"max_depth": [4, 8, 16, None], "min_samples_split": [2, 10, 40], "n_estimators": trees}
    moments = [time.perf_counter()]
    ours = weald.tune(forest, *train, grid=grid, search="grid")
    moments.append(time.perf_counter())
    settings = list(ParameterGrid(grid))
    fitted = [clone(forest).set_params(oob_score=True, **s).fit(*train) for s in settings]
    moments.append(time.perf_counter())
    scoring = "accuracy" if task == "classes" else "neg_mean_squared_error"
    folds = GridSearchCV(forest, grid, cv=5, scoring=scoring).fit(*train)
    moments.append(time.perf_counter())
    for step in ours.path:
        if step.error != fitted[settings.index(step.params)].oob_error_:
            raise SystemExit(f"On {name}, one fit and a fit for each setting differ at {step.params}.")

    errors = [measure.error_of(task, y_test, model.predict(X_test)) for model in fitted]
    found = [errors[settings.index(chosen)] for chosen in (ours.best_params, folds.best_params_)] + [min(errors)]
    shown = [f"{100 * e:.2f} %" if task == "classes" else f"{e:,.4g}" for e in found]
    seconds = [f"{end - begin:.2f} s" for begin, end in itertools.pairwise(moments)]
    return [name, short(ours.best_params), short(folds.best_params_), *shown, *seconds]


def compare_all(given):
    """The table of choices, errors and times."""
    names = given.data or (OF_FOLDER if given.folder else NAMES)
    rows = [compare(name, given) for name in names.split(",")]
    caption = (
        f"36 settings, at most {given.rows:,} rows and {given.trees} trees; error rate, or root mean squared error. "
        "The out-of-bag errors of one fit and of a fit for each setting are equal. "
        f"Measured with `benchmarks/accuracy/stopping_rules.py` on "
        f"{measure.describe_machine('scikit-learn', 'weald', 'numpy')}."
    )
    return measure.markdown([*HEADER, *TIMES], rows) + "\n\n" + caption


def time_surfaces(given):
    """The table of surfaces of many settings: processor time beside that of the fit."""
    n_rows, n_features = (2000, 10) if given.quick else (100_000, 50)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, :5].sum(axis=1) + 3 * rng.normal(size=n_rows) > 0

    def fit():
        began = time.process_time()
        forest = weald.RandomForestClassifier(given.trees, random_state=0, oob_score=True, n_jobs=given.jobs).fit(X, y)
        return forest, time.process_time() - began

    forest, _ = fit()
    rows, fits = [], []
    for names in LARGE:  # each beside a fit: the speed of a machine changes
        began = time.process_time()
        surface = forest.oob_.surface(*names)
        seconds = time.process_time() - began
        fits.append(fit()[1])
        rows.append([" × ".join(f"`{n}`" for n in names), f"{surface.n_settings:,}", f"{1 + seconds / fits[-1]:.2f}"])
    caption = (
        f"{n_rows:,} rows, {n_features} columns, two classes, {given.trees} trees of {forest.forest_.n_nodes:,} nodes: "
        "processor time of the fit and the surface, where the fit with out-of-bag score is 1 "
        f"({np.median(fits):.1f} s). "
        "Measured with `benchmarks/accuracy/stopping_rules.py --large` on "
        f"{measure.describe_machine('weald', 'numpy')}."
    )
    return measure.markdown(["parameters", "settings", "fits"], rows) + "\n\n" + caption


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("folder", nargs="?", help="parquet files")
    parser.add_argument("--data", help="names of data sets, comma-separated")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--large", action="store_true", help="surfaces of many settings, at 100,000 x 50")
    given = parser.parse_args()
    if given.quick:
        given.data, given.rows, given.trees = given.data or "small,friedman-small", 200, 20
    if given.large:
        measure.publish(given, "surfaces", time_surfaces(given))
    else:
        measure.publish(given, "stopping rules", compare_all(given))


if __name__ == "__main__":
    main()
