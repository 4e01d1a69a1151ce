"""No two threads of a block race for the same bytes: every access of the emulated kernels is checked (races.cpp)."""

import random

import pytest

from tests.engines.cuda.emulator import Emulator
from tests.engines.cuda.test_laws import SMALL, draw_case, grow
from tests.laws.cases import NATIVE
from weald.engines.cuda.engine import CudaEngine

CHECKED = Emulator(races=True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_threads_do_not_race(seed):
    dice = random.Random(seed)
    table, growth = draw_case(dice, dice.choice([60, 250, 400]))
    engine = CudaEngine(lambda: CHECKED, **SMALL)
    found = grow(engine, table, growth, n_trees=1)
    assert found.fingerprint() == grow(NATIVE, table, growth, n_trees=1).fingerprint()
    assert engine.n_grown == 1
    assert CHECKED.count_races() == 0


@pytest.mark.slow
def test_a_race_is_found():
    """A kernel without the barrier that it needs."""
    kernels = Emulator(races=True).kernels(2)
    before = kernels.library.emulation_races()
    kernels.start("race_on_purpose", 1, 64, 64)
    assert kernels.library.emulation_races() > before
