"""docs/project/add-a-criterion.md is followed literally: its code is added to a copy of the sources, which is built."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.project.test_docs import RECIPE, ROOT, blocks

# Tables that use every search method: few and many rows, classes, weights and features.
COMPARE = """
import sys
import warnings
from pathlib import Path

import numpy as np
import weald
from weald.engines import criteria

copy, for_classes, for_numbers = sys.argv[1:]
warnings.filterwarnings("ignore", "class_weight affected only")  # full trees: the weights decide cuts alone
assert Path(weald.__file__).is_relative_to(copy), weald.__file__
assert for_classes in criteria.names("classification")
assert for_numbers in criteria.names("regression")
rng = np.random.default_rng(0)


def make_features(n_rows):
    X = rng.normal(size=(n_rows, 4))
    X[:, 3] = np.round(X[:, 3])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def compare(model, X, y, sample_weight=None, **given):
    native, reference = (
        model(n_estimators=3, random_state=1, engine=engine, **given).fit(X, y, sample_weight)
        for engine in ("native", "reference")
    )
    for ours, definition in zip(forests_of(native), forests_of(reference), strict=True):
        assert ours.fingerprint() == definition.fingerprint(), (len(X), given)
    return native


def forests_of(model):
    return model.forests_ if hasattr(model, "forests_") else [model.forest_]


for n_rows, n_classes in ((60, 2), (60, 4), (900, 2), (900, 3)):
    X = make_features(n_rows)
    y = (np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows) > 0) * 1 + rng.integers(0, n_classes - 1, size=n_rows)
    given = dict(criterion=for_classes, class_weight="balanced")
    forest = compare(weald.RandomForestClassifier, X, y, **given).forest_
    assert forest.n_nodes > 3 * n_rows / 10
both = np.column_stack([y, y % 2])
compare(weald.RandomForestClassifier, X[:100], both[:100], criterion=for_classes)

tree = weald.DecisionTreeClassifier(criterion=for_classes).fit(X, y)
t = tree.tree_
weight = t.weighted_n_node_samples / t.weighted_n_node_samples[0]
split = t.children_left >= 0
lowered = weight * t.impurity
lowered[split] -= lowered[t.children_left[split]] + lowered[t.children_right[split]]
assert (lowered[split] > -1e-12).all()
assert abs(t.impurity[~split] @ weight[~split]) < 1e-12

for n_rows in (20, 60, 900):
    X = make_features(n_rows)
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=n_rows)
    weight = rng.random(n_rows) + 0.5
    for given in (
        {},
        {"max_features": None},
        {"bootstrap": False, "min_samples_leaf": 3},
        {"bootstrap": False, "sample_weight": weight},
        {"monotonic_cst": [1, 0, 0, -1]},
        {"categorical_features": [3], "missing": "learn"},
    ):
        forest = compare(weald.RandomForestRegressor, X, y, criterion=for_numbers, **given).forest_
        assert forest.n_nodes > n_rows / 2
    other = weald.RandomForestRegressor(n_estimators=3, random_state=1, bootstrap=False, min_samples_leaf=3).fit(X, y)
    plain = weald.RandomForestRegressor(
        n_estimators=3, random_state=1, bootstrap=False, min_samples_leaf=3, criterion=for_numbers
    ).fit(X, y)
    assert n_rows < 900 or other.forest_.fingerprint() != plain.forest_.fingerprint()
both = np.column_stack([y, -2 * y])
compare(weald.RandomForestRegressor, X[:100], both[:100], criterion=for_numbers)
"""


def insert_before(file: Path, mark: str, text: str) -> None:
    """Insert text before the one line of a file that begins with a mark."""
    lines = file.read_text().splitlines(keepends=True)
    (at,) = [i for i, line in enumerate(lines) if line.startswith(mark)]
    file.write_text("".join([*lines[:at], text, *lines[at:]]))


def replace_line(file: Path, mark: str, text: str) -> None:
    """Replace the one line of a file that begins with a mark."""
    file.write_text(re.sub(rf"^{mark}.*\n", text, file.read_text(), count=1, flags=re.MULTILINE))
    assert text in file.read_text()


def follow_recipe(copy: Path) -> list[str]:
    """Apply the page to a copy of the sources; return the names of the new criteria."""
    class_struct, include, class_list, number_struct, number_list = blocks(RECIPE, "cpp")
    class_function, class_entry, number_function, number_entry, use = blocks(RECIPE, "python")
    core, reference = copy / "core/score/criteria.h", copy / "src/weald/engines/reference/definition.py"
    if include not in core.read_text():
        insert_before(core, "#include <cstddef>", include)
    insert_before(core, "using ClassCriteria", f"{class_struct}\n{number_struct}\n")
    replace_line(core, "using ClassCriteria", class_list)
    replace_line(core, "using NumberCriteria", number_list)
    insert_before(reference, "Term = Callable", f"{class_function}\n\n{number_function}\n\n")
    insert_before(reference, '    "squared_error": squared_error,', class_entry + number_entry)
    return re.findall(r'criterion="(\w+)"', use)


def run(*command: object, **options: object) -> None:
    """Run a command, and show its output when it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy what a build needs."""
    folder = tmp_path_factory.mktemp("recipe")
    for name in ("core", "bindings", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for name in ("CMakeLists.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def build(copy: Path) -> None:
    """Build the baseline instruction set; with few optimizations, which change no bit, it is faster to compile."""
    settings = copy / "CMakeLists.txt"
    settings.write_text(settings.read_text().replace("INTERFACE -O3)", "INTERFACE -O1)"))
    build = copy / "build"
    tools = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])}
    run("cmake", "-S", copy, "-B", build, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}", env=tools)
    run("cmake", "--build", build, "--target", "_core_baseline", env=tools)
    for module in build.glob("_core_baseline*.so"):
        shutil.copy(module, copy / "src" / "weald")


@pytest.mark.slow
def test_criteria_are_added_as_the_page_says(copy):
    names = follow_recipe(copy)
    build(copy)
    # -S: without site, so that the installed weald is not found first; other packages are.
    path = os.pathsep.join([str(copy / "src"), *(folder for folder in sys.path if folder.endswith("site-packages"))])
    env = {**os.environ, "PYTHONPATH": path, "WEALD_SIMD": "baseline"}
    run(sys.executable, "-S", "-W", "error", "-c", COMPARE, copy, *names, env=env, cwd=copy)
    run(sys.executable, "-S", "-c", blocks(RECIPE, "python")[-1], env=env, cwd=copy)
