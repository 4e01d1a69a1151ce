"""A peer's own tests, with weald's classes in place of scikit-learn's.

    find_tests     an installed package     ->  its test files
    replace        the text of a test file  ->  the same with weald's classes, line by line
    choose_tests   the text of a test file  ->  its tests that come upon one of the classes

The files are written into a folder of their own; nothing of a peer is kept in the repository.
"""

import ast
import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

REPLACED = (
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
)
PREFIX = "of_"  # of the folders: a package of the peer's own name would hide the peer


def package_folder(package: str) -> Path | None:
    """Find where a package is installed; None: it is not."""
    spec = find_spec(package)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def find_tests(package: str) -> list[Path]:
    """Find the test files of a package that name one of the replaced classes, relative to the package."""
    folder = package_folder(package)
    if folder is None:
        return []
    files = [path for path in sorted(folder.rglob("test_*.py")) if "tests" in path.parts]
    return [path.relative_to(folder) for path in files if _names_a_class(path.read_text(encoding="utf-8"))]


def write_tests(package: str, files: Iterable[Path], folder: Path) -> list[Path]:
    """Write test files of a package into a folder, with weald's classes, and return their paths."""
    origin = package_folder(package)
    assert origin is not None, f"{package} is not installed"
    written = []
    for path in files:
        target = folder / (PREFIX + package) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        for parent in target.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()
        for parent in path.parents:
            _write(origin / parent / "conftest.py", folder / (PREFIX + package) / parent / "conftest.py", package)
        _write(origin / path, target, package)
        written.append(target)
    return written


def _write(origin: Path, target: Path, package: str) -> None:
    """Write a file of a package with weald's classes, and names of modules that are true in any folder."""
    if not origin.exists() or (package == "sklearn" and origin.name == "conftest.py"):
        return  # scikit-learn's conftest is a plugin
    folder = package_folder(package)
    assert folder is not None
    above = [package, *origin.parent.relative_to(folder).parts]
    absolute = RELATIVE.sub(lambda found: _absolute(found, above), origin.read_text(encoding="utf-8"))
    target.write_text(replace(absolute), encoding="utf-8")


RELATIVE = re.compile(r"^(\s*from )(\.+)([\w.]*)( import )", re.MULTILINE)


def _absolute(found: re.Match[str], above: list[str]) -> str:
    """Write a relative import with the full name of the module."""
    before, dots, module, after = found.groups()
    parts = above[: len(above) - len(dots) + 1]
    return before + ".".join([*parts, module] if module else parts) + after


def choose_tests(text: str) -> set[str]:
    r"""Name the tests that use one of the classes, directly or through other names of the module.

    Examples
    --------
    >>> sorted(choose_tests("A = [ExtraTreeClassifier]\ndef test_a(x=A): ...\ndef test_b(): ..."))
    ['test_a']
    """
    uses: dict[str, set[str]] = {}  # names used by each module-level name or method
    for statement in ast.parse(text).body:
        names = _names_in(statement)
        if isinstance(statement, ast.FunctionDef):
            uses[statement.name] = names
        elif isinstance(statement, ast.ClassDef):
            uses[statement.name] = names
            methods = [part for part in statement.body if isinstance(part, ast.FunctionDef)]
            uses |= {method.name: names for method in methods}
        else:
            uses |= {name: names | uses.get(name, set()) for name in _names_set(statement)}
    found = set(REPLACED)
    while more := {name for name, used in uses.items() if name not in found and used & found}:
        found |= more
    return {name for name in found if name.startswith("test")}


def _names_in(statement: ast.stmt) -> set[str]:
    """List all names in a statement: variables, attributes, and arguments, which may be fixtures."""
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    return names | {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}


def _names_set(statement: ast.stmt) -> set[str]:
    """List the names that a statement of a module sets or changes."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return set()
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.If | ast.With | ast.Try):
        return {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    attributes = [node.value for node in ast.walk(statement) if isinstance(node, ast.Attribute)]
    return {node.id for node in attributes if isinstance(node, ast.Name)}  # such as ALL.update(more)


def _names_a_class(text: str) -> bool:
    return any(name in text for name in REPLACED)


def replace(text: str) -> str:
    """Import weald's classes after every import of scikit-learn's, on the same line, and replace attributes of modules.

    Examples
    --------
    >>> replace("from sklearn.tree import DecisionTreeRegressor, export_text")
    'from sklearn.tree import DecisionTreeRegressor, export_text; from weald import DecisionTreeRegressor'
    """
    lines = [line.encode() for line in text.split("\n")]
    changes: list[tuple[int, int, int, bytes]] = []  # (line, first byte, end byte, text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            added = _weald_imports(node)
            if added:
                at = (node.end_col_offset or 0, node.end_col_offset or 0)
                changes.append(((node.end_lineno or 1) - 1, *at, f"; {added}".encode()))
        elif isinstance(node, ast.Attribute) and node.attr in REPLACED and _is_module(node.value):
            instead = f"__import__('weald').{node.attr}".encode()
            changes.append((node.lineno - 1, node.col_offset, node.end_col_offset or 0, instead))
    for line, begin, end, instead in sorted(changes, reverse=True):
        lines[line] = lines[line][:begin] + instead + lines[line][end:]
    return b"\n".join(lines).decode()


def _weald_imports(node: ast.ImportFrom) -> str:
    """Write the import of weald's classes that follows one of scikit-learn's; empty: none of them is in it."""
    module = node.module or ""
    if module.partition(".")[0] != "sklearn":
        return ""
    names = [alias for alias in node.names if alias.name in REPLACED]
    listed = ", ".join(alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in names)
    return f"from weald import {listed}" if names else ""


def _is_module(node: ast.expr) -> bool:
    """Return whether an expression is one of the modules in which scikit-learn has the classes."""
    return (isinstance(node, ast.Name) and node.id in {"tree", "ensemble"}) or (
        isinstance(node, ast.Attribute) and node.attr in {"tree", "ensemble"} and isinstance(node.value, ast.Name)
    )
