"""The examples in the docstrings run, and print the documented output."""

import doctest
import importlib
from pathlib import Path

import pytest

import weald

PACKAGE = Path(weald.__file__).parent
MODULES = [".".join(["weald", *path.relative_to(PACKAGE).with_suffix("").parts]) for path in PACKAGE.rglob("*.py")]


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_examples_of_a_module_run(name):
    module = importlib.import_module(name.removesuffix(".__init__"))
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0
