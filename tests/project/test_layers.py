"""A folder is a layer: it uses only the layers that its table allows. The tables below are the architecture.

Imports inside functions count like all others, and so do those for type checkers, except in cycles: they do not run.
`EXCEPTIONS` lists the few that point upward, each with its reason; all other imports, of modules and of folders, form
no cycle.
"""

import ast
import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "weald"
CORE = ROOT / "core"

# Packages of src/weald, lowest first, and which of the others they may import. Top-level modules other than
# `__init__` and `__main__` import each other and nothing above them.
LAYERS = {
    "data": (),
    "forest": ("data",),
    "engines": ("forest", "data"),
    "estimators": ("engines", "forest", "data"),
    "inspection": ("estimators", "engines", "forest", "data"),
    "uncertainty": ("estimators", "engines", "forest", "data"),
    "io": ("estimators", "engines", "forest", "data"),
    # subclasses of scikit-learn's classes, which use estimators and io; no other package uses them
    "accel": ("io", "estimators", "engines", "forest", "data"),
    "codes": ("io", "estimators", "engines", "forest", "data"),
    "dask": ("codes", "io", "estimators", "engines", "forest", "data"),
    "mlflow": ("io", "estimators", "engines", "forest", "data"),
    "plot": ("inspection", "estimators", "engines", "forest", "data"),
    "reports": ("plot", "inspection", "io", "estimators", "engines", "forest", "data"),
    "cli": (
        "reports",
        "plot",
        "uncertainty",
        "inspection",
        "dask",
        "codes",
        "io",
        "estimators",
        "engines",
        "forest",
        "data",
    ),
}

# Modules that import a higher package inside functions, with the reasons.
METHODS = ("estimators.base", "estimators.forest_base", "estimators.tree_base")
EXCEPTIONS = {
    (("estimators.base",), "io"): "model.save(), model.to_c(): thin methods; files know all estimators",
    (("estimators.base",), "reports"): "model.report(): a page on a model loads when it is asked for",
    (METHODS, "inspection"): "model.shap_values(), forest.neighbors(): thin methods, the work is above",
    (
        ("estimators.base", "estimators.tasks", "estimators.forest_base", "estimators.out_of_bag"),
        "uncertainty",
    ): "forest.predict_quantiles(), oob_.error_interval(): thin methods, the work is above",
    (("estimators.checkpoints",), "io"): "a checkpoint is made of model files",
    (("estimators.prediction",), "dask"): "predictions of Dask collections: Dask loads when it is used",
    (("engines.choose",), "dask"): "the engine of a cluster: Dask loads when it is used",
    (("forest.forest",), "io"): "a pickle of a forest carries the bytes of a file and goes through its checks",
    (("inspection.displays",), "plot"): "importance.plot(), explanation.bar(): matplotlib loads when it is used",
}

# Folders of core/, lowest first: each may include those before it.
CORE_LAYERS = (
    "base",
    "coding",
    "draw",
    "score",
    "tree",
    "rows",
    "search",
    "targets",
    "grow",
    "predict",
    "inspect",
    "files",
)

# Packages from outside that only the files beside them may import.
ENTRY_POINTS = {
    "cupy": {"engines/cuda/device.py"},
    "dask": {"dask/cluster.py"},
    "distributed": {"dask/cluster.py"},
    "matplotlib": {"plot/"},
    "mlflow": {"mlflow/"},
    "narwhals": {"data/frames.py"},
    "pandas": {"data/frames.py", "mlflow/prediction.py"},
    "polars": {"data/frames.py"},
    "pyarrow": {"data/frames.py", "codes/sources.py", "cli/"},
    "weald._core": {"engines/native.py", "engines/criteria.py", "cli/doctor.py", "io/packing.py"},
}

# System headers whose names end in .h: instructions, the allocator, pages.
SYSTEM_HEADERS = {"immintrin.h", "malloc.h", "sys/mman.h"}

MOST_AT_THE_TOP = 21

CORE_FILES = sorted(path for path in CORE.rglob("*") if path.suffix in {".h", ".cpp"})
PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> str:
    """Return the name of a file's module inside weald: `data.table`; a package has its own name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PYTHON_FILES}


def imports(path: Path, *, types: bool = False) -> set[str]:
    """Return the full names of what a Python file imports, inside functions too; those for type checkers on demand."""
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    for part in ast.walk(tree) if types else _running(tree):
        if isinstance(part, ast.Import):
            names |= {alias.name for alias in part.names}
        if isinstance(part, ast.ImportFrom):
            source = ".".join(filter(None, [_above(path, part.level), part.module]))
            names |= {f"{source}.{alias.name}" for alias in part.names}
    return names


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk a syntax tree, all but the blocks under `if TYPE_CHECKING`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield from _running(child)


def _above(path: Path, level: int) -> str:
    """Return the package that `level` leading dots mean in a file; no dots, no package."""
    folders = path.relative_to(PACKAGE.parent).parts[:-1]
    return ".".join(folders[: len(folders) + 1 - level]) if level else ""


def uses(module: str, *, types: bool = False) -> set[str]:
    """Return the modules of weald that a module imports."""
    found = imports(MODULES[module], types=types)
    ours = {name.removeprefix("weald.") for name in found if name.startswith("weald.")}
    found = {name if name in MODULES else name.rpartition(".")[0] for name in ours}
    return {name for name in found if name in MODULES and name not in {"", module}}


def is_excepted(module: str, used: str) -> bool:
    return any(module in below and within(used, above) for below, above in EXCEPTIONS)


def within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(outer + ".")


def includes(path: Path) -> list[str]:
    """Return what a C++ file includes, as written between the quotes or brackets."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), flags=re.MULTILINE)


