"""Size of a model file, and the time to write and to read it.

    python -m benchmarks.files.model_files [--data clusters,friedman] [--also PYTHON,PYTHON] [--quick] [--write]

Each library fits the same forest (trees grown to purity) in its own process, writes it in its own format, and reads it
back: scikit-learn and scikit-learn-intelex by pickle, XGBoost as UBJSON, YDF as its model folder, and ranger, if
installed in R, by saveRDS. `--also` names interpreters of other environments, for libraries that are not installed in
this one. XGBoost, YDF and ranger take minutes for large trees, so they fit only the first data set, and two of them a
quarter of the trees: their figures are multiplied by four.
`--write` puts the table into docs/deployment/model-files.md.
"""

import functools
import json
import pickle
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import data, measure

PAGE = measure.ROOT / "docs" / "deployment" / "model-files.md"
DATA = ("clusters", "friedman")
WAYS = {  # parameters of weald's `save`
    "weald": {},
    "weald, not compressed": {"compress": False},
    "weald, mappable": {"mappable": True},
}
PICKLED = ("scikit-learn", "scikit-learn-intelex")
# Name -> package; the slow ones come last.
PEERS = {
    "scikit-learn": "scikit-learn",
    "scikit-learn-intelex": "scikit-learn-intelex",
    "XGBoost": "xgboost-cpu",
    "YDF": "ydf",
}
QUARTER = ("XGBoost", "ranger")  # libraries that grow a quarter of the trees
RANGER = """
a <- commandArgs(TRUE); n <- as.integer(a[3]); p <- as.integer(a[4]); classes <- a[5] == "classes"
library(ranger)
x <- matrix(readBin(a[1], "double", n * p), n, p); colnames(x) <- paste0("x", 1:p); y <- readBin(a[2], "double", n)
m <- ranger(x = x, y = if (classes) factor(y) else y, num.trees = as.integer(a[6]), mtry = as.integer(a[7]),
  min.node.size = 1, probability = classes, num.threads = as.integer(a[8]), oob.error = FALSE, verbose = FALSE)
clock <- function(e) system.time(e)[["elapsed"]]
write <- min(replicate(as.integer(a[10]), clock(saveRDS(m, a[9]))))
read <- min(replicate(as.integer(a[10]), clock(readRDS(a[9]))))
nodes <- sum(sapply(m$forest$child.nodeIDs, function(c) length(c[[1]])))
cat(sprintf("[%f, %d, %f, %f]", file.size(a[9]), nodes, write, read))
"""


def size_of(path):
    """Bytes of a file, or of all files of a folder."""
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.stat().st_size


def share_of(task, X):
    """Fraction of the features that a node considers, the form that boosting libraries accept."""
    return max(1, int(X.shape[1] ** 0.5)) / X.shape[1] if task == "classes" else 1 / 3


def best(work, repeats):
    return min(measure.clock(work) for _ in range(repeats))


def keep_pickled(library, task, X, y, n_trees, n_jobs, path):
    """Return how to write and how to read, and the number of nodes."""
    forest = measure.make_forest(
        library, task, n_estimators=n_trees, max_features=share_of(task, X), n_jobs=n_jobs
    ).fit(X, y)
    return (
        lambda: path.write_bytes(pickle.dumps(forest, protocol=5)),
        lambda: pickle.loads(path.read_bytes()),
        sum(tree.tree_.node_count for tree in forest.estimators_),
    )


def keep_xgboost(task, X, y, n_trees, n_jobs, path):
    forest = measure.make_forest(
        "XGBoost", task, n_estimators=n_trees, max_features=share_of(task, X), n_jobs=n_jobs
    ).fit(X, y)
    booster = forest.get_booster() if hasattr(forest, "get_booster") else forest.model_.get_booster()
    path = path.with_suffix(".ubj")

    def read():
        import xgboost

        xgboost.Booster().load_model(path)

    return lambda: booster.save_model(path), read, len(booster.trees_to_dataframe())


def run_ranger(name, n_train, n_trees, n_jobs, repeats):
    """The same in R."""
    X, y, _, _ = data.load(name, n_train)
    task = data.DATA_SETS[name].task
    mtry = max(1, round(share_of(task, X) * X.shape[1]))
    with tempfile.TemporaryDirectory() as folder:
        np.asfortranarray(X, dtype=np.float64).T.tofile(Path(folder, "x"))
        y.astype(np.float64).tofile(Path(folder, "y"))
        words = [
            Path(folder, "x"),
            Path(folder, "y"),
            *X.shape,
            task,
            n_trees,
            mtry,
            n_jobs,
            Path(folder, "m"),
            repeats,
        ]
        done = subprocess.run(
            [shutil.which("Rscript"), "-e", RANGER, *map(str, words)], capture_output=True, text=True, check=True
        )
    size, n_nodes, write, read = json.loads(done.stdout.splitlines()[-1])
    return size / 1e6, size / n_nodes, n_nodes, write, read


