"""Native against reference on random tables and parameters: codes, trees, votes and bags, bit for bit.

The cases are those of the laws (tests/laws/cases.py): all criteria, kinds of columns, weights, bags, constraints and
stopping rules together. Every instruction set that this processor has is compared, and the hash of the data.
"""

import warnings

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.campaigns.campaign import Budget, Figures, main, run_cases, told
from tests.laws.cases import CORES, CRITERIA, REFERENCE, assert_same, cases, outcome

AT_ONCE = 10  # cases of one criterion


def check(case) -> str:
    """Compare some cases of one criterion; hypothesis shrinks the first that differs."""
    criterion, number = case

    @settings(max_examples=AT_ONCE, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @seed(number)
    @given(cases(criterion), st.integers(1, 3))
    def compare(drawn, n_threads):
        expected = outcome(REFERENCE, drawn)
        product = REFERENCE.row_product(drawn.table)
        for core in CORES.values():
            assert_same(outcome(core, drawn, n_threads), expected)
            assert core.row_product(drawn.table, n_threads) == product

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare()
    return criterion


def work(budget: Budget) -> Figures:
    numbers = ((c, budget.seed * 10**6 + n) for n in range(10**6) for c in CRITERIA)
    counts = run_cases(numbers, check, budget)
    for name in counts:
        counts[name] *= AT_ONCE
    sets = ", ".join(CORES)
    return [(f"random fits, native ({sets})", f"{counts.total():,}", f"as the reference: {told(counts)}")]


if __name__ == "__main__":
    main("differential", __doc__ or "", work)
