"""Seconds that weald, quantile-forest and ranger take to predict quantiles, and how good these are.

    python -m benchmarks.speed.quantiles [--rows 100000] [--trees 100] [--repeats 3] [--write]

100 trees with leaves of at least 5 rows are grown on `rows` rows of Friedman's first function with noise, and predict
nine quantiles of 10,000 new rows. Memory is what keeping the targets adds to the process. The pinball loss is averaged
over quantiles: less is better; the libraries grow different trees. weald reads each row's leaves and keeps every
target; quantile-forest is asked for the same: `max_samples_leaf=None`, `weighted_leaves=True`. ranger, in R, keeps one
target of each leaf, and splits nodes of more than 10 rows; its seconds are those inside R.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import measure
from benchmarks.peer_forests import TO_R

LEVELS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
NEW = 10_000


def make(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + rng.normal(size=n_rows) * (1 + 2 * X[:, 5])


def pinball(y, found):
    away = y[:, None] - found
    return float(np.maximum(away * LEVELS, away * (np.array(LEVELS) - 1)).mean())


def with_weald(n_rows, n_trees, n_jobs, n_new):
    from weald import RandomForestRegressor

    X, y = make(n_rows, 0)
    forest = RandomForestRegressor(
        n_trees, max_features=1 / 3, min_samples_leaf=5, keep_targets=True, random_state=0, n_jobs=n_jobs
    )
    fit = measure.clock(lambda: forest.fit(X, y))
    return finish(fit, forest.leaf_targets_.n_bytes, n_new, lambda rows: forest.predict_quantiles(rows, LEVELS))


def with_quantile_forest(n_rows, n_trees, n_jobs, n_new):
    from quantile_forest import RandomForestQuantileRegressor

    X, y = make(n_rows, 0)
    forest = RandomForestQuantileRegressor(
        n_trees, max_features=1 / 3, min_samples_leaf=5, max_samples_leaf=None, random_state=0, n_jobs=n_jobs
    )
    fit = measure.clock(lambda: forest.fit(X, y))
    return finish(fit, None, n_new, lambda rows: forest.predict(rows, quantiles=LEVELS, weighted_leaves=True))


IN_R = """
    y <- readBin(file.path(a[1], "y"), "double", n); m <- as.integer(a[4]); clock <- function() proc.time()[[3]]
    new <- matrix(readBin(file.path(a[1], "new"), "double", m * d), m, d, dimnames = dimnames(x))
    t <- clock()
    model <- ranger(x = x, y = y, num.trees = as.integer(a[5]), mtry = d %/% 3, min.node.size = 10,
                    num.threads = as.integer(a[6]), seed = 1, quantreg = TRUE, oob.error = FALSE, verbose = FALSE)
    fit <- clock() - t
    levels <- as.double(strsplit(a[7], ",")[[1]])
    ask <- function(rows) predict(model, rows, type = "quantiles", quantiles = levels, num.threads = as.integer(a[6]))
    seconds <- sapply(1:3, function(i) {t <- clock(); found <<- ask(new)$predictions; clock() - t})
    t <- clock(); for (i in 1:20) ask(new[i, , drop = FALSE]); one <- (clock() - t) / 20
    writeBin(as.vector(found), file.path(a[1], "found")); cat(fit, min(seconds), one)
"""


def with_ranger(n_rows, n_trees, n_jobs, n_new):
    (X, y), (rows, truth) = make(n_rows, 0), make(n_new, 1)
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("X", X), ("y", y), ("new", rows)):
            Path(folder, name).write_bytes(array.tobytes(order="F"))
        numbers = [n_rows, X.shape[1], n_new, n_trees, n_jobs, ",".join(map(str, LEVELS))]
        command = ["Rscript", "-e", TO_R + IN_R, folder, *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = np.fromfile(Path(folder, "found")).reshape(len(LEVELS), n_new).T
    return [*map(float, done.stdout.split()), None, pinball(truth, found)]


def finish(fit, n_bytes, n_new, predict):
    rows, truth = make(n_new, 1)
    found = []
    seconds = [measure.clock(lambda: found.append(predict(rows))) for _ in range(3)]
    one = measure.clock(lambda: [predict(rows[i : i + 1]) for i in range(20)]) / 20
    return [fit, min(seconds), one, n_bytes, pinball(truth, found[0])]


LIBRARIES = {"weald": with_weald, "quantile-forest": with_quantile_forest, "ranger": with_ranger}


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "prediction-intervals.md")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    n_new = NEW
    if given.quick:
        given.rows, given.trees, given.repeats, n_new = 500, 3, 1, 50
    here = [name for name in LIBRARIES if measure.version_of(name)]
    runs = {name: [] for name in here}
    for _ in range(given.repeats):
        for name in here:
            runs[name].append(measure.afresh(LIBRARIES[name], given.rows, given.trees, given.jobs, n_new))
            measure.say(name, runs[name][-1])
    lines = []
    for name in here:
        fit, batch, one, n_bytes, loss = (
            found.pop() if None in found else min(found) for found in map(list, zip(*runs[name], strict=True))
        )
        held = "" if n_bytes is None else f"{n_bytes / 2**20:.0f} MiB"
        lines.append([name, f"{fit:.1f} s", f"{batch:.2f} s", f"{1000 * one:.1f} ms", held, f"{loss:.4f}"])
    header = [
        f"{given.rows:,} rows, {given.trees} trees",
        "fit",
        f"{n_new:,} rows",
        "one row",
        "targets",
        "pinball loss",
    ]
    text = measure.markdown(header, lines)
    text += f"\n\n{measure.best_of(given)}. {measure.describe_machine(*here)}."
    measure.publish(given, "quantiles", text)


if __name__ == "__main__":
    main()
