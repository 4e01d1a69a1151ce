"""Seconds and memory of survival forests of weald, scikit-survival and ranger.

    python -m benchmarks.speed.survival [--rows 20000] [--trees 100] [--repeats 3] [--write]

`trees` trees are grown on `rows` rows of 20 features, with exponential times of which a third are censored, rounded to
`times` distinct values: its time and memory grow with their number. scikit-survival grows `few` trees, and
its seconds are multiplied, since a whole forest takes too long; with `low_memory=True` its leaves keep no curves. weald
and ranger keep curves in all leaves. Memory is the peak of the fit above that before it.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import measure
from benchmarks.peer_forests import TO_R


def make(n_rows, n_times, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    rate = np.exp(X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 0))
    time, censored = rng.exponential(1 / rate), rng.exponential(2 / rate)
    observed = np.minimum(time, censored)
    at = np.quantile(observed, np.linspace(0, 1, n_times))
    y = np.empty(n_rows, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time <= censored, at[np.searchsorted(at, observed).clip(0, n_times - 1)]
    return X, y


def measure_fit(library, n_rows, n_times, n_trees, n_jobs, low_memory):
    if library == "weald":
        from weald import RandomSurvivalForest

        more = {}
    else:
        from sksurv.ensemble import RandomSurvivalForest

        more = {"low_memory": low_memory}
    X, y = make(n_rows, n_times)
    how = {"n_estimators": n_trees, "min_samples_split": 6, "min_samples_leaf": 3, "max_features": "sqrt"}
    forest = RandomSurvivalForest(**how, **more, n_jobs=n_jobs, random_state=0)
    forest.fit(X[:100], y[:100])
    with measure.MemoryWatch() as watch:
        seconds = measure.clock(lambda: forest.fit(X, y))
    new, truth = make(2000, n_times, 1)
    predict = measure.clock(lambda: forest.predict(new))
    return [seconds, watch.megabytes, predict, forest.score(new, truth)]


IN_R = """
    y <- readBin(file.path(a[1], "y"), "double", n); e <- readBin(file.path(a[1], "e"), "double", n)
    data <- data.frame(x, y = y, e = e); t <- proc.time()[[3]]
    model <- ranger(dependent.variable.name = "y", status.variable.name = "e", data = data,
                    num.trees = as.integer(a[4]), mtry = max(1, floor(sqrt(d))), min.node.size = 3,
                    num.threads = as.integer(a[5]), seed = 1,
                    oob.error = FALSE, verbose = FALSE)
    cat(proc.time()[[3]] - t)
"""


def measure_ranger(n_rows, n_times, n_trees, n_jobs):
    X, y = make(n_rows, n_times)
    with tempfile.TemporaryDirectory() as folder:
        for name, array in {"X": X, "y": y["time"], "e": y["event"].astype(float)}.items():
            Path(folder, name).write_bytes(np.ascontiguousarray(array.T).tobytes())
        numbers = [n_rows, X.shape[1], n_trees, n_jobs]
        command = ["Rscript", "-e", TO_R + IN_R, folder, *map(str, numbers)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(done.stdout), None, None, None]


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "survival-analysis.md")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--few", type=int, default=2, help="trees that scikit-survival grows")
    given = parser.parse_args()
    if given.quick:
        given.rows, given.times, given.trees, given.repeats = 500, 50, 4, 1
    size = [given.rows, given.times]
    few, each = [given.few, given.jobs], given.trees / given.few
    runs = {"weald": (measure_fit, ["weald", *size, given.trees, given.jobs, False], 1)}
    if measure.version_of("scikit-survival"):
        runs["scikit-survival"] = (measure_fit, ["scikit-survival", *size, *few, False], each)
        runs["scikit-survival, low_memory"] = (measure_fit, ["scikit-survival", *size, *few, True], each)
    if measure.version_of("ranger"):
        runs["ranger"] = (measure_ranger, [*size, given.trees, given.jobs], 1)
    found = {name: [] for name in runs}
    for _ in range(given.repeats):
        for name, (run, arguments, factor) in runs.items():
            seconds, *rest = measure.afresh(run, *arguments)
            found[name].append([seconds * factor, *rest])
            print(name, found[name][-1], flush=True)
    lines, fastest = [], min(run[0] for run in found["weald"])
    for name, of_runs in found.items():
        seconds, megabytes, predict, score = min(of_runs)
        held = "" if megabytes is None else f"{megabytes:,.0f} MB"
        lines.append(
            [
                name + ("" if runs[name][2] == 1 else f" ({given.few} trees × {runs[name][2]:g})"),
                f"{measure.digits(seconds)} s",
                f"{seconds / fastest:.1f}",
                held,
                "" if predict is None else f"{predict:.2f} s",
                "" if score is None else f"{score:.3f}",
            ]
        )
    header = [
        f"{given.rows:,} × 20, {given.times:,} times, {given.trees} trees, {given.jobs} threads",
        "fit",
        "÷ weald",
        "memory",
        "2,000 risks",
        "concordance",
    ]
    text = measure.markdown(header, lines)
    names = ("weald", "scikit-survival", "ranger")
    text += f"\n\n{measure.best_of(given)}. {measure.describe_machine(*names)}."
    measure.publish(given, "survival_speed", text)


if __name__ == "__main__":
    main()
