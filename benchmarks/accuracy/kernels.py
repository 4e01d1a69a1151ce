"""Accuracy and training time of kernel forests, random forests, nearest neighbors and support vector machines.

    python -m benchmarks.accuracy.kernels [--folder FOLDER] [--only accuracy,defaults,cost] [--quick] [--write]

Data are parquet files of a folder, as in accuracy.py. Columns of tables are standardized for all methods except the
random forest; curves are not changed. Forests have 100 trees.

Accuracy: the published split is used if there is one, otherwise each seed draws a new split with a third for testing;
of large data, up to 2,000 rows are used for each part. Errors of forests are means over seeds. The support vector
machine has the same Gaussian kernel (gamma="median"), and C of 1, 10, 100 by cross-validation. Seconds include fit and
prediction.

Defaults: the effect of `contrast` and `mix` over many splits, also of curves: as many training curves as in the
published split, and of other data two thirds and at most 600 rows. Two synthetic data sets have a ball and an oblique
line as their class boundary.

Cost: a fit of 5,000 x 50 compared with that of a random forest, the cost of its out-of-bag error, 20,000 curves of 100
values that are all prototypes, and dynamic time warping, on ecg200 if there is a folder. `--write` puts the tables into
docs/guides/kernel-forests.md. All of it takes about five minutes on two idle cores.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import weald
from benchmarks import measure
from benchmarks.accuracy.forests import read_parquet

PAGE = measure.ROOT / "docs" / "guides" / "kernel-forests.md"
CURVES = ("gunpoint", "ecg200", "italypowerdemand")
TABLES = ("sonar", "diabetes", "satimage", "zipcode", "spam")
MOST = 2000  # maximum rows for training, and for testing
COLUMNS = (
    "random forest",
    "kernel forest",
    'kernel="auto"',
    "1-NN, L2",
    "1-NN, DTW",
    "SVM, L2",
    "SVM, DTW",
)


def splits(name, folder, n_seeds):
    """Yield seeds, whether their split is new, and training and test data, raw and standardized."""
    if folder:
        X, y, _, is_train = read_parquet(Path(folder) / f"{name}.parquet")
    else:
        X, y = make_moons(200, noise=0.2, random_state=0)
        is_train = None
    X = X.astype(np.float64)
    for seed in range(n_seeds):
        if is_train is None:
            train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, random_state=seed, stratify=y)
        else:
            train, test = np.flatnonzero(is_train), np.flatnonzero(~is_train)
        train, test = (few_of(rows) for rows in (train, test))
        scaler = StandardScaler().fit(X[train])
        same_scale = X if name in CURVES else scaler.transform(X)
        is_new = is_train is None or seed == 0
        yield (
            seed,
            is_new,
            (X[train], y[train], X[test], y[test]),
            (same_scale[train], y[train], same_scale[test], y[test]),
        )


def few_of(rows):
    """All rows, or some."""
    return rows if len(rows) <= MOST else np.sort(np.random.default_rng(0).choice(rows, MOST, replace=False))


def judge(model, X, y, fresh, truth):
    """Return the error rate, and seconds of fit and prediction."""
    began = time.perf_counter()
    error = 1 - model.fit(X, y).score(fresh, truth)
    return error, time.perf_counter() - began


class Neighbor:
    """A 1-nearest-neighbor classifier with one of weald's distances."""

    def __init__(self, **words):
        self.words = words

    def fit(self, X, y):
        """Compare with all training samples."""
        self.forest = weald.KernelForestClassifier(1, n_prototypes="all", random_state=0, **self.words)
        self.likeness = likeness(self.forest, X)
        self.y = y
        return self

    def score(self, X, y):
        """Share of right classes."""
        return np.mean(self.y[self.likeness(X).argmax(axis=1)] == y)


