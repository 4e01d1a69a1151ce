"""core/score/criteria.h against the definition and the math library: the logarithm of entropy."""

import math
import random

import pytest

from weald import _core
from weald.engines.reference import definition

pytestmark = pytest.mark.sanitize

DICE = random.Random(0)
NUMBERS = [1.0, 1.5, 2.0, 3.0, math.sqrt(2), 2 * math.sqrt(2), 2.0**53, 2.0**62, *range(4, 2000)]
NUMBERS += [float(DICE.getrandbits(bits) + 1) for bits in range(1, 64) for _ in range(20)]


@pytest.mark.parametrize("simd", _core.supported())
def test_the_logarithm_is_that_of_the_definition(simd):
    core = _core.load(simd)
    assert [core.log2(x).hex() for x in NUMBERS] == [definition.log2(float(x)).hex() for x in NUMBERS]


def test_the_logarithm_is_a_logarithm():
    for x in NUMBERS:
        assert definition.log2(float(x)) == pytest.approx(math.log2(x), rel=1e-14)
