"""The parameters in the tables of the pages "coming from" exist, in weald and in the package where it is installed."""

import importlib
import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import weald

DOCS = Path(__file__).parents[2] / "docs"
OURS = {
    p
    for kind in (weald.RandomForestClassifier, weald.RandomForestRegressor)
    for p in inspect.signature(kind).parameters
}


def rows(page, title):
    """Return the cells of the table below a title."""
    text = (DOCS / page).read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ") and "|---" not in line][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names(cell):
    """Return the names of parameters in a cell: `subsample`, `max_depth=16`; not calls and not patterns."""
    return [name for name in re.findall(r"`([A-Za-z_]\w*)(?:=[^`]*)?`", cell) if not name[0].isupper()]


TABLES = {
    ("coming-from/lightgbm.md", "Parameters of LightGBM"): ("lightgbm", "LGBMClassifier"),
    ("coming-from/lightgbm.md", "Parameters of XGBoost"): ("xgboost", "XGBRFClassifier"),
    ("coming-from/ydf.md", "Parameters of RandomForestLearner"): ("ydf", "RandomForestLearner"),
}
# Parameters that LightGBM knows by keyword only, as its documentation lists them.
LIGHTGBM_KEYWORDS = {
    "feature_fraction_bynode", "max_bin", "categorical_feature", "monotone_constraints", "interaction_constraints",
    "extra_trees",
}  # fmt: skip


def theirs(package, kind):
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    made = getattr(module, kind)
    if package == "xgboost":
        return set(made().get_params())
    known = set(inspect.signature(made).parameters)
    return known | LIGHTGBM_KEYWORDS if package == "lightgbm" else known


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[1])
def test_the_first_column_names_parameters_of_the_package(table):
    known = theirs(*TABLES[table])
    named = {name for cells in rows(*table) for name in names(cells[0])}
    assert len(named) > 10
    assert named - known == set()


@pytest.mark.parametrize(
    "table",
    [*TABLES, ("coming-from/r.md", "Parameters of ranger"), ("coming-from/r.md", "Parameters of randomForest")],
    ids=lambda table: table[1],
)
def test_the_second_column_names_parameters_of_weald(table):
    elsewhere = {"sample_weight", "n_repeats", "kind", "feature_importances_", "predict_proba"}
    named = {name for cells in rows(*table) for name in names(cells[1])}
    assert len(named) > 8
    assert named - OURS - elsewhere == set()


R_FUNCTIONS = {
    "Parameters of ranger": "ranger::ranger",
    "Parameters of randomForest": "randomForest:::randomForest.default",
}
NEWER = {"min.bucket"}  # added after ranger 0.14


@pytest.mark.parametrize("title", R_FUNCTIONS)
def test_the_first_column_names_parameters_of_the_package_of_r(title):
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed")
    command = [rscript, "-e", f'cat(names(formals({R_FUNCTIONS[title]})), "na.action")']
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the package of R is not installed")
    cells = [cells[0] for cells in rows("coming-from/r.md", title)]
    named = {name for cell in cells for name in re.findall(r"`([A-Za-z][\w.]*)(?: = [^`]*)?`", cell)}
    assert len(named) > 15
    assert named - set(done.stdout.split()) - NEWER == set()


def test_the_functions_for_users_of_r_exist():
    text = (DOCS / "coming-from/r.md").read_text()
    for name in re.findall(r"`weald\.((?:plot\.)?\w+)", text):
        parent, _, last = f"weald.{name}".rpartition(".")
        assert hasattr(importlib.import_module(parent), last)