class Machine(Neighbor):
    """A support vector machine with a kernel of weald's."""

    def fit(self, X, y):
        """Choose C by cross-validation."""
        super().fit(X, y)
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": [1, 10, 100]}, cv=5)
        self.machine = search.fit(self.likeness(X), y)
        return self

    def score(self, X, y):
        """Share of right classes."""
        return self.machine.score(self.likeness(X), y)


def likeness(forest, X):
    """The kernel of a forest with all of its training samples."""
    from weald.engines.choose import open_engine
    from weald.estimators.kernel.kernels import resolve_kernel
    from weald.estimators.kernel.samples import Vectors

    engine = open_engine("native")
    kernel = resolve_kernel(vars(forest), Vectors(X), engine, measure.CORES)
    prototypes = kernel.prepare(Vectors(X))
    return lambda rows: kernel.columns(engine, kernel.prepare(Vectors(rows)), prototypes, measure.CORES).T


def measure_accuracy(name, folder, n_trees, n_seeds):
    """Return errors and seconds of each method on one data set."""
    found = {column: [] for column in COLUMNS}
    for seed, is_new, raw, scaled in splits(name, folder, n_seeds):
        grown = {"n_estimators": n_trees, "random_state": seed}
        found["random forest"].append(judge(weald.RandomForestClassifier(**grown), *raw))
        found["kernel forest"].append(judge(weald.KernelForestClassifier(**grown), *scaled))
        if name in CURVES or not folder:
            found['kernel="auto"'].append(judge(weald.KernelForestClassifier(**grown, kernel="auto"), *scaled))
        if not is_new:
            continue  # the other methods are deterministic
        found["1-NN, L2"].append(judge(Neighbor(), *scaled))
        found["SVM, L2"].append(judge(Machine(), *scaled))
        if name in CURVES:
            found["1-NN, DTW"].append(judge(Neighbor(distance="dtw"), *scaled))
            found["SVM, DTW"].append(judge(Machine(distance="dtw"), *scaled))
        measure.say(name, seed)
    shape = f"{len(scaled[0])} + {len(scaled[2])} × {scaled[0].shape[1]}"
    return shape, {column: np.mean(runs, axis=0) for column, runs in found.items() if runs}


def show_accuracy(given):
    """Print a table: error in percent, and seconds."""
    names = (*CURVES, *TABLES) if given.folder else ("moons",)
    lines = []
    for name in names:
        shape, found = measure_accuracy(
            name, given.folder, 5 if given.quick else 100, 1 if given.quick else given.repeats
        )
        best = min(error for error, _ in found.values())
        cells = []
        for column in COLUMNS:
            if column not in found:
                cells.append("")
                continue
            error, seconds = found[column]
            shown = f"{100 * error:.1f}"
            cells.append(f"{f'**{shown}**' if error <= best + 5e-4 else shown} ({measure.digits(seconds, 2)} s)")
        lines.append([name, shape, *cells])
    text = measure.markdown(["data", "train + test × values", *COLUMNS], lines)
    caption = f"Errors in percent, and seconds. {measure.describe_machine('weald', 'scikit-learn', 'numpy')}."
    measure.publish(given, "kernel-accuracy", f"{text}\n\n{caption}")


# ------------------------------------------------------------------------------------------------------------ defaults

SETTINGS = {
    "kernels only": {"contrast": False, "mix": False},
    "with contrast": {"mix": False},
    "with contrast and columns": {"mix": True},
    "default": {},
}
# Number of splits: more for small data, which are noisy.
SPLITS = {
    "ball": 5,
    "slope": 5,
    "gunpoint": 20,
    "ecg200": 20,
    "italypowerdemand": 20,
    "sonar": 20,
    "iris": 20,
    "diabetes": 10,
    "satimage": 3,
    "zipcode": 3,
    "spam": 3,
    "letters": 3,
    "boston": 10,
    "kin40k": 3,
}


