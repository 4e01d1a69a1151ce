"""Scaling of training time with the number of rows and columns.

    python -m benchmarks.speed.growth [--sizes rows,columns] [--patience 40] [--repeats 3] [--jobs N] [--write]

Rows: 10 trees from 10,000 to 3,000,000 rows of 28 columns. Columns: 100 trees from 10 to 10,000 columns of 3,000 rows.
Both with two classes, the square root of the number of columns per node, and pure leaves. A library whose fit took
longer than `--patience` seconds is not measured on larger sizes. The exponent is the slope of the straight line through
the logarithms. `--write` puts the tables and the figure into docs/benchmarks/speed.md.
"""

import subprocess
import sys
from typing import NamedTuple

import numpy as np

from benchmarks import data, measure


class Axis(NamedTuple):
    """The dimension that is varied, its data set and its sizes."""

    what: str
    name: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]


AXES = (
    Axis("rows", "many-rows", (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000), (200, 400)),
    Axis("columns", "many-columns", (10, 30, 100, 300, 1_000, 3_000, 10_000), (10, 20)),
)


def run(library, what, name, size, n_trees, n_jobs, seed):
    """Return the seconds of a fit to the first rows, or columns, of a data set."""
    X, y, _, _ = data.load(name)
    X, y = (X[:size], y[:size]) if what == "rows" else (np.ascontiguousarray(X[:, :size]), y)
    forest = measure.make_forest(
        library, "classes", n_estimators=n_trees, max_features="sqrt", n_jobs=n_jobs, random_state=seed
    )
    return measure.time_fit(library, forest, X, y)


def measure_axis(axis, libraries, given):
    """Return the best seconds, by library and size."""
    n_trees = given.trees or data.LARGE_SETS[axis.name].n_trees
    best = {library: {} for library in libraries}
    name, sizes = ("small", axis.quick) if given.quick else (axis.name, axis.sizes)
    for size in sizes:
        patient = [x for x in libraries if max(best[x].values(), default=0) <= given.patience]
        for seed in range(given.repeats):
            for library in patient:
                seconds = measure.afresh(run, library, axis.what, name, size, n_trees, given.jobs, seed)
                measure.say(f"{size:,} {axis.what}, {library}: {seconds:.4f} s")
                best[library][size] = min(best[library].get(size, seconds), seconds)
    return best


# --------------------------------------------------------------------------------------------------------------- show


def exponent(seconds_by_size):
    """Slope of the line through the logarithms."""
    sizes, seconds = zip(*seconds_by_size.items(), strict=True)
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def show_axis(axis, best):
    """A row for each size, and a last row with the exponents."""
    sizes = list(best["weald"])
    rows = [[f"{size:,}", *(measure.digits(best[x][size]) if size in best[x] else "–" for x in best)] for size in sizes]
    rows.append(["exponent", *(f"**{exponent(best[x]):.2f}**" for x in best)])
    return measure.markdown([axis.what, *best], rows)


def n_log_n(sizes):
    """The exponent of n log n in a range of sizes."""
    return exponent({n: n * np.log(n) for n in sizes})


ROWS_TEXT = """\
### Rows

Seconds to fit {trees} trees to 28 columns. In this range, n log n has an exponent of {n_log_n:.2f}.

{table}"""

COLUMNS_TEXT = """\
### Columns

Seconds to fit {trees} trees to 3,000 rows. A node considers the square root of the number of columns, which alone would
give an exponent of 0.5; reading and coding every column once has an exponent of 1.

{table}"""

TEXT = """\
{parts}

{repeats}, {jobs} threads; – is not measured, because the fit before it took more than {patience:.0f} seconds. Measured
with
`benchmarks/speed/growth.py` on {machine}."""


def show(found, libraries, given):
    texts = {"rows": ROWS_TEXT, "columns": COLUMNS_TEXT}
    parts = [
        texts[axis.what].format(
            trees=given.trees or data.LARGE_SETS[axis.name].n_trees,
            n_log_n=n_log_n(best["weald"]),
            table=show_axis(axis, best),
        )
        for axis, best in found
    ]
    return TEXT.format(
        parts="\n\n".join(parts),
        repeats=measure.best_of(given),
        jobs=given.jobs,
        patience=given.patience,
        machine=measure.describe_machine(*(measure.LIBRARIES[library][0] for library in libraries)),
    )


def main():
    libraries = [library for library in measure.installed() if library != "weald max_bins=255"]
    parser = measure.options(__doc__)
    parser.add_argument("--sizes", default="rows,columns", help="dimensions, comma-separated")
    parser.add_argument("--libraries", default=",".join(libraries), help="comma-separated names")
    parser.add_argument("--trees", type=int, help="instead of 10 and 100")
    parser.add_argument("--patience", type=float, default=40.0, help="seconds of a fit")
    given = parser.parse_args()
    if given.quick:
        given.repeats, given.trees = 1, 3
    libraries = given.libraries.split(",")
    axes = [axis for axis in AXES if axis.what in given.sizes.split(",")]
    found = [(axis, measure_axis(axis, libraries, given)) for axis in axes]
    measure.publish(given, "growth", show(found, libraries, given))
    if given.write == measure.PAGE:
        subprocess.run(
            [sys.executable, "-m", "docs.figures.benchmarks.growth"], check=True, cwd=measure.ROOT
        )  # draws the tables of the page


if __name__ == "__main__":
    main()
