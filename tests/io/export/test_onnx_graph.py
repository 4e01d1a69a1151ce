"""The ONNX model passes the checker, and onnxruntime predicts the same bits for all thread counts and batch sizes."""

import json
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx.reference import ReferenceEvaluator

import weald
from tests.io.export.models import MODELS, fitted, make_frame, make_table
from weald.io.export.parity import answer, rows_to_compare


def open_session(export, n_threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(export.model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_predicts_the_same_bits_at_the_edges_of_leaves(name, tmp_path):
    export = fitted(name).to_onnx(tmp_path / "forest.onnx")
    assert export.parity.is_exact, str(export)
    assert export.parity.n_rows == 1000
    onnx.checker.check_model(export.model, full_check=True)
    assert (tmp_path / "forest.onnx").read_bytes() == export.model.SerializeToString()


@pytest.mark.parametrize("name", ["two classes", "categories", "categories in regression"])
def test_columns_may_be_given_one_by_one_with_their_labels(name):
    export = fitted(name).to_onnx(columns=True)
    assert export.parity.is_exact, str(export)
    onnx.checker.check_model(export.model, full_check=True)


def test_a_frame_goes_in_column_by_column():
    frame = make_frame()[0]
    frame["few"] = frame["few"].cat.add_categories("?").fillna("?")  # not a label of the model: missing
    model, session = fitted("categories"), open_session(fitted("categories").to_onnx(columns=True))
    kinds = {"number": float, "few": object, "many": object, "grade": object, "flag": float}
    feed = {name: frame[[name]].astype(kind).to_numpy() for name, kind in kinds.items()}
    label, probabilities = session.run(None, feed)
    assert np.array_equal(probabilities, model.predict_proba(make_frame()[0]))
    assert label.tolist() == model.predict(make_frame()[0]).tolist()


def test_a_column_may_not_have_the_name_of_a_result():
    X, y = make_table(n_classes=2)
    names = ["a", "b", "c", "d", "e", "label"]
    model = weald.DecisionTreeClassifier(max_depth=2).fit(pd.DataFrame(X, columns=names), y)
    with pytest.raises(weald.ExportError, match="called 'label'"):
        model.to_onnx(columns=True)
    assert model.to_onnx().parity.is_exact


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("name", ["leaves of several classes", "regression"])
def test_neither_threads_nor_the_batch_change_a_bit(name, n_threads):
    model = fitted(name)
    rows, session = rows_to_compare(model, None), open_session(model.to_onnx(check=False), n_threads)
    ours = answer(model, rows)
    assert np.array_equal(session.run(None, {"X": rows})[-1], ours)
    for begin in range(0, 40, 7):
        assert np.array_equal(session.run(None, {"X": rows[begin : begin + 7]})[-1], ours[begin : begin + 7])


@pytest.mark.parametrize("name", ["two classes", "small regression"])
def test_the_reference_of_onnx_itself_agrees(name):
    model = fitted(name)
    rows = rows_to_compare(model, None)[:30]
    assert np.array_equal(ReferenceEvaluator(model.to_onnx().model).run(None, {"X": rows})[-1], answer(model, rows))


@pytest.mark.parametrize(
    "labels",
    [[False, True], [3, -(2**40)], [1.0, 7.0], ["ja", "größe"], np.array([0, 2**63], dtype=np.uint64)],
    ids=str,
)
def test_labels_are_those_of_the_classes(labels):
    X, y = make_table(n_classes=2)
    model = weald.RandomForestClassifier(3, random_state=0).fit(X, np.array(labels)[y])
    (label, _) = open_session(model.to_onnx()).run(None, {"X": X})
    predicted = model.predict(X).tolist()
    assert label.tolist() == ([str(p) for p in predicted] if max(map(str, labels)) == str(2**63) else predicted)


def test_the_file_knows_features_categories_and_the_forest():
    model = fitted("categories")
    known = {entry.key: entry.value for entry in model.to_onnx(check=False).model.metadata_props}
    assert known["fingerprint"] == model.forest_.fingerprint()
    assert json.loads(known["features"]) == make_frame()[0].columns.tolist()
    assert json.loads(known["categories"]) == [None if c is None else c.tolist() for c in model.categories_]


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(weald.ExportError, match=r"to_onnx needs onnx, which is not installed.*pip install onnx"):
        fitted("one leaf").to_onnx()


def test_without_onnxruntime_it_can_be_written_unchecked(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(weald.ExportError, match=r"needs onnxruntime.*check=False"):
        fitted("one leaf").to_onnx()
    assert not fitted("one leaf").to_onnx(check=False).parity.is_exact


@pytest.mark.parametrize("name", ["", "/leaves", "/numbers of kind", "/classes", "label", "X", "\ud800"])
def test_names_that_the_model_cannot_hold_are_refused(name):
    X = np.random.default_rng(0).normal(size=(20, 1))
    columns = pd.Index([name, "kind"], dtype=object)
    table = pd.DataFrame({0: X[:, 0], 1: pd.Categorical(["a", "b"] * 10)}).set_axis(columns, axis=1)
    tree = weald.DecisionTreeClassifier().fit(table, ["u", "v"] * 10)
    with pytest.raises(weald.ExportError, match=r"A column of X is called|half a character"):
        tree.to_onnx(columns=True)
    assert tree.to_onnx().parity.consumer


def test_half_characters_are_refused():
    y = np.array(["\ud800", "b"] * 10, dtype=object)
    tree = weald.DecisionTreeClassifier().fit(np.arange(20.0).reshape(-1, 1), y)
    with pytest.raises(
        weald.ExportError, match=r"'\\ud800' contains half a character \(a surrogate\) at 0, which ONNX"
    ):
        tree.to_onnx()