@functools.cache
def version_of_ranger():
    if not shutil.which("Rscript"):
        return None
    ask = ["Rscript", "-e", 'cat(as.character(packageVersion("ranger")))']
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout.strip()


def keep_ydf(task, X, y, n_trees, n_jobs, path):
    import ydf

    ydf.verbose(0)
    table = {f"f{i}": X[:, i] for i in range(X.shape[1])} | {"y": y}
    kind = ydf.Task.CLASSIFICATION if task == "classes" else ydf.Task.REGRESSION
    learner = ydf.RandomForestLearner(
        label="y", task=kind, num_trees=n_trees, max_depth=-1, min_examples=1, winner_take_all=False,
        compute_oob_performances=False, num_threads=n_jobs,
    )  # fmt: skip
    forest = learner.train(table)

    def write():
        shutil.rmtree(path, ignore_errors=True)
        forest.save(str(path))

    return write, lambda: ydf.load_model(str(path)).predict({k: v[:1] for k, v in table.items()}), forest.num_nodes()


def keep_weald(task, X, y, n_trees, n_jobs, path, way):
    import weald

    forest = measure.make_forest(
        "weald", task, n_estimators=n_trees, max_features=share_of(task, X), n_jobs=n_jobs
    ).fit(X, y)
    mapped = WAYS[way].get("mappable", False)
    return (
        lambda: forest.save(path, **WAYS[way]),
        lambda: weald.load(path, mmap=mapped),
        forest.forest_.n_nodes,
    )


def measure_one(library, name, n_train, n_trees, n_jobs, repeats):
    """Megabytes, bytes per node, seconds to write and to read."""
    X, y, _, _ = data.load(name, n_train)
    task = data.DATA_SETS[name].task
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        if library in WAYS:
            write, read, n_nodes = keep_weald(task, X, y, n_trees, n_jobs, path, library)
        elif library in PICKLED:
            write, read, n_nodes = keep_pickled(library, task, X, y, n_trees, n_jobs, path)
        else:
            keep = {"XGBoost": keep_xgboost, "YDF": keep_ydf}[library]
            write, read, n_nodes = keep(task, X, y, n_trees, n_jobs, path)
        seconds = best(write, repeats)
        size = sum(size_of(Path(folder, made)) for made in Path(folder).iterdir())
        return size / 1e6, size / n_nodes, n_nodes, seconds, best(read, repeats)


TEXT = """{tables}

{jobs} threads, best of {repeats}. A mappable file is mapped instead of read. All formats store what predictions need;
weald also stores the exact sizes, weights and gains of all nodes. Each library grows its own forest: XGBoost draws 63 %
of the rows instead of bags and has 256 thresholds per column, so its trees have fewer nodes. XGBoost and ranger grew a
quarter of the trees, and their figures are multiplied by four. Measured by
`benchmarks/files/model_files.py`: {machine}.
"""


def main():
    parser = measure.options(__doc__, PAGE)
    parser.set_defaults(repeats=3)
    parser.add_argument("--data", default=",".join(DATA), help="names of data sets")
    parser.add_argument("--also", default="", help="interpreters of other environments, separated by commas")
    given = parser.parse_args()
    peers = measure.find_libraries(PEERS, [python for python in given.also.split(",") if python])
    tables = []
    for number, name in enumerate(("small",) if given.quick else given.data.split(",")):
        what = data.DATA_SETS[name]
        n_train, n_trees = (200, 3) if given.quick else (what.n_train, what.n_trees)
        rows = []
        chosen = [library for library in peers if number == 0 or library in PICKLED]
        chosen += ["ranger"] if number == 0 and version_of_ranger() else []
        for library in (*chosen, *WAYS):
            measure.say(name, library)
            times = 4 if library in QUARTER and n_trees % 4 == 0 else 1
            settings = (name, n_train, n_trees // times, given.jobs, given.repeats)
            python, _ = peers.get(library, (None, ""))
            found = (
                run_ranger(*settings)
                if library == "ranger"
                else measure.afresh(measure_one, library, *settings, python=python)
            )
            size, per_node, n_nodes, write, read = found
            size, n_nodes, write, read = times * size, times * n_nodes, times * write, times * read
            cells = [f"{size:.1f}", f"{per_node:.1f}", f"{n_nodes:,}", f"{write:.2f}", f"{read:.3f}"]
            rows.append([library, *cells])
        title = f"{what.title}, {n_train:,} rows, {n_trees} trees"
        tables.append(measure.markdown([title, "MB", "bytes per node", "nodes", "write, s", "read, s"], rows))
    text = TEXT.format(
        tables="\n\n".join(tables),
        jobs=given.jobs,
        repeats=given.repeats,
        machine=", ".join(
            [measure.describe_machine("weald"), measure.name_versions(peers)]
            + ([f"ranger {version_of_ranger()}"] if version_of_ranger() else [])
        ),
    )
    measure.publish(given, "files", text)


if __name__ == "__main__":
    main()
