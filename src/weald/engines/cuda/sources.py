"""The source of the kernels, and the layout of the plan that they read.

read_source   all files as one text, so that a compiler's cache sees each change
plan_layout   the members of `Plan` in kernels/plan.cuh -> a NumPy type
"""

import re
from functools import cache
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "kernels"
MAIN = "forest.cu"
ON_HOST = frozenset({"emulation.h"})  # included only where there is no GPU
INCLUDE = re.compile(r'^#include "(?P<name>[^"]+)"$', re.MULTILINE)
MEMBER = re.compile(r"^ {4}(?P<type>[\w ]+?)(?P<pointer>\*?) (?P<name>\w+);", re.MULTILINE)
TYPES = {"u32": "<u4", "u64": "<u8", "double": "<f8"}


@cache
def read_source() -> str:
    """Return the source of all kernels, each file once, where it is first included."""
    return _expand(MAIN, set())


def _expand(name: str, seen: set[str]) -> str:
    """Replace the includes of a file by the files."""
    if name in seen:
        return ""
    seen.add(name)
    text = (FOLDER / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
    return INCLUDE.sub(lambda found: _included(found["name"], found[0], seen), text)


def _included(name: str, line: str, seen: set[str]) -> str:
    return line if name in ON_HOST else _expand(name, seen)


@cache
def plan_layout() -> np.dtype:
    """Read the members of `Plan`, in order: addresses and numbers are aligned as in C."""
    text = (FOLDER / "plan.cuh").read_text(encoding="utf-8")
    body = text.split("struct Plan {")[1].split("\n};")[0]
    members = [(m["name"], "<u8" if m["pointer"] else TYPES[m["type"]]) for m in MEMBER.finditer(body)]
    return np.dtype(members, align=True)
