"""A forest as an ONNX model.

    write_onnx    fitted model -> bytes of the file, checked by onnxruntime

The operator is TreeEnsemble (ai.onnx.ml 5), whose thresholds and results are doubles; the older TreeEnsembleClassifier
has single precision. It sums leaves in an unspecified order, so each tree is a separate target, and
the sum over trees is a CumSum, which runs in tree order:

    X -> TreeEnsemble -> number of a leaf value by tree -> Gather -> values by tree -> CumSum, the last -> Div
                                                                                                     -> ArgMax, Gather

In regression, the leaves hold the means. Categories are numbers, and a set of them is BRANCH_MEMBER. With an
input for each column, labels become numbers first (LabelEncoder), and columns become X (Concat).
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, Label, Native, TableLike
from weald.errors import ExportError
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.io.atomic import PathLike, write_file
from weald.io.export.leaf_values import LeafValues, answers_of, refuse_overflow, require_exportable, utf8
from weald.io.export.packages import require
from weald.io.export.parity import Export, Parity, answer, compare, lost_uncertainty, not_compared, rows_to_compare

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

Described: TypeAlias = tuple[str, Native, Sequence[str | int]]  # an input or output: name, type and shape

OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10
LEQ, MEMBER = 0, 6  # modes of nodes
MOST_BYTES = 2**31 - 2**20  # maximum size of a protocol-buffer file
LOST = ("how the model was fitted", "statistics of nodes: sizes, impurities, decreases")


def write_onnx(model: "TreeModel", path: PathLike | None, X: TableLike, *, columns: bool, check: bool) -> Export:
    """Write a model as ONNX; with `check`, let onnxruntime predict and compare."""
    forest = require_exportable(model, "to_onnx")
    refuse_overflow(forest)
    graph = _graph_of(model, forest, columns=columns)
    if graph.ByteSize() > MOST_BYTES:
        raise ExportError(
            f"The model would take {graph.ByteSize()} bytes, but ONNX files are limited to 2 GiB. Take fewer trees, "
            "for example model[:50], or export it as C."
        )
    written = graph.SerializeToString()
    lost = (*LOST, *lost_uncertainty(model), *_lost_labels(model))
    parity = _compare(model, written, X, lost, columns=columns) if check else not_compared(*lost)
    if path is not None:
        write_file(path, [written])
    return Export(graph, parity)


# ------------------------------------------------------------------------------------------------------- the graph


def _graph_of(model: "TreeModel", forest: Forest, *, columns: bool) -> Native:
    """Build the graph."""
    onnx = require("onnx", "to_onnx")
    from weald import __version__

    make, double = onnx.helper, onnx.TensorProto.DOUBLE
    answers = answers_of(model)
    inputs, reading = _columns(onnx, model) if columns else ([("X", double, ["rows", forest.n_features])], [])
    summing, outputs, constants = _sums(onnx, model, forest, answers)
    nodes = [*reading, _tree_ensemble(onnx, forest, answers), *summing]
    if columns:
        _check_names([name for name, *_ in inputs], {*constants, *(name for node in nodes for name in node.output)})
    graph = make.make_graph(
        nodes,
        type(model).__name__,
        [make.make_tensor_value_info(*entry) for entry in inputs],
        [make.make_tensor_value_info(*entry) for entry in outputs],
        [onnx.numpy_helper.from_array(constant, name) for name, constant in constants.items()],
    )
    opsets = [make.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    made = make.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="weald", producer_version=__version__
    )
    make.set_model_props(made, _properties(model))
    return made


def _columns(onnx: Native, model: "TreeModel") -> tuple[list[Described], list[Native]]:
    """Return one input per column, and the nodes that convert them to X. Unknown labels are missing values."""
    make, array = onnx.helper, onnx.numpy_helper.from_array
    inputs: list[Described] = []
    nodes, parts = [], []
    for name, categories in zip(column_names(model), model.schema_.categories, strict=True):
        labels = None if categories is None else label_keys(categories.labels)
        kind = onnx.TensorProto.STRING if labels is not None and labels.dtype == object else onnx.TensorProto.DOUBLE
        inputs.append((name, kind, ["rows", 1]))
        parts.append(name if labels is None else f"/numbers of {name}")
        if labels is not None:
            nodes.append(
                make.make_node(
                    "LabelEncoder",
                    [name],
                    parts[-1:],
                    domain="ai.onnx.ml",
                    keys_tensor=array(labels),
                    values_tensor=array(np.arange(len(labels), dtype=np.float64)),
                    default_tensor=array(np.array([np.nan])),
                )
            )
    return inputs, [*nodes, make.make_node("Concat", parts, ["X"], axis=1)]


def column_names(model: "TreeModel") -> list[str]:
    """Return the names of the inputs, one per column."""
    names = list(model.schema_.names or (f"x{f}" for f in range(model.n_features_in_)))
    for name in names:
        utf8(name, "ONNX")
    return names


def label_keys(labels: Array) -> Array:
    """Convert the labels of a column to text, or to doubles if all are numbers or booleans."""
    listed = labels.tolist()
    if all(isinstance(label, int | float) for label in listed):
        return np.array(listed, dtype=np.float64)
    return _texts(listed)


def _check_names(columns: list[str], own: set[str]) -> None:
    """Refuse column names that ONNX does not support, or that the model itself uses."""
    for name in columns:
        if name == "" or name in own:
            why = "which ONNX does not support" if name == "" else "a name that the ONNX model uses itself"
            raise ExportError(
                f"A column of X is called {name!r}, {why}. Rename the column and fit again, or set columns=False."
            )


def _sums(
    onnx: Native, model: "TreeModel", forest: Forest, answers: LeafValues
) -> tuple[list[Native], list[Described], dict[str, Array]]:
    """Sum the predictions of the trees in tree order: nodes, outputs and constants."""
    make, double = onnx.helper.make_node, onnx.TensorProto.DOUBLE
    by_tree = "/shares" if forest.task is Task.CLASSIFICATION else "/leaves"
    constants = {"/tree axis": np.array(1), "/last tree": np.array(forest.n_trees - 1)}
    constants["/divisor"] = np.array(float(answers.divisor))
    sums = [
        make("CumSum", [by_tree, "/tree axis"], ["/sums up to tree"]),
        make("Gather", ["/sums up to tree", "/last tree"], ["/sums"], axis=1),
    ]
    if forest.task is Task.REGRESSION:
        constants["/new axis"] = np.array([1])
        nodes = [
            *sums,
            make("Div", ["/sums", "/divisor"], ["/means"]),
            make("Unsqueeze", ["/means", "/new axis"], ["prediction"]),
        ]
        return nodes, [("prediction", double, ["rows", 1])], constants
    constants |= {"/answers": answers.dense(), "/classes": label_tensor(model.classes_)}
    nodes = [
        make("Cast", ["/leaves"], ["/answer numbers"], to=onnx.TensorProto.INT64),
        make("Gather", ["/answers", "/answer numbers"], [by_tree]),
        *sums,
        make("Div", ["/sums", "/divisor"], ["probabilities"]),
        make("ArgMax", ["/sums"], ["/winners"], axis=1, keepdims=0),
        make("Gather", ["/classes", "/winners"], ["label"]),
    ]
    kind = onnx.helper.np_dtype_to_tensor_dtype(constants["/classes"].dtype)
    outputs: list[Described] = [("label", kind, ["rows"]), ("probabilities", double, ["rows", forest.n_classes])]
    return nodes, outputs, constants


def _tree_ensemble(onnx: Native, forest: Forest, answers: LeafValues) -> Native:
    """Write the trees. Only splits are nodes; tree t adds its leaf's value to target t."""
    is_split = forest.feature >= 0
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))
    numbers = (
        answers.number.astype(np.float64) if forest.task is Task.CLASSIFICATION else answers.amount[answers.number]
    )
    # Each node's number: that of a split among the splits, that of a leaf among the leaves.
    at = np.where(is_split, np.cumsum(is_split), np.cumsum(~is_split)) - 1
    split = np.flatnonzero(is_split)
    left, right = split + 1, forest.tree_start[tree[split]] + forest.right[split]
    # True leads left, except for sets whose categories go right.
    is_set = forest.flags[split] & CATEGORICAL != 0
    is_turned = is_set & (forest.flags[split] & OTHERS_LEFT != 0)
    true, false = np.where(is_turned, right, left), np.where(is_turned, left, right)
    modes, splits, members = _questions(forest, split, is_set)
    columns = {
        "nodes_featureids": forest.feature[split],
        "nodes_truenodeids": at[true],
        "nodes_trueleafs": ~is_split[true],
        "nodes_falsenodeids": at[false],
        "nodes_falseleafs": ~is_split[false],
        "nodes_missing_value_tracks_true": (forest.flags[split] & MISSING_LEFT != 0) != is_turned,
    }
    roots = forest.tree_start[:-1]
    lonely = roots[~is_split[roots]]  # a tree without splits becomes a node with the same leaf on both sides
    ends = {"nodes_truenodeids": at[lonely], "nodes_falsenodeids": at[lonely]}
    leads = {"nodes_trueleafs": 1, "nodes_falseleafs": 1}
    more = {name: ends.get(name, np.full(len(lonely), leads.get(name, 0))) for name in columns}
    place = at[roots].copy()
    place[~is_split[roots]] = len(split) + np.arange(len(lonely))
    array = onnx.numpy_helper.from_array
    sets = {"membership_values": array(members)} if len(members) else {}
    return onnx.helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["/leaves"],
        domain="ai.onnx.ml",
        n_targets=forest.n_trees,
        aggregate_function=1,  # aggregation SUM, over a single leaf
        tree_roots=place.tolist(),
        nodes_modes=array(np.concatenate([modes, np.full(len(lonely), LEQ, dtype=np.uint8)])),
        nodes_splits=array(np.concatenate([splits, np.zeros(len(lonely))])),
        leaf_targetids=tree[~is_split].tolist(),
        leaf_weights=array(numbers),
        **{name: np.concatenate([column, more[name]]).astype(np.int64).tolist() for name, column in columns.items()},
        **sets,
    )


