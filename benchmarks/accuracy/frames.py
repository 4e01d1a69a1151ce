"""AUC and speed of weald and other libraries on data frames with text columns and missing values.

    python -m benchmarks.accuracy.frames FOLDER [--data adult,flights_late] [--leaf 5] [--repeats 1]
        [--only NAMES] [--write]

FOLDER holds parquet files: the last column is `target`, with two classes; text columns are categorical. A column
`split` is "train" or "test"; without it, a quarter of the rows is for testing. All libraries draw the square root of
the number of features per node, and grow to the same depth (DEPTHS) with leaves of at least `--leaf` rows. weald, YDF
and ranger count draws, and a bag has 63 % of the rows, so their limit is increased accordingly. ranger before 0.15 has
no minimum leaf size; instead, nodes smaller than two such leaves are not split. It also stops if no drawn feature has a
gain. weald is also measured with three times the trees, and with `category_penalty=0`. The time of a fit
starts with the data frame and includes encoders, but not the transfer to another program (R, Java). A fit that takes
more than a minute is stopped, and that library is not measured with deeper trees. ranger before 0.17 does not accept
missing values: they are replaced by the median or by a separate category. Libraries that are not installed are skipped:
lightgbm, ydf, h2o (with Java) from the package index, ranger as `Rscript` finds it.

A second table compares one frame (half of the columns categorical, a tenth of the cells missing) with the same data as
numbers. `--write` puts both into docs/guides/input-data.md, and a summary into README.md. `--summary` summarizes
the table that is in docs/guides/input-data.md already.
"""

import shutil
import signal
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from benchmarks import measure

PAGE = measure.ROOT / "docs" / "guides" / "input-data.md"
SEED = 0
DEPTHS = {"adult": (13, None), "flights_late": (20, None)}  # None: no limit
TREES = {"adult": 50, "flights_late": 20}
MOST_SECONDS = 60
MORE_TREES = "weald, 3 × trees"


def read(folder, name, n_rows=None):
    """Return the frames and targets (is it the second class?) for training and testing."""
    frame = pd.read_parquet(Path(folder) / f"{name}.parquet")
    if n_rows:
        frame = frame.sample(min(n_rows, len(frame)), random_state=SEED)
    target = frame.pop("target")
    y = (target == sorted(target.unique())[1]).to_numpy().astype(int)
    if "split" in frame:
        is_test = (frame.pop("split") == "test").to_numpy()
    else:
        is_test = np.random.default_rng(SEED).random(len(frame)) < 0.25
    return frame[~is_test], y[~is_test], frame[is_test], y[is_test]


def text_columns(X):
    return [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]


# ---------------------------------------------------------------------------------------------------------- libraries
# Each returns (seconds of the fit, probabilities of the second class). `given` has the number of trees, the depth and
# the minimum leaf size.


