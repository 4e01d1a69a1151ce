"""A GPU, as far as growing trees needs one.

Device       the interface: arrays, and kernels for a kind of model; tests have one that emulates blocks on the host
Kernels      the compiled kernels of a kind of model
CupyDevice   a GPU through CuPy, which compiles the kernels when they are first used and keeps them on disk
"""

from threading import Lock
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike

from weald.data.types import Array
from weald.engines.cuda.sources import read_source
from weald.errors import ParameterError

GpuArray = Any  # CuPy has no types of its own
GpuFunction = Any
LEAST_CAPABILITY = 8  # sums over a warp in one instruction
PLAIN_SHARED_BYTES = 48 << 10  # of a block
INSTALL = "Install CuPy for your version of CUDA, for example with pip install cupy-cuda13x"


class Kernels(Protocol):
    """The compiled kernels of a kind of model."""

    def set_plan(self, plan: bytes) -> None:
        """Let kernels that are started from now on read this plan."""

    def start(self, name: str, n_blocks: int, n_threads: int, shared_bytes: int = 0) -> None:
        """Start a kernel; it runs when those before it are done."""


class Device(Protocol):
    """Arrays in the memory of a device, and kernels that use them."""

    n_multiprocessors: int
    shared_bytes: int  # of a block, at most
    lock: Lock  # one forest is grown at a time: kernels of a kind share one plan

    def empty(self, n: int, dtype: DTypeLike) -> object:
        """Make an array."""

    def zeros(self, n: int, dtype: DTypeLike) -> object:
        """Make an array of zeros."""

    def upload(self, array: Array) -> object:
        """Copy an array to the device."""

    def download(self, array: object, n: int | None = None) -> Array:
        """Copy an array, or its first n items, from the device, when the kernels that write it are done."""

    def address(self, array: object) -> int:
        """Return where an array is."""

    def free_bytes(self) -> int:
        """Return how much memory is free."""

    def kernels(self, n_classes: int) -> Kernels:
        """Return the kernels for 2 classes, or for up to 8."""


class CupyKernels:
    """Kernels that CuPy compiled."""

    def __init__(self, cupy: ModuleType, n_classes: int) -> None:
        """Compile them, or find them in CuPy's cache on disk. Products and sums are never fused."""
        options = ("-std=c++17", "-fmad=false", f"-DCLASSES={n_classes}")
        self._cupy = cupy
        self._module = cupy.RawModule(code=read_source(), options=options)
        self._found: dict[str, GpuFunction] = {}

    def set_plan(self, plan: bytes) -> None:
        """Copy the plan to constant memory."""
        there = self._module.get_global("plan")
        self._cupy.ndarray(len(plan), dtype=np.uint8, memptr=there).set(np.frombuffer(plan, dtype=np.uint8))

    def start(self, name: str, n_blocks: int, n_threads: int, shared_bytes: int = 0) -> None:
        """Start a kernel on CuPy's current stream."""
        kernel = self._found.get(name)
        if kernel is None:
            kernel = self._found[name] = self._module.get_function(name)
        if shared_bytes > PLAIN_SHARED_BYTES:  # more has to be asked for
            kernel.max_dynamic_shared_size_bytes = shared_bytes
        kernel((n_blocks,), (n_threads,), (), shared_mem=shared_bytes)


class CupyDevice:
    """The current GPU of CuPy."""

    def __init__(self) -> None:
        """Open it; without CuPy or a GPU, say what is missing."""
        cupy = _import_cupy()
        try:
            n_devices = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise ParameterError(
                f"engine='cuda' needs an NVIDIA GPU, but CUDA found none: {error}. Set engine='native'; the forest is "
                "the same."
            ) from error
        if n_devices == 0:
            raise ParameterError("engine='cuda' needs an NVIDIA GPU. Set engine='native'; the forest is the same.")
        self._cupy = cupy
        facts = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
        if facts["major"] < LEAST_CAPABILITY:
            raise ParameterError(
                f"engine='cuda' needs a GPU of compute capability {LEAST_CAPABILITY}.0 or more, but this one has "
                f"{facts['major']}.{facts['minor']}. Set engine='native'; the forest is the same."
            )
        self.n_multiprocessors = int(facts["multiProcessorCount"])
        self.shared_bytes = int(facts["sharedMemPerBlockOptin"])
        self.lock = Lock()
        self._kernels: dict[int, CupyKernels] = {}

    def empty(self, n: int, dtype: DTypeLike) -> GpuArray:
        """Make an array."""
        return self._cupy.empty(n, dtype=dtype)

    def zeros(self, n: int, dtype: DTypeLike) -> GpuArray:
        """Make an array of zeros."""
        return self._cupy.zeros(n, dtype=dtype)

    def upload(self, array: Array) -> GpuArray:
        """Copy an array to the GPU."""
        return self._cupy.asarray(array)

    def download(self, array: GpuArray, n: int | None = None) -> Array:
        """Copy an array, or its first n items, from the GPU."""
        found: Array = self._cupy.asnumpy(array[:n])
        return found

    def address(self, array: GpuArray) -> int:
        """Return where an array is."""
        return int(array.data.ptr)

    def free_bytes(self) -> int:
        """Return how much memory is free: on the GPU, and in the blocks that CuPy keeps."""
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return int(free + self._cupy.get_default_memory_pool().free_bytes())

    def kernels(self, n_classes: int) -> CupyKernels:
        """Compile the kernels of a kind of model on first use."""
        if n_classes not in self._kernels:
            self._kernels[n_classes] = CupyKernels(self._cupy, n_classes)
        return self._kernels[n_classes]


def _import_cupy() -> ModuleType:
    try:
        import cupy
    except ImportError as error:
        raise ParameterError(
            f"engine='cuda' needs CuPy, which cannot be imported: {error}. {INSTALL}, or set engine='native'; the "
            "forest is the same."
        ) from error
    found: ModuleType = cupy
    return found


_OPENED: list[CupyDevice] = []


def open_cupy() -> CupyDevice:
    """Open the GPU once in a process, so that its kernels are loaded once."""
    if not _OPENED:
        _OPENED.append(CupyDevice())
    return _OPENED[0]
