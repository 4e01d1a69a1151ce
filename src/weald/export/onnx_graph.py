"""A forest as an ONNX model.

    write_onnx    fitted model -> bytes of the file, checked by onnxruntime

The operator is TreeEnsemble (ai.onnx.ml 5), whose thresholds and results are doubles; the older TreeEnsembleClassifier
answers in single precision. It adds leaves up in an order of its own, so each tree is given a target of its own, and
the sum over trees is a CumSum, which runs in tree order:

    X -> TreeEnsemble -> number of an answer by tree -> Gather -> shares by tree -> CumSum, the last -> Div
                                                                                                     -> ArgMax, Gather

For regression the trees say their means at once. Categories are numbers, and a set of them is BRANCH_MEMBER.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weald.errors import ExportError
from weald.export.answers import Answers, answers_of, refuse_overflow, require_exportable
from weald.export.packages import require
from weald.export.parity import Export, Parity, answer, compare, not_compared, rows_to_compare
from weald.model import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest, IntArray

OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10
LEQ, MEMBER = 0, 6  # modes of nodes
MOST_BYTES = 2**31 - 2**20  # what a file of protocol buffers may hold
LOST = ("how the model was fitted", "statistics of nodes: sizes, impurities, decreases")


def write_onnx(model: Any, path: Any, X: Any, *, check: bool) -> Export:
    """Write a model as ONNX; with `check`, let onnxruntime predict and compare."""
    forest = require_exportable(model, "to_onnx")
    refuse_overflow(forest)
    graph = _graph_of(model, forest)
    if graph.ByteSize() > MOST_BYTES:
        raise ExportError(
            f"The model would take {graph.ByteSize()} bytes, and ONNX files end at 2 GiB. Take fewer trees, for "
            "example model[:50], or write it as C."
        )
    written = graph.SerializeToString()
    lost = (*LOST, *_lost_labels(model))
    parity = _compare(model, written, X, lost) if check else not_compared(*lost)
    if path is not None:
        Path(path).write_bytes(written)
    return Export(graph, parity)


# ------------------------------------------------------------------------------------------------------- the graph


def _graph_of(model: Any, forest: Forest) -> Any:
    """Put the nodes together."""
    onnx = require("onnx", "to_onnx")
    from weald import __version__

    make, double = onnx.helper, onnx.TensorProto.DOUBLE
    answers = answers_of(model)
    constants = {"tree_axis": np.array(1), "last_tree": np.array(forest.n_trees - 1)}
    constants["divisor"] = np.array(float(answers.divisor))
    nodes = [_tree_ensemble(onnx, forest, answers)]
    by_tree = "by_tree"
    if forest.n_classes:
        constants |= {"answers": answers.dense(), "classes": label_tensor(model.classes_)}
        nodes += [
            make.make_node("Cast", ["by_tree"], ["answer_numbers"], to=onnx.TensorProto.INT64),
            make.make_node("Gather", ["answers", "answer_numbers"], ["shares_by_tree"]),
        ]
        by_tree = "shares_by_tree"
    nodes += [
        make.make_node("CumSum", [by_tree, "tree_axis"], ["sums_up_to_tree"]),
        make.make_node("Gather", ["sums_up_to_tree", "last_tree"], ["sums"], axis=1),
        make.make_node("Div", ["sums", "divisor"], ["probabilities" if forest.n_classes else "means"]),
    ]
    if forest.n_classes:
        nodes += [
            make.make_node("ArgMax", ["sums"], ["winners"], axis=1, keepdims=0),
            make.make_node("Gather", ["classes", "winners"], ["label"]),
        ]
        kind = onnx.helper.np_dtype_to_tensor_dtype(constants["classes"].dtype)
        outputs = [("label", kind, ["rows"]), ("probabilities", double, ["rows", forest.n_classes])]
    else:
        constants["new_axes"] = np.array([1])
        nodes.append(make.make_node("Unsqueeze", ["means", "new_axes"], ["prediction"]))
        outputs = [("prediction", double, ["rows", 1])]
    graph = make.make_graph(
        nodes,
        type(model).__name__,
        [make.make_tensor_value_info("X", double, ["rows", forest.n_features])],
        [make.make_tensor_value_info(*output) for output in outputs],
        [onnx.numpy_helper.from_array(constant, name) for name, constant in constants.items()],
    )
    opsets = [make.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    made = make.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="weald", producer_version=__version__
    )
    make.set_model_props(made, _properties(model))
    return made


def _tree_ensemble(onnx: Any, forest: Forest, answers: Answers) -> Any:
    """Write the trees. Only splits are nodes; tree t adds to target t what its leaf says."""
    is_split = forest.feature >= 0
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))
    said = answers.number.astype(np.float64) if forest.n_classes else answers.amount[answers.number]
    # What stands at each place: a split by its number among splits, a leaf by its number among leaves.
    at = np.where(is_split, np.cumsum(is_split), np.cumsum(~is_split)) - 1
    split = np.flatnonzero(is_split)
    left, right = split + 1, forest.tree_start[tree[split]] + forest.right[split]
    # True leads left, except where the categories of a set go right.
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
    lonely = roots[~is_split[roots]]  # a tree that is a leaf is a node that leads there, whatever is asked
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
        ["by_tree"],
        domain="ai.onnx.ml",
        n_targets=forest.n_trees,
        aggregate_function=1,  # the sum, of one leaf
        tree_roots=place.tolist(),
        nodes_modes=array(np.concatenate([modes, np.full(len(lonely), LEQ, dtype=np.uint8)])),
        nodes_splits=array(np.concatenate([splits, np.zeros(len(lonely))])),
        leaf_targetids=tree[~is_split].tolist(),
        leaf_weights=array(said),
        **{name: np.concatenate([column, more[name]]).astype(np.int64).tolist() for name, column in columns.items()},
        **sets,
    )


def _questions(
    forest: Forest, split: IntArray, is_set: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Modes and thresholds of splits, and the members of sets, each set closed by NaN.

    A set without members divides present values from missing ones; ONNX asks for it by a threshold: nothing is at most
    minus infinity.
    """
    length = np.diff(forest.category_start)
    is_empty = np.zeros(len(split), dtype=bool)
    is_empty[is_set] = length == 0
    modes = np.where(is_set & ~is_empty, MEMBER, LEQ).astype(np.uint8)
    splits = np.where(is_set, np.where(is_empty, -np.inf, 0.0), forest.threshold[split])
    full = forest.category_start[1:][length > 0]
    return modes, splits, np.insert(forest.category_sets.astype(np.float64), full, np.nan)


