"""The wheel works without a compiler and a source tree."""

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from weald import _core

# One wheel for all tests here.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).parents[2]
FIT = """
import shutil
assert not any(map(shutil.which, ["cc", "gcc", "g++", "c++", "clang", "cmake", "ninja", "make"]))

import weald
from weald import _core
from sklearn.datasets import load_iris

X, y = load_iris(return_X_y=True)
forest = weald.RandomForestClassifier(n_estimators=10, random_state=1).fit(X, y)
assert forest.score(X, y) > 0.95
print(weald.__version__, _core.simd, weald.__file__)
"""


def run(*command: object, **options: object) -> str:
    """Run a command, show its output when it fails, and return what it printed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    # The flags of a make that runs these tests are not meant for this one.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    run("make", "wheel", f"DIST={folder}", cwd=ROOT, env=alone)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Return the interpreter of a fresh environment into which the wheel, and nothing of the tree, is installed."""
    environment = tmp_path_factory.mktemp("wheel") / "venv"
    run(sys.executable, "-m", "venv", environment)
    bare = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    run(environment / "bin" / "pip", "install", "--only-binary", ":all:", wheel, env=bare)
    return environment / "bin" / "python"


def test_the_wheel_holds_every_instruction_set(wheel):
    listing = run(sys.executable, "-m", "zipfile", "--list", wheel)
    for name in _core.built():
        assert f"weald/_core_{name}." in listing
    assert "weald/py.typed" in listing
    assert "weald/_core.pyi" in listing


def test_the_wheel_holds_its_bill_of_materials(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/sboms/weald.cdx.json")]
        bill = json.loads(archive.read(name))
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", version("weald"))
    names = {part["name"]: part.get("version") for part in bill["components"]}
    assert names.keys() == {"nanobind", "robin-map", "numpy", "scikit-learn", "narwhals"}
    assert names["nanobind"] == version("nanobind")
    assert re.fullmatch(r"\d+\.\d+\.\d+", names["robin-map"])


def test_the_wheel_holds_no_folder_of_the_build(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            assert os.fsencode(ROOT) not in archive.read(name), name


def test_the_wheel_fits_where_there_is_no_compiler(python, tmp_path):
    bare = {"PATH": str(python.parent), "CC": "false", "CXX": "false", "HOME": str(tmp_path)}
    seen_version, simd, file = run(python, "-c", FIT, cwd=tmp_path, env=bare).split()
    assert seen_version == version("weald")
    assert simd
    assert Path(file).is_relative_to(python.parents[2])
    print(f"weald {seen_version} from {file} uses {simd}")  # noqa: T201 - pytest shows it with -rP


def test_the_wheel_asks_for_no_more_than_the_system_it_names(wheel):
    assert "linux" not in sys.platform or "manylinux" in wheel.name
