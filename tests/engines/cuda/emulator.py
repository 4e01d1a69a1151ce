"""A device without a GPU: the kernels run on the host, with blocks and warps emulated (emulation.h).

The compiled kernels are kept by the hash of their source, so that a test run compiles them once.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from threading import Lock

import numpy as np

from weald.engines.cuda.sources import read_source

HERE = Path(__file__).parent
FLAGS = (
    "-std=c++20",
    "-O1",
    "-g1",
    "-ffp-contract=off",
    "-fPIC",
    "-Wall",
    "-Wno-unknown-pragmas",
    "-fno-gnu-unique",
)
COMPILER = shutil.which(os.environ.get("CXX", "g++"))
MEMORY = 4 << 30


def compile_kernels(n_classes, flags=FLAGS, races=False):
    """Compile the kernels of a kind of model, unless they are there. `races`: every access is checked (races.cpp)."""
    files = [read_source(), *((HERE / name).read_text() for name in ("emulation.h", "races.cpp"))]
    if races:
        flags = (*flags, "-fsanitize=thread", "-DEMULATION_RACES", "-fno-threadsafe-statics")
    key = hashlib.sha256(f"{files}{n_classes}{flags}".encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"weald-emulation-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    built = folder / f"{key}.so"
    if not built.exists():
        new = folder / f"{key}.{os.getpid()}"
        what = (f"-DCLASSES={n_classes}", f"-I{HERE}", "-x", "c++", "-", "-c", "-o", f"{new}.o")
        subprocess.run([COMPILER, *flags, *what], input=files[0].encode(), check=True)
        # No sanitizer is linked: its functions are in races.cpp
        hooks = [*FLAGS, HERE / "races.cpp"] if races else []
        subprocess.run([COMPILER, "-shared", f"{new}.o", *hooks, "-o", new], check=True)
        Path(f"{new}.o").unlink()
        new.rename(built)
    return ctypes.CDLL(str(built))


class EmulatedKernels:
    def __init__(self, n_classes, races):
        self.library = compile_kernels(n_classes, races=races)
        self.library.emulation_launch.restype = ctypes.c_bool
        self.library.emulation_launch.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64)

    def set_plan(self, plan):
        ctypes.memmove(ctypes.addressof((ctypes.c_char * len(plan)).in_dll(self.library, "plan")), plan, len(plan))

    def start(self, name, n_blocks, n_threads, shared_bytes=0):
        kernel = ctypes.cast(getattr(self.library, name), ctypes.c_void_p)
        assert self.library.emulation_launch(kernel, n_blocks, n_threads, shared_bytes), f"{name} is stuck"


class Emulator:
    """As `CupyDevice`, with NumPy arrays. What is not written is a pattern."""

    n_multiprocessors = 1
    shared_bytes = 232_448

    def __init__(self, *, races=False):
        self.lock = Lock()
        self.races = races
        self.found = {}

    def empty(self, n, dtype):
        array = np.empty(n, dtype=dtype)
        array.view(np.uint8)[:] = 0xCD
        return array

    def zeros(self, n, dtype):
        return np.zeros(n, dtype=dtype)

    def upload(self, array):
        return np.ascontiguousarray(array)

    def download(self, array, n=None):
        return array[:n].copy()

    def address(self, array):
        return array.ctypes.data

    def free_bytes(self):
        return MEMORY

    def kernels(self, n_classes):
        if n_classes not in self.found:
            self.found[n_classes] = EmulatedKernels(n_classes, self.races)
        return self.found[n_classes]

    def count_races(self):
        """Races found so far; the first ones are on stderr."""
        return sum(kernels.library.emulation_races() for kernels in self.found.values())
