"""Coverage and width of prediction intervals, and size of prediction sets, beside MAPIE and crepes, with seconds.

    python -m benchmarks.accuracy.intervals DATA [--trees 100] [--splits 20] [--write]

DATA is a folder with one parquet file for each data set, whose last column is `target`. Each split draws rows for
training and others for testing, and asks for a coverage of 90 %. Three more data sets have a known noise, so the width
of the central interval is known, and coverage is also measured in the noisiest fifth of the rows.

All forests have the same number of trees, leaves of at least 5 rows and a third of the features at each split; one
thread. weald fits one forest for its four methods: the seconds are of that fit, and of each prediction. MAPIE's
jackknife+-after-bootstrap fits as many trees to as many bootstrap samples. MAPIE's CQR has quantiles of
quantile-forest, and half of the training rows; so have its prediction sets. crepes calibrates on the out-of-bag rows of
scikit-learn's forest, "oob-scaled" by the residuals of 25 neighbors. The peers get categories as numbers and missing
values as the smallest number, since their forests know neither.
"""

import statistics
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier as SklearnClassifier
from sklearn.ensemble import RandomForestRegressor as SklearnRegressor
from sklearn.tree import DecisionTreeRegressor

from benchmarks import measure
from weald import RandomForestClassifier, RandomForestRegressor

NUMBERS = ("boston", "servo", "abalone", "kin40k", "ames", "insteval", "diamonds", "california")
CLASSES = ("german_credit", "satimage", "adult", "letters")
KNOWN = ("normal noise", "growing noise", "skewed noise")
COVERAGE = 0.9
METHODS = ("oob", "oob-scaled", "jackknife+ab", "cqr")
SETS = ("lac", "aps")
NOISIEST = 0.8  # quantile of the scale of the noise


def load(folder, name):
    table = pd.read_parquet(folder / f"{name}.parquet")
    table = table.drop(columns=[c for c in ("split",) if c in table])
    labels = table.drop(columns="target").select_dtypes(exclude="number").columns
    table = table.astype(dict.fromkeys(labels, "category"))  # a split may have no value of a column
    return table.drop(columns="target"), table["target"].to_numpy()


