"""Limits that keep the code easy to follow: classes above an estimator, arguments of a function, untyped values."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import weald
from tests.project.trace_calls import classes_above

ROOT = Path(__file__).parents[2]
PACKAGE = Path(weald.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

MOST_CLASSES = 3  # of ours above an estimator
MOST_ARGUMENTS = 10
MOST_ANY = 400
MOST_PRIVATE = 15  # uses of private members of other classes

ESTIMATORS = [
    name
    for name in weald.__all__
    if inspect.isclass(kind := getattr(weald, name)) and hasattr(kind, "get_params") and hasattr(kind, "task")
]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_few_classes_stand_above_an_estimator(name):
    above = classes_above(getattr(weald, name))
    assert len(above) <= MOST_CLASSES, above


def test_estimators_on_a_cluster_have_no_more():
    dask = pytest.importorskip("weald.dask")
    for name in ("RandomForestClassifier", "ExtraTreesRegressor"):
        above = classes_above(getattr(dask, name))
        assert len(above) <= MOST_CLASSES, above


MOST_FILES = 30  # in a folder
FOLDERS = ("src", "core", "bindings", "tests", "docs", "benchmarks", "examples")


def test_folders_hold_few_files():
    made = {ROOT / "docs" / "_build", ROOT / "docs" / "reference" / "api"}
    folders = [folder for top in FOLDERS for folder in ((ROOT / top), *(ROOT / top).rglob("*/"))]
    kept = [f for f in folders if f.name != "__pycache__" and made.isdisjoint({f, *f.parents})]
    built = {".so", ".pyd"}
    counts = {f.relative_to(ROOT): sum(p.is_file() and p.suffix not in built for p in f.iterdir()) for f in kept}
    assert {name: n for name, n in counts.items() if n > MOST_FILES} == {}


def functions():
    for path in FILES:
        for part in ast.walk(ast.parse(path.read_text())):
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield path, part


def test_functions_have_few_arguments():
    """Constructors of estimators take their parameters as one typed group; no other function needs many."""
    many = {}
    for path, part in functions():
        names = [a.arg for a in (*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs)]
        n = len([name for name in names if name not in ("self", "cls")])
        if n > MOST_ARGUMENTS:
            many[f"{path.relative_to(PACKAGE)}:{part.lineno}"] = n
    assert not many


def cxx_functions(text):
    """Yield name and number of parameters of each function that a C++ file defines or declares, and of each call."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', "", text, flags=re.DOTALL)
    waiting = []  # for each open parenthesis: the text before it, commas inside, open brackets inside
    for i, c in enumerate(text):
        if c == "(":
            waiting.append([re.search(r"\w*\s*$", text[max(0, i - 80) : i])[0].strip(), 0, 0])
        elif not waiting:
            continue
        elif c in "<[{":
            waiting[-1][2] += 1
        elif c in "]}" or (c == ">" and text[i - 1] != "-"):
            waiting[-1][2] = max(0, waiting[-1][2] - 1)
        elif c == "," and not waiting[-1][2]:
            waiting[-1][1] += 1
        elif c == ")":
            name, n_commas, _ = waiting.pop()
            yield name, n_commas + 1


def test_parameters_of_cxx_functions_are_counted():
    text = "Codes f(const std::pair<int, int>& a, std::array<int, 3> b = {1, 2, 3}, int c = g(1, 2)) { // (x, y)\n}"
    assert list(cxx_functions(text)) == [("g", 2), ("f", 3)]


# Functions called from Python take arrays one by one; each has one caller, in `engines/native.py` or `io/`.
LONG_BINDINGS = {
    "bind_add_to_surface",
    "bind_bag_source",
    "bind_code_table",
    "bind_decode",
    "bind_kernel_columns",
    "bind_map_table",
    "bind_mix",
    "bind_rank_table",
    "bind_square",
    "bind_sum_dependence",
    "bind_sum_votes_out_of_bag",
}
NO_FUNCTIONS = {"def", "make_tuple", "bytes", "return", "volatile"}  # calls with equally long lists


@pytest.mark.parametrize("folder", ["core", "bindings"])
def test_cxx_functions_have_few_parameters(folder):
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in {".h", ".cpp"}]
    found = {name for path in files for name, n in cxx_functions(path.read_text()) if n > MOST_ARGUMENTS}
    assert found - NO_FUNCTIONS == (LONG_BINDINGS if folder == "bindings" else set())


# The reference engine repeats all formulas in plain Python. Other entries have their own public `fit`.
SAME_NAMES = ("engines/reference/", "accel/estimators.py", "dask/__init__.py")


