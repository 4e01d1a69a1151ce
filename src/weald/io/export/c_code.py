"""A forest as one file of C99, without dependencies.

    write_c         fitted model -> text of the file, checked by compiling and running it
    C_PARTS         the parts of the file besides the tables

The file has tables and a short function that walks over them, so its compile time is proportional to its size. Only
splits are nodes, of 12 bytes: a condition, and left and right a node or a leaf value. Equal conditions are stored once,
and so are the values of equal pure leaves. Sums run in tree order, in double: weald's results, bit for bit.
"""

import ctypes
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray, TableLike
from weald.errors import ExportError, ParameterError, shown
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.io.atomic import PathLike, write_file
from weald.io.export.leaf_values import LeafValues, answers_of, refuse_overflow, require_exportable, utf8
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

MOST_NODES = 2**31
COMPILERS = ("cc", "gcc", "clang")
LOST = ("how the model was fitted", "statistics of nodes: sizes, impurities, decreases")

HEAD = """\
/* {title}
 *
 * Written by weald {version}. Fingerprint of the forest:
 * {fingerprint}
 *
{signatures}
 *
 * x has {n_features} values, in the order of {name}_features; NAN is a missing value.{about_categories}
 * All functions are pure: they may be called from many threads at once.
 * Compile as C99 or later, or as C++17, with IEEE doubles: no -ffast-math.
 */

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "compile this file without -ffast-math: it needs NaN for missing values"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "doubles must be computed as doubles: on 32-bit x86, compile with -msse2 -mfpmath=sse"
#endif

#ifdef __cplusplus
extern "C" {{
#endif

enum {{ {name}_n_features = {n_features}, {name}_n_classes = {n_classes}, {name}_n_trees = {n_trees} }};
"""

WALK = """
/* Conditions: x[feature] <= threshold? Flags: {missing_left} missing values go left, {categorical} threshold is the
 * number of a set of categories, {others_left} categories that are not in the set go left. */
static const struct {{ double threshold; uint32_t feature; uint32_t flags; }} {name}_questions[] = {{
{questions}
}};
{sets}
/* Three numbers per node: its condition, left, right. Left and right below {n_splits} are nodes, otherwise
 * {n_splits} + a leaf value. */
static const uint32_t {name}_nodes[] = {{
{nodes}
}};

static const uint32_t {name}_roots[] = {{
{roots}
}};
{member}
static int {name}_goes_left(uint32_t question, const double *x)
{{
    const double value = x[{name}_questions[question].feature];
    if (value != value) return {name}_questions[question].flags & {missing_left};{by_set}
    return value <= {name}_questions[question].threshold;
}}

/* The leaf value of a tree. */
static uint32_t {name}_walk(uint32_t root, const double *x)
{{
    uint32_t at = root;
    while (at < {n_splits}u) {{
        const uint32_t *node = {name}_nodes + (size_t)3 * at;
        at = {name}_goes_left(node[0], x) ? node[1] : node[2];
    }}
    return at - {n_splits}u;
}}
"""

SETS = """
/* Set i of categories is {name}_categories[{name}_sets[i]] up to {name}_categories[{name}_sets[i + 1]], ascending. */
static const uint32_t {name}_sets[] = {{
{starts}
}};
static const uint32_t {name}_categories[] = {{
{categories}
}};
"""

MEMBER = """
static int {name}_has(uint32_t set, double category)
{{
    uint32_t low = {name}_sets[set], high = {name}_sets[set + 1];
    while (low < high) {{
        const uint32_t middle = low + (high - low) / 2;
        if ({name}_categories[middle] < category) low = middle + 1;
        else high = middle;
    }}
    return low < {name}_sets[set + 1] && {name}_categories[low] == category;
}}
"""

BY_SET = """
    if ({name}_questions[question].flags & {categorical}) {{
        const int others_left = ({name}_questions[question].flags & {others_left}) != 0;
        return others_left != {name}_has((uint32_t){name}_questions[question].threshold, value);
    }}"""

CLASSIFIER = """
/* Value i adds {name}_amount[j] to class {name}_class[j], for j from {name}_answers[i] up to {name}_answers[i + 1]. */
static const uint32_t {name}_answers[] = {{
{starts}
}};
static const uint{bits}_t {name}_class[] = {{
{classes}
}};
static const double {name}_amount[] = {{
{amounts}
}};

/* Class probabilities, which sum to 1. */
void {name}_predict_proba(const double *x, double *probabilities)
{{
    int t, k;
    for (k = 0; k < {name}_n_classes; ++k) probabilities[k] = 0.0;
    for (t = 0; t < {name}_n_trees; ++t) {{
        const uint32_t answer = {name}_walk({name}_roots[t], x);
        uint32_t j;
        for (j = {name}_answers[answer]; j < {name}_answers[answer + 1]; ++j) {{
            probabilities[{name}_class[j]] += {name}_amount[j];
        }}
    }}
    for (k = 0; k < {name}_n_classes; ++k) probabilities[k] /= {divisor};
}}

/* The number of the most probable class, ties to the first. */
int {name}_predict(const double *x)
{{
    double probabilities[{name}_n_classes];
    int k, best = 0;
    {name}_predict_proba(x, probabilities);
    for (k = 1; k < {name}_n_classes; ++k) {{
        if (probabilities[k] > probabilities[best]) best = k;
    }}
    return best;
}}
"""

