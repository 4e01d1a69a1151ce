"""Random draws by address, many at once: `draw` of `reference/definition.py`, on arrays.

The draws for all rows of a prediction are computed together. The bits are the same as in the definition.
"""

import numpy as np
import numpy.typing as npt

from weald.data.types import FloatArray, IntArray
from weald.engines.reference.definition import MASK32

Words = npt.NDArray[np.uint64]  # 32 bits each, in 64

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
PURPOSE_CLASSES = 32  # purpose of draws that choose a class
LOW, HALF = np.uint64(MASK32), np.uint64(32)


def draw_many(seed: int, addresses: IntArray, tree: int, purpose: int, i: int) -> Words:
    """Draw number `i` at each of many addresses: 64 random bits for each.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.engines.draws import draw_many
    >>> from weald.engines.reference import definition
    >>> many = draw_many(seed=7, addresses=np.array([3, 4]), tree=0, purpose=9, i=1)
    >>> many.tolist() == [definition.draw(7, address, 0, 9, 1) for address in (3, 4)]
    True
    """
    at = addresses.astype(np.uint64)
    words = [at & LOW, at >> HALF, *(np.full(len(at), w, np.uint64) for w in _tail(tree, purpose, i))]
    k0, k1 = seed & MASK32, seed >> 32
    for _ in range(10):
        p0, p1 = words[0] * MULTIPLIERS[0], words[2] * MULTIPLIERS[1]
        words = [(p1 >> HALF) ^ words[1] ^ np.uint64(k0), p1 & LOW, (p0 >> HALF) ^ words[3] ^ np.uint64(k1), p0 & LOW]
        k0, k1 = (k0 + KEY_STEPS[0]) & MASK32, (k1 + KEY_STEPS[1]) & MASK32
    first = 2 * (i % 2)
    bits: Words = words[first] | words[first + 1] << HALF
    return bits


def _tail(tree: int, purpose: int, i: int) -> tuple[int, int]:
    """The second half of the counter."""
    return tree, purpose + 256 * (i // 2)


def draw_classes(shares: FloatArray, seed: int, repeat: int) -> IntArray:
    """Draw a class for each row from its class probabilities. The address has the row's position and the repeat."""
    bits = draw_many(seed, np.arange(len(shares)), 0, PURPOSE_CLASSES, repeat)
    place = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53  # in [0, 1)
    ends = np.cumsum(shares, axis=1)
    drawn: IntArray = (place[:, np.newaxis] * ends[:, -1:] >= ends).sum(axis=1)
    return drawn
