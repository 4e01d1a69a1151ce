"""A forest as one file of JavaScript, without dependencies: a module, or a classic script.

    write_js    fitted model -> text of the file, checked by running it in Node.js

The tables are the same as in C (see `node_tables`), as typed arrays. Sums run in tree order, in doubles, with weald's
results bit for bit. Rows have labels of categories, not numbers; the file looks them up.
"""

import itertools
import json
import math
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weald.data.schema import Categories
from weald.data.task import Task
from weald.data.types import FloatArray, TableLike
from weald.errors import ExportError, ParameterError, shown
from weald.estimators.prediction import sum_votes
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.io.atomic import PathLike, write_file
from weald.io.export.label_kinds import kind_of_labels
from weald.io.export.leaf_values import LeafValues, answers_of, refuse_overflow, require_exportable
from weald.io.export.node_tables import tables_of
from weald.io.export.parity import (
    Export,
    Parity,
    answer,
    compare,
    compared_values,
    lost_uncertainty,
    not_compared,
    rows_to_compare,
)

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LOST = ("how the model was fitted", "statistics of nodes: sizes, impurities, decreases")
MOST_NODES = 2**22  # longer array literals are slow to parse
RESERVED = """
await break case catch class const continue debugger default delete do else enum export extends false finally for
function if implements import in instanceof interface let new null package private protected public return static super
switch this throw true try typeof undefined var void while with yield arguments eval
Array ArrayBuffer Float64Array Infinity JSON Map NaN Number Object RangeError Set String TypeError Uint32Array
Uint8Array
"""  # the last two lines: names that the file uses

FILE = """\
/* {title}
 *
 * Written by weald {version}. Fingerprint of the forest:
 * {fingerprint}
 *
 *     {name}.predict(x)         {predicts}
{signatures} *
 * x is an array of {n_features} values, in the order of {name}.features, or an object that has them by name.
 * A value is a number, or the label of a category; null and NaN are missing values, and so are unknown categories.
 */
{declare} {name} = (() => {{
"use strict";
const features = {features};
const categories = [{categories}];
const classes = {classes};

/* Conditions: x[feature] <= threshold? Flags: {missing_left} missing values go left, {categorical} threshold is the
 * number of a set of categories, {others_left} categories that are not in the set go left. */
const threshold = new Float64Array([
{threshold}]);
const feature = new Uint32Array([
{feature}]);
const flags = new Uint8Array([
{flags}]);
const sets = [
{sets}].map((set) => new Set(set));

/* Three numbers per node: its condition, left, right. Left and right below {n_places} are nodes, otherwise
 * {n_places} + a leaf value. */
const nodes = new Uint32Array([
{nodes}]);
const roots = new Uint32Array([
{roots}]);

/* Leaf value i adds amount[j] to sum[which[j]], for j from start[i] up to start[i + 1]. */
const start = new Uint32Array([
{start}]);
const which = new Uint32Array([
{which}]);
const amount = new Float64Array([
{amount}]);

const numbers = categories.map((labels) => labels && new Map(labels.map((label, i) => [label, i])));
const names = new Set(features);

function read(value, f) {{
  if (value === null) return NaN;
  const table = numbers[f], name = JSON.stringify(features[f]);
  if (table === null) {{
    if (typeof value === "number") return value;
    if (typeof value === "boolean") return Number(value);
    throw new TypeError(`the value of ${{name}} is ${{shown(value)}}; give a number, null if missing`);
  }}
  if (typeof value === "number" && value !== value) return NaN;
  if (categories[f].length > 0 && typeof value !== typeof categories[f][0]) {{
    const such = shown(categories[f][0]);
    throw new TypeError(`the value of ${{name}} is ${{shown(value)}}; give a label such as ${{such}}, null if missing`);
  }}
  const number = table.get(value);
  return number === undefined ? NaN : number;
}}

function shown(value) {{
  return typeof value === "string" ? JSON.stringify(value) : typeof value === "object" ? "an object" : String(value);
}}

function row(x) {{
  if (x === null || typeof x !== "object") throw new TypeError("x is not a row; give an array or an object");
  const out = new Float64Array(features.length);
  if (Array.isArray(x) || ArrayBuffer.isView(x)) {{
    if (x.length !== features.length) {{
      throw new RangeError(`x has ${{x.length}} values, but the model has ${{features.length}} features`);
    }}
    for (let f = 0; f < out.length; ++f) out[f] = read(x[f], f);
    return out;
  }}
  for (const name of Object.keys(x)) {{
    if (!names.has(name)) throw new RangeError(`x has ${{JSON.stringify(name)}}, which is not a feature of the model`);
  }}
  for (let f = 0; f < out.length; ++f) {{
    if (!Object.prototype.hasOwnProperty.call(x, features[f])) {{
      throw new RangeError(`x has no value for ${{JSON.stringify(features[f])}}; null is a missing value`);
    }}
    out[f] = read(x[features[f]], f);
  }}
  return out;
}}

function goesLeft(condition, x) {{
  const value = x[feature[condition]], flag = flags[condition];
  if (value !== value) return (flag & {missing_left}) !== 0;
  if (flag & {categorical}) return ((flag & {others_left}) !== 0) !== sets[threshold[condition]].has(value);
  return value <= threshold[condition];
}}

function sums(given) {{
  const x = row(given), sum = new Float64Array({width});
  for (let t = 0; t < roots.length; ++t) {{
    let at = roots[t];
    while (at < {n_places}) at = nodes[3 * at + (goesLeft(nodes[3 * at], x) ? 1 : 2)];
    const value = at - {n_places};
    for (let j = start[value]; j < start[value + 1]; ++j) sum[which[j]] += amount[j];
  }}
  return sum;
}}

{functions}
}})();
{tail}"""

