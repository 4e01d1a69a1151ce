"""Concordance of survival forests of weald, scikit-survival and ranger on data sets that come with scikit-survival.

    python -m benchmarks.accuracy.survival [--trees 200] [--repeats 10] [--write]

Each set is divided at random into two thirds for training and a third for testing, `repeats` times. All forests have
`trees` trees, nodes of at least 6 rows are split into leaves of at least 3, and draw the square root of the number of
features. Categories are dummy columns and missing values are medians, since scikit-survival takes neither in every
version. The concordance index is computed by one function for all. Needs an environment with scikit-survival; ranger,
in R, is measured if it is there.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import measure
from benchmarks.peer_forests import TO_R

SETS = {
    "veterans": "load_veterans_lung_cancer",
    "whas500": "load_whas500",
    "gbsg2": "load_gbsg2",
    "aids": "load_aids",
    "breast cancer": "load_breast_cancer",
}


def read(name):
    import pandas as pd
    from sksurv import datasets

    X, y = getattr(datasets, SETS[name])()
    event, time = (y[field] for field in y.dtype.names)
    X = pd.get_dummies(X, drop_first=True, dtype=float)
    X = X.fillna(X.median()).to_numpy()
    rows = np.random.default_rng(0).permutation(len(X))
    return X[rows], np.array(list(zip(event[rows], time[rows], strict=True)), dtype=[("event", bool), ("time", float)])


def forest_of(library, n_trees, seed, n_jobs):
    if library == "weald":
        from weald import RandomSurvivalForest
    else:
        from sksurv.ensemble import RandomSurvivalForest
    return RandomSurvivalForest(
        n_estimators=n_trees,
        min_samples_split=6,
        min_samples_leaf=3,
        max_features="sqrt",
        n_jobs=n_jobs,
        random_state=seed,
    )


IN_R = """
    y <- readBin(file.path(a[1], "y"), "double", n); e <- readBin(file.path(a[1], "e"), "double", n)
    m <- as.integer(a[4]); new <- matrix(readBin(file.path(a[1], "new"), "double", m * d), m, d, dimnames = dimnames(x))
    data <- data.frame(x, y = y, e = e)
    model <- ranger(dependent.variable.name = "y", status.variable.name = "e", data = data,
                    num.trees = as.integer(a[5]), mtry = max(1, floor(sqrt(d))), min.node.size = 3,
                    num.threads = as.integer(a[6]), seed = as.integer(a[7]) + 1L, verbose = FALSE)
    writeBin(as.double(rowSums(predict(model, data.frame(new))$chf)), file.path(a[1], "found"))
"""


def risk_of_ranger(X, y, new, n_trees, seed, n_jobs):
    with tempfile.TemporaryDirectory() as folder:
        arrays = {"X": X, "y": y["time"], "e": y["event"].astype(float), "new": new}
        for name, array in arrays.items():
            Path(folder, name).write_bytes(np.ascontiguousarray(array.T).tobytes())
        numbers = [len(X), X.shape[1], len(new), n_trees, n_jobs, seed]
        command = ["Rscript", "-e", TO_R + IN_R, folder, *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-300:])
        return np.fromfile(Path(folder, "found"))


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "survival-analysis.md")
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.set_defaults(repeats=10)
    given = parser.parse_args()
    if given.quick:
        given.trees, given.repeats, given.sets = 5, 1, ["veterans"]
    from sksurv.metrics import concordance_index_censored

    libraries = [name for name in ("weald", "scikit-survival", "ranger") if measure.version_of(name)]
    lines = []
    for name in given.sets:
        X, y = read(name)
        found = {library: [] for library in libraries}
        for seed in range(given.repeats):
            order = np.random.default_rng(seed).permutation(len(X))
            test, train = np.split(order, [len(X) // 3])
            for library in libraries:
                if library == "ranger":
                    risk = risk_of_ranger(X[train], y[train], X[test], given.trees, seed, given.jobs)
                else:
                    model = forest_of(library, given.trees, seed, given.jobs).fit(X[train], y[train])
                    risk = model.predict(X[test])
                found[library].append(concordance_index_censored(y["event"][test], y["time"][test], risk)[0])
        less = np.subtract(found["weald"], found["scikit-survival"])
        error = less.std(ddof=1) / np.sqrt(len(less)) if len(less) > 1 else np.nan
        means = [f"{np.mean(found[library]):.4f}" for library in libraries]
        lines.append([name, len(X), f"{y['event'].mean():.0%}", *means, f"{less.mean():+.4f} ± {error:.4f}"])
        measure.say(*lines[-1])
    header = ["Data set", "Rows", "Events", *libraries, "weald − scikit-survival"]
    text = measure.markdown(header, lines)
    text += (
        f"\n\nConcordance on test rows, mean of {given.repeats} splits, {given.trees} trees; the difference with its "
        f"standard error. {measure.describe_machine(*libraries)}."
    )
    measure.publish(given, "survival_concordance", text)


if __name__ == "__main__":
    main()
