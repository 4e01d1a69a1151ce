"""The file of C compiles without a warning, needs nothing else, and predicts the same bits."""

import ctypes
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import weald
from tests.io.export.models import MODELS, fitted, make_frame
from weald.io.export import c_code
from weald.io.export.parity import answer, rows_to_compare

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")


@pytest.mark.parametrize("name", MODELS)
def test_the_compiled_file_predicts_the_same_bits_at_the_edges_of_leaves(name, tmp_path):
    model = fitted(name)
    export = model.to_c(tmp_path / "forest.c")
    assert export.parity.is_exact, str(export)
    assert export.parity.n_rows == 1000
    assert (tmp_path / "forest.c").read_text() == export.model


def build(model, folder, name="forest"):
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(model.to_c(name=name, check=False).model)
    c_code.compile_c(c_code.find_compiler(), source, library)
    return ctypes.CDLL(str(library))


def pointer(row):
    return np.ascontiguousarray(row).ctypes.data_as(ctypes.POINTER(ctypes.c_double))


@pytest.mark.parametrize("name", ["two classes", "hard votes", "votes of different weight"])
def test_the_class_is_the_one_that_predict_says(name, tmp_path):
    model = fitted(name)
    rows = rows_to_compare(model, None)[:200]
    predict = build(model, tmp_path).forest_predict
    assert model.classes_[[predict(pointer(row)) for row in rows]].tolist() == model.predict(rows).tolist()


def test_labels_of_categories_are_looked_up(tmp_path):
    model = fitted("categories")
    category = build(model, tmp_path, "shop").shop_category
    category.restype = ctypes.c_double
    for f, categories in enumerate(model.schema_.categories):
        for number, label in enumerate([] if categories is None else categories.labels):
            assert category(f, str(label).encode()) == number
    assert np.isnan(category(1, b"unknown"))
    assert np.isnan(category(0, b"a number"))


def test_features_and_classes_have_their_names(tmp_path):
    library = build(fitted("categories"), tmp_path)
    classes = (ctypes.c_char_p * 2).in_dll(library, "forest_classes")
    features = (ctypes.c_char_p * 5).in_dll(library, "forest_features")
    assert list(classes) == [b"no", b"yes"]
    assert list(features) == [b"number", b"few", b"many", b"grade", b"flag"]


def test_several_forests_can_live_in_one_program(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(fitted("regression").to_c(name=name, check=False).model)
    main = "double one_predict(const double *);double two_predict(const double *);"
    main += "int main(void){double x[6]={0};return one_predict(x)!=two_predict(x);}"
    (tmp_path / "main.c").write_text(main)
    files = [str(tmp_path / f"{name}.c") for name in ("one", "two", "main")]
    subprocess.run([shutil.which("cc"), "-std=c99", *files, "-o", str(tmp_path / "main")], check=True, timeout=120)
    assert subprocess.run([str(tmp_path / "main")], check=False, timeout=120).returncode == 0


def test_rows_that_are_given_are_compared_too():
    frame = make_frame()[0][:50]
    assert fitted("categories").to_c(X=frame).parity.n_rows == 1050


def test_a_wrong_answer_is_found(monkeypatch):
    monkeypatch.setattr(c_code, "answer", lambda model, rows: answer(model, rows) + np.eye(len(rows), 2))
    with pytest.raises(weald.ExportError, match="does not predict the same as weald: 2 of 2000 probabilities"):
        fitted("two classes").to_c()


def test_without_a_compiler_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(weald.ExportError, match=r"found no C compiler.*check=False"):
        fitted("one leaf").to_c()
    assert fitted("one leaf").to_c(check=False).parity.n_rows == 0


@pytest.mark.parametrize("name", ["", "1st", "a-b", "forest;", 3])
def test_names_that_c_does_not_allow_are_refused(name):
    with pytest.raises(weald.ParameterError, match="cannot begin the names of C functions"):
        fitted("one leaf").to_c(name=name)


def test_sums_beyond_the_doubles_are_refused():
    model = weald.RandomForestRegressor(5, random_state=0).fit([[1.0], [2.0]], [1.7e308, -1.7e308])
    with pytest.raises(weald.ExportError, match="range of doubles"):
        model.to_c()


def test_a_categorical_column_that_was_all_missing_is_compiled():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "k": pd.Categorical([None] * 4, categories=["x", "y"])})
    model = weald.DecisionTreeClassifier().fit(X, [0, 1, 0, 1])
    assert model.to_c(check=True).parity


def test_half_characters_are_refused():
    y = np.array(["\ud800", "b"] * 10, dtype=object)
    tree = weald.DecisionTreeClassifier().fit(np.arange(20.0).reshape(-1, 1), y)
    with pytest.raises(weald.ExportError, match=r"'\\ud800' contains half a character \(a surrogate\) at 0, which C"):
        tree.to_c()
