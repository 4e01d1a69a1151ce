"""Processor seconds that weald, shap and woodelf take for SHAP values of the same trees.

    python -m benchmarks.speed.shap_values [--rows 10000] [--trees 100] [--repeats 3] [--write]

Trees of two classes (100,000 rows, 50 columns, the second class as the number 1) are grown by weald, to depth 10 and to
purity. All libraries explain the same trees by the path-dependent game: weald directly, shap from `to_shap`, woodelf
from `to_sklearn`. weald explains `rows` rows, shap fewer, and woodelf explains them by a tenth of the trees. So times
are given for 1,000 rows and 100 trees. In each repeat all libraries run one after the other, each in a process of its
own. "Adds up to" is the largest difference between a prediction and the base value plus the values, relative to the sum
of their magnitudes. Times are those of the processor, summed over threads, so that other programs on the machine
disturb them less; the caption has weald's time by the clock.

Without the package `woodelf_explainer`, woodelf is left out.
"""

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import data, measure

DEPTHS = {"depth 10": 10, "to purity": None}
FEWER = {("shap", "depth 10"): 50, ("shap", "to purity"): 1000}  # divisor of the number of rows
PACKAGES = {"weald": "weald", "shap": "shap", "woodelf": "woodelf_explainer"}
ENOUGH = 5  # minimum number of rows


def grow(path, max_depth, n_trees, n_train):
    from weald import RandomForestRegressor

    split = data.load("clusters", n_train)
    forest = RandomForestRegressor(n_trees, max_depth=max_depth, max_features="sqrt", random_state=0)
    forest.fit(split.X_train, split.y_train.astype(float)).save(path)
    return [int(forest.forest_.depth().max()), forest.forest_.n_nodes // 2 // n_trees]


def open_model(path, n_rows):
    import weald

    return weald.load(path), data.load("clusters").X_test[:n_rows]


def with_weald(path, n_rows, n_jobs):
    model, X = open_model(path, n_rows)
    model.n_jobs = n_jobs
    base = model.predict(X[:1])[0] - model.shap_values(X[:1]).sum()
    found = []
    with measure.MemoryWatch() as memory:
        clock = measure.clock(lambda: found.append(processor_seconds(lambda: model.shap_values(X))))
    (seconds, values), *_ = found
    return [seconds, compare(values, base, model.predict(X)), clock, memory.megabytes]


def processor_seconds(work):
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def with_shap(path, n_rows, n_jobs):
    import shap

    model, X = open_model(path, n_rows)
    explainer, rows = shap.TreeExplainer(model.to_shap(check=False).model), X.astype(np.float64)
    seconds, values = processor_seconds(lambda: explainer.shap_values(rows, check_additivity=False))
    return [seconds, compare(values, float(np.ravel(explainer.expected_value)[0]), model.predict(X))]


def with_woodelf(path, n_rows, n_jobs):
    import pandas as pd
    from woodelf import WoodelfExplainer

    model, X = open_model(path, n_rows)
    model = model[: max(1, len(model) // 10)]
    explainer, rows = WoodelfExplainer(model.to_sklearn(check=False).model), pd.DataFrame(X)
    seconds, values = processor_seconds(lambda: explainer.shap_values(rows, verbose=False))
    return [seconds, compare(np.asarray(values), float(np.ravel(explainer.expected_value)[0]), model.predict(X))]


LIBRARIES = {"weald": with_weald, "shap": with_shap, "woodelf": with_woodelf}


def compare(values, base, predictions):
    scale = abs(base) + np.abs(values).sum(axis=1)
    return float((np.abs(base + values.sum(axis=1) - predictions) / scale).max())


def main():
    parser = measure.options(__doc__, measure.ROOT / "docs" / "guides" / "explaining-predictions.md")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    n_train = None
    if given.quick:
        given.rows, given.trees, given.repeats, n_train = 40, 2, 1, 300
    here = [name for name in LIBRARIES if measure.version_of(PACKAGES[name])]
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for words, max_depth in DEPTHS.items():
            path = str(Path(folder, f"{max_depth}.weald"))
            depth, n_splits = measure.afresh(grow, path, max_depth, given.trees, n_train)
            measure.say(words, depth, n_splits)
            title = f"{words}: depth {depth}, {n_splits:,} splits a tree"
            measured, (seconds, clock, memory) = measure_depth(given, path, words, title, here)
            lines += measured
    header = [
        "trees",
        "library",
        "rows",
        "processor time",
        "for 1,000 rows, 100 trees",
        "weald is faster by",
        "adds up to",
    ]
    text = measure.markdown(header, lines)
    packages = [PACKAGES[name] for name in here]
    text += f"\n\n{measure.best_of(given)}. weald explained {given.rows:,} rows by {given.trees} trees grown to purity "
    text += f"in {seconds / given.jobs:.0f} s of processor time on each of {given.jobs} threads, {clock:.0f} s by the "
    text += f"clock while other programs ran (a load of {os.getloadavg()[2]:.0f} on {measure.CORES} cores). "
    text += f"weald's peak memory above that before: {memory:.0f} MiB. {measure.describe_machine(*packages)}."
    measure.publish(given, "shap-values", text)


def measure_depth(given, path, words, title, here):
    """Measure all libraries, one after the other in each repeat; return lines, and weald's times and memory."""
    n_rows = {name: max(ENOUGH, given.rows // FEWER.get((name, words), 1)) for name in here}
    runs = {name: [] for name in here}
    for _ in range(given.repeats):
        for name in here:
            runs[name].append(measure.afresh(LIBRARIES[name], path, n_rows[name], given.jobs))
            measure.say(name, n_rows[name], runs[name][-1])
    lines, unit = [], {}
    for name in here:
        seconds, error = min(runs[name])[:2]
        n_trees = max(1, given.trees // 10) if name == "woodelf" else given.trees
        unit[name] = seconds / n_rows[name] / n_trees * 100_000
        ratio = f"{unit[name] / unit['weald']:,.0f} times" if name != "weald" else ""
        size = f"{n_rows[name]:,}" + (f", {n_trees} trees" if n_trees < given.trees else "")
        lines.append([title, name, size, f"{seconds:.1f} s", f"{measure.digits(unit[name])} s", ratio, f"{error:.0e}"])
        title = ""
    seconds, _, clocks, memories = zip(*runs["weald"], strict=True)
    return lines, (min(seconds), min(clocks), min(memories))


if __name__ == "__main__":
    main()
