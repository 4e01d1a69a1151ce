"""Generates src/weald/_core.pyi, the types of the compiled core.

nanobind knows the types of the compiled module; the names that src/weald/_core.py adds follow them. `make fix` runs
this file, and tests/project/test_stub.py holds its result against the file in the tree.
"""

import ast
from pathlib import Path

from nanobind.stubgen import StubGen

from weald import _core

PACKAGE = Path(__file__).parents[1] / "src" / "weald"
STUB = PACKAGE / "_core.pyi"
HEADER = """\
# Generated from the compiled core by `make fix`: edit bindings/*.cpp or src/weald/_core.py, not this file.

from types import ModuleType

"""


def make_stub() -> str:
    """Return the text that _core.pyi should have."""
    return HEADER + "\n\n".join([_describe_compiled(), "SETS: tuple[str, ...]", *_describe_own()]) + "\n"


def _describe_compiled() -> str:
    module = _core.load("baseline")
    generator = StubGen(module)
    generator.put(module)
    text: str = generator.get()
    # The stub describes all instruction sets, so it must not contain the value of `simd`.
    return text.replace("simd: str = 'baseline'", "simd: str").strip()


def _describe_own() -> list[str]:
    """Return the public functions of _core.py, each as its first line and its docstring."""
    source = ast.parse((PACKAGE / "_core.py").read_text())
    functions = [part for part in source.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")]
    for function in functions:
        function.body = function.body[:1]
    return [ast.unparse(function) for function in functions]


if __name__ == "__main__":
    STUB.write_text(make_stub())
