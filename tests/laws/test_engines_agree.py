"""Every engine, on every instruction set and any number of threads, gives what the definition gives, bit for bit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import CORES, CRITERIA, NATIVE, REFERENCE, assert_same, cases, outcome

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
@settings(max_examples=20 if UNDER_SANITIZERS else 200)
def test_the_native_engine_does_what_the_definition_says(criterion, data):
    case = data.draw(cases(criterion))
    expected = outcome(REFERENCE, case)
    for engine in CORES.values():
        assert_same(outcome(engine, case), expected)


@pytest.mark.parametrize("n_threads", [2, 3, 7])
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
def test_the_number_of_threads_changes_nothing(criterion, n_threads, data):
    case = data.draw(cases(criterion, max_rows=400))
    assert_same(outcome(NATIVE, case, n_threads), outcome(NATIVE, case))


@pytest.mark.parametrize("name", CORES)
@pytest.mark.parametrize("criterion", CRITERIA)
@given(data=st.data())
def test_the_instruction_set_changes_nothing(criterion, name, data):
    case = data.draw(cases(criterion, max_rows=2000))
    assert_same(outcome(CORES[name], case), outcome(CORES["baseline"], case))
