"""A file of JavaScript predicts the same bits in Node.js and in a browser, and refuses rows that are not rows."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import weald
from tests.browser import needs_browser, open_page
from tests.io.export.models import MODELS, fitted, make_frame
from weald.io.export import js_code
from weald.io.export.parity import answer, rows_to_compare

pytestmark = pytest.mark.skipif(not (shutil.which("node") or shutil.which("nodejs")), reason="there is no Node.js")


@pytest.mark.parametrize("name", MODELS)
def test_the_file_predicts_the_same_bits_at_the_edges_of_leaves(name, tmp_path):
    export = fitted(name).to_js(tmp_path / "forest.js")
    assert export.parity.is_exact, str(export)
    assert export.parity.n_rows == 1000
    assert (tmp_path / "forest.js").read_text() == export.model


def node(folder, code, name="run.mjs"):
    (folder / name).write_text(code, encoding="utf-8")
    done = subprocess.run(
        [js_code.find_node(), name], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def written(rows):
    """Write rows of numbers as JavaScript."""
    return json.dumps(rows.tolist())  # with NaN and Infinity, as in JavaScript


def test_a_module_and_a_script_have_the_same_object(tmp_path):
    model = fitted("leaves of several classes")
    rows = rows_to_compare(model, None)[:50]
    (tmp_path / "forest.mjs").write_text(model.to_js(check=False).model)
    (tmp_path / "iris.cjs").write_text(model.to_js(check=False, name="iris", module=False).model)
    use = f"console.log(JSON.stringify({written(rows)}.map((x) => FOREST.predictProba(x))));"
    of_module = node(tmp_path, f'import forest from "./forest.mjs";\n{use}'.replace("FOREST", "forest"))
    run = f'require("vm").runInThisContext(require("fs").readFileSync("iris.cjs", "utf8"));\n{use}'
    of_script = node(tmp_path, run.replace("FOREST", "globalThis.iris"), "run.cjs")
    assert of_module == of_script == model.predict_proba(rows).tolist()


@needs_browser
def test_a_page_predicts_the_same_bits(tmp_path):
    model = fitted("categories")
    frame = make_frame()[0][:40]
    script = model.to_js(check=False, module=False).model
    rows = json.dumps(frame.astype(object).where(frame.notna(), None).to_dict(orient="records"))
    page = f"""<!doctype html><meta charset="utf-8"><pre id="out"></pre><script>{script}</script><script>
    const found = {rows}.map((x) => [forest.predict(x), ...forest.predictProba(x)]);
    document.getElementById("out").textContent = JSON.stringify(found);
    </script>"""
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    dom, console = open_page(file, tmp_path / "profile")
    assert console == []
    found = json.loads(html.unescape(re.search(r'<pre id="out">(.*?)</pre>', dom, re.DOTALL)[1]))
    assert [row[0] for row in found] == model.predict(frame).tolist()
    assert np.array_equal([row[1:] for row in found], model.predict_proba(frame))


HOSTILE = [
    "__proto__",
    "constructor",
    "</script><script>alert(1)</script>",
    "`${1}`",
    "\\u0041\\",
    '"',
    "\u2028",
    "*/ x",
    "é",
    "\ud800",
]


def test_hostile_names_and_labels_stay_names_and_labels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=200) for name in HOSTILE[:-1]})
    frame["kind"] = pd.Categorical([HOSTILE[i] for i in rng.integers(0, len(HOSTILE) - 1, 200)])
    y = np.array(HOSTILE, dtype=object)[
        (frame["kind"].cat.codes.to_numpy() + (frame["constructor"] > 0)) % len(HOSTILE)
    ]
    model = weald.RandomForestClassifier(8, max_features=None, random_state=0).fit(frame, y)
    export = model.to_js(X=frame)
    assert export.parity.is_exact
    assert "</script" not in export.model
    assert export.model.isascii()


def test_rows_are_arrays_or_objects_and_unknown_labels_are_missing(tmp_path):
    model = fitted("categories in regression")
    (tmp_path / "forest.mjs").write_text(model.to_js(check=False).model)
    rows = [[None] * 5, [0.5, "größe", "place 3", "high", True], [-1.0, "new", "place 149", None, False]]
    code = f"""import forest from "./forest.mjs";
    const rows = {json.dumps(rows)};
    const named = rows.map((x) => Object.fromEntries(x.map((v, f) => [forest.features[f], v])));
    const typed = [[NaN, null, null, null, null]];
    console.log(JSON.stringify([rows, named, typed].map((some) => some.map((x) => forest.predict(x)))));"""
    of_arrays, of_objects, of_nan = node(tmp_path, code)
    with pytest.warns(UserWarning, match="category that does not occur"):
        expected = model.predict(pd.DataFrame(rows, columns=model.feature_names_in_).astype({"number": float})).tolist()
    assert of_arrays == of_objects == expected
    assert of_nan == expected[:1]


BAD = {
    "3": "x is not a row",
    "null": "x is not a row",
    "undefined": "x is not a row",
    "[]": "x has 0 values, but the model has 5 features",
    "[1, 2, 3, 4, 5, 6]": "x has 6 values",
    "['1', null, null, null, null]": 'the value of "number" is "1"; give a number, null if missing',
    "[undefined, null, null, null, null]": 'the value of "number" is undefined',
    "[[1], null, null, null, null]": 'the value of "number" is an object',
    "[1, 2, null, null, null]": 'the value of "few" is 2; give a label such as ""',
    "[1, null, null, null, 'yes']": 'the value of "flag" is "yes"; give a label such as false',
    "{number: 1}": 'x has no value for "few"; null is a missing value',
    "{nummer: 1}": 'x has "nummer", which is not a feature of the model',
    "new Map()": 'x has no value for "number"',
}


def test_bad_rows_are_refused_in_words(tmp_path):
    (tmp_path / "forest.mjs").write_text(fitted("categories").to_js(check=False).model)
    calls = ", ".join(f"() => forest.predict({x})" for x in BAD)
    code = f"""import forest from "./forest.mjs";
    const result = (call) => {{ try {{ return String(call()); }} catch (error) {{ return error.message; }} }};
    console.log(JSON.stringify([{calls}].map(result)));"""
    found = dict(zip(BAD, node(tmp_path, code), strict=True))
    assert {x: words for x, words in found.items() if not words.startswith(BAD[x])} == {}


@pytest.mark.parametrize("name", ["", "1st", "a-b", "forest;", "class", "await", "NaN", "Map", 3, None])
def test_names_that_javascript_does_not_allow_are_refused(name):
    with pytest.raises(weald.ParameterError, match="cannot be the name of a JavaScript object"):
        fitted("one leaf").to_js(name=name)


def test_flags_are_checked():
    for given in {"module": 1}, {"check": "yes"}:
        with pytest.raises(weald.ParameterError, match=next(iter(given))):
            fitted("one leaf").to_js(**given)


def test_numbers_that_javascript_rounds_are_refused():
    tree = weald.DecisionTreeClassifier().fit([[1.0], [2.0]], [2**60 + 1, 3])
    with pytest.raises(weald.ExportError, match="which is not exact as a double"):
        tree.to_js()


def test_a_wrong_answer_is_found(monkeypatch):
    monkeypatch.setattr(js_code, "answer", lambda model, rows: answer(model, rows) + np.eye(len(rows), 2))
    with pytest.raises(weald.ExportError, match="does not predict the same as weald: 2 of 2000 probabilities"):
        fitted("two classes").to_js()


def test_without_node_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(weald.ExportError, match=r"found no Node.js.*check=False"):
        fitted("one leaf").to_js()
    assert fitted("one leaf").to_js(check=False).parity.n_rows == 0


def test_models_that_are_not_one_forest_of_columns_are_refused():
    X = np.arange(20.0).reshape(-1, 2)
    two = weald.RandomForestRegressor(2, random_state=0).fit(X, X)
    with pytest.raises(weald.ExportError, match=re.escape("model.of_target(0).to_js(...)")):
        two.to_js()
    assert two.of_target(1).to_js().parity.is_exact
