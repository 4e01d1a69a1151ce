"""Draws by address on arrays, and classes drawn by their probabilities."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weald.engines import draws
from weald.engines.reference import definition

words = st.integers(0, 2**64 - 1)


@given(
    words, st.lists(words, min_size=1, max_size=4), st.integers(0, 2**32 - 1), st.integers(0, 255), st.integers(0, 99)
)
def test_the_bits_are_those_of_the_definition(seed, addresses, tree, purpose, i):
    found = draws.draw_many(seed, np.array(addresses, dtype=np.uint64), tree, purpose, i)
    assert found.tolist() == [definition.draw(seed, address, tree, purpose, i) for address in addresses]


def test_a_class_is_drawn_as_often_as_its_share():
    shares = np.tile([0.0, 0.2, 0.5, 0.0, 0.3, 0.0], (20_000, 1))
    drawn = np.bincount(draws.draw_classes(shares, seed=1, repeat=0), minlength=6) / 20_000
    np.testing.assert_allclose(drawn, shares[0], atol=0.012)
    assert drawn[[0, 3, 5]].tolist() == [0, 0, 0]


def test_other_seeds_and_repeats_draw_others():
    shares = np.full((64, 4), 0.25)
    drawn = {draws.draw_classes(shares, seed, repeat).tobytes() for seed in (1, 2) for repeat in (0, 1, 2)}
    assert len(drawn) == 6