def clock(work):
    """Return the seconds of a fit; a fit that takes too long is stopped as soon as the library returns to Python."""

    def give_up(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(MOST_SECONDS)
    try:
        return measure.clock(work)
    finally:
        signal.alarm(0)


def weald(X, y, X_test, given, penalty="auto"):
    import weald

    limits = {"max_depth": given["depth"], "min_samples_leaf": drawn(given["leaf"])}
    model = weald.RandomForestClassifier(given["trees"], **limits, category_penalty=penalty, random_state=SEED)
    return clock(lambda: model.fit(X, y)), model.predict_proba(X_test)[:, 1]


def weald_without_penalty(X, y, X_test, given):
    return weald(X, y, X_test, given, penalty=0)


def drawn(n_rows):
    """Return the number of draws that correspond to n distinct rows of a bag, approximately."""
    return n_rows if n_rows == 1 else round(n_rows / 0.632)


def sklearn_with(encoder, X, y, X_test, given):
    limits = {"max_depth": given["depth"], "min_samples_leaf": given["leaf"]}
    forest = RandomForestClassifier(given["trees"], **limits, random_state=SEED, n_jobs=measure.CORES)
    columns = make_column_transformer((encoder, text_columns(X)), remainder="passthrough")
    model = make_pipeline(columns.set_output(transform="pandas"), forest)
    numbers = {name: "float64" for name in X if X[name].dtype == "Int16"}
    X, X_test = X.astype(numbers), X_test.astype(numbers)
    return clock(lambda: model.fit(X, y)), model.predict_proba(X_test)[:, 1]


def sklearn_one_hot(X, y, X_test, given):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    return sklearn_with(encoder, X, y, X_test, given)


def sklearn_ordinal(X, y, X_test, given):
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return sklearn_with(encoder, X, y, X_test, given)


def lightgbm(X, y, X_test, given):
    import lightgbm as lgb

    text = text_columns(X)
    types = {name: pd.CategoricalDtype(sorted(X[name].dropna().unique())) for name in text}
    numbers = {name: "float32" for name in X if name not in text}
    model = lgb.LGBMClassifier(
        boosting_type="rf",
        n_estimators=given["trees"],
        num_leaves=min(131_072, len(X), 2 ** (given["depth"] or 17)),
        max_depth=given["depth"] or -1,
        min_child_samples=given["leaf"],
        min_child_weight=0,
        subsample=0.632,
        subsample_freq=1,
        feature_fraction_bynode=int(np.sqrt(X.shape[1])) / X.shape[1],
        n_jobs=measure.CORES,
        random_state=SEED,
        verbose=-1,
    )
    X, X_test = (frame.astype(numbers).astype(types) for frame in (X, X_test))
    return clock(lambda: model.fit(X, y)), model.predict_proba(X_test)[:, 1]


def ydf(X, y, X_test, given):
    import ydf

    ydf.verbose(0)
    X, X_test = (plain_types(frame) for frame in (X, X_test))
    learner = ydf.RandomForestLearner(
        label="target",
        num_trees=given["trees"],
        max_depth=given["depth"] + 1 if given["depth"] else -1,  # the root is at 1
        min_examples=drawn(given["leaf"]),
        winner_take_all=False,
        compute_oob_performances=False,
        num_threads=measure.CORES,
        random_seed=SEED,
    )
    found = {}
    seconds = clock(lambda: found.update(model=learner.train(X.assign(target=y))))
    return seconds, np.asarray(found["model"].predict(X_test))


def h2o(X, y, X_test, given):
    import h2o
    from h2o.estimators import H2ORandomForestEstimator

    h2o.init(nthreads=measure.CORES, max_mem_size="4G", verbose=False)
    h2o.no_progress()
    try:
        types = {name: "enum" if name in text_columns(X) else "numeric" for name in X} | {"target": "enum"}
        train = h2o.H2OFrame(plain_types(X).assign(target=np.where(y, "yes", "no")), column_types=types)
        test = h2o.H2OFrame(plain_types(X_test), column_types={name: types[name] for name in X})
        limits = {"max_depth": given["depth"] or 0, "min_rows": given["leaf"]}
        model = H2ORandomForestEstimator(ntrees=given["trees"], **limits, seed=SEED + 1)
        seconds = clock(lambda: model.train(x=list(X), y="target", training_frame=train))
        return seconds, model.predict(test).as_data_frame()["yes"].to_numpy()
    finally:
        h2o.cluster().shutdown()


def ranger(X, y, X_test, given):
    script = """
        suppressMessages(library(ranger)); a <- commandArgs(TRUE)
        read <- function(name) read.csv(file.path(a[1], name), stringsAsFactors = TRUE, na.strings = "")
        train <- read("train.csv"); test <- read("test.csv")
        for (name in names(test))
            if (is.factor(train[[name]])) test[[name]] <- factor(test[[name]], levels(train[[name]]))
        fill <- function(x) if (is.factor(x)) addNA(x) else { x[is.na(x)] <- median(x, na.rm = TRUE); x }
        x <- train[names(train) != "target"]; x[] <- lapply(x, fill); test[] <- lapply(test, fill)
        t <- proc.time()[[3]]
        m <- ranger(x = x, y = factor(train$target), num.trees = as.integer(a[2]), min.node.size = as.integer(a[4]),
                    max.depth = as.integer(a[5]), num.threads = as.integer(a[3]), probability = TRUE,
                    respect.unordered.factors = "order", oob.error = FALSE, seed = 1, verbose = FALSE)
        cat(proc.time()[[3]] - t, predict(m, test)$predictions[, 2], sep = "\\n")
    """
    with tempfile.TemporaryDirectory() as folder:
        plain_types(X).assign(target=y).to_csv(Path(folder) / "train.csv", index=False)
        plain_types(X_test).to_csv(Path(folder) / "test.csv", index=False)
        largest_leaf = 1 if given["leaf"] == 1 else 2 * drawn(given["leaf"]) - 1
        numbers = [given["trees"], measure.CORES, largest_leaf, given["depth"] or 0]
        call = ["Rscript", "-e", script, folder, *map(str, numbers)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-300:])
    seconds, *chances = map(float, done.stdout.split())
    return seconds, np.array(chances)