def _questions(
    forest: Forest, split: IntArray, is_set: BoolArray
) -> tuple[npt.NDArray[np.uint8], FloatArray, FloatArray]:
    """Return modes and thresholds of splits, and the members of sets, each set closed by NaN.

    A set without members separates present values from missing ones. In ONNX it is a threshold: no value is at most
    minus infinity.
    """
    length = np.diff(forest.category_start)
    is_empty = np.zeros(len(split), dtype=bool)
    is_empty[is_set] = length == 0
    modes = np.where(is_set & ~is_empty, MEMBER, LEQ).astype(np.uint8)
    splits = np.where(is_set, np.where(is_empty, -np.inf, 0.0), forest.threshold[split])
    full = forest.category_start[1:][length > 0]
    return modes, splits, np.insert(forest.category_sets.astype(np.float64), full, np.nan)


def label_tensor(classes: Array) -> Array:
    """Convert labels to types that ONNX supports: booleans, integers, doubles or text."""
    kind = classes.dtype.kind
    if kind == "b":
        return classes
    if kind in "iu" and (len(classes) == 0 or classes.max() < 2**63):
        return classes.astype(np.int64)
    if kind == "f":
        return classes.astype(np.float64)
    return _texts(classes.tolist())


def _texts(labels: list[Label]) -> Array:
    """Convert labels to text."""
    texts = [str(label) for label in labels]
    for text in texts:
        utf8(text, "ONNX")
    return np.array(texts, dtype=object)


