"""Stopping rules from one fit, compared with one fit for each setting and with cross-validation: choices, errors, time.

    python -m benchmarks.accuracy.stopping_rules [--data NAMES] [--rows 2000] [--trees 100] [--write]

All three search the same grid of `max_depth`, `min_samples_split` and `n_estimators` for weald's forest: `weald.tune`
with a single fit, one fit for each setting by its out-of-bag error, and scikit-learn's GridSearchCV with 5 folds. The
first two must find the same errors. `--write` puts the table into docs/guides/tuning.md.
"""

import itertools
import time

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

import weald
from benchmarks import data, measure

PAGE = measure.ROOT / "docs" / "guides" / "tuning.md"
NAMES = "small,clusters,collisions,load_digits,friedman-small,load_diabetes"
HEADER = [
    "data",
    "out-of-bag choice",
    "5-fold choice",
    "test error (out-of-bag)",
    "test error (5-fold)",
    "best in the grid",
]
TIMES = ["one fit", "a fit for each", "5 folds"]


def short(chosen):
    depth, split, trees = (chosen[name] for name in ("max_depth", "min_samples_split", "n_estimators"))
    return f"depth {depth}, split {split}, {trees} trees"


def compare(name, given):
    """Tune in three ways; return a row of the table."""
    task = data.DATA_SETS[name].task
    split = data.load(name, given.rows)
    forest = measure.make_forest("weald", task, n_estimators=given.trees, random_state=0, n_jobs=given.jobs)
    trees = sorted({max(1, given.trees // 4), max(1, given.trees // 2), given.trees})
    grid = {"max_depth": [4, 8, 16, None], "min_samples_split": [2, 10, 40], "n_estimators": trees}
    moments = [time.perf_counter()]
    ours = weald.tune(forest, split.X_train, split.y_train, grid=grid, search="grid")
    moments.append(time.perf_counter())
    settings = list(ParameterGrid(grid))
    fitted = [clone(forest).set_params(oob_score=True, **s).fit(split.X_train, split.y_train) for s in settings]
    moments.append(time.perf_counter())
    scoring = "accuracy" if task == "classes" else "neg_mean_squared_error"
    folds = GridSearchCV(forest, grid, cv=5, scoring=scoring).fit(split.X_train, split.y_train)
    moments.append(time.perf_counter())
    if ours.best_error != min(model.oob_error_ for model in fitted):
        raise SystemExit(f"On {name}, one fit and a fit for each setting differ.")

    errors = [measure.error_of(task, split.y_test, model.predict(split.X_test)) for model in fitted]
    found = [errors[settings.index(chosen)] for chosen in (ours.best_params, folds.best_params_)] + [min(errors)]
    shown = [f"{100 * e:.2f} %" if task == "classes" else f"{e:.4g}" for e in found]
    seconds = [f"{end - begin:.2f} s" for begin, end in itertools.pairwise(moments)]
    return [name, short(ours.best_params), short(folds.best_params_), *shown, *seconds]


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--data", default=NAMES)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    if given.quick:
        given.data, given.rows, given.trees = "small,friedman-small", 200, 20
    rows = [compare(name, given) for name in given.data.split(",")]
    caption = (
        f"36 settings, at most {given.rows:,} rows and {given.trees} trees; error rate, or root mean squared error. "
        "The out-of-bag errors of one fit and of a fit for each setting are equal. "
        f"Measured with `benchmarks/accuracy/stopping_rules.py` on "
        f"{measure.describe_machine('scikit-learn', 'weald', 'numpy')}."
    )
    text = measure.markdown([*HEADER, *TIMES], rows) + "\n\n" + caption
    print(text)
    if given.write:
        measure.write_block(given.write, "stopping rules", text)


if __name__ == "__main__":
    main()
