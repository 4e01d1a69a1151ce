"""Accuracy of weald's forests compared with scikit-learn's: mean test errors over seeds, and their noise.

    python -m benchmarks.accuracy.forests [--folder FOLDER] [--data NAMES] [--seeds 5] [--trees 50]
        [--rows 50000] [--write]

Both get the same rows, number of trees and features per node. Data sets are those of data.py and the parquet files of a
folder. The last column of a file is `target`; an optional first column `split` is "train" or "test". Without it, each
seed draws a new split with a quarter of the rows for testing. Strings are ordinal-encoded in sorted order; missing
values stay missing.
`--write` puts the result into docs/benchmarks/accuracy.md.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks import data, measure
from benchmarks.data import Split

PAGE = measure.ROOT / "docs" / "benchmarks" / "accuracy.md"
TEST_SHARE = 0.25
# With more cells, scikit-learn takes minutes for a forest that considers all features in each node.
CELLS_FOR_ALL_FEATURES = 1_000_000


@dataclass(frozen=True)
class Comparison:
    """Errors of both forests, one value per seed."""

    name: str
    task: str
    shape: tuple[int, int]
    features: str  # features per node
    sklearn: np.ndarray
    weald: np.ndarray

    @property
    def difference(self):
        """Mean difference; negative if weald's error is lower."""
        return self.weald - self.sklearn

    @property
    def noise(self):
        """Twice the standard error of the mean difference."""
        return 2 * self.difference.std(ddof=1) / math.sqrt(len(self.difference))

    @property
    def verdict(self):
        """The verdict: better, within noise, or worse."""
        mean = self.difference.mean()
        if abs(mean) <= self.noise:
            return "within noise"
        return "better" if mean < 0 else "worse"


# --------------------------------------------------------------------------------------------------------------- read


def read_parquet(path):
    """Return X, y, the task and the published split (or None) of a file."""
    import polars as pl

    frame = pl.read_parquet(path)
    y = frame["target"]
    task = "values" if y.dtype.is_numeric() else "classes"
    y = y.to_numpy() if task == "values" else y.cast(pl.String).rank("dense").to_numpy()
    is_train = (frame["split"] == "train").to_numpy() if "split" in frame.columns else None
    columns = [numbers(frame[name]) for name in frame.columns if name not in {"split", "target"}]
    return np.stack(columns, axis=1), y, task, is_train


def numbers(column):
    """Return numbers unchanged and other columns ordinal-encoded; missing values are NaN."""
    import polars as pl

    if not column.dtype.is_numeric():
        column = column.cast(pl.String).rank("dense")
    return column.cast(pl.Float64).fill_null(math.nan).to_numpy().astype(np.float32)


def split_file(X, y, is_train, seed, n_rows):
    """Cut a table in two, by the published split or at random; neither part has more than n_rows."""
    rng = np.random.default_rng(seed)
    if is_train is None:
        order = rng.permutation(len(y))
        n_test = round(TEST_SHARE * len(y))
        train, test = order[n_test:], order[:n_test]
    else:
        train, test = np.flatnonzero(is_train), np.flatnonzero(~is_train)
        train = rng.permutation(train) if len(train) > n_rows else train
    train, test = train[:n_rows], test[:n_rows]
    return Split(X[train], y[train], X[test], y[test])


def find(given):
    """Yield a name, a task and a function from seed to Split for each data set."""
    wanted = given.data.split(",") if given.data else None
    for name, known in data.DATA_SETS.items():
        if wanted is None or name in wanted:
            split = data.load(name, given.rows)
            yield name, known.task, lambda _, split=split: split
    for path in sorted(Path(given.folder).glob("*.parquet")) if given.folder else []:
        if wanted is None or path.stem in wanted:
            X, y, task, is_train = read_parquet(path)
            yield path.stem, task, lambda seed, table=(X, y, is_train): split_file(*table, seed, given.rows)


# ------------------------------------------------------------------------------------------------------------ compare


def error(library, task, split, **parameters):
    forest = measure.make_forest(library, task, **parameters).fit(split.X_train, split.y_train)
    return measure.error_of(task, split.y_test, forest.predict(split.X_test))


