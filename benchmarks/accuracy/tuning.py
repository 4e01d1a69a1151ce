"""Tuning by out-of-bag error compared with cross-validation: choices, test errors and time.

    python -m benchmarks.accuracy.tuning [--data NAMES] [--rows 2000] [--trees 100] [--write]

Both search the same grid of `max_features` and `min_samples_leaf` for weald's forest: `weald.tune(search="grid")` by
out-of-bag error, scikit-learn's GridSearchCV by 5-fold cross-validation. The test error of each choice and of every
candidate is measured, so that the choices can be compared with the best candidate of the grid.
`--write` puts the table into docs/guides/out-of-bag-error.md.
"""

import time

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

import weald
from benchmarks import data, measure

PAGE = measure.ROOT / "docs" / "guides" / "out-of-bag-error.md"
NAMES = "small,clusters,cover,load_digits,friedman-small,load_diabetes"
CHOICES = ["out-of-bag choice", "5-fold choice", "test error (out-of-bag)", "test error (5-fold)"]
HEADER = ["data", *CHOICES, "best in the grid", "time"]


def grid_of(n_features):
    return {
        "max_features": sorted({1, round(n_features**0.5), n_features // 3, n_features}),
        "min_samples_leaf": [1, 3, 10],
    }


def short(chosen):
    return f"m = {chosen['max_features']}, leaf {chosen['min_samples_leaf']}"


def compare(name, given):
    """Tune both ways; return a row of the table."""
    task = data.DATA_SETS[name].task
    split = data.load(name, given.rows)
    forest = measure.make_forest("weald", task, n_estimators=given.trees, random_state=0, n_jobs=given.jobs)
    grid = grid_of(split.X_train.shape[1])
    began = time.perf_counter()
    ours = weald.tune(forest, split.X_train, split.y_train, grid=grid, search="grid")
    middle = time.perf_counter()
    scoring = "accuracy" if task == "classes" else "neg_mean_squared_error"
    folds = GridSearchCV(forest, grid, cv=5, scoring=scoring).fit(split.X_train, split.y_train)
    end = time.perf_counter()

    def error(chosen):
        model = clone(forest).set_params(**chosen).fit(split.X_train, split.y_train)
        return measure.error_of(task, split.y_test, model.predict(split.X_test))

    errors = [error(candidate) for candidate in ParameterGrid(grid)]
    found = [error(ours.best_params), error(folds.best_params_), min(errors)]
    shown = [f"{100 * e:.2f} %" if task == "classes" else f"{e:.4g}" for e in found]
    times = f"{(end - middle) / (middle - began):.1f} times cheaper"
    return [name, short(ours.best_params), short(folds.best_params_), *shown, times]


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--data", default=NAMES)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    if given.quick:
        given.data, given.rows, given.trees = "small,friedman-small", 200, 5
    rows = [compare(name, given) for name in given.data.split(",")]
    n_same = sum(row[1] == row[2] for row in rows)
    caption = (
        f"The choices are equal on {n_same} of {len(rows)} data sets; the other columns are the test errors of both "
        "choices and of the best candidate. "
        f"At most {given.rows:,} rows, {given.trees} trees; error rate, or root mean squared error. "
        f"Measured with `benchmarks/accuracy/tuning.py` on "
        f"{measure.describe_machine('scikit-learn', 'weald', 'numpy')}."
    )
    text = measure.markdown(HEADER, rows) + "\n\n" + caption
    print(text)
    if given.write:
        measure.write_block(given.write, "tuning", text)


if __name__ == "__main__":
    main()
