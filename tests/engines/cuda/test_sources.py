"""The kernels as one source: its layout as Python reads it, and its compilation for GPUs where NVRTC is installed."""

import ctypes
import importlib.util
from pathlib import Path

import pytest

from tests.engines.cuda.emulator import Emulator
from weald.engines.cuda import grower, sources
from weald.engines.cuda.plan import Measures

DEVICE = Emulator()
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def find_nvrtc():
    """NVRTC of the package nvidia-cuda-nvrtc, which needs no GPU."""
    spec = importlib.util.find_spec("nvidia")
    folders = [Path(folder) for folder in spec.submodule_search_locations] if spec else []
    found = [path for folder in folders for path in folder.glob("*/lib/libnvrtc.so*")]
    return ctypes.CDLL(str(found[0])) if found else None


def compile_for(nvrtc, architecture, n_classes):
    """Return what the compiler says; nothing if all is well."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source = sources.read_source().encode()
    options = [f"--gpu-architecture={architecture}", "-std=c++17", "-fmad=false", f"-DCLASSES={n_classes}"]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"forest.cu", 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), given)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log.value.decode() or ("failed" if failed else "")


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 8])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernels_compile_for_gpus(architecture, n_classes):
    nvrtc = find_nvrtc()
    if nvrtc is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    assert compile_for(nvrtc, architecture, n_classes) == ""


@pytest.mark.parametrize("n_classes", [2, 8])
def test_the_plan_is_laid_out_as_in_the_kernels(n_classes):
    measures = grower.measure(DEVICE, DEVICE.kernels(n_classes))
    assert sources.plan_layout().itemsize == measures.plan
    assert 4 * len(grower.COUNTERS) == measures.counters
    assert all(size > 0 for size in measures)
    assert len(measures) == len(Measures._fields)


def test_each_file_is_in_the_source_once():
    source = sources.read_source()
    assert source.count("struct Plan {") == 1
    assert source.count("// Twigs: a warp takes a small node") == 1
    assert [line for line in source.splitlines() if line.startswith("#include")] == ['#include "emulation.h"']


def test_no_kernel_or_function_is_longer_than_two_screens():
    for path in sources.FOLDER.iterdir():
        lengths, start = {}, None
        for number, line in enumerate(path.read_text().splitlines()):
            if line.endswith("{") and not line.startswith((" ", "}", "#", "//")):
                start = number
            if line.startswith("}") and start is not None:
                lengths[start + 1] = number - start
                start = None
        too_long = {line: n for line, n in lengths.items() if n > 110}
        assert not too_long, f"{path.name}: {too_long}"