def split_anew(name, folder, seed):
    """Return training and test data, those of the random forest first, and whether the task is classification."""
    if name in ("ball", "slope"):
        X = np.random.default_rng(seed).normal(size=(2500, 10))
        y = ((X**2).sum(axis=1) < 9.34) if name == "ball" else X.sum(axis=1) > 0
        return (X[:500], y[:500], X[500:], y[500:]), True
    X, y, task, is_train = read_parquet(Path(folder) / f"{name}.parquet")
    X, is_class = X.astype(np.float64), task == "classes"
    n = int(is_train.sum()) if name in CURVES else min(600, 2 * len(X) // 3)
    train, test = train_test_split(np.arange(len(X)), train_size=n, random_state=seed, stratify=y if is_class else None)
    test = test[:MOST]
    if name not in CURVES:
        X = StandardScaler().fit(X[train]).transform(X)  # a random forest needs no scaling
    return (X[train], y[train], X[test], y[test]), is_class


def compare_defaults(name, folder, n_trees, n_splits):
    """Return the mean error of each setting in percent (regression: unexplained variance), and its standard error."""
    errors = []
    for seed in range(n_splits):
        rows, is_class = split_anew(name, folder, seed)
        kinds = (
            (weald.RandomForestClassifier, weald.KernelForestClassifier)
            if is_class
            else (weald.RandomForestRegressor, weald.KernelForestRegressor)
        )
        models = [kinds[0](n_trees, random_state=seed)]
        models += [kinds[1](n_trees, random_state=seed, **words) for words in SETTINGS.values()]
        errors.append([100 * judge(model, *rows)[0] for model in models])
        measure.say(name, seed)
    return np.mean(errors, axis=0), np.std(errors, axis=0, ddof=min(1, n_splits - 1)) / np.sqrt(n_splits)


def show_defaults(given):
    """Print a table of settings."""
    lines = []
    for name, n_splits in SPLITS.items():
        if given.folder is None and name not in ("ball", "slope"):
            continue
        means, noise = compare_defaults(name, given.folder, 5 if given.quick else 100, 1 if given.quick else n_splits)
        cells = [f"**{mean:.1f}**" if mean == means.min() else f"{mean:.1f}" for mean in means]
        lines.append([f"{name} ({n_splits})", *cells, f"± {noise.max():.1f}"])
    text = measure.markdown(["data (splits)", "random forest", *SETTINGS, ""], lines)
    caption = (
        "Errors in percent, mean over splits, with the largest standard error of a row; for regression "
        "(boston, kin40k) the percentage of unexplained variance."
    )
    measure.publish(given, "kernel-defaults", f"{text}\n\n{caption} {measure.describe_machine('weald')}.")


# ---------------------------------------------------------------------------------------------------------------- cost


def time_beside_plain(n_rows, n_trees, n_jobs, repeats):
    """Return the best seconds of a random forest and a kernel forest, then of both with oob_score, in turn."""
    X, y = make_classification(n_rows, 50, n_informative=20, n_redundant=10, random_state=0)
    words = {"n_estimators": n_trees, "random_state": 0, "n_jobs": n_jobs}
    kinds = (weald.RandomForestClassifier, weald.KernelForestClassifier)
    models = [kind(**words) for kind in kinds] + [kind(**words, oob_score=True) for kind in kinds]
    for model in models:
        model.fit(X[:100], y[:100])
    times = [[measure.clock(lambda model=model: model.fit(X, y)) for model in models] for _ in range(repeats)]
    return np.min(times, axis=0).tolist()


def fit_many_curves(n_rows, n_trees, n_jobs):
    """Return seconds and megabytes of a fit with all curves as prototypes."""
    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 6, n_rows)
    curves = np.sin(phase[:, np.newaxis] + np.linspace(0, 9, 100)) + 0.5 * rng.normal(size=(n_rows, 100))
    y = np.sin(3 * phase) > 0
    model = weald.KernelForestClassifier(n_trees, n_prototypes="all", mix=False, random_state=0, n_jobs=n_jobs)
    with measure.MemoryWatch() as watch:
        seconds = measure.clock(lambda: model.fit(curves, y))
    return seconds, watch.megabytes, len(model.prototypes_)


