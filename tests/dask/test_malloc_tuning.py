"""The allocator keeps memory while a task runs or a table is open, and no longer."""

import os
import platform
import subprocess
import sys

import pytest

from weald.dask.malloc_tuning import RetainedMemory, keeping_memory

SCRIPT = """
import resource
import numpy as np
from weald.dask.malloc_tuning import keep_memory_beside, keeping_memory

class Table:
    pass

def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(1 << 17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(pages())
with keeping_memory():
    with keeping_memory():
        print(pages())
    print(pages())
print(pages())
table = Table()
keep_memory_beside(table)
with keeping_memory():
    pass
print(pages())
del table
print(pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are told nothing")
def test_memory_is_kept_inside_or_beside_and_given_back_afterwards():
    told = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=told, timeout=240
    )
    before, inside, still, after, beside, gone = map(int, done.stdout.split())
    assert before >= 50 * 256  # 1 MiB is 256 pages, newly allocated each time
    assert max(inside, still, beside) < before / 10
    assert min(after, gone) >= 50 * 256


def test_a_task_has_the_name_of_its_function():
    task = RetainedMemory(max)
    assert (task.__name__, task(3, 5)) == ("max", 5)


def test_errors_pass_through(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    with pytest.raises(ZeroDivisionError), keeping_memory():
        RetainedMemory(divmod)(1, 0)
