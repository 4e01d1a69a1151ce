"""The public names of `weald` are those that it declares."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import weald

PUBLIC = [getattr(weald, name) for name in weald.__all__]
ESTIMATORS = [kind for kind in PUBLIC if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


def test_all_is_exact_and_sorted():
    assert set(weald.__all__) == {*weald._HOMES, "__version__"}
    assert weald.__all__ == sorted(weald.__all__)


def test_type_checkers_find_the_same_names_in_the_same_homes():
    (block,) = [part for part in ast.parse(Path(weald.__file__).read_text()).body if isinstance(part, ast.If)]
    lines = [part for part in block.body if isinstance(part, ast.ImportFrom) and part.module != "weald"]
    assert {name.name: line.module.removeprefix("weald.") for line in lines for name in line.names} == weald._HOMES


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="weald has no 'forrest'"):
        _ = weald.forrest
    assert dir(weald) == sorted({*weald.__all__, "accel", "codes", "dask", "errors", "impurity", "mlflow", "plot"})


SURVIVAL = {"ExtraSurvivalTrees", "RandomSurvivalForest", "SurvivalTree"}  # whose y has two columns


def test_there_are_fourteen_estimators():
    assert {kind.__name__ for kind in ESTIMATORS} == {
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraSurvivalTrees",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "KernelForestClassifier",
        "KernelForestRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "RandomSurvivalForest",
        "RandomTreesEmbedding",
        "SurvivalTree",
    }


@pytest.mark.parametrize("name", weald.__all__)
def test_public_names_have_docstrings(name):
    assert name == "__version__" or inspect.getdoc(getattr(weald, name))


@pytest.mark.slow
def test_all_names_are_there_without_docstrings():
    code = "import weald; [getattr(weald, name) for name in weald.__all__]; assert 0; print(weald.__doc__)"
    assert subprocess.check_output([sys.executable, "-OO", "-c", code], text=True, timeout=240) == "None\n"


def public_methods(kind):
    ours = (value for base in kind.__mro__ if base.__module__.startswith("weald") for value in vars(base).items())
    return {name: value for name, value in ours if not name.startswith("_") and callable(value)}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_public_methods_have_docstrings(kind):
    assert [name for name, method in public_methods(kind).items() if not inspect.getdoc(method)] == []


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_docstring_lists_every_parameter_in_order_with_its_default(kind):
    section = inspect.getdoc(kind).split("Parameters\n----------\n")[1].split("\nAttributes\n")[0]
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    documented = {line.split(" : ")[0]: line.rsplit("default=", 1)[1] for line in lines}
    given = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    shown = {name: f'"{value}"' if isinstance(value, str) else repr(value) for name, value in given.items()}
    assert list(documented.items()) == list(shown.items())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_docstring_lists_what_a_fit_leaves(kind):
    wanted = {"oob_score": True, "bootstrap": True, "keep_targets": True, "keep_errors": True, "calibrate": "sigmoid"}
    given = {name: value for name, value in wanted.items() if name in inspect.signature(kind).parameters}
    y = [[1.0, True], [2.0, True], [3.0, False]] if kind.__name__ in SURVIVAL else [0, 1, 1]
    model = kind(**given).fit([[1.0], [2.0], [3.0]], y)
    section = inspect.getdoc(kind).split("Attributes\n----------\n")[1].split("\nExamples\n")[0]
    documented = {line.split(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")}
    left = {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    sometimes = {"choice_", "data_hash_", "leaf_targets_", "kept_errors_", "calibrator_"} - left
    assert documented - sometimes == left | {"feature_names_in_"} | (
        {"target_name_"} if hasattr(kind, "predict") and kind.__name__ not in SURVIVAL else set()
    )


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_kept_as_given(kind):
    marks = {name: object() for name in inspect.signature(kind).parameters}
    assert kind(**marks).get_params() == marks


@pytest.mark.parametrize("name", ["matplotlib", "numpy", "sklearn", "weald._core"])
def test_importing_weald_does_not_import(name):
    code = f"import sys, weald; sys.exit({name!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=240).returncode == 0


FIRST_FIT = """
import sys
import sklearn.ensemble
import numpy as np
before = set(sys.modules)
import weald
X = np.arange(40.0).reshape(20, 2)
model = weald.RandomForestClassifier(3, random_state=0).fit(X, X[:, 0] > 20)
model.predict_proba(X), weald.RandomForestRegressor(3, random_state=0).fit(X, X[:, 0]).predict(X)
print(*sorted(set(sys.modules) - before))
"""

# Packages and modules that a fit to an array does not need: importing them would take longer than the fit.
NOT_FOR_A_FIT = {
    *("pandas", "polars", "pyarrow", "dask", "distributed", "matplotlib", "onnx", "treelite", "shap", "typer"),
    *(f"weald.{name}" for name in ("cli", "codes", "dask", "inspection", "io", "plot", "reports", "uncertainty")),
    *("weald.engines.reference.engine", "weald.estimators.error_surface", "weald.estimators.training_data"),
    *("weald.forest.describe", "weald.forest.compaction", "weald.engines.quadrature"),
}


def test_a_first_fit_imports_nothing_heavy():
    found = subprocess.run([sys.executable, "-c", FIRST_FIT], check=True, capture_output=True, text=True, timeout=240)
    imported = found.stdout.split()
    assert "weald.estimators.forests" in imported
    assert not NOT_FOR_A_FIT & set(imported)
    assert len([name for name in imported if name.startswith("weald")]) <= 80
    others = {name.partition(".")[0] for name in imported if not name.startswith("_")} - {"weald"}
    assert others <= sys.stdlib_module_names
