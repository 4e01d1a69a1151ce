"""core/base/random.h against published values and the contract, on every instruction set."""

import pytest

from weald import _core
from weald.engines.reference import definition

# Known answers of Random123 (its file kat_vectors, philox4x32 10): counter, key, expected words.
KNOWN_ANSWERS = {
    "zeros": (
        [0x00000000] * 4,
        [0x00000000] * 2,
        [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
    ),
    "ones": (
        [0xFFFFFFFF] * 4,
        [0xFFFFFFFF] * 2,
        [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
    ),
    "pi": (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
}

# The first outputs of splitmix64 from state 0: its finaliser of 1, 2, 3 times the golden gamma.
GOLDEN_GAMMA = 0x9E3779B97F4A7C15
SPLITMIX64 = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]

pytestmark = pytest.mark.sanitize


@pytest.fixture(params=_core.supported())
def core(request):
    return _core.load(request.param)


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_philox_gives_the_published_words(core, name):
    counter, key, expected = KNOWN_ANSWERS[name]
    assert core.philox(counter, key) == expected


def test_mix64_is_the_finaliser_of_splitmix64(core):
    words = [core.mix64(GOLDEN_GAMMA * step % 2**64) for step in (1, 2, 3)]
    assert words == SPLITMIX64


@pytest.mark.parametrize("i", [0, 1, 2, 3, 4, 5, 1000, 1001])
def test_a_draw_is_two_words_at_its_address(core, i):
    seed, id_, tree, purpose = 0x0123456789ABCDEF, 0xFEDCBA9876543210, 7, 3
    counter = [id_ % 2**32, id_ >> 32, tree, purpose + 256 * (i // 2)]
    words = core.philox(counter, [seed % 2**32, seed >> 32])
    low, high = words[2 * (i % 2) :][:2]
    assert core.draw(seed, id_, tree, purpose, i) == low + 2**32 * high


@pytest.mark.parametrize("n", [1, 2, 3, 10, 2**32, 2**63 + 1, 2**64 - 1])
@pytest.mark.parametrize("bits", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_below_scales_the_bits_to_n(core, bits, n):
    assert core.below(bits, n) == bits * n // 2**64


@pytest.mark.parametrize("first_pair", [0, 1, 8, 2**20])
def test_a_block_of_draws_is_the_draws_one_by_one(core, first_pair):
    address = (0x0123456789ABCDEF, 0xFEDCBA9876543210, 7, 1)
    block = core.draw_block(*address, first_pair)
    assert block == [core.draw(*address, 2 * first_pair + i) for i in range(len(block))]


@pytest.mark.parametrize("first_id", [0, 1, 2**32 - 3, 2**40])
def test_a_block_of_ids_is_the_draws_one_by_one(core, first_id):
    block = core.draw_block_of_ids(2**63 + 5, first_id, 3, 0)
    assert block == [core.draw(2**63 + 5, first_id + i // 2, 3, 0, i % 2) for i in range(len(block))]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
@pytest.mark.parametrize("address", [0, 1, 2**32, 2**64 - 1])
@pytest.mark.parametrize("i", [0, 1, 2, 17])
def test_draws_are_those_of_the_definition(core, seed, address, i):
    for tree in (0, 5, 2**32 - 1):
        for purpose in (definition.PURPOSE_BAG, definition.PURPOSE_FEATURES):
            assert core.draw(seed, address, tree, purpose, i) == definition.draw(seed, address, tree, purpose, i)


def test_words_are_mixed_as_in_the_definition(core):
    words = [0, 1, 2**63, 2**64 - 1, *(definition.draw(1, 2, 3, 4, i) for i in range(50))]
    assert [core.mix64(word) for word in words] == [definition.mix64(word) for word in words]
