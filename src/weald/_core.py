"""The compiled core: chooses the module for this processor and re-exports its names.

The same C++ sources are built once for each instruction set (`_core_baseline`, `_core_avx2`, `_core_avx512`). All of
them return the same bits, so the choice affects only speed. The environment variable `WEALD_SIMD` overrides it.

`simd` is the name of the set in use, `built()` and `supported()` list the available ones, and `load(name)`
returns the module of one set, for tests that compare them. Types are in `_core.pyi`, which `make fix` generates.
"""

import importlib
import os
from importlib.util import find_spec
from types import ModuleType

# Fastest first: the first set that is built and supported by the processor is used.
SETS = ("avx512", "avx2", "baseline")


def built() -> tuple[str, ...]:
    """Return the instruction sets that this installation has a module for, fastest first."""
    return tuple(name for name in SETS if find_spec(f"weald._core_{name}") is not None)


def supported() -> tuple[str, ...]:
    """Return the instruction sets that are built and that this processor can run, fastest first.

    A build for one machine has a single module, which need not be the baseline; any module can test the processor.
    """
    slowest = importlib.import_module(f"weald._core_{built()[-1]}")
    return tuple(name for name in built() if slowest.cpu_supports(name))


def load(name: str) -> ModuleType:
    """Return the compiled module of one instruction set."""
    if name not in SETS:
        raise ImportError(f"{name!r} is not an instruction set of weald. {_choices()}")
    if name not in built():
        raise ImportError(f"The instruction set {name!r} is not part of this installation. {_choices()}")
    if name not in supported():
        raise ImportError(f"This processor cannot run the instruction set {name!r}. {_choices()}")
    return importlib.import_module(f"weald._core_{name}")


def _choices() -> str:
    names = ", ".join(f'"{name}"' for name in supported())
    return f"Available here: {names}."


def _choose() -> ModuleType:
    wanted = os.environ.get("WEALD_SIMD", "")
    if not wanted:
        return load(supported()[0])
    try:
        return load(wanted)
    except ImportError as error:
        raise ImportError(f"WEALD_SIMD={wanted!r}: {error} Unset WEALD_SIMD to use the fastest.") from None


globals().update({name: value for name, value in vars(_choose()).items() if not name.startswith("_")})
