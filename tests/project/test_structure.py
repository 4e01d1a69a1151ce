"""Figures that keep the code easy to follow: classes above an estimator, arguments of a function, untyped values."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import weald

PACKAGE = Path(weald.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

MOST_CLASSES = 3  # of ours above an estimator
MOST_ARGUMENTS = 10
MOST_ANY = 400
MOST_PRIVATE = 15  # uses of private members of other classes

# Kernel forests add methods of their own to those of all models, of forests, and of their task.
ADDED = {"KernelForestClassifier": 1, "KernelForestRegressor": 1}

ESTIMATORS = [
    name
    for name in weald.__all__
    if inspect.isclass(kind := getattr(weald, name)) and hasattr(kind, "get_params") and hasattr(kind, "task")
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_few_classes_stand_above_an_estimator(name):
    above = [kind.__name__ for kind in getattr(weald, name).__mro__[1:] if kind.__module__.startswith("weald.")]
    assert len(above) <= MOST_CLASSES + ADDED.get(name, 0), above


def test_estimators_on_a_cluster_have_no_more():
    dask = pytest.importorskip("weald.dask")
    for name in ("RandomForestClassifier", "ExtraTreesRegressor"):
        above = [kind.__name__ for kind in getattr(dask, name).__mro__[1:] if kind.__module__.startswith("weald.")]
        assert len(above) <= MOST_CLASSES, above


def functions():
    for path in FILES:
        for part in ast.walk(ast.parse(path.read_text())):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, part


def test_functions_have_few_arguments():
    """Constructors of estimators take theirs as one typed group; nothing else needs many."""
    many = {}
    for path, part in functions():
        names = [a.arg for a in (*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs)]
        n = len([name for name in names if name not in ("self", "cls")])
        if n > MOST_ARGUMENTS:
            many[f"{path.relative_to(PACKAGE)}:{part.name}"] = n
    assert not many


def test_values_have_types():
    n = sum(len(re.findall(r"\bAny\b", path.read_text())) for path in FILES)
    assert n <= MOST_ANY


def test_private_members_are_used_by_their_owners():
    n = sum(path.read_text().count("SLF001") for path in FILES)
    assert n <= MOST_PRIVATE
