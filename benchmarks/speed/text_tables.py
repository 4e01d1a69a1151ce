"""Time of the first fit and the first prediction on real tables, with text columns and missing values.

    python -m benchmarks.speed.text_tables FOLDER [--data adult,titanic] [--trees 100] [--repeats 3] [--write]

FOLDER holds parquet files: the last column is `target` (text: classification; numbers: regression), text columns are
categorical, a column `split` is ignored. A quarter of the rows, drawn at random, is for testing. weald gets the data
frame; the others get alphabetical ordinal codes (missing and unknown labels: NaN, or -1 where NaN is refused), and
their times include the encoder. Libraries alternate in new processes; the first fit of a process and its first
prediction count, after imports. The medians are over all tables with text columns.
"""

import statistics
import warnings
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from benchmarks import measure
from benchmarks.accuracy.categories import read_parquet, text_columns

LIBRARIES = ("scikit-learn", "scikit-learn-intelex", "weald")


def split(folder, name, n_rows):
    X, y = read_parquet(Path(folder) / f"{name}.parquet")
    rng = np.random.default_rng(0)
    if n_rows and len(X) > n_rows:
        chosen = rng.permutation(len(X))[:n_rows]
        X, y = X.iloc[chosen], y[chosen]
    is_test = rng.random(len(X)) < 0.25
    return X[~is_test], y[~is_test], X[is_test], y[is_test]


def make(library, X, task, trees, jobs):
    n_features = X.shape[1]
    more = {"max_features": max(1, n_features // 3) / n_features} if task == "values" else {}
    forest = measure.make_forest(library, task, n_estimators=trees, n_jobs=jobs, random_state=0, **more)
    if library == "weald":
        return forest
    missing = -1 if library == "scikit-learn-intelex" else np.nan
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=missing, encoded_missing_value=missing, dtype=np.float64
    )
    return make_pipeline(make_column_transformer((encoder, text_columns(X)), remainder="passthrough"), forest)


def run(folder, name, n_rows, library, trees, jobs):
    """Return the seconds of the first fit and prediction, and the test error; None if the library refuses the table."""
    X, y, X_test, y_test = split(folder, name, n_rows)
    task = "classes" if y.dtype == object else "values"
    if library == "scikit-learn-intelex":
        if task == "classes":
            y, y_test = (np.searchsorted(np.unique(np.concatenate([y, y_test])), part) for part in (y, y_test))
        numbers = [column for column in X if column not in text_columns(X)]
        if X[numbers].isna().any(axis=None) or X_test[numbers].isna().any(axis=None):
            return None
    model = make(library, X, task, trees, jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = measure.clock(lambda: model.fit(X, y))
        predicted = []
        predict = measure.clock(lambda: predicted.append(model.predict(X_test)))
    if library == "scikit-learn-intelex" and not hasattr(model[-1], "_onedal_estimator"):
        return None  # fitted by scikit-learn instead
    return fit, predict, measure.error_of(task, y_test, predicted[0])


def best(runs):
    runs = [r for r in runs if r is not None]
    return [min(r[i] for r in runs) for i in range(3)] if runs else None


def compare(given):
    names = given.data.split(",") if given.data else [path.stem for path in sorted(given.folder.glob("*.parquet"))]
    libraries = [library for library in LIBRARIES if measure.version_of(measure.LIBRARIES[library][0])]
    rows, ratios = [], {"fit": [], "predict": []}
    for name in names:
        X, *_ = split(given.folder, name, given.rows)
        if not text_columns(X):
            continue
        runs = {library: [] for library in libraries}
        for _ in range(given.repeats):
            for library in libraries:
                settings = (str(given.folder), name, given.rows, library, given.trees, given.jobs)
                runs[library].append(measure.afresh(run, *settings))
        found = {library: best(of) for library, of in runs.items()}
        measure.say(name, found)
        cells = [
            "–" if found[library] is None else " · ".join(measure.digits(x) for x in found[library])
            for library in libraries
        ]
        sklearn, own = found["scikit-learn"], found["weald"]
        ratios["fit"].append(sklearn[0] / own[0])
        ratios["predict"].append(sklearn[1] / own[1])
        faster = [f"{ratios[what][-1]:.1f}×" for what in ratios]
        rows.append([name, f"{len(X):,} × {X.shape[1]}", len(text_columns(X)), *cells, *faster])
    header = ["data", "rows × columns", "text", *libraries, "fit", "first predict"]
    return measure.markdown(header, rows), {what: statistics.median(of) for what, of in ratios.items()}


TEXT = """\
Seconds of the first fit · seconds of the first prediction · test error (fraction of rows, or root mean squared error);
then how many times as fast weald is as scikit-learn. Medians: fit **{fit:.1f}×**, first prediction **{predict:.1f}×**.

{table}

{trees} trees, {jobs} threads; – refuses missing values, or leaves the fit to scikit-learn. {repeats}. Measured with
`benchmarks/speed/text_tables.py` on {machine}."""


def main():
    parser = measure.options(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", help="names with commas; by default all tables with text columns")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, help="maximum rows of each table")
    given = parser.parse_args()
    if given.quick:
        given.trees, given.repeats, given.rows = 3, 1, 200
    table, medians = compare(given)
    machine = measure.describe_machine("scikit-learn", "scikit-learn-intelex", "weald")
    text = TEXT.format(
        table=table, trees=given.trees, jobs=given.jobs, repeats=measure.best_of(given), machine=machine, **medians
    )
    measure.publish(given, "text-tables-speed", text)


if __name__ == "__main__":
    main()