def plain_types(X):
    """Convert to NumPy numbers and objects, which every library reads."""
    return X.astype({name: object if name in text_columns(X) else "float64" for name in X})


LIBRARIES = {
    "weald": (weald, "weald"),
    MORE_TREES: (weald, "weald"),
    "weald, no penalty": (weald_without_penalty, "weald"),
    "scikit-learn, ordinal": (sklearn_ordinal, "scikit-learn"),
    "scikit-learn, one-hot": (sklearn_one_hot, "scikit-learn"),
    "LightGBM rf": (lightgbm, "lightgbm"),
    "YDF": (ydf, "ydf"),
    "H2O": (h2o, "h2o"),
    "ranger": (ranger, None),
}


def is_installed(name):
    package = LIBRARIES[name][1]
    return bool(shutil.which("Rscript")) if package is None else measure.version_of(package) is not None


def fit_once(folder, data, library, given, n_rows):
    """Run in a new process: return seconds and AUC, or nothing if the fit takes too long."""
    X, y, X_test, y_test = read(folder, data, n_rows)
    try:
        seconds, chances = LIBRARIES[library][0](X, y, X_test, given)
    except TimeoutError:
        return None
    return seconds, roc_auc_score(y_test, chances)


# ------------------------------------------------------------------------------------------- a frame, or its numbers


