"""Compare native categorical features with ordinal codes on tables with many kinds of text columns.

    python -m benchmarks.accuracy.categories [FOLDER] [--only NAMES] [--seeds 6] [--rows 5000] [--trees 50]
        [--model forest] [--penalties default,0] [--jobs N] [--write]

FOLDER holds parquet files: the last column is `target` (text: classification; numbers: regression), text columns are
categorical, a column `split` is ignored. Without a folder, only synthetic tables are measured. To some tables a column
is added: a unique label per row ("id"), a label per two or three rows ("pairs"), a date as text ("date"), a thousand
zip codes without information ("zip") or with some ("zip with signal").

The same forest is fitted to the data frame with each of the `--penalties` ("default": weald's default), and to the
frame with its text replaced by alphabetical ordinal codes ("ordinal"). Each seed draws at most `--rows` rows, a third
of them for testing, and differences are paired by seed. With their mean d and its standard error s, categories are *as
good* if d is at least -s in AUC and in log-loss (in RMSE for regression), and *worse* if d is below -2 s in one of
them. The AUC of many classes is the one-vs-rest mean. Probabilities are clipped to at least 1/1000 in the log-loss.
`--model` is "forest", "extra" (ExtraTrees) or "tree". `--write` puts the table into docs/guides/input-data.md.
"""

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import weald
from benchmarks import measure

PAGE = measure.ROOT / "docs" / "guides" / "input-data.md"
ORDINAL, DEFAULT = "ordinal", "default"
MODELS = {
    "forest": (weald.RandomForestClassifier, weald.RandomForestRegressor),
    "extra": (weald.ExtraTreesClassifier, weald.ExtraTreesRegressor),
    "tree": (weald.DecisionTreeClassifier, weald.DecisionTreeRegressor),
}


# ------------------------------------------------------------------------------------------------------------ columns
# Each function returns a text column for a table with target y.


def one_label_per_row(y, rng):
    return np.array([f"{n:06}" for n in rng.permutation(len(y))])


def one_label_per_two_or_three(y, rng):
    labels = np.repeat(np.arange(len(y)), rng.integers(2, 4, len(y)))[: len(y)]
    return np.array([f"case {n:05}" for n in rng.permutation(labels)])


def dates_as_text(y, rng):
    """A random day of ten years for each row, without information."""
    days = rng.integers(0, 3650, len(y))
    return (np.datetime64("2005-01-01") + days).astype(str)


def zip_codes(y, rng):
    return np.array([f"{n:05}" for n in 10_000 + rng.integers(0, 1000, len(y))])


