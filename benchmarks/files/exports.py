"""Time to write each export format, its size, and the prediction speed of the programs that read it.

    python -m benchmarks.files.exports [--rows N] [--trees N] [--repeats 3] [--write]

One forest is written in each format, and each predicts on one thread: one row at a time, and a batch. Then a forest
grown by scikit-learn predicts in scikit-learn and, after conversion, in weald.
"""

import ctypes
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import data, measure
from weald.io.export import c_code

PAGE = measure.ROOT / "docs" / "deployment" / "export.md"
N_BATCH = 10_000
WRAPPER = """
void forest_batch(const double *x, long n, double *shares)
{
    long i;
    for (i = 0; i < n; ++i) forest_predict_proba(x + i * forest_n_features, shares + i * forest_n_classes);
}
"""


def time_rows(predict, X):
    """Microseconds for one row, and milliseconds for a batch."""
    row = X[:1].copy()
    for _ in range(20):
        predict(row)
    one = measure.clock_often(lambda: [predict(row) for _ in range(100)], 0.5) / 100
    return {"one": 1e6 * one, "batch": 1e3 * min(measure.clock(lambda: predict(X)) for _ in range(3))}


def as_weald(model, folder, X):
    path = folder / "forest.weald"
    write = measure.clock(lambda: model.save(path))
    from weald import load

    ready = measure.clock(lambda: load(path))
    return {"write": write, "bytes": path.stat().st_size, "ready": ready, **time_rows(model.predict_proba, X)}


def as_c(model, folder, X):
    path, library = folder / "forest.c", folder / "forest.so"
    write = measure.clock(lambda: model.to_c(path, check=False))
    found = {"write": write, "bytes": path.stat().st_size}
    path.write_text(path.read_text() + WRAPPER)
    ready = measure.clock(lambda: c_code.compile_c([*c_code.find_compiler(), "-O2"], path, library))
    batch = ctypes.CDLL(str(library)).forest_batch
    doubles = ctypes.POINTER(ctypes.c_double)
    batch.argtypes, batch.restype = [doubles, ctypes.c_long, doubles], None
    out = np.empty((len(X), model.n_classes_))
    to = out.ctypes.data_as(doubles)

    pointers = {}

    def predict(rows):
        if id(rows) not in pointers:
            pointers[id(rows)] = rows.ctypes.data_as(doubles)
        batch(pointers[id(rows)], len(rows), to)

    return {**found, "ready": ready, **time_rows(predict, X)}


def as_onnx(model, folder, X):
    import onnxruntime

    path = folder / "forest.onnx"
    write = measure.clock(lambda: model.to_onnx(path, check=False))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = []
    ready = measure.clock(
        lambda: sessions.append(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))
    )
    timed = time_rows(lambda rows: sessions[0].run(["probabilities"], {"X": rows}), X)
    return {"write": write, "bytes": path.stat().st_size, "ready": ready, **timed}


def as_treelite(model, folder, X):
    import treelite

    path = folder / "forest.tl"
    write = measure.clock(lambda: model.to_treelite(path, check=False))
    loaded = []
    ready = measure.clock(lambda: loaded.append(treelite.Model.deserialize(str(path))))
    timed = time_rows(lambda rows: treelite.gtil.predict(loaded[0], rows, nthread=1), X)
    return {"write": write, "bytes": path.stat().st_size, "ready": ready, **timed}


def as_json(model, folder, X):
    from weald import from_json

    path = folder / "forest.json"
    write = measure.clock(lambda: model.to_json(path, check=False))
    ready = measure.clock(lambda: from_json(path))
    return {"write": write, "bytes": path.stat().st_size, "ready": ready, "one": None, "batch": None}


FORMS = {"weald, `.weald`": as_weald, "C": as_c, "ONNX": as_onnx, "treelite": as_treelite, "JSON": as_json}


def grown(name, n_rows, n_trees):
    """Fit weald's forest; also return the rows to predict."""
    X, y, X_test, _ = data.load(name, n_rows)
    model = measure.make_forest("weald", "classes", n_estimators=n_trees, n_jobs=measure.CORES, random_state=0)
    model.fit(X, y).set_params(n_jobs=1)
    return model, np.ascontiguousarray(X_test[:N_BATCH], dtype=np.float64)


