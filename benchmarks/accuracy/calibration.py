"""Brier score, log loss and seconds of calibrated forests on ten data sets, beside CalibratedClassifierCV.

    python -m benchmarks.accuracy.calibration DATA [--trees 100] [--splits 3] [--write]

DATA is a folder with one parquet file for each data set, whose last column is `target`. Each split draws up to 4,000
rows for training and up to 10,000 others for testing. weald calibrates on out-of-bag predictions.
CalibratedClassifierCV gets the same forest of weald and fits it five times (cv=5). Columns that reveal the target
or the split of the rows are left out.
"""

import statistics
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from benchmarks import measure
from weald import RandomForestClassifier

DATA_SETS = (
    *("diabetes", "sonar", "german_credit", "titanic", "spam"),
    *("adult", "bank_marketing", "higgs_small", "satimage", "letters"),
)
LEFT_OUT = {"bank_marketing": ["duration"]}
METHODS = ("isotonic", "sigmoid", "beta", "venn-abers")
PEERS = {"CV isotonic": "isotonic", "CV sigmoid": "sigmoid"}
MOST_TRAINED, MOST_TESTED = 4_000, 10_000


def load(folder, name):
    table = pd.read_parquet(folder / f"{name}.parquet")
    table = table.drop(columns=[c for c in ("split", *LEFT_OUT.get(name, [])) if c in table])
    return table.drop(columns="target"), table["target"].to_numpy()


def split(X, y, seed, most_trained, most_tested):
    order = np.random.default_rng(seed).permutation(len(y))
    n_trained = min(most_trained, len(y) // 2)
    train, test = order[:n_trained], order[n_trained : n_trained + most_tested]
    return X.iloc[train], y[train], X.iloc[test], y[test]


def scores(model, X, y):
    """Log loss and Brier score."""
    probabilities = model.predict_proba(X)
    happened = y[:, None] == model.classes_[None, :]
    brier = float(np.mean(np.sum((probabilities - happened) ** 2, axis=1)) / 2)
    return float(log_loss(y, probabilities, labels=model.classes_)), brier


def measure_split(X, y, seed, given):
    """By method: log loss, Brier score, and seconds of fit and calibration."""
    X_train, y_train, X_test, y_test = split(X, y, seed, given.trained, given.tested)
    forest = lambda **how: RandomForestClassifier(given.trees, random_state=seed, n_jobs=given.jobs, **how)  # noqa: E731
    makers = {"none": forest, **{m: lambda m=m: forest(calibrate=m) for m in METHODS}}
    makers |= {n: lambda m=m: CalibratedClassifierCV(forest(), method=m, cv=5) for n, m in PEERS.items()}
    found = {}
    for name, make in makers.items():
        models = []
        seconds = measure.clock(lambda make=make, models=models: models.append(make().fit(X_train, y_train)))
        found[name] = (*scores(models[0], X_test, y_test), seconds)
    return found


def table_of(found, which):
    names = ["none", *METHODS, *PEERS]
    lines = []
    for data, runs in found.items():
        means = [statistics.mean(run[name][which] for run in runs) for name in names]
        best = min(means)
        lines.append([data, *(f"**{m:.4f}**" if m == best else f"{m:.4f}" for m in means)])
    return measure.markdown([["log loss", "Brier score"][which], *names], lines)


def table_of_seconds(found):
    names = ["none", *METHODS, *PEERS]
    totals = [sum(run[name][2] for runs in found.values() for run in runs) for name in names]
    return measure.markdown(["seconds, all fits", *names], [["", *(f"{total:.1f}" for total in totals)]])


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "probabilities.md")
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    given.trained, given.tested = MOST_TRAINED, MOST_TESTED
    if given.quick:
        given.trees, given.splits, given.trained, given.tested = 10, 1, 600, 100
    warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
    found = {}
    for name in (name for name in DATA_SETS if (given.data / f"{name}.parquet").exists()):
        X, y = load(given.data, name)
        found[name] = [measure_split(X, y, seed, given) for seed in range(given.splits)]
        measure.say(name, found[name][-1])
    text = "\n\n".join([table_of(found, 0), table_of(found, 1), table_of_seconds(found)])
    text += (
        f"\n\n{given.trees} trees, means over {given.splits} splits; up to {given.trained:,} rows for training. CV: "
        f"CalibratedClassifierCV, cv=5. {measure.describe_machine('weald', 'scikit-learn')}."
    )
    measure.publish(given, "calibration", text)


if __name__ == "__main__":
    main()