def test_the_name_of_a_class_has_one_meaning():
    defined = {}
    for path in FILES:
        file = path.relative_to(PACKAGE).as_posix()
        if not file.startswith(SAME_NAMES):
            for part in ast.walk(ast.parse(path.read_text())):
                if isinstance(part, ast.ClassDef):
                    defined.setdefault(part.name, []).append(file)
    assert not {name: files for name, files in defined.items() if len(files) > 1}


def test_values_have_types():
    n = sum(len(re.findall(r"\bAny\b", path.read_text())) for path in FILES)
    assert n <= MOST_ANY


def test_private_members_are_used_by_their_owners():
    n = sum(path.read_text().count("SLF001") for path in FILES)
    assert n <= MOST_PRIVATE


def private_uses(path):
    """Yield uses of private members of other classes, those that lint does not see (`_name_`, `getattr`) included."""
    tree = ast.parse(path.read_text())
    own = {part.name for part in ast.walk(tree) if isinstance(part, ast.FunctionDef)}
    own |= {part.attr for part in ast.walk(tree) if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)}
    own |= {
        part.target.id
        for part in ast.walk(tree)
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    for part in ast.walk(tree):
        is_getattr = isinstance(part, ast.Call) and getattr(part.func, "id", "") in {"getattr", "setattr", "hasattr"}
        if is_getattr and isinstance(part.args[1], ast.Constant):
            owner, name = part.args[0], part.args[1].value
        elif isinstance(part, ast.Attribute):
            owner, name = part.value, part.attr
        else:
            continue
        of_itself = isinstance(owner, ast.Name) and owner.id in {"self", "cls", "namedtuple"}
        of_its_kind = name in own and not name.endswith("_")  # another instance of the same class
        if re.match(r"_[a-z]", name) and name not in {"_replace", "_asdict"} and not of_itself and not of_its_kind:
            yield f"{path.relative_to(PACKAGE)}:{part.lineno} {name}"


def test_private_members_that_lint_does_not_see_count_too():
    found = [use for path in FILES for use in private_uses(path)]
    assert len(found) <= MOST_PRIVATE, found


# ------------------------------------------------------------------------------------------------- kinds of targets

# Functions that convert a number of classes to a task. The definition is standalone, so it has none.
TASKS_BEGIN = {"data/task.py", "engines/reference/definition.py"}


def asks_for_classes(part):
    """Return whether an expression tests for regression by the number of classes: `n_classes == 0`, `not n_classes`."""
    if isinstance(part, ast.Compare):
        sides = [part.left, *part.comparators]
        is_zero = any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)
        return is_zero and len(sides) == 2 and any(map(is_count, sides))
    if isinstance(part, ast.If | ast.IfExp | ast.While):
        return is_count(part.test)
    if isinstance(part, ast.BoolOp):
        return any(map(is_count, part.values))
    if isinstance(part, ast.UnaryOp):
        return isinstance(part.op, ast.Not) and is_count(part.operand)
    is_max = isinstance(part, ast.Call) and getattr(part.func, "id", "") == "max"
    return is_max and len(part.args) == 2 and any(map(is_count, part.args))


def is_count(part):
    """Whether this is a number of classes; several of them are a tuple that another `task` handles."""
    return getattr(part, "id", getattr(part, "attr", "")) in {"n_classes", "n_classes_"}


def test_kinds_of_targets_are_told_apart_by_their_task():
    found = []
    for path in FILES:
        if path.relative_to(PACKAGE).as_posix() in TASKS_BEGIN:
            continue
        tree = ast.parse(path.read_text())
        of_task = {id(p) for f in ast.walk(tree) if getattr(f, "name", "") == "task" for p in ast.walk(f)}
        asked = [part for part in ast.walk(tree) if asks_for_classes(part) and id(part) not in of_task]
        found += [f"{path.relative_to(PACKAGE)}:{part.lineno}" for part in asked]
    assert not found


def test_the_core_tells_them_apart_so_too():
    asked = (
        r"n_classes_?\s*(?:==|!=|>)\s*0\b",
        r"(?<!< )\bn_classes_?\s*(?:\?|&&|\|\|)",
        r"if \(!?(?:\w+\.)?n_classes_?\)",
    )
    pattern = re.compile("|".join(asked))
    files = [path for folder in ("core", "bindings") for path in (ROOT / folder).rglob("*.*")]
    found = {path.relative_to(ROOT).as_posix() for path in files if pattern.search(path.read_text())}
    assert found == {"core/base/task.h"}