def export_once(name, n_rows, n_trees, form):
    model, X = grown(name, n_rows, n_trees)
    with tempfile.TemporaryDirectory() as folder:
        found = FORMS[form](model, Path(folder), X)
    return {**found, "n_nodes": model.forest_.n_nodes, "n_rows": len(X)}


def read_sklearn(name, n_rows, n_trees):
    """Return the seconds to convert a forest of scikit-learn, and the prediction times of both."""
    from sklearn.ensemble import RandomForestClassifier

    from weald import from_sklearn

    X, y, X_test, _ = data.load(name, n_rows)
    theirs = RandomForestClassifier(n_trees, n_jobs=measure.CORES, random_state=0).fit(X, y).set_params(n_jobs=1)
    ours, parity = from_sklearn(theirs, return_parity=True)
    ours.set_params(n_jobs=1)
    rows = np.ascontiguousarray(X_test[:N_BATCH], dtype=np.float64)
    equal = bool(np.array_equal(ours.predict_proba(rows), theirs.predict_proba(rows)))
    read = measure.clock(lambda: from_sklearn(theirs, check=False))
    pair = [time_rows(model.predict_proba, rows) for model in (theirs, ours)]
    return {"read": read, "pair": pair, "equal": equal and parity.is_exact, "n_nodes": ours.forest_.n_nodes}


TEXT = """\
A forest of {n_trees} trees and {n_nodes:,} nodes ({title}, {n_features} features, {n_classes} classes). "Ready" is the
time to load the model, or to compile it for C; predictions run on one thread.

{exports}

A forest grown by scikit-learn on the same rows ({n_theirs:,} nodes), converted in {read} s, one thread{equal}:

{sklearn}

{repeats}, `benchmarks/files/exports.py`, {machine}."""


def best(given, function, *arguments):
    """Measure several times, each in a new process, and keep the best of each figure."""
    runs = [measure.afresh(function, *arguments) for _ in range(given.repeats)]
    return {key: value if value is None else min(run[key] for run in runs) for key, value in runs[0].items()}


def export_rows(found):
    for form, of in found.items():
        times = [
            "" if of[key] is None else f"{measure.digits(of[key])} {unit}"
            for key, unit in (("one", "µs"), ("batch", "ms"))
        ]
        yield [
            form,
            f"{measure.digits(of['write'])} s",
            f"{of['bytes'] / 1e6:.1f} MB",
            f"{measure.digits(of['ready'])} s",
            *times,
        ]


def main():
    parser = measure.options(__doc__, PAGE)
    parser.add_argument("--data", default="cover")
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args()
    name, n_rows, n_trees = ("small", 500, 3) if given.quick else (given.data, given.rows, given.trees)
    split = data.load(name, n_rows)
    found = {}
    for form in FORMS:
        found[form] = best(given, export_once, name, n_rows, n_trees, form)
        measure.say(form, found[form])
    read = measure.afresh(read_sklearn, name, n_rows, n_trees)
    measure.say("from_sklearn", read)
    n_batch = next(iter(found.values()))["n_rows"]
    header = ["", "write", "size", "ready", "one row", f"{n_batch:,} rows"]
    pairs = [
        [who, f"{measure.digits(of['one'])} µs", f"{measure.digits(of['batch'])} ms"]
        for who, of in zip(("scikit-learn", "weald"), read["pair"], strict=True)
    ]
    text = TEXT.format(
        n_trees=n_trees,
        n_nodes=next(iter(found.values()))["n_nodes"],
        title=data.DATA_SETS[name].title,
        n_features=split.X_train.shape[1],
        n_classes=len(np.unique(split.y_train)),
        exports=measure.markdown(header, export_rows(found)),
        n_theirs=read["n_nodes"],
        read=measure.digits(read["read"]),
        equal=", all probabilities equal" if read["equal"] else "",
        sklearn=measure.markdown(["", "one row", f"{n_batch:,} rows"], pairs),
        repeats=measure.best_of(given),
        machine=measure.describe_machine("weald", "scikit-learn", "onnx", "onnxruntime", "treelite"),
    )
    measure.publish(given, "exports", text)


if __name__ == "__main__":
    main()