def made_up_curves(n_rows, length):
    """Make curves for training and as many for testing."""
    rng = np.random.default_rng(0)
    phase = rng.uniform(0, 6, 2 * n_rows)
    curves = np.sin(phase[:, np.newaxis] + np.linspace(0, 9, length)) + 0.3 * rng.normal(size=(2 * n_rows, length))
    y = np.sin(phase) > 0
    return curves[:n_rows], y[:n_rows], curves[n_rows:]


def time_warping(folder, n_rows, length, n_jobs):
    """Return the seconds of a fit and a prediction with dynamic time warping, on ecg200 or synthetic curves."""
    X, y, fresh = next(splits("ecg200", folder, 1))[2][:3] if folder else made_up_curves(n_rows, length)
    model = weald.KernelForestClassifier(100, distance="dtw", n_prototypes="all", random_state=0, n_jobs=n_jobs)
    return measure.clock(lambda: model.fit(X, y).predict(fresh))


def same_on_threads(n_rows):
    """Return whether 1, 2 and 5 threads grow the same forest."""
    X, y = make_classification(n_rows, 50, n_informative=20, random_state=0)
    prints = {
        weald.KernelForestClassifier(20, random_state=0, n_jobs=n).fit(X, y).forest_.fingerprint() for n in (1, 2, 5)
    }
    return len(prints) == 1


def show_cost(given):
    """Print the table of training times and memory."""
    small = given.quick
    plain, kernel, plain_oob, kernel_oob = measure.afresh(
        time_beside_plain, 300 if small else 5000, 5 if small else 100, given.jobs, given.repeats
    )
    n_rows, n_trees = (300, 5) if small else (20_000, 20)
    seconds, megabytes, n_used = measure.afresh(fit_many_curves, n_rows, n_trees, given.jobs)
    name = "ecg200, 100 curves of 96 values" if given.folder else "100 synthetic curves of 96 values"
    warping = measure.afresh(time_warping, given.folder, 100, 96, given.jobs)
    n_more = 100 if small else 1000
    more = measure.afresh(time_warping, None, n_more, 100, given.jobs)
    same = measure.afresh(same_on_threads, 300 if small else 5000)
    lines = [
        [
            f"{300 if small else 5000:,} × 50, Gaussian",
            f"{kernel:.2f} s; random forest {plain:.2f} s: **{kernel / plain:.1f}×**",
        ],
        ["the same with `oob_score=True`", f"{kernel_oob:.2f} s; random forest {plain_oob:.2f} s"],
        [
            f"{n_rows:,} curves of 100 values, L2, all of them prototypes, {n_trees} trees, `mix=False`",
            f"{seconds:.0f} s, {megabytes / 1024:.1f} GiB; {n_used:,} prototypes are used and stored",
        ],
        [f"{name}, DTW, fit and 100 predictions", f"{warping:.2f} s"],
        [f"{n_more:,} synthetic curves of 100 values, DTW, fit and {n_more:,} predictions", f"{more:.1f} s"],
        ["1, 2 and 5 threads", "the same fingerprint" if same else "DIFFERENT FINGERPRINTS"],
    ]
    text = measure.markdown(["fit of 100 trees, unless stated otherwise", ""], lines)
    caption = f"{given.jobs} threads. {measure.describe_machine('weald', 'scikit-learn', 'numpy')}."
    measure.publish(given, "kernel-cost", f"{text}\n\n{caption}")


def main():
    """Run the requested measurements."""
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--folder", help="parquet files; default: a small synthetic data set")
    parser.add_argument("--only", default="accuracy,defaults,cost")
    given = parser.parse_args()
    if "accuracy" in given.only:
        show_accuracy(given)
    if "defaults" in given.only:
        show_defaults(given)
    if "cost" in given.only:
        show_cost(given)


if __name__ == "__main__":
    main()