def mixed_frame(n_rows, n_columns):
    """Make a frame with half of the columns categorical and a tenth of the cells missing."""
    rng = np.random.default_rng(SEED)
    columns, signal = {}, rng.normal(size=n_rows)
    for i in range(n_columns):
        if i % 2:
            n_levels = (4, 12, 40, 150, 1000)[i // 2 % 5]
            levels = rng.integers(0, n_levels, n_rows)
            signal += rng.normal(size=n_levels)[levels] * (i < 10)
            column = pd.Series(np.array([f"level {j}" for j in range(n_levels)])[levels], dtype="category")
        else:
            x = rng.normal(size=n_rows)
            signal += x * (i < 10)
            column = pd.Series(x)
        columns[f"c{i}"] = column.where(rng.random(n_rows) >= 0.1)
    return pd.DataFrame(columns), (signal > 0).astype(int)


def as_it_is_and_as_numbers(n_rows, n_columns, trees, repeats):
    """Return the seconds of both, measured alternately; the numbers are ordinal codes in sorted order."""
    import weald

    X, y = mixed_frame(n_rows, n_columns)
    numbers = X.apply(lambda c: c.cat.codes.where(c.notna()).astype("float64") if c.dtype == "category" else c)
    times = {"as it is": [], "as numbers": []}
    for _ in range(repeats):
        for how, table in (("as it is", X), ("as numbers", numbers)):
            model = weald.RandomForestClassifier(trees, random_state=SEED)
            times[how].append(measure.clock(lambda m=model, t=table: m.fit(t, y)))
    return [statistics.median(times["as it is"]), statistics.median(times["as numbers"])]


# --------------------------------------------------------------------------------------------------------------- show


def compare(arguments):
    rows = []
    names = arguments.only.split(";") if arguments.only else LIBRARIES
    for data in arguments.data.split(","):
        asked = [library for library in names if is_installed(library)]
        for depth in DEPTHS.get(data, (None,)):
            trees = arguments.trees or TREES.get(data, 50)
            given = {"trees": trees, "depth": depth, "leaf": arguments.leaf}
            grown = {library: given["trees"] * (3 if library == MORE_TREES else 1) for library in asked}
            found = {
                library: measure_one(arguments, data, library, given | {"trees": grown[library]}) for library in asked
            }
            ours = found.get("weald")
            for library, (seconds, auc) in found.items():
                ratio = f"{measure.digits(seconds / ours[0], 2)}×" if ours and seconds else ""
                shown = [f"{auc:.4f}", measure.digits(seconds)] if seconds else ["", f"> {MOST_SECONDS}"]
                rows.append([data, grown[library], depth or "any", library, *shown, ratio])
            asked = [library for library in asked if found[library][0]]  # deeper trees take longer
    return measure.markdown(["data", "trees", "depth", "library", "AUC", "fit, seconds", "weald = 1"], rows)


def measure_one(arguments, data, library, given):
    """Return the median of the seconds, and the AUC; both None if a fit takes too long."""
    runs = []
    for _ in range(arguments.repeats):
        run = measure.afresh(fit_once, str(arguments.folder), data, library, given, arguments.rows)
        measure.say(data, given, library, run or "takes too long")
        if run is None:
            return None, None
        runs.append(run)
    return statistics.median(seconds for seconds, _ in runs), runs[0][1]


PENALTY = "No penalty: `category_penalty=0`. "
SUMMARY = ("weald", "scikit-learn, ordinal", "scikit-learn, one-hot", "LightGBM rf", "YDF", "ranger")
TITLES = {"adult": "adult, 48,842 × 14", "flights_late": "flights, 336,776 × 24"}


def summarize(block):
    """The README's table, from the block of docs/guides/input-data.md: fits without a limit of depth."""
    table, caption = block.strip().split("\n\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    found = {}
    for data, n_trees, depth, library, auc, seconds, ratio in cells:
        if depth == "any" and library in SUMMARY:
            times = "" if library == "weald" else f" ({ratio})"
            shown = f"{seconds} s{times} · {auc}" if ratio else f"{seconds} s"
            found.setdefault((TITLES.get(data, data), n_trees), {})[library] = shown
    rows = [[*key, *(of.get(library, "–") for library in SUMMARY)] for key, of in found.items()]
    title = "Seconds to fit; in brackets, weald's speedup; then the AUC on test data."
    table = measure.markdown(["data", "trees", *SUMMARY], rows)
    caption = caption.replace(PENALTY, "")
    return f"{title}\n\n{table}\n\nNo limit of depth. Measured with `benchmarks/accuracy/frames.py`: {caption}"


def write_summary():
    block = PAGE.read_text().partition("<!-- peers -->")[2].partition("<!-- /peers -->")[0]
    measure.write_block(measure.ROOT / "README.md", "text-tables", summarize(block))


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--summary", action="store_true", help="write the summary of the page into README.md")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--data", default="adult,flights_late")
    parser.add_argument("--trees", type=int, help=f"by default {TREES}")
    parser.add_argument("--leaf", type=int, default=5, help="minimum rows of a leaf")
    parser.add_argument("--rows", type=int, help="maximum rows of each data set")
    parser.add_argument("--only", help="names of libraries, separated by semicolons")
    parser.set_defaults(repeats=1)
    arguments = parser.parse_args()
    if arguments.summary:
        write_summary()
        return
    if arguments.quick:
        arguments.trees, arguments.repeats, arguments.rows = 3, 1, 2000
    machine = measure.describe_machine("weald", "scikit-learn", "lightgbm", "ydf", "ranger")
    size = (5000, 10, 3, 1) if arguments.quick else (100_000, 20, 20, 3)
    as_is, numbers = measure.afresh(as_it_is_and_as_numbers, *size)
    speed = (
        f"Fit of {size[2]} trees on {size[0]:,} rows and {size[1]} columns, half of them categorical (4 to 1,000 "
        f"categories), 10 % of the cells missing: {measure.digits(as_is)} s as a data frame, {measure.digits(numbers)} "
        f"s as a numeric array; {measure.digits(numbers / as_is, 2)} of the speed."
    )
    measure.publish(arguments, "speed", speed)
    if arguments.folder is None:
        return
    table = compare(arguments)
    caption = (
        f"{measure.CORES} cores, leaves of at least {arguments.leaf} rows, which are {drawn(arguments.leaf)} draws for "
        f"weald, YDF and ranger. {PENALTY}{machine}."
    )
    measure.publish(arguments, "peers", f"{table}\n\n{caption}")
    if arguments.write == PAGE:
        write_summary()


if __name__ == "__main__":
    main()