# --------------------------------------------------------------------------------------------------------- Python


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"", "__main__"}))
def test_a_module_imports_only_the_layers_below_it(module):
    package = module.split(".")[0]
    allowed = {package, *LAYERS.get(package, ())} if package in LAYERS else set()
    packages = {used for used in uses(module, types=True) if used.split(".")[0] in LAYERS}
    upward = {used for used in packages if used.split(".")[0] not in allowed and not is_excepted(module, used)}
    assert not upward, f"{module} is in {package}, which may import {sorted(allowed)}"


def test_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= 10
    for modules, above in EXCEPTIONS:
        for module in modules:
            assert any(within(used, above) for used in uses(module)), f"{module} no longer imports {above}"


def test_modules_form_no_cycle():
    graph = {module: {used for used in uses(module) if not is_excepted(module, used)} for module in MODULES}
    graph[""] = set()  # `weald` itself imports public names when they are first used
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail("a cycle of imports: " + " <- ".join(error.args[1]))


def test_every_package_has_its_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(LAYERS)


@pytest.mark.parametrize("path", PYTHON_FILES, ids=module_of)
def test_packages_from_outside_are_imported_in_few_places(path):
    file = path.relative_to(PACKAGE).as_posix()
    for name in imports(path):
        for outer, entries in ENTRY_POINTS.items():
            allowed = any(file == entry or (entry.endswith("/") and file.startswith(entry)) for entry in entries)
            assert not within(name, outer) or allowed, f"{file} imports {name}; only {sorted(entries)} may"


def test_the_reference_engine_needs_python_alone():
    foreign = {
        name
        for name in imports(PACKAGE / "engines" / "reference" / "definition.py")
        if name.split(".")[0] not in sys.stdlib_module_names
    }
    assert not foreign


def test_imports_are_found_however_they_are_written(tmp_path, monkeypatch):
    package = tmp_path / "weald"
    (package / "engines").mkdir(parents=True)
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", package)
    file = package / "engines" / "native.py"
    file.write_text("from weald import _core\nfrom .. import a\nfrom .b import c\ndef f():\n    import d.e\n")
    assert imports(file) == {"weald._core", "weald.a", "weald.engines.b.c", "d.e"}
    file.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from weald import a\n")
    assert imports(file, types=True) - imports(file) == {"weald.a"}


# ------------------------------------------------------------------------------------------------------------ C++


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_the_core_knows_no_python(path):
    assert not [name for name in includes(path) if re.search("python|nanobind|pybind|numpy", name, re.IGNORECASE)]


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_a_core_file_includes_only_the_layers_below_it(path):
    ours = [name for name in includes(path) if name.endswith(".h") and name not in SYSTEM_HEADERS]
    allowed = CORE_LAYERS[: CORE_LAYERS.index(path.parent.name) + 1]
    assert not [name for name in ours if name.split("/")[0] not in allowed], f"{path.name} may include {allowed}"


def test_core_files_form_no_cycle():
    graph = {
        str(path.relative_to(CORE)): [name for name in includes(path) if (CORE / name).is_file()] for path in CORE_FILES
    }
    list(TopologicalSorter(graph).static_order())


# Compiled once for all instruction sets, as CMakeLists.txt lists them.
COMMON_FILES = [
    *(path for folder in ("base", "tree", "files") for path in (CORE / folder).glob("*.cpp")),
    *(CORE / "coding" / f"{name}.cpp" for name in ("cuts", "data_hash", "design")),
    *(CORE / "inspect" / f"{name}.cpp" for name in ("dependence", "distribution", "proximity")),
    *(CORE / "predict" / f"{name}.cpp" for name in ("leaves", "packed")),
    *(path for path in (ROOT / "bindings").glob("*.cpp") if path.name not in {"module.cpp", "bind_parts.cpp"}),
]


@pytest.mark.parametrize("path", COMMON_FILES, ids=lambda path: path.name)
def test_what_is_compiled_once_does_not_depend_on_the_instruction_set(path):
    """The linker would mix functions of one name that differ between sets."""
    found, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        found.add(file)
        candidates = [top / name for name in includes(file) for top in (CORE, ROOT / "bindings")]
        waiting += [one for one in candidates if one.is_file() and one not in found]
    assert len(found) > 1
    assert not [file.name for file in found if re.search(r"__AVX|__BMI", file.read_text())]


# --------------------------------------------------------------------------------------------------------- folders


def test_the_top_of_the_package_has_few_entries():
    entries = [path for path in PACKAGE.iterdir() if path.suffix not in {".so", ".pyd"} and path.name != "__pycache__"]
    assert len(entries) <= MOST_AT_THE_TOP


def folders_in(top: Path) -> list[Path]:
    """List the folders below one, at any depth."""
    return [path for path in top.rglob("*") if path.is_dir() and "__pycache__" not in path.parts]


def test_tests_mirror_the_packages():
    tests = ROOT / "tests"
    no_modules = {Path("engines/reference"), Path("engines/cuda/kernels")}
    mirrored = {path.relative_to(PACKAGE) for path in folders_in(PACKAGE)} - no_modules
    missing = [folder for folder in sorted(mirrored) if not list((tests / folder).glob("test_*.py"))]
    assert not missing
    assert (tests / "laws" / "test_engines_agree.py").is_file()  # which compares all engines with the reference