def label_tensor(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Write labels as ONNX can hold them: truth values, whole numbers, doubles or text."""
    kind = classes.dtype.kind
    if kind == "b":
        return classes
    if kind in "iu" and (len(classes) == 0 or classes.max() < 2**63):
        return classes.astype(np.int64)
    if kind == "f":
        return classes.astype(np.float64)
    return np.array([str(label) for label in classes.tolist()], dtype=object)


def _lost_labels(model: Any) -> list[str]:
    """Say which labels are not what they were."""
    if not model.forest_.n_classes or model.classes_.dtype.kind in "biufU":
        return []
    return (
        [] if all(isinstance(c, str) for c in model.classes_.tolist()) else ["types of class labels: they become text"]
    )


def _properties(model: Any) -> dict[str, str]:
    """What a reader of the file may want to know: names, and the labels of categories by their numbers."""
    schema = model.schema_
    known: dict[str, str] = {"fingerprint": model.forest_.fingerprint()}
    if schema.names is not None:
        known["features"] = json.dumps(list(schema.names))
    if any(c is not None for c in schema.categories):
        known["categories"] = json.dumps([c if c is None else c.labels.tolist() for c in schema.categories])
    return known


# ------------------------------------------------------------------------------------------------------- the check


def _compare(model: Any, written: bytes, X: Any, lost: tuple[str, ...]) -> Parity:
    """Let onnxruntime predict rows at the edges of leaves."""
    onnxruntime = require("onnxruntime", "to_onnx", "or set check=False to write the file unchecked")
    rows, forest = rows_to_compare(model, X), model.forest_
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": rows})
    ours = answer(model, rows)
    consumer = f"onnxruntime {onnxruntime.__version__}"
    if not forest.n_classes:
        return compare(consumer, "predictions", ours, found[0], 0.0, *lost)
    labels = label_tensor(model.classes_)[ours.argmax(axis=1)]
    if labels.tolist() != found[0].tolist():
        raise ExportError(f"{consumer} does not choose the classes that weald does. Try another version of it.")
    return compare(consumer, "probabilities", ours, found[1], 0.0, *lost)