REGRESSOR = """
static const double {name}_means[] = {{
{amounts}
}};

double {name}_predict(const double *x)
{{
    double sum = 0.0;
    int t;
    for (t = 0; t < {name}_n_trees; ++t) sum += {name}_means[{name}_walk({name}_roots[t], x)];
    return sum / {divisor};
}}
"""

TAIL = """
#ifdef __cplusplus
}
#endif
"""


def write_c(model: "TreeModel", path: PathLike | None, name: str, X: TableLike, *, check: bool) -> Export:
    """Write a model as C; with `check`, compile it and compare its predictions."""
    forest = require_exportable(model, "to_c")
    _check_name(name)
    if forest.n_nodes >= MOST_NODES:
        raise ExportError(
            f"to_c supports forests of up to {MOST_NODES} nodes; this one has {forest.n_nodes}. Take fewer trees."
        )
    refuse_overflow(forest)
    text = _text_of(model, forest, name)
    parity = _compare(model, text, name, X) if check else not_compared(*LOST, *lost_uncertainty(model))
    if path is not None:
        write_file(path, [text.encode("ascii")])
    return Export(text, parity)


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,62}", name)):
        raise ParameterError(
            f"name={shown(name)} cannot begin the names of C functions. Give letters, digits and underscores."
        )


# -------------------------------------------------------------------------------------------------------- the text


def _text_of(model: "TreeModel", forest: Forest, name: str) -> str:
    answers = answers_of(model)
    head = _head(model, forest, name)
    labels = _label_tables(model, name)
    walk = _walk(forest, answers, name)
    if forest.task is Task.CLASSIFICATION:
        body = CLASSIFIER.format(
            name=name,
            starts=_lines(map(str, answers.start.tolist())),
            classes=_lines(map(str, answers.which.tolist())),
            bits=8 if answers.width <= 256 else 32,
            amounts=_lines(map(_double, answers.amount.tolist())),
            divisor=_double(float(answers.divisor)),
        )
    else:
        amounts = _lines(map(_double, answers.amount.tolist()))
        body = REGRESSOR.format(name=name, amounts=amounts, divisor=_double(float(answers.divisor)))
    return f"{head}{labels}{walk}{body}{TAIL}"


def _head(model: "TreeModel", forest: Forest, name: str) -> str:
    from weald import __version__

    signatures = {
        f"double {name}_predict(const double *x)": "the mean",
        f"void {name}_predict_proba(const double *x, double *probabilities)": f"{forest.n_classes} values",
        f"int {name}_predict(const double *x)": f"number of the class, in {name}_classes",
        f"double {name}_category(int feature, const char *label)": "number of a category, or NAN",
    }
    offered = list(signatures.items())[1:3] if forest.task is Task.CLASSIFICATION else list(signatures.items())[:1]
    has_categories = any(c is not None for c in model.schema_.categories)
    offered += list(signatures.items())[3:] if has_categories else []
    about = "\n * Categories are numbers, in the order of their labels; unknown ones are missing values."
    return HEAD.format(
        name=name,
        title=f"{type(model).__name__}: {forest.n_trees} trees, {forest.n_nodes} nodes",
        version=__version__,
        fingerprint=forest.fingerprint(),
        signatures="\n".join(f" *     {signature:<64} {what}" for signature, what in offered),
        n_features=forest.n_features,
        n_classes=forest.n_classes,
        n_trees=forest.n_trees,
        about_categories=about if has_categories else "",
    )


def _label_tables(model: "TreeModel", name: str) -> str:
    """Return the names of the features, and the labels of classes and categories."""
    names = model.schema_.names or [f"x{f}" for f in range(model.n_features_in_)]
    parts = [f"\nconst char *const {name}_features[] = {{\n{_lines(map(_string, names))}\n}};\n"]
    if model.forest_.task is Task.CLASSIFICATION:
        classes = _lines(map(_string, model.classes_.tolist()))
        parts.append(f"\nconst char *const {name}_classes[] = {{\n{classes}\n}};\n")
    tables = [(f, c.labels.tolist()) for f, c in enumerate(model.schema_.categories) if c is not None]
    for f, labels in tables:  # C has no empty arrays: a column without values gets one label that n = 0 hides
        lines = _lines(map(_string, labels or [""]))
        parts.append(f"\nstatic const char *const {name}_labels_{f}[] = {{\n{lines}\n}};\n")
    if tables:
        cases = "\n".join(
            f"    case {f}: labels = {name}_labels_{f}; n = {len(labels)}; break;" for f, labels in tables
        )
        parts.append(
            f"\ndouble {name}_category(int feature, const char *label)\n{{\n    const char *const *labels = 0;\n"
            f"    int n = 0, i;\n    switch (feature) {{\n{cases}\n    default: break;\n    }}\n"
            f"    for (i = 0; i < n; ++i) {{\n        if (strcmp(labels[i], label) == 0) return i;\n    }}\n"
            "    return NAN;\n}\n"
        )
    return "".join(parts)