def make_known(name, n_rows, seed):
    """Friedman's first function with noise: the table, the target, and the scale and quantiles of the noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    signal = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    scale = np.full(n_rows, 2.0) if name == "normal noise" else 0.5 + 5 * X[:, 5]
    noise = rng.exponential(size=n_rows) - 1 if name == "skewed noise" else rng.normal(size=n_rows)
    ends = -np.log([0.95, 0.05]) if name == "skewed noise" else np.array([-1.6448536, 1.6448536])
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(10)]), signal + scale * noise, scale, np.ptp(ends) * scale


def split(X, y, seed, given):
    order = np.random.default_rng(seed).permutation(len(y))
    n_trained = min(given.trained, len(y) * 2 // 3)
    train, test = order[:n_trained], order[n_trained : n_trained + given.tested]
    return X.iloc[train], y[train], X.iloc[test], y[test], test


def as_numbers(X_train, X_test):
    """Both tables with categories as numbers and missing values as a number below all others."""
    both = pd.concat([X_train, X_test])
    for column in both.select_dtypes(exclude="number"):
        codes, _ = pd.factorize(both[column], sort=True)
        both[column] = np.where(codes < 0, np.nan, codes)
    values = both.to_numpy(dtype=np.float64)
    values = np.where(np.isnan(values), np.nan_to_num(np.nanmin(values, axis=0)) - 1, values)
    return values[: len(X_train)], values[len(X_train) :]


# -------------------------------------------------------------------------------------------------------- intervals


def with_weald(X, y, X_new, seed, given):
    """By method: lower and upper ends, and seconds of fit and prediction."""
    forest = RandomForestRegressor(
        given.trees, min_samples_leaf=5, max_features=1 / 3, random_state=seed, n_jobs=1, keep_errors=True,
        keep_targets=True,
    )  # fmt: skip
    fit = measure.clock(lambda: forest.fit(X, y))
    found = {}
    for method in METHODS:
        ends = []
        seconds = measure.clock(lambda m=method, e=ends: e.append(forest.predict_interval(X_new, COVERAGE, method=m)))
        found[f"weald {method}"] = (ends[0], fit + seconds)
    return found


def with_mapie_jackknife(X, y, X_new, seed, given):
    from mapie.regression import JackknifeAfterBootstrapRegressor

    tree = DecisionTreeRegressor(min_samples_leaf=5, max_features=1 / 3, random_state=seed)
    made = JackknifeAfterBootstrapRegressor(
        tree, confidence_level=COVERAGE, resampling=given.trees, random_state=seed, n_jobs=1
    )
    made.fit_conformalize(X, y)
    return made.predict_interval(X_new)[1][:, :, 0]


class OneQuantile(RegressorMixin, BaseEstimator):
    """One quantile of a fitted forest, as the model that MAPIE wants."""

    def __init__(self, forest, q):
        self.forest, self.q = forest, q
        self.is_fitted_ = True

    def fit(self, X, y):
        """Do nothing."""
        return self

    def predict(self, X):
        """Predict the quantile."""
        return self.forest.predict(X, quantiles=self.q)


def with_mapie_cqr(X, y, X_new, seed, given):
    from mapie.regression import ConformalizedQuantileRegressor
    from quantile_forest import RandomForestQuantileRegressor

    half = len(y) // 2
    forest = RandomForestQuantileRegressor(
        given.trees, min_samples_leaf=5, max_features=1 / 3, random_state=seed, n_jobs=1, max_samples_leaf=None
    ).fit(X[:half], y[:half])
    models = [OneQuantile(forest, q) for q in ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2, 0.5)]
    made = ConformalizedQuantileRegressor(models, confidence_level=COVERAGE, prefit=True)
    made.conformalize(X[half:], y[half:])
    return made.predict_interval(X_new)[1][:, :, 0]


def with_crepes(X, y, X_new, seed, given, *, scaled=False):
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    forest = SklearnRegressor(
        given.trees, min_samples_leaf=5, max_features=1 / 3, random_state=seed, n_jobs=1, oob_score=True
    )
    made = WrapRegressor(forest)
    made.fit(X, y)
    difficulty = None
    if scaled:
        difficulty = DifficultyEstimator()
        difficulty.fit(X=X, residuals=y - made.learner.oob_prediction_, scaler=True, oob=True)
    made.calibrate(X, y, de=difficulty, oob=True)
    return made.predict_int(X_new, confidence=COVERAGE)


PEERS = {
    "MAPIE jackknife+ab": with_mapie_jackknife,
    "MAPIE CQR": with_mapie_cqr,
    "crepes oob": with_crepes,
    "crepes oob-scaled": lambda *arguments: with_crepes(*arguments, scaled=True),
}
INTERVALS = (*(f"weald {method}" for method in METHODS), *PEERS)


def measure_intervals(X, y, X_new, seed, given):
    found = with_weald(X, y, X_new, seed, given)
    numbers, new_numbers = as_numbers(X, X_new)
    for name, peer in PEERS.items():
        ends = []
        seconds = measure.clock(lambda p=peer, e=ends: e.append(p(numbers, y, new_numbers, seed, given)))
        found[name] = (ends[0], seconds)
    return found


def covered(ends, truth):
    return (ends[:, 0] <= truth) & (truth <= ends[:, 1])


# ------------------------------------------------------------------------------------------------------------- sets


def measure_sets(X, y, X_new, seed, given):
    """By method: which classes are in the set of each row, and seconds."""
    from crepes import WrapClassifier
    from mapie.classification import SplitConformalClassifier

    forest = RandomForestClassifier(
        given.trees, min_samples_leaf=5, max_features="sqrt", random_state=seed, n_jobs=1, keep_errors=True
    )
    fit, found = measure.clock(lambda: forest.fit(X, y)), {}
    for method in SETS:
        sets = []
        seconds = measure.clock(lambda m=method, s=sets: s.append(forest.predict_set(X_new, COVERAGE, method=m)))
        found[f"weald {method}"] = (sets[0], seconds + fit)
    numbers, new_numbers = as_numbers(X, X_new)
    half = len(y) // 2
    make = lambda **how: SklearnClassifier(  # noqa: E731
        given.trees, min_samples_leaf=5, max_features="sqrt", random_state=seed, n_jobs=1, **how
    )

    def by_mapie(score):
        made = SplitConformalClassifier(
            make(), confidence_level=COVERAGE, conformity_score=score, prefit=False, random_state=seed
        )
        known = np.isin(y[half:], y[:half])
        made.fit(numbers[:half], y[:half]).conformalize(numbers[half:][known], y[half:][known])
        return made.predict_set(new_numbers)[1][:, :, 0]

    def by_crepes():
        made = WrapClassifier(make(oob_score=True))
        made.fit(numbers, y)
        made.calibrate(numbers, y, oob=True)
        return made.predict_set(new_numbers, labels=False, confidence=COVERAGE, smoothing=False)

    peers = {"MAPIE lac": lambda: by_mapie("lac"), "MAPIE aps": lambda: by_mapie("aps"), "crepes oob": by_crepes}
    if len(forest.classes_) == 2:
        del peers["MAPIE aps"]  # the package refuses this
    for name, peer in peers.items():
        sets = []
        seconds = measure.clock(lambda p=peer, s=sets: s.append(p()))
        found[name] = (_for_all_classes(np.asarray(sets[0]).astype(bool), forest.classes_, y[:half]), seconds)
    return found, forest.classes_


def _for_all_classes(sets, classes, seen):
    """Add the classes that a peer's forest has not seen: they are in no set."""
    if sets.shape[1] == len(classes):
        return sets
    whole = np.zeros((len(sets), len(classes)), dtype=bool)
    whole[:, np.isin(classes, seen)] = sets
    return whole


