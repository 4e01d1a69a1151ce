"""A file uses only what stands below it.

core/ knows no Python; its files stand in the order of LAYERS. bindings/ may use the core. In src/weald each thing that
comes from outside has one door: data frames enter in frames.py, the compiled core in engines/native.py.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "weald"

# The files of core/ (a .h and a .cpp of one name are one file), lowest first. Not all need exist.
LAYERS = [
    "cpu",
    "view",
    "by_column",
    "freed",
    "large_pages",
    "code_room",
    "random",
    "sortable",
    "guide",
    "threads",
    "seats",
    "tasks",
    "kernels",
    "weights",
    "target",
    "design",
    "column",
    "sparse_codes",
    "cuts",
    "sort_keys",
    "code_columns",
    "weighing",
    "ranks",
    "binary",
    "codes",
    "growth",
    "bag",
    "criteria",
    "labels",
    "scores",
    "gather",
    "candidate",
    "vectors",
    "monotonic",
    "sort_network",
    "sort_radix",
    "sweep",
    "search_cells",
    "search_few_classes",
    "tally",
    "search_few_many",
    "few_numbers",
    "search_few_numbers",
    "search_lanes",
    "search_lane_bins",
    "class_lanes",
    "search_lane_classes",
    "search_lane_counts",
    "bin_scores",
    "search_class_bins",
    "search_rows",
    "search_constrained",
    "search_random",
    "forest",
    "forest_arrays",
    "join_trees",
    "forest_view",
    "tree_parts",
    "model_parts",
    "model_two_classes",
    "model_many_classes",
    "model_numbers",
    "models",
    "several_targets",
    "category_order",
    "feature_draw",
    "sibling_draws",
    "node",
    "piece",
    "tree_rows",
    "filled_blocks",
    "block",
    "node_codes",
    "carried_bins",
    "filled_rows",
    "search_categories",
    "search_binary",
    "split_parts",
    "random_split",
    "lane_split",
    "find_split",
    "partition",
    "small_rows",
    "search_small_rows",
    "few_nodes",
    "small_subtree",
    "thresholds",
    "write_tree",
    "grower",
    "nursery",
    "row_weights",
    "grow",
    "grow_targets",
    "curve",
    "category_sets",
    "folded",
    "unfolder",
    "unfold_gains",
    "unfold",
    "predict",
    "importance",
    "sharing",
    "packed_leaves",
    "packed",
    "row_keys",
    "walk",
    "batch",
    "out_of_bag",
]

# Headers of machine instructions, of the allocator and of pages: those from outside whose names end in .h.
OUTSIDE = {"immintrin.h", "malloc.h", "sys/mman.h"}

# What only the files beside it may import; a name stands for all that is inside it.
DOORS = {
    "dask": {"cluster.py"},
    "distributed": {"cluster.py"},
    "matplotlib": {f"plot/{path.name}" for path in (PACKAGE / "plot").glob("*.py")},
    "narwhals": {"frames.py"},
    "pandas": {"frames.py"},
    "polars": {"frames.py"},
    "pyarrow": {"frames.py", "sources.py", *(f"cli/{path.name}" for path in (PACKAGE / "cli").glob("*.py"))},
    "weald._core": {"engines/native.py", "criteria.py", "cli/doctor.py", "filing/packing.py"},
    "weald._core_baseline": {"_core.py"},
}

CORE_FILES = sorted((ROOT / "core").glob("*"))
PYTHON_FILES = sorted(PACKAGE.rglob("*.py"))


def includes(path: Path) -> list[str]:
    """Return what a C++ file includes, as written between the quotes or brackets."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text(), flags=re.MULTILINE)


def imports(path: Path) -> set[str]:
    """Return the full names of what a Python file imports, inside functions too."""
    names = set()
    for part in ast.walk(ast.parse(path.read_text())):
        if isinstance(part, ast.Import):
            names |= {alias.name for alias in part.names}
        if isinstance(part, ast.ImportFrom):
            source = ".".join(filter(None, [_above(path, part.level), part.module]))
            names |= {f"{source}.{alias.name}" for alias in part.names}
    return names


def _above(path: Path, level: int) -> str:
    """Return the package that `level` leading dots mean in a file; no dots, no package."""
    folders = path.relative_to(PACKAGE.parent).parts[:-1]
    return ".".join(folders[: len(folders) + 1 - level]) if level else ""


def within(name: str, outer: str) -> bool:
    return name == outer or name.startswith(outer + ".")


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: path.name)
def test_the_core_knows_no_python(path):
    assert not [name for name in includes(path) if re.search("python|nanobind|pybind|numpy", name, re.IGNORECASE)]


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: path.name)
def test_a_core_file_includes_only_what_stands_below_it(path):
    assert path.stem in LAYERS, f"{path.name} has no place yet: add it to LAYERS in tests/test_layers.py"
    ours = [Path(name).stem for name in includes(path) if name.endswith(".h") and name not in OUTSIDE]
    allowed = LAYERS[: LAYERS.index(path.stem) + 1]
    assert not [name for name in ours if name not in allowed], f"{path.name} may include {allowed}"


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_comes_from_outside_enters_by_its_door(path):
    file = path.relative_to(PACKAGE).as_posix()
    for name in imports(path):
        for outer, doors in DOORS.items():
            assert not within(name, outer) or file in doors, f"{file} imports {name}; only {sorted(doors)} may"


def test_the_reference_engine_needs_python_alone():
    path = PACKAGE / "engines" / "reference.py"
    if not path.exists():
        pytest.skip("there is no reference engine yet")
    foreign = {name for name in imports(path) if name.split(".")[0] not in sys.stdlib_module_names}
    assert not foreign


def test_imports_are_found_however_they_are_written(tmp_path, monkeypatch):
    package = tmp_path / "weald"
    (package / "engines").mkdir(parents=True)
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", package)
    file = package / "engines" / "native.py"
    file.write_text("from weald import _core\nfrom .. import a\nfrom .b import c\ndef f():\n    import d.e\n")
    assert imports(file) == {"weald._core", "weald.a", "weald.engines.b.c", "d.e"}
