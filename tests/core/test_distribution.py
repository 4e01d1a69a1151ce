"""Quantiles, cumulated shares and standard deviations of weighted targets: the engines agree bit for bit."""

import numpy as np
import pytest

from tests.core.test_proximity import make_sharing
from tests.laws.cases import CORES, REFERENCE

RNG = np.random.default_rng(8)
CASES = {  # rows, distinct targets, leaves, trees
    "few targets": make_sharing(70, 50, 4, 9, weighed=True),
    "many targets": make_sharing(20, 9000, 30, 6, weighed=True),
    "no rows": make_sharing(0, 50, 4, 9, weighed=True),
    "rows in no leaf": make_sharing(200, 5, 1, 1, weighed=True),
}
LEVELS = np.array([0.0, 1e-9, 0.1, 0.5, 0.9, 1.0])


def targets_of(sharing):
    return np.sort(RNG.normal(size=sharing.n_members))


@pytest.mark.sanitize
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_engines_agree_on_distributions(case, core, n_threads):
    sharing = CASES[case]
    target = targets_of(sharing)
    limits = np.array([0, 1, sharing.n_members // 2, sharing.n_members])
    engine = CORES[core]
    np.testing.assert_array_equal(
        engine.quantiles(sharing, target, LEVELS, n_threads), REFERENCE.quantiles(sharing, target, LEVELS)
    )
    np.testing.assert_array_equal(
        engine.cumulated_shares(sharing, target, limits, n_threads), REFERENCE.cumulated_shares(sharing, target, limits)
    )
    np.testing.assert_array_equal(
        engine.standard_deviations(sharing, target, n_threads), REFERENCE.standard_deviations(sharing, target)
    )


def test_a_row_that_is_in_no_leaf_has_no_distribution():
    sharing = CASES["rows in no leaf"]
    is_nowhere = (sharing.leaves < 0).all(axis=1)
    assert 0 < is_nowhere.sum() < len(is_nowhere)
    target = targets_of(sharing)
    for found in (
        REFERENCE.quantiles(sharing, target, np.array([0.5]))[:, 0],
        REFERENCE.cumulated_shares(sharing, target, np.array([5]))[:, 0],
        REFERENCE.standard_deviations(sharing, target),
    ):
        np.testing.assert_array_equal(np.isnan(found), is_nowhere)