def compare_sets(X, y, given):
    runs = []
    for seed in range(given.splits):
        X_train, y_train, X_test, y_test, _ = split(X, y, seed, given)
        known = np.isin(y_test, y_train[: len(y_train) // 2])  # MAPIE's forests see half of the rows
        X_test, y_test = X_test[known], y_test[known]
        found, classes = measure_sets(X_train, y_train, X_test, seed, given)
        at = np.searchsorted(classes, y_test)
        runs.append(
            {
                name: (float(sets[np.arange(len(at)), at].mean()), float(sets.sum(axis=1).mean()), seconds)
                for name, (sets, seconds) in found.items()
            }
        )
    return runs


# ---------------------------------------------------------------------------------------------------------- compare


def compare(X, y, given, scale=None):
    """For each split and method: coverage, mean width over the spread of the target, seconds; in the noisiest rows."""
    runs = []
    for seed in range(given.splits):
        X_train, y_train, X_test, y_test, test = split(X, y, seed, given)
        found = measure_intervals(X_train, y_train, X_test, seed, given)
        noisy = np.ones(len(test), bool) if scale is None else scale[test] >= np.quantile(scale, NOISIEST)
        runs.append(
            {
                name: (
                    float(covered(ends, y_test).mean()),
                    float(np.mean(ends[:, 1] - ends[:, 0]) / np.std(y)),
                    seconds,
                    float(covered(ends, y_test)[noisy].mean()),
                )
                for name, (ends, seconds) in found.items()
            }
        )
    return runs


def mean_of(runs, name, which):
    return statistics.mean(run[name][which] for run in runs)


def table_of(title, found, names, which, say):
    lines = [
        [data, *(say(mean_of(runs, name, which)) if name in runs[0] else "" for name in names)]
        for data, runs in found.items()
    ]
    return measure.markdown([title, *names], lines)


def percent(share):
    return f"{100 * share:.1f}"


def totals(found, names):
    return [sum(run[name][2] for runs in found.values() for run in runs if name in run) for name in names]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "prediction-intervals.md")
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--splits", type=int, default=20)
    given = parser.parse_args()
    given.trained, given.tested = 800, 1000
    if given.quick:
        given.trees, given.splits, given.trained, given.tested = 15, 1, 120, 60
    warnings.simplefilter("ignore")
    found, noisy, ideal = {}, {}, {}
    for name in KNOWN:
        X, y, scale, widths = make_known(name, 20_000, 0)
        found[name] = compare(X, y, given, scale)
        noisy[name], ideal[name] = found[name], float(widths.mean() / np.std(y))
        measure.say(name, {k: v[:3] for k, v in found[name][-1].items()})
    for name in (name for name in NUMBERS if (given.data / f"{name}.parquet").exists()):
        found[name] = compare(*load(given.data, name), given)
        measure.say(name, {k: v[:3] for k, v in found[name][-1].items()})
    sets = {}
    for name in (name for name in CLASSES if (given.data / f"{name}.parquet").exists()):
        sets[name] = compare_sets(*load(given.data, name), given)
        measure.say(name, sets[name][-1])
    known = ", ".join(f"{name} {width:.2f}" for name, width in ideal.items())
    seconds = [f"{total:.0f}" for total in totals(found, INTERVALS)]
    text = "\n\n".join(
        [
            table_of("coverage, %", found, INTERVALS, 0, percent),
            table_of("in the noisiest fifth, %", noisy, INTERVALS, 3, percent),
            table_of("width / spread of the target", found, INTERVALS, 1, lambda width: f"{width:.2f}"),
            measure.markdown(["seconds, all fits", *INTERVALS], [["", *seconds]]),
        ]
    )
    if sets:
        names = list(max((runs[0] for runs in sets.values()), key=len))
        text += "\n\n" + "\n\n".join(
            [
                table_of("coverage of sets, %", sets, names, 0, percent),
                table_of("classes in a set", sets, names, 1, lambda size: f"{size:.2f}"),
                measure.markdown(["seconds", *names], [["", *(f"{t:.0f}" for t in totals(sets, names))]]),
            ]
        )
    text += (
        f"\n\nAsked for {percent(COVERAGE)} %. {given.trees} trees, means over {given.splits} splits; up to "
        f"{given.trained:,} rows for training. Central intervals of the known noise: {known}. Seconds of "
        "weald's methods contain the same fit. "
        f"{measure.describe_machine('weald', 'mapie', 'crepes', 'quantile-forest', 'scikit-learn')}."
    )
    measure.publish(given, "intervals", text)


if __name__ == "__main__":
    main()