CLASSIFIER = """\
function predictProba(x) {{
  return Array.from(sums(x), (sum) => sum / {divisor});
}}

/* The label of the greatest sum, ties to the first. */
function predict(x) {{
  const sum = sums(x);
  let best = 0;
  for (let k = 1; k < sum.length; ++k) if (sum[k] > sum[best]) best = k;
  return classes[best];
}}

return Object.freeze({{ features, categories, classes, predict, predictProba }});"""

REGRESSOR = """\
function predict(x) {{
  return sums(x)[0] / {divisor};
}}

return Object.freeze({{ features, categories, predict }});"""

# Test rows have category codes, which are replaced by labels.
RUNNER = """
import { readFileSync, writeFileSync } from "node:fs";
import forest from "./forest.mjs";
const bytes = readFileSync("rows"), d = forest.features.length;
const rows = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
const out = [];
for (let i = 0; i < rows.length; i += d) {
  const x = Array.from(rows.subarray(i, i + d), (v, f) => {
    const labels = forest.categories[f];
    return labels === null ? v : v !== v ? null : labels[v];
  });
  if (forest.predictProba) out.push(forest.classes.indexOf(forest.predict(x)), ...forest.predictProba(x));
  else out.push(0, forest.predict(x));
}
writeFileSync("out", Buffer.from(new Float64Array(out).buffer));
"""


def write_js(
    model: "TreeModel", path: PathLike | None, name: str, X: TableLike, *, module: bool, check: bool
) -> Export:
    """Write a model as JavaScript; with `check`, run it in Node.js and compare its predictions."""
    forest = require_exportable(model, "to_js")
    _check_name(name)
    if forest.n_nodes > MOST_NODES:
        raise ExportError(
            f"to_js supports forests of up to {MOST_NODES} nodes; this one has {forest.n_nodes}. Take fewer trees."
        )
    refuse_overflow(forest)
    _refuse_twins(model)
    text = _text_of(model, forest, name, module=module)
    lost = [*LOST, *lost_uncertainty(model)]
    parity = (
        _compare(model, forest, _text_of(model, forest, name, module=True), X, lost) if check else not_compared(*lost)
    )
    if path is not None:
        write_file(path, [text.encode("ascii")])
    return Export(text, parity)


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,62}", name)) or name in RESERVED.split():
        raise ParameterError(
            f"name={shown(name)} cannot be the name of a JavaScript object. Give letters, digits and underscores."
        )


def _refuse_twins(model: "TreeModel") -> None:
    for f, categories in enumerate(model.schema_.categories):
        if categories is not None:
            kind_of_labels(categories.labels.tolist(), f"The categories of {model.schema_.where(f)}")


# -------------------------------------------------------------------------------------------------------- the text


