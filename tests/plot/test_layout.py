"""Nodes do not overlap, and parents are centered above their children."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weald.plot.layout import place_levels, place_nodes

GAP = 1.5


@st.composite
def trees(draw):
    """Grow a tree of up to 60 splits, each of a random leaf; nodes are numbered in the order of growth."""
    left, right, depth = [-1], [-1], [0]
    for _ in range(draw(st.integers(0, 60))):
        leaves = [i for i, child in enumerate(left) if child < 0]
        node = leaves[draw(st.integers(0, len(leaves) - 1))]
        left[node], right[node] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
        depth += [depth[node] + 1] * 2
    breadth = draw(st.lists(st.floats(0.1, 9), min_size=len(left), max_size=len(left)))
    return np.array(left), np.array(right), np.array(depth), np.array(breadth)


def in_order(left, right):
    """Number nodes in in-order: the left subtree, the node, the right subtree."""
    order, stack, node = [], [], 0
    while stack or node >= 0:
        if node >= 0:
            stack.append(node)
            node = left[node]
        else:
            node = stack.pop()
            order.append(node)
            node = right[node]
    return order


@given(trees())
def test_neighbors_of_one_depth_keep_their_distance_and_order(tree):
    left, right, depth, breadth = tree
    x = place_nodes(left, right, breadth, GAP)
    for level in range(depth.max() + 1):
        nodes = np.array([node for node in in_order(left, right) if depth[node] == level])
        ends, begins = (x + breadth / 2)[nodes[:-1]], (x - breadth / 2)[nodes[1:]]
        assert (begins - ends > GAP - 1e-9).all()


@given(trees())
def test_parents_stand_in_the_middle_above_their_children(tree):
    left, right, _, breadth = tree
    x = place_nodes(left, right, breadth, GAP)
    cuts = np.flatnonzero(left >= 0)
    assert np.allclose(x[cuts], (x[left[cuts]] + x[right[cuts]]) / 2)
    assert (x - breadth / 2).min() == pytest.approx(0, abs=1e-9)


@given(trees())
def test_the_mirror_of_a_tree_has_the_mirror_of_its_layout(tree):
    left, right, _, breadth = tree
    x, mirrored = place_nodes(left, right, breadth, GAP), place_nodes(right, left, breadth, GAP)
    assert np.allclose(mirrored, (x + breadth / 2).max() - x)


@given(trees())
def test_some_neighbors_below_each_cut_touch(tree):
    left, right, depth, breadth = tree
    x = place_nodes(left, right, breadth, GAP)
    for cut in np.flatnonzero(left >= 0):
        one, other = below(left, right, left[cut]), below(left, right, right[cut])
        levels = range(depth[cut] + 1, min(depth[one].max(), depth[other].max()) + 1)
        room = [
            (x - breadth / 2)[other][depth[other] == level].min() - (x + breadth / 2)[one][depth[one] == level].max()
            for level in levels
        ]
        assert min(room) == pytest.approx(GAP)


def below(left, right, node):
    found = [node]
    for at in found:
        if left[at] >= 0:
            found += [left[at], right[at]]
    return np.array(found)


def test_equal_subtrees_look_the_same_wherever_they_are():
    left, right = np.array([1, 3, 5, -1, -1, -1, -1]), np.array([2, 4, 6, -1, -1, -1, -1])
    x = place_nodes(left, right, np.ones(7), GAP)
    assert x[3] - x[1] == x[5] - x[2]


def test_a_chain_of_a_hundred_thousand_nodes_is_placed():
    n = 100_001
    left, right = np.full(n, -1), np.full(n, -1)
    cuts = np.arange(0, n - 2, 2)
    left[cuts], right[cuts] = cuts + 1, cuts + 2
    x = place_nodes(left, right, np.ones(n), GAP)
    assert np.allclose(x[cuts + 2] - x[cuts + 1], 1 + GAP)


def test_levels_are_as_thick_as_their_thickest_node():
    assert place_levels(np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 5.0, 3.0]), GAP).tolist() == [0, 2.5, 9, 13.5]
