"""How large a model file is, and how long it takes to write and to read.

    python benchmarks/files.py [--data clusters,friedman] [--quick] [--write]

Each library fits the same forest (trees to purity) in a process of its own, writes it in its own way, and reads it
again: scikit-learn and scikit-learn-intelex by pickle, XGBoost as UBJSON, YDF (where it is installed) in its folder.
`--write` puts the table into docs/files.md.
"""

import pickle
import shutil
import tempfile
from pathlib import Path

import data
import measure

PAGE = measure.ROOT / "docs" / "files.md"
DATA = ("clusters", "friedman")
WAYS = {  # of weald: what `save` is told
    "weald": {},
    "weald, not compressed": {"compress": False},
    "weald, mappable": {"mappable": True},
}
PICKLED = ("scikit-learn", "scikit-learn-intelex")


def size_of(path):
    """Bytes of a file, or of all files of a folder."""
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.stat().st_size


def share_of(task, X):
    """Share of the features that a node looks at: boosters know no other way to say it."""
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
    """Megabytes, bytes a node, seconds to write and to read."""
    X, y, _, _ = data.load(name, n_train)
    task = data.DATA_SETS[name].task
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        if library in WAYS:
            write, read, n_nodes = keep_weald(task, X, y, n_trees, n_jobs, path, library)
        elif library in PICKLED:
            write, read, n_nodes = keep_pickled(library, task, X, y, n_trees, n_jobs, path)
        else:
            keep = keep_xgboost if library == "XGBoost" else keep_ydf
            write, read, n_nodes = keep(task, X, y, n_trees, n_jobs, path)
        seconds = best(write, repeats)
        size = sum(size_of(Path(folder, made)) for made in Path(folder).iterdir())
        return size / 1e6, size / n_nodes, n_nodes, seconds, best(read, repeats)


def libraries():
    found = [name for name in measure.installed(boosters=True) if name in (*PICKLED, "XGBoost")]
    return [*found, *(["YDF"] if measure.version_of("ydf") else []), *WAYS]


TEXT = """{tables}

{jobs} threads, best of {repeats}. Reading a mappable file is mapping it. All keep what predictions need; weald keeps
sizes, weights and gains of all nodes, too, to the last bit. Measured by `benchmarks/files.py`: {machine}.
"""


def main():
    parser = measure.options(__doc__, PAGE)
    parser.set_defaults(repeats=3)
    parser.add_argument("--data", default=",".join(DATA), help="names of data sets")
    given = parser.parse_args()
    tables = []
    for name in ("small",) if given.quick else given.data.split(","):
        what = data.DATA_SETS[name]
        n_train, n_trees = (200, 3) if given.quick else (what.n_train, what.n_trees)
        rows = []
        for library in libraries():
            measure.say(name, library)
            found = measure.afresh(measure_one, library, name, n_train, n_trees, given.jobs, given.repeats)
            size, per_node, n_nodes, write, read = found
            cells = [f"{size:.1f}", f"{per_node:.1f}", f"{n_nodes:,}", f"{write:.2f}", f"{read:.3f}"]
            rows.append([library, *cells])
        title = f"{what.title}, {n_train:,} rows, {n_trees} trees"
        tables.append(measure.markdown([title, "MB", "bytes a node", "nodes", "write, s", "read, s"], rows))
    text = TEXT.format(
        tables="\n\n".join(tables),
        jobs=given.jobs,
        repeats=given.repeats,
        machine=measure.describe_machine("weald", "scikit-learn", "scikit-learn-intelex", "xgboost-cpu", "ydf"),
    )
    measure.publish(given, "files", text)


if __name__ == "__main__":
    main()
