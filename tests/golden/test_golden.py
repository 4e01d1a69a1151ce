"""Forests have the stored fingerprints, on every engine and instruction set.

If one of these fails, the contract has changed: see tests/golden/write.py.
"""

import pytest

from tests.golden.cases import fingerprint, make_cases, read_file
from tests.laws.cases import CORES, REFERENCE

GOLDEN = read_file()
CASES = make_cases()


def test_every_case_has_a_golden_fingerprint():
    assert list(CASES) == list(GOLDEN)
    assert len(set(GOLDEN.values())) > 0.95 * len(GOLDEN)  # for some tables, a few options have no effect


@pytest.mark.sanitize
@pytest.mark.parametrize("name", CASES)
def test_the_native_engine_grows_the_golden_forest(name):
    for engine in CORES.values():
        assert fingerprint(engine, CASES[name]) == GOLDEN[name]


@pytest.mark.parametrize("name", CASES)
def test_the_definition_grows_the_golden_forest(name):
    assert fingerprint(REFERENCE, CASES[name]) == GOLDEN[name]
