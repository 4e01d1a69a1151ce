"""Values of a file are of the types that the records declare."""

import types
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weald.io.values import fits


def named(hint):
    """A name for a type, as the type statement makes one where Python has it, and as NumPy's NDArray is there."""
    return types.SimpleNamespace(__value__=hint)


@pytest.mark.parametrize(
    ("value", "hint", "right"),
    [
        (np.zeros(2), npt.NDArray[Any], True),
        ([0.0, 0.0], npt.NDArray[Any], False),
        (np.zeros(2), types.GenericAlias(named(npt.NDArray[Any]), (float,)), True),
        ([0.0, 0.0], types.GenericAlias(named(npt.NDArray[Any]), (float,)), False),
        (np.zeros(2), npt.NDArray[Any] | None, True),
        (None, npt.NDArray[Any] | None, True),
        (1, named(named(int)), True),
        (True, named(named(int)), False),
        (1, float, True),
        ("1", float, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "2"), tuple[int, ...], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "1"}, dict[str, int], False),
    ],
)
def test_a_value_fits_a_declared_type_or_does_not(value, hint, right):
    assert fits(value, hint) is right