def _lost_labels(model: "TreeModel") -> list[str]:
    """Describe the conversion of labels."""
    if model.forest_.task is Task.REGRESSION or model.classes_.dtype.kind in "biufU":
        return []
    return (
        [] if all(isinstance(c, str) for c in model.classes_.tolist()) else ["types of class labels: they become text"]
    )


def _properties(model: "TreeModel") -> dict[str, str]:
    """Return metadata for readers of the file: names, and the labels of categories by number."""
    schema = model.schema_
    known: dict[str, str] = {"fingerprint": model.forest_.fingerprint()}
    if schema.names is not None:
        known["features"] = json.dumps(list(schema.names))
    if any(c is not None for c in schema.categories):
        known["categories"] = json.dumps([c if c is None else c.labels.tolist() for c in schema.categories])
    return known


# ------------------------------------------------------------------------------------------------------- the check


def _compare(model: "TreeModel", written: bytes, X: TableLike, lost: tuple[str, ...], *, columns: bool) -> Parity:
    """Predict rows at the edges of leaves with onnxruntime."""
    onnxruntime = require("onnxruntime", "to_onnx", "or set check=False to write the file unchecked")
    rows, forest = rows_to_compare(model, X), model.forest_
    if columns:
        rows = _only_labels(model, rows)
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    found = session.run(None, feed_columns(model, rows) if columns else {"X": rows})
    ours = answer(model, rows)
    consumer = f"onnxruntime {onnxruntime.__version__}"
    if forest.task is Task.REGRESSION:
        return compare(consumer, "predictions", ours, found[0], 0.0, *lost)
    labels = label_tensor(model.classes_)[ours.argmax(axis=1)]
    if labels.tolist() != found[0].tolist():
        raise ExportError(f"{consumer} does not predict weald's classes. Do not use this export; try another version.")
    return compare(consumer, "probabilities", ours, found[1], 0.0, *lost)


def _only_labels(model: "TreeModel", rows: FloatArray) -> FloatArray:
    """Replace values between the numbers of ordered categories by missing ones: they have no label."""
    for f, categories in enumerate(model.schema_.categories):
        if categories is not None:
            rows[~np.isin(rows[:, f], np.arange(len(categories.labels))), f] = np.nan
    return rows


def feed_columns(model: "TreeModel", rows: FloatArray) -> dict[str, Array]:
    """Convert rows of numbers to columns with labels; a missing value becomes text that is no label, or NaN."""
    feed = {}
    for f, (name, categories) in enumerate(zip(column_names(model), model.schema_.categories, strict=True)):
        column = rows[:, f : f + 1]
        if categories is not None:
            keys = label_keys(categories.labels)
            nothing = np.nan if keys.dtype != object else max(keys, key=len) + "?"
            keys = np.append(keys, nothing).astype(keys.dtype)
            column = keys[np.where(np.isnan(column), len(keys) - 1, column).astype(np.int64)]
        feed[name] = column
    return feed