def _walk(forest: Forest, answers: LeafValues, name: str) -> str:
    """Return the tables of conditions, sets and nodes, and the function that walks over them."""
    tables = tables_of(forest, answers)
    rows = zip(tables.threshold.tolist(), tables.feature.tolist(), tables.flags.tolist(), strict=True)
    questions = [f"{{{_double(t)},{f},{flag}}}" for t, f, flag in rows]
    has_sets = len(forest.category_start) > 1
    flags = {"missing_left": MISSING_LEFT, "categorical": CATEGORICAL, "others_left": OTHERS_LEFT}
    return WALK.format(
        name=name,
        n_splits=tables.n_places,
        questions=_lines(questions or ["{0.0,0,0}"]),
        nodes=_lines(map(str, tables.nodes.ravel().tolist() or [0, 0, 0]), 12),
        roots=_lines(map(str, tables.roots.tolist())),
        sets=_sets(forest, name) if has_sets else "",
        member=MEMBER.format(name=name) if has_sets else "",
        by_set=BY_SET.format(name=name, **flags) if has_sets else "",
        **flags,
    )


def _sets(forest: Forest, name: str) -> str:
    starts, categories = forest.category_start.tolist(), forest.category_sets.tolist()
    return SETS.format(name=name, starts=_lines(map(str, starts)), categories=_lines(map(str, categories or [0])))


def _double(value: float) -> str:
    """Write a number exactly."""
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{int(value)}.0" if abs(value) < 2**31 and value == int(value) else value.hex()


def _string(label: object) -> str:
    """Write text as a C string in ASCII; other bytes of its UTF-8 as octal numbers."""
    plain = set(range(32, 127)) - set(b'"\\?')  # two question marks may begin a trigraph
    written = (chr(byte) if byte in plain else f"\\{byte:03o}" for byte in utf8(str(label), "C"))
    return f'"{"".join(written)}"'


def _lines(entries: Iterable[str], width: int = 8) -> str:
    """Write several entries per line."""
    listed = list(entries)
    return ",\n".join(",".join(listed[i : i + width]) for i in range(0, len(listed), width))


# ------------------------------------------------------------------------------------------------------- the check


def _compare(model: "TreeModel", text: str, name: str, X: TableLike) -> Parity:
    """Compile the file and predict rows at the edges of leaves with it."""
    compiler = find_compiler()
    rows = rows_to_compare(model, X)
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "forest.c", Path(folder) / "forest.so"
        source.write_text(text, encoding="ascii")
        compile_c(compiler, source, library)
        theirs = run_c(library, name, rows, model.forest_.n_classes)
    return compare(
        _version_of(compiler),
        compared_values(model.forest_),
        answer(model, rows),
        theirs,
        0.0,
        *LOST,
        *lost_uncertainty(model),
    )


def find_compiler() -> list[str]:
    """Find a C compiler: the variable CC, or the first of the usual ones."""
    given = shlex.split(os.environ.get("CC", ""))
    for words in [given] if given else [[name] for name in COMPILERS]:
        found = shutil.which(words[0])
        if found:
            return [found, *words[1:]]
    raise ExportError(
        f"to_c compiles the file to compare it with the model, but found no C compiler ({', '.join(COMPILERS)}, or "
        "the variable CC). Install one, or set check=False to write the file unchecked."
    )


def compile_c(compiler: list[str], source: Path, library: Path) -> None:
    """Compile a file as a shared library, in strict C99."""
    options = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]
    command = [*compiler, *options, "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (the user's compiler)
    if done.returncode:
        raise ExportError(f"The C compiler reports an error: {done.stderr.strip()[:500]}")


def run_c(library: Path, name: str, rows: FloatArray, n_classes: int) -> FloatArray:
    """Predict rows with a compiled file."""
    loaded = ctypes.CDLL(str(library))
    doubles = ctypes.POINTER(ctypes.c_double)
    x = np.ascontiguousarray(rows)
    is_of_classes = Task.of(n_classes) is Task.CLASSIFICATION
    out = np.empty((len(x), n_classes if is_of_classes else 1))
    if is_of_classes:
        predict = loaded[f"{name}_predict_proba"]
        predict.argtypes, predict.restype = [doubles, doubles], None
        for row, shares in zip(x, out, strict=True):
            predict(row.ctypes.data_as(doubles), shares.ctypes.data_as(doubles))
        return out
    predict = loaded[f"{name}_predict"]
    predict.argtypes, predict.restype = [doubles], ctypes.c_double
    out[:, 0] = [predict(row.ctypes.data_as(doubles)) for row in x]
    return out


def _version_of(compiler: list[str]) -> str:
    command = [*compiler, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (the user's compiler)
    return done.stdout.partition("\n")[0] or Path(compiler[0]).name