def _text_of(model: "TreeModel", forest: Forest, name: str, *, module: bool) -> str:
    from weald import __version__

    answers, is_of_classes = answers_of(model), forest.task is Task.CLASSIFICATION
    tables, sets = tables_of(forest, answers), forest.category_start.tolist()
    features = model.schema_.names or [f"x{f}" for f in range(model.n_features_in_)]
    signature = f" *     {name}.predictProba(x)    their probabilities, in the order of {name}.classes\n"
    return FILE.format(
        title=f"{type(model).__name__}: {forest.n_trees} trees, {forest.n_nodes} nodes",
        version=__version__,
        fingerprint=forest.fingerprint(),
        name=name,
        predicts="the most probable class" if is_of_classes else "the mean",
        signatures=signature if is_of_classes else "",
        n_features=forest.n_features,
        declare="const" if module else "var",
        features=_literal(list(features)),
        categories=",\n".join(_labels(c) for c in model.schema_.categories),
        classes=_literal(_class_labels(model)) if is_of_classes else "null",
        threshold=_lines(map(_double, tables.threshold.tolist())),
        feature=_lines(map(str, tables.feature.tolist()), 20),
        flags=_lines(map(str, tables.flags.tolist()), 40),
        sets="".join(f"{json.dumps(forest.category_sets[a:b].tolist())},\n" for a, b in itertools.pairwise(sets)),
        n_places=tables.n_places,
        nodes=_lines(map(str, tables.nodes.ravel().tolist()), 12),
        roots=_lines(map(str, tables.roots.tolist()), 12),
        start=_lines(map(str, answers.start.tolist()), 12),
        which=_lines(map(str, answers.which.tolist()), 40),
        amount=_lines(map(_double, answers.amount.tolist())),
        width=answers.width,
        functions=(CLASSIFIER if is_of_classes else REGRESSOR).format(divisor=_divisor(answers)),
        tail=f"export default {name};\n" if module else "",
        missing_left=MISSING_LEFT,
        categorical=CATEGORICAL,
        others_left=OTHERS_LEFT,
    )


def _divisor(answers: LeafValues) -> str:
    return _double(float(answers.divisor))


def _class_labels(model: "TreeModel") -> list[object]:
    labels: list[object] = model.classes_.tolist()
    kind_of_labels(labels, "The classes")
    return labels


def _labels(categories: Categories | None) -> str:
    return "null" if categories is None else _literal(categories.labels.tolist())


def _literal(values: list[object]) -> str:
    """Write text, numbers and booleans as ASCII literals, with `<` escaped, so that a web page can contain them."""
    return json.dumps(values).replace("<", "\\u003c")


def _double(value: float) -> str:
    """Write a number exactly."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0")


def _lines(entries: Iterable[str], width: int = 8) -> str:
    """Write several entries per line."""
    listed = list(entries)
    return "".join(f"{','.join(listed[i : i + width])},\n" for i in range(0, len(listed), width))


# ------------------------------------------------------------------------------------------------------- the check


def find_node() -> str:
    """Find Node.js."""
    found = shutil.which("node") or shutil.which("nodejs")
    if found is None:
        raise ExportError(
            "to_js runs the file to compare it with the model, but found no Node.js. Install it (node), or set "
            "check=False to write the file unchecked."
        )
    return found


def _compare(model: "TreeModel", forest: Forest, text: str, X: TableLike, lost: list[str]) -> Parity:
    """Predict rows at the edges of leaves with the file."""
    node, rows = find_node(), rows_to_compare(model, X)
    for f, categories in enumerate(model.schema_.categories):
        if categories is not None:  # rows have labels, so there are no values between codes of ordered categories
            n_labels = len(categories.labels)
            rows[:, f] = np.clip(np.rint(rows[:, f]), 0, n_labels - 1) if n_labels else np.nan
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "forest.mjs").write_text(text, encoding="ascii")
        (folder / "run.mjs").write_text(RUNNER, encoding="ascii")
        (folder / "rows").write_bytes(np.ascontiguousarray(rows, dtype="<f8").tobytes())
        ran = subprocess.run([node, "run.mjs"], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
        if ran.returncode:
            raise ExportError(f"Node.js reports an error: {ran.stderr.strip()[:500]}")
        found: FloatArray = np.frombuffer((folder / "out").read_bytes(), dtype="<f8").reshape(len(rows), -1)
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    ours, consumer = answer(model, rows), f"Node.js {version.strip()}"
    if forest.task is Task.CLASSIFICATION:
        winners = sum_votes(model, forest, rows).argmax(axis=1).astype(float)
        compare(consumer, "labels", winners[:, np.newaxis], found[:, :1], 0.0)
    return compare(consumer, compared_values(forest), ours, found[:, 1:], 0.0, *lost)
