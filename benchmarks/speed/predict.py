"""Prediction time of forests: the first one after a fit, later ones, single rows, and increasing numbers of threads.

    python -m benchmarks.speed.predict [--data clusters,small] [--libraries weald,scikit-learn]
        [--also PYTHON] [--write]
    python -m benchmarks.speed.predict --threads 1,2,4,8,16 [--rows 1000000]

Each library grows its own forest in its own process, with the same number of trees, to purity, and predicts the same
rows. The first prediction after the fit is of the whole test set. The best of the repeats counts, each with its own
forest for first predictions; for single rows, the median of many. `--also` names interpreters of other
environments, for libraries that are not installed in this one. With --threads, only weald is measured, with each of
these numbers of threads, alternately in one process.
"""

import statistics
import time

import numpy as np

from benchmarks import data, measure

NAMES = ("clusters", "cover", "collisions", "small", "friedman", "friedman-small")
FOR_BOOSTERS = ("small", "friedman-small")  # other tables would take minutes to grow
LEFT_OUT = {("collisions", "scikit-learn")}  # takes a minute to grow; scikit-learn-intelex predicts faster everywhere


def shares_of_features(task, n_features):
    return max(1, int(np.sqrt(n_features) if task == "classes" else n_features / 3)) / n_features


def grow(library, name, n_train, n_trees, n_jobs):
    X, y, X_test, _ = data.load(name, n_train)
    task = data.DATA_SETS[name].task
    forest = measure.make_forest(
        library, task, n_estimators=n_trees, max_features=shares_of_features(task, X.shape[1]), n_jobs=n_jobs,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    return forest, X_test


def set_threads(forest, n_jobs):
    forest.set_params(n_jobs=n_jobs)
    if hasattr(forest, "get_booster"):
        forest.get_booster().set_param({"nthread": n_jobs})


def time_rows(predict, X, seconds=0.5):
    """Return the median microseconds of one row."""
    for row in range(20):
        predict(X[row : row + 1])
    times, stop = [], time.perf_counter() + seconds
    while time.perf_counter() < stop or len(times) < 5:
        row = X[len(times) % len(X)][None]
        times.append(measure.clock(lambda row=row: predict(row)))
    return 1e6 * statistics.median(times)


def run(library, name, n_train, n_trees, n_jobs, repeats):
    """Return seconds for the test set (first, later ones, on one thread), and microseconds of one row."""
    first = []
    for _ in range(repeats):
        forest, X = grow(library, name, n_train, n_trees, n_jobs)
        predict = forest.predict_proba if hasattr(forest, "predict_proba") else forest.predict
        first.append(measure.clock(lambda predict=predict, X=X: predict(X)))
    found = [min(first)]
    for n_threads in (n_jobs, 1):
        set_threads(forest, n_threads)
        predict(X[:100])
        predict(X)
        found.append(min(measure.clock(lambda: predict(X)) for _ in range(repeats)))
    found.append(time_rows(predict, X))
    if library == "weald":
        compiled = forest.compile()
        found.append(time_rows(lambda row: compiled(row[0]), X))
    return found


def is_measured(library, name, wanted):
    """Return whether a library is measured on a data set: if requested, or if it is fast enough to grow."""
    if wanted:
        return library in wanted
    _, module, _ = measure.LIBRARIES[library]
    return (module != "boosters" or name in FOR_BOOSTERS) and (name, library) not in LEFT_OUT


def measure_all(given, found):
    """Return rows of the batch table and of the table of single rows."""
    wanted = given.libraries.split(",") if given.libraries else []
    for name in given.data.split(","):
        data_set = data.DATA_SETS[name]
        _, _, X_test, _ = data.load(name)
        n_trees = given.trees or data_set.n_trees
        times = {}
        for library in (library for library in found if is_measured(library, name, wanted)):
            settings = (library, name, given.rows, n_trees, given.jobs, given.repeats)
            times[library] = measure.afresh(run, *settings, python=found[library][0])
            measure.say(f"{name}, {library}: {times[library]}")
        yield [data_set.title, f"{len(X_test):,} × {X_test.shape[1]}", n_trees], times


def versus(times, place):
    """Return the cell of weald: its time, and the speed relative to the fastest of the others."""
    own, others = times["weald"][place], [of[place] for library, of in times.items() if library != "weald"]
    return f"{own:.3g}" + (f" (**{min(others) / own:.1f}×**)" if others else "")


def tables(measured, jobs):
    libraries = list(dict.fromkeys(library for _, times in measured for library in times if library != "weald"))
    batch, rows = [], []
    for head, times in measured:
        for place, n_threads in ((0, f"{jobs}, first time"), (1, jobs), (2, 1)) if jobs > 1 else ((2, 1),):
            cells = [f"{times[library][place]:.3g}" if library in times else "–" for library in libraries]
            batch.append([*head, n_threads, *cells, versus(times, place)])
        cells = [f"{times[library][3]:,.0f}" if library in times else "–" for library in libraries]
        rows.append([head[0], head[2], *cells, f"{times['weald'][3]:.1f}", f"**{times['weald'][4]:.1f}**"])
    return (
        measure.markdown(["data", "rows", "trees", "threads", *libraries, "weald"], batch),
        measure.markdown(["data", "trees", *libraries, "weald", "weald, compiled"], rows),
    )


TEXT = """\
Seconds to predict the test set, each library with its own forest fitted on the same data; in brackets, the speed
relative to the fastest of the others. "First time": the first prediction after the fit.

{batch}

Microseconds for one row, on one thread:

{rows}

{repeats}. Measured with `benchmarks/speed/predict.py` on {machine}."""


# --------------------------------------------------------------------------------------------------------- more threads


def scale(name, n_train, n_rows, n_trees, threads, repeats):
    """Return the best seconds by number of threads."""
    forest, X = grow("weald", name, n_train, n_trees, max(threads))
    X = np.tile(X, (n_rows // len(X) + 1, 1))[:n_rows]
    out = np.empty((n_rows, forest.n_classes_), dtype=np.float32)
    best = {}
    for _ in range(repeats):
        for n_threads in threads:
            forest.set_params(n_jobs=n_threads)
            seconds = measure.clock(lambda: forest.predict_proba(X, out=out))
            best[n_threads] = min(best.get(n_threads, seconds), seconds)
    return [best[n] for n in threads]


def print_scaling(given):
    threads = [int(n) for n in given.threads.split(",")]
    name = given.data.split(",")[0]
    n_rows = given.rows or 1_000_000
    data.load(name)
    n_train, n_trees = (200, 3) if given.quick else (None, given.trees or 100)
    best = measure.afresh(scale, name, n_train, n_rows, n_trees, threads, given.repeats)
    rows = [[n, measure.digits(t), f"{best[0] / t:.1f}×"] for n, t in zip(threads, best, strict=True)]
    print(measure.markdown(["threads", f"seconds, {n_rows:,} rows, {n_trees} trees", "times one"], rows))
    print(f"\n{measure.describe_machine('weald')}")


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "deployment" / "production.md")
    parser.add_argument("--data", default=",".join(NAMES))
    parser.add_argument("--libraries", help="names with commas; by default all that are installed")
    parser.add_argument("--trees", type=int, help="overrides the number of each data set")
    parser.add_argument("--rows", type=int, help="use no more for training; with --threads: rows to predict")
    parser.add_argument("--also", default="", help="interpreters of other environments, separated by commas")
    parser.add_argument("--threads", help="numbers with commas: measure these instead of other libraries")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees, given.rows = 1, 3, 200
    if given.threads:
        print_scaling(given)
        return
    packages = {name: package for name, (package, *_, more) in measure.LIBRARIES.items() if "max_bins" not in more}
    found = measure.find_libraries(packages, [python for python in given.also.split(",") if python])
    batch, rows = tables(list(measure_all(given, found)), given.jobs)
    machine = f"{measure.describe_machine()}{measure.name_versions(found)}"
    text = TEXT.format(batch=batch, rows=rows, repeats=measure.best_of(given), machine=machine)
    measure.publish(given, "predict", text)


if __name__ == "__main__":
    main()
