"""Laws of multi-output trees: engines agree, and a duplicated target is equivalent to a single one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import UNDER_SANITIZERS
from tests.laws.cases import CORES, OF_SEVERAL_TARGETS, REFERENCE, cases, is_of_classes
from weald.data.targets import number_target

pytestmark = pytest.mark.sanitize


def with_targets(case, columns):
    """Add targets to a case."""
    classify = case.table.n_classes > 0
    found = number_target(np.column_stack(columns), classify=classify)
    growth = replace(case.growth, monotonic=())
    if growth.class_weight == "given":
        n_weights = sum(found.targets.n_classes)
        growth = replace(growth, class_weights=tuple(0.25 + k % 3 for k in range(n_weights)))
    table = replace(case.table, target=found.target, n_classes=found.n_classes, targets=found.targets)
    return replace(case, table=table, growth=growth)


def grow(engine, case, n_threads=1):
    coded = engine.code(case.table, case.max_bins, n_threads, None)
    how = (case.growth, case.seed, 0, case.n_trees, n_threads, None)
    return engine.grow_targets(coded, case.table.targets, *how)


def other_targets(case):
    """Make targets of other kinds: classes of other numbers, a constant; numbers of other ranges, a constant."""
    rng = np.random.default_rng(case.seed)
    y, n = case.table.target, case.table.n_rows
    if case.table.n_classes:
        return [y, rng.integers(0, 2, n), (y + rng.integers(0, 5, n)) % 5, np.zeros(n, dtype=int)]
    y = np.clip(y, -1e300, 1e300)
    return [y, rng.normal(size=n) * 2.0**-40, np.round(y * 1e-3), np.full(n, 7.0)]


@pytest.mark.parametrize("criterion", OF_SEVERAL_TARGETS)
@given(data=st.data())
@settings(max_examples=8 if UNDER_SANITIZERS else 60)
def test_the_native_engine_does_what_the_definition_says_of_several_targets(criterion, data):
    case = data.draw(cases(criterion))
    case = replace(case, growth=replace(case.growth, category_penalty=0.0))  # supports a single target
    case = with_targets(case, other_targets(case))
    expected = [forest.fingerprint() for forest in grow(REFERENCE, case)]
    for engine in CORES.values():
        for n_threads in (1, 3):
            assert [forest.fingerprint() for forest in grow(engine, case, n_threads)] == expected


@pytest.mark.parametrize("criterion", OF_SEVERAL_TARGETS)
@given(data=st.data())
def test_a_target_that_is_given_twice_is_that_target(criterion, data):
    """The mean of two equal scores is that score, so all trees are those of the single target."""
    case = data.draw(cases(criterion))
    growth = replace(case.growth, monotonic=(), class_weight="none", class_weights=(), category_penalty=0.0)
    if is_of_classes(criterion):
        numbers = np.unique(case.table.target, return_inverse=True)[1].astype(np.int32)
        case = replace(case, table=replace(case.table, target=numbers, n_classes=int(numbers.max()) + 1))
    case = replace(case, growth=growth)
    alone = REFERENCE.grow(REFERENCE.code(case.table, case.max_bins), growth, case.seed, 0, case.n_trees)
    twice = with_targets(case, [case.table.target, case.table.target])
    for forest in grow(next(iter(CORES.values())), twice):
        assert forest.fingerprint() == alone.fingerprint()