def zip_codes_with_signal(y, rng):
    """A thousand codes in random order, each for a narrow range of a noisy copy of the target."""
    place = pd.Series(pd.factorize(y, sort=True)[0] if y.dtype == object else y).rank(method="first").to_numpy()
    noisy = place / len(y) + 0.7 * rng.normal(size=len(y))
    codes = np.random.default_rng(0).permutation(1000)[np.argsort(np.argsort(noisy)) * 1000 // len(y)]
    return np.array([f"{n:05}" for n in 10_000 + codes])


COLUMNS = {
    "id": one_label_per_row,
    "pairs": one_label_per_two_or_three,
    "date": dates_as_text,
    "zip": zip_codes,
    "zip with signal": zip_codes_with_signal,
}


# ------------------------------------------------------------------------------------------------------------- tables


def labels(n_labels, n, rng):
    numbers = rng.integers(0, n_labels, n)
    return numbers, np.array([f"label {i:04}" for i in rng.permutation(n_labels)])[numbers]


def many_effects(n, rng):
    """Two hundred labels, each with its own effect, and five numeric columns."""
    numbers, text = labels(200, n, rng)
    x = rng.normal(size=(n, 5))
    score = np.random.default_rng(1).normal(size=200)[numbers] + x[:, 0] + 0.5 * x[:, 1] * x[:, 2]
    return numbers_and_text(x, text), np.where(score + rng.logistic(size=n) > 0, "yes", "no")


def meaningless_labels(n, rng):
    """A hundred labels without information, and five numeric columns of which two are informative."""
    x = rng.normal(size=(n, 5))
    return numbers_and_text(x, labels(100, n, rng)[1]), np.where(
        x[:, 0] + x[:, 1] + rng.normal(size=n) > 0, "yes", "no"
    )


def only_labels(n, rng):
    """Six columns of 3 to 300 labels and no numeric column; half of them are informative."""
    score, columns = np.zeros(n), {}
    for i, n_labels in enumerate((3, 10, 30, 100, 300, 30)):
        numbers, columns[f"c{i}"] = labels(n_labels, n, rng)
        score += (i % 2) * np.random.default_rng(i).normal(size=n_labels)[numbers]
    return pd.DataFrame(columns), score + rng.normal(size=n)


def exclusive_or(n, rng):
    """The target depends on the interaction of two columns of six labels; three columns are noise."""
    (a, text_a), (b, text_b) = labels(6, n, rng), labels(6, n, rng)
    X = numbers_and_text(rng.normal(size=(n, 3)), text_a).assign(other=text_b)
    return X, np.where((a + b) % 2 ^ (rng.random(n) < 0.1), "yes", "no")


def trend_in_dates(n, rng):
    """A table like police stop records: a day as text with a trend and a season, a district, and three numbers."""
    day = rng.integers(0, 3650, n)
    district, text = labels(12, n, rng)
    x = rng.normal(size=(n, 3))
    score = 0.8 * np.sin(2 * np.pi * day / 365) + day / 3650 + np.random.default_rng(2).normal(size=12)[district]
    X = numbers_and_text(x, text).assign(date=(np.datetime64("2005-01-01") + day).astype(str))
    return X, np.where(score + x[:, 0] + rng.logistic(size=n) > 1.5, "yes", "no")


def five_classes(n, rng):
    """Five classes that depend on two columns of forty labels and two numbers."""
    (a, text_a), (b, text_b) = labels(40, n, rng), labels(40, n, rng)
    x = rng.normal(size=(n, 2))
    effects = np.random.default_rng(3).normal(size=(2, 40, 5))
    score = effects[0][a] + effects[1][b] + x @ np.random.default_rng(4).normal(size=(2, 5)) + rng.gumbel(size=(n, 5))
    return numbers_and_text(x, text_a).assign(other=text_b), np.array(list("abcde"))[score.argmax(axis=1)]


def numbers_and_text(x, text):
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(label=text)


MADE = {
    function.__name__.replace("_", " "): function
    for function in (many_effects, meaningless_labels, only_labels, exclusive_or, trend_in_dates, five_classes)
}
MADE_WITH = {"meaningless labels": ("id", "pairs"), "only labels": ("id", "zip"), "many effects": ("id", "date", "zip")}
# The parquet files with text columns, and the columns that are added to them.
REAL = {
    "abalone": ("id", "pairs"),
    "adult": ("id", "date", "zip", "zip with signal"),
    "ames": ("zip",),
    "bank_marketing": ("pairs", "date"),
    "boston": (),
    "california": ("zip with signal",),
    "diamonds": ("date", "zip"),
    "flights_late": (),
    "german_credit": ("id", "pairs", "date", "zip"),
    "horse_colic": (),
    "insteval": (),
    "mushroom": ("id",),
    "penguins": ("id",),
    "servo": (),
    "titanic": ("id", "date"),
}


@dataclass(frozen=True)
class DataTable:
    """A table by name: `read(rng)` gives its rows before one more column is added."""

    name: str
    read: Callable[[np.random.Generator], tuple[pd.DataFrame, np.ndarray]]
    added: str | None

    def load(self, seed, n_rows):
        """Frame and target of at most n rows, drawn for the seed."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), seed])
        X, y = self.read(rng)
        chosen = rng.permutation(len(y))[:n_rows]
        X, y = X.iloc[chosen].reset_index(drop=True), y[chosen]
        y = y.astype(object) if y.dtype.kind == "U" else y
        return (X.assign(added=COLUMNS[self.added](y, rng)) if self.added else X), y


def list_tables(folder, n_rows):
    sources = {name: (lambda rng, make=make: make(n_rows, rng), MADE_WITH.get(name, ())) for name, make in MADE.items()}
    for path in sorted(Path(folder).glob("*.parquet")) if folder else ():
        if path.stem in REAL:
            whole = read_parquet(path)
            sources[path.stem] = (lambda _, whole=whole: whole), REAL[path.stem]
    return [
        DataTable(f"{name} + {added}" if added else name, read, added)
        for name, (read, extras) in sorted(sources.items())
        for added in (None, *extras)
    ]


def read_parquet(path):
    X = pd.read_parquet(path).drop(columns="split", errors="ignore")
    target = X.pop("target")
    integers = {name: "float64" for name in X if pd.api.types.is_integer_dtype(X[name])}
    is_text = not pd.api.types.is_numeric_dtype(target)
    return X.astype(integers), target.to_numpy(dtype=object if is_text else float)


def as_ordinal(X, X_test):
    """Replace text by its index in the sorted labels of the training rows; missing and unknown labels are NaN."""
    coded = X.copy(), X_test.copy()
    for name in text_columns(X):
        labels = sorted(X[name].dropna().unique())
        for frame, of in zip(coded, (X, X_test), strict=True):
            frame[name] = of[name].map({label: float(i) for i, label in enumerate(labels)}).astype(float)
    return coded


def text_columns(X):
    return [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]


# ------------------------------------------------------------------------------------------------------------ measure


def measure_once(table, seed, ways, given):
    """Return the metrics of each encoding, larger is better: (AUC, -log-loss), or (-RMSE,)."""
    X, y = table.load(seed, given.rows)
    is_classes = y.dtype == object
    model, n_train = MODELS[given.model][0 if is_classes else 1], len(y) * 2 // 3
    parts = X[:n_train], X[n_train:]
    known = np.isin(y[n_train:], y[:n_train]) if is_classes else np.ones(len(y) - n_train, dtype=bool)
    found = {}
    for way in ways:
        train, test = as_ordinal(*parts) if way == ORDINAL else parts
        fitted = model(random_state=seed, **parameters_of(way, given)).fit(train, y[:n_train])
        predicted = fitted.predict_proba(test[known]) if is_classes else fitted.predict(test)
        found[way] = rate(y[n_train:][known], predicted, getattr(fitted, "classes_", None))
    return found


def parameters_of(way, given):
    forest = {} if given.model == "tree" else {"n_estimators": given.trees, "n_jobs": given.jobs}
    return forest if way in (ORDINAL, DEFAULT) else {**forest, "category_penalty": float(way)}


def rate(y, predicted, classes):
    if classes is None:
        return [-float(np.sqrt(np.mean((y - predicted) ** 2)))]
    chances = np.clip(predicted, 1e-3, None)
    chances /= chances.sum(axis=1, keepdims=True)
    areas = [roc_auc_score(y == c, predicted[:, i]) for i, c in enumerate(classes) if 0 < np.mean(y == c) < 1]
    return [float(np.mean(areas)) if len(classes) > 2 else areas[-1], -log_loss(y, chances, labels=classes)]


def compare(better, other):
    """Mean difference and its standard error over seeds, metric by metric."""
    difference = np.array(better) - np.array(other)
    error = (
        difference.std(axis=0, ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.zeros(len(better[0]))
    )
    return difference.mean(axis=0), error


@dataclass
class Verdict:
    """How an encoding compares with ordinal codes on one table."""

    z: float  # of the worst metric, in standard errors
    as_good: bool
    better: bool
    worse: bool


def judge(found, way):
    mean, error = compare([f[way] for f in found], [f[ORDINAL] for f in found])
    error = np.maximum(error, 1e-12)
    return Verdict(
        float((mean / error).min()),
        bool((mean >= -error).all()),
        bool((mean >= 0).all()),
        bool((mean < -2 * error).any()),
    )


# --------------------------------------------------------------------------------------------------------------- show


def show(results, ways, given):
    rows, verdicts = [], {way: [] for way in ways if way != ORDINAL}
    for name, found in results.items():
        means = {way: np.mean([f[way] for f in found], axis=0) for way in ways}
        cells = []
        for way in ways:
            cells.append(" / ".join(measure.digits(abs(float(x)), 4) for x in means[way]))
            if way != ORDINAL:
                verdict = judge(found, way)
                verdicts[way].append(verdict)
                cells.append(f"{verdict.z:+.1f}{'' if verdict.as_good else ' (worse)' if verdict.worse else ' (-)'}")
        rows.append([name, *cells])
    header = ["table", *itertools.chain.from_iterable([[w] if w == ORDINAL else [label_of(w), "z"] for w in ways])]
    lines = [
        f"{label_of(way)}: {sum(v.as_good for v in of)} of {len(of)} at least as good as ordinal codes, "
        f"{sum(v.better for v in of)} with a mean that is no worse in any metric, {sum(v.worse for v in of)} worse by "
        "more than two standard errors."
        for way, of in verdicts.items()
    ]
    caption = (
        f"AUC / log-loss, or RMSE. z: the difference in standard errors, of the metric where it is lowest. "
        f"{given.trees} trees, at most {given.rows:,} rows, a third of them for testing, {given.seeds} seeds. "
        f"{measure.describe_machine('weald', 'pandas', 'scikit-learn')}."
    )
    return "\n\n".join([measure.markdown(header, rows), "\n".join(lines), caption])


def label_of(way):
    return "categories" if way == DEFAULT else f"penalty {way}"


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("folder", nargs="?", help="parquet files")
    parser.add_argument("--only", help="names of tables or their prefixes, comma-separated")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--penalties", default=f"{DEFAULT},0", help="comma-separated")
    parser.add_argument("--model", default="forest", choices=MODELS)
    given = parser.parse_args()
    if given.quick:
        given.seeds, given.rows, given.trees = 2, 120, 3
    ways = [*given.penalties.split(","), ORDINAL]
    results = {}
    for table in list_tables(given.folder, given.rows):
        if given.only and not any(table.name.startswith(name) for name in given.only.split(",")):
            continue
        results[table.name] = [measure_once(table, seed, ways, given) for seed in range(given.seeds)]
        measure.say(
            table.name, {way: np.mean([f[way] for f in results[table.name]], axis=0).round(4).tolist() for way in ways}
        )
    measure.publish(given, "categories", show(results, ways, given))


if __name__ == "__main__":
    main()
