"""weald's extra-trees compared with scikit-learn's: seconds to fit, and mean test error over seeds.

    python -m benchmarks.speed.extra_trees [--seeds 3] [--quick] [--write]

Both get the same rows, number of trees and threads, and defaults otherwise. The libraries alternate in one process, and
the best time counts. `--write` puts the table into docs/guides/constraints.md.
"""

import sys

import numpy as np
import sklearn.ensemble

import weald
from benchmarks import data, measure

PAGE = measure.ROOT / "docs" / "guides" / "constraints.md"
LIBRARIES = {"scikit-learn": sklearn.ensemble, "weald": weald}
# Rows of the training table and trees.
SIZES = {
    "clusters": (50_000, 20),
    "cover": (50_000, 20),
    "small": (1_000, 100),
    "friedman": (20_000, 10),
    "friedman-small": (5_000, 20),
}


def compare(name, n_rows, n_trees, seeds):
    """Fit both libraries alternately; return the best seconds and the mean error of each."""
    split = data.load(name, n_rows)
    task = data.DATA_SETS[name].task
    kind = "ExtraTreesClassifier" if task == "classes" else "ExtraTreesRegressor"
    seconds, errors = {}, {}
    for seed in range(seeds):
        for library, module in LIBRARIES.items():
            forest = getattr(module, kind)(n_trees, random_state=seed, n_jobs=measure.CORES)
            took = measure.clock(lambda model=forest: model.fit(split.X_train, split.y_train))
            seconds[library] = min(took, seconds.get(library, took))
            error = measure.error_of(task, split.y_test, forest.predict(split.X_test))
            errors.setdefault(library, []).append(error)
    print(f"{name}: {seconds}", file=sys.stderr, flush=True)
    return split.X_train.shape, task, seconds, {library: float(np.mean(found)) for library, found in errors.items()}


def row(name, n_trees, shape, task, seconds, errors):
    def show(error):
        return f"{100 * error:.2f} %" if task == "classes" else f"{error:.3f}"

    ratio = seconds["scikit-learn"] / seconds["weald"]
    times = [f"{seconds[library]:.3f}" for library in LIBRARIES]
    shown = [show(errors[library]) for library in LIBRARIES]
    return [data.DATA_SETS[name].title, f"{shape[0]:,} × {shape[1]}", str(n_trees), *times, f"{ratio:.1f}×", *shown]


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for name, (n_rows, n_trees) in SIZES.items():
        size = (200, 3) if given.quick else (n_rows, n_trees)
        rows.append(row(name, size[1], *compare(name, *size, given.seeds)))
    heads = ["data", "rows × features", "trees", "scikit-learn, s", "weald, s", "speedup"]
    table = measure.markdown([*heads, "error, scikit-learn", "error, weald"], rows)
    machine = measure.describe_machine("scikit-learn", "weald")
    text = (
        f"{table}\n\nBest time and mean error of {given.seeds} seeds, {measure.CORES} threads. Measured on {machine}."
    )
    print(text)
    if given.write:
        measure.write_block(given.write, "extra-trees", text)


if __name__ == "__main__":
    main()
