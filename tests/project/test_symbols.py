"""The compiled modules share a process with others: they export no symbols, bundle no libraries, start no threads."""

import importlib
import shutil
import subprocess
import sys

import pytest

from weald import _core

FILES = {name: importlib.import_module(f"weald._core_{name}").__file__ for name in _core.built()}
each = pytest.mark.parametrize("name", FILES)
elf = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("nm") or not shutil.which("readelf"), reason="needs binutils"
)


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


@elf
@each
def test_nothing_is_shown_but_the_door_for_python(name):
    """Two libraries that export the same symbol would use each other's."""
    shown = [line.split()[-1] for line in ask("nm", "-D", "--defined-only", FILES[name]).splitlines()]
    assert shown == [f"PyInit__core_{name}"]


@elf
@each
def test_the_libraries_of_the_system_are_shared(name):
    """A second libstdc++ inside the module would have its own exceptions and locks; OpenMP hangs after a fork."""
    needed = {
        line.split("[")[1].split(".")[0] for line in ask("readelf", "-d", FILES[name]).splitlines() if "NEEDED" in line
    }
    assert "libstdc++" in needed
    assert needed <= {"libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64", "ld-linux-aarch64", "libpthread"}


SIDE_BY_SIDE = """
import os, sys
import numpy, sklearn.ensemble  # whose linear algebra starts threads
for module in sys.argv[1:]:
    before = len(os.listdir("/proc/self/task"))
    __import__(module)
    if module.startswith("weald"):
        assert len(os.listdir("/proc/self/task")) == before, "loading has started a thread"
import numpy as np, pyarrow as pa, weald
from sklearn.ensemble import RandomForestClassifier
table, y = pa.table({"a": np.arange(200.0), "b": [str(i % 3) for i in range(200)]}), np.arange(200) // 100
model = weald.RandomForestClassifier(4, random_state=0, n_jobs=2).fit(table, y)
RandomForestClassifier(4, n_jobs=2).fit(table.column("a").to_numpy()[:, None], y)
assert table.sort_by("b").num_rows == 200
pid = os.fork()
if pid == 0:
    again = weald.RandomForestClassifier(4, random_state=0, n_jobs=2).fit(table, y)
    os._exit(again.forest_.fingerprint() != model.forest_.fingerprint())
assert os.waitpid(pid, 0)[1] == 0
print(model.forest_.fingerprint())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts threads by /proc")
def test_the_order_in_which_libraries_are_loaded_does_not_matter():
    """Locks that a library creates at load time have conflicted with those of others."""
    modules = [f"weald._core_{name}" for name in FILES]
    orders = (["pyarrow", "polars", *modules], [*modules, "polars", "pyarrow"])
    output = [ask(sys.executable, "-W", "ignore", "-c", SIDE_BY_SIDE, *order) for order in orders]
    assert len(set(output)) == 1
