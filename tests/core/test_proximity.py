"""Sums over the members of shared leaves, computed by the core and by the test."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tests.laws.cases import CORES, REFERENCE
from weald.engines.interface import LeafMembership
from weald.engines.native import NativeEngine

RNG = np.random.default_rng(3)


def make_sharing(n_rows, n_members, n_leaves, n_trees, *, weighed=False):
    """Assign rows and members to leaves at random; some rows are in no leaf of some trees."""
    members = RNG.integers(0, n_leaves, (n_members, n_trees))
    nodes = members + np.arange(n_trees) * n_leaves
    numbers = np.repeat(np.arange(n_members), n_trees)
    order = np.lexsort((numbers, nodes.ravel()))
    start = np.concatenate([[0], np.cumsum(np.bincount(nodes.ravel(), minlength=n_trees * n_leaves))])
    leaves = np.where(RNG.random((n_rows, n_trees)) < 0.2, -1, RNG.integers(0, n_leaves, (n_rows, n_trees)))
    share = RNG.choice([0.1, 0.25, 0.7], size=len(numbers)) if weighed else None
    return LeafMembership(
        leaves.astype(np.int32), np.arange(n_trees + 1) * n_leaves, n_members, start, numbers[order], share
    )


def count_for_both(sharing):
    """Use the rows as members, and count only trees that count for both."""
    leaves = sharing.leaves[: sharing.n_members]
    at = leaves >= 0
    nodes = (leaves + sharing.tree_start[:-1])[at]
    numbers = np.nonzero(at)[0]
    order = np.lexsort((numbers, nodes))
    start = np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=len(sharing.start) - 1))])
    return replace(sharing, leaves=leaves, start=start, member=numbers[order], counting=at)


CASES = {
    "counts": make_sharing(70, 50, 4, 9),
    "shares": make_sharing(70, 50, 4, 9, weighed=True),
    "both": count_for_both(make_sharing(50, 50, 4, 70)),
}


@pytest.mark.sanitize
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("k", [0, 1, 7, 1000])
@pytest.mark.parametrize("case", CASES)
def test_engines_agree_on_what_rows_have_in_common(case, k, core):
    expected = REFERENCE.add_proximities(CASES[case], k)
    for n_threads in (1, 3):
        for found, wanted in zip(CORES[core].add_proximities(CASES[case], k, n_threads), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.sanitize
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("case", CASES)
def test_engines_agree_on_squares(case, core):
    sharing = CASES[case]
    rows, members = np.arange(len(sharing.leaves)) % 3, np.arange(sharing.n_members) % 3
    expected = REFERENCE.square_proximities(sharing, rows, members)
    np.testing.assert_array_equal(CORES[core].square_proximities(sharing, rows, members, 2), expected)


@pytest.mark.parametrize("weighed", [False, True])
def test_many_members_are_a_product_of_matrices(weighed):
    sharing = make_sharing(60, 9000, 30, 6, weighed=weighed)
    at = sharing.leaves >= 0
    nodes = (sharing.leaves + sharing.tree_start[:-1])[at]
    marks = sparse.csr_array((np.ones(at.sum()), (np.nonzero(at)[0], nodes)), shape=(60, len(sharing.start) - 1))
    shares = np.ones(len(sharing.member)) if sharing.share is None else sharing.share
    members = sparse.csr_array((shares, sharing.member, sharing.start), shape=(marks.shape[1], 9000))
    starts, found, sums = NativeEngine().add_proximities(sharing, 0, 2)
    whole = sparse.csr_array((sums, found, starts), shape=(60, 9000))
    np.testing.assert_allclose(whole.toarray(), (marks @ members).toarray(), rtol=1e-15)


def test_a_share_of_one_is_no_share():
    counts = CASES["counts"]
    ones = replace(counts, share=np.ones(len(counts.member)))  # summed as doubles
    for found, wanted in zip(
        NativeEngine().add_proximities(ones, 5), NativeEngine().add_proximities(counts, 5), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    "wrong",
    [
        {"leaves": np.full((3, 9), 4)},
        {"leaves": np.zeros((3, 8))},
        {"n_members": 10},
        {"start": CASES["counts"].start[:-1]},
        {"member": CASES["counts"].member[::-1]},
        {"share": np.ones(3)},
        {"counting": np.ones((3, 9), dtype=bool)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_does_not_fit_together_is_refused(wrong):
    with pytest.raises(ValueError, match=r"differ|(is|are) not|out of range"):
        NativeEngine().add_proximities(replace(CASES["counts"], **wrong), 0)