def compare(name, task, split_by_seed, given):
    """Yield a comparison for each number of features per node."""
    shape = split_by_seed(0).X_train.shape
    third = max(1, shape[1] // 3)
    ways = {"sqrt": ("sqrt", "sqrt")} if task == "classes" else {"third": (third, third)}
    if task == "values" and math.prod(shape) <= CELLS_FOR_ALL_FEATURES:
        ways |= {"all": (None, None), "defaults: all, third": (None, third)}
    errors = {}
    for seed in range(given.seeds):
        split = split_by_seed(seed)
        for library, m in dict.fromkeys((lib, m) for pair in ways.values() for lib, m in zip(PAIR, pair, strict=True)):
            value = error(
                library, task, split, n_estimators=given.trees, max_features=m, random_state=seed, n_jobs=given.jobs
            )
            errors.setdefault((library, m), []).append(value)
    for way, pair in ways.items():
        yield Comparison(name, task, shape, way, *(np.array(errors[key]) for key in zip(PAIR, pair, strict=True)))


PAIR = ("scikit-learn", "weald")


# --------------------------------------------------------------------------------------------------------------- show

HEADER = ["data", "rows × features", "features per node", "scikit-learn", "weald", "difference", "± noise", "verdict"]


def row(found):
    """A row of the table: error rates in percent with two decimals, RMSE with four digits."""
    scale, unit, n_digits = (100, " %", 2) if found.task == "classes" else (1, "", decimals(found.sklearn.mean()))

    def show(number, sign=""):
        return f"{number * scale:{sign},.{n_digits}f}{unit}"

    means = [show(found.sklearn.mean()), show(found.weald.mean()), show(found.difference.mean(), "+")]
    shape = f"{found.shape[0]:,} × {found.shape[1]:,}"
    return [found.name, shape, found.features, *means, show(found.noise), found.verdict]


def decimals(number, n_digits=4):
    """Return how many decimals show n_digits significant digits of a number."""
    return max(0, n_digits - 1 - math.floor(math.log10(abs(number)))) if number else 0


PAGE_TEXT = """\
Test errors of weald and scikit-learn: error rate for classification, root mean squared error (RMSE) for regression.
Each number is the mean over {seeds} seeds of forests of {trees} trees, grown until leaves are pure, on at most {rows:,}
rows. The first data sets come from `benchmarks/data.py` (synthetic, or shipped with scikit-learn); the others are
public data sets.

The noise is twice the standard error of the mean difference; smaller differences are not significant. {chance}

{table}

Of {n} comparisons: {tally}.

Measured with `benchmarks/accuracy/forests.py` on {machine}."""


def report(found, given):
    """Return the page without its title."""
    counts = {verdict: sum(c.verdict == verdict for c in found) for verdict in ("better", "within noise", "worse")}
    beyond = 2 * stats.t.sf(2, given.seeds - 1)  # Student's t beyond two standard errors, either side
    return PAGE_TEXT.format(
        **vars(given),
        chance=f"With {given.seeds} seeds, {100 * beyond:.0f} % of equally accurate forests differ by more.",
        table=measure.markdown(HEADER, [row(comparison) for comparison in found]),
        n=len(found),
        tally=", ".join(f"{n} {verdict}" for verdict, n in counts.items()),
        machine=measure.describe_machine("scikit-learn", "weald", "numpy"),
    )


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--folder", help="a folder of parquet files")
    parser.add_argument("--data", help="names of data sets, comma-separated; default: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--rows", type=int, default=50_000, help="maximum number of training rows")
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.trees, given.rows = 2, 3, 200

    found = []
    for name, task, split_by_seed in find(given):
        for comparison in compare(name, task, split_by_seed, given):
            found.append(comparison)
            measure.say(" | ".join(row(comparison)))
    text = report(found, given)
    print(text)
    if given.write:
        given.write.write_text(f"# Accuracy compared with scikit-learn\n\n{text}\n")


if __name__ == "__main__":
    main()
