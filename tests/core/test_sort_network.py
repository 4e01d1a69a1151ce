"""core/base/sort_network.h: codes are sorted, equal ones in the order of their positions."""

import random

import pytest

from weald import _core

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("largest", [0, 1, 7, 65_535])
@pytest.mark.parametrize("simd", _core.supported())
def test_any_number_of_codes_is_sorted(simd, largest):
    core = _core.load(simd)
    rng = random.Random(largest)
    for n in range(core.most_sorted + 1):
        codes = [rng.randint(0, largest) for _ in range(n)]
        assert core.sort_codes(codes) == sorted((code, place) for place, code in enumerate(codes))


@pytest.mark.parametrize("simd", _core.supported())
def test_every_order_of_zeros_and_ones_is_sorted(simd):
    """A network that sorts these sorts everything (the zero-one principle)."""
    core = _core.load(simd)
    for pattern in range(2**12):
        codes = [pattern >> i & 1 for i in range(12)]
        assert [code for code, _ in core.sort_codes(codes)] == sorted(codes)
