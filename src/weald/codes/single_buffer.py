"""Things of many arrays that travel between workers in one piece.

To send and receive an array takes Dask as long as some hundred kilobytes do, however short it is.
"""

import pickle
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

ALIGNED = 64  # bytes of which each array takes a multiple


class SingleBuffer:
    """Something whose arrays lie behind one another from the moment when it is sent, here and where it arrives."""

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is only kept here: names with an underscore."""
        here = list(vars(self).items())  # at once: another thread may add something
        return {name: value for name, value in here if not name.startswith("_")}

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Say how it is made of one array."""
        if "_sent" not in vars(self):
            _split_arrays(self, *_gather_arrays(self.__getstate__()))
        return _rebuild, (type(self), *vars(self)["_sent"])


def _gather_arrays(state: dict[str, object]) -> tuple[bytes, npt.NDArray[np.uint8], list[int]]:
    """Take all arrays out: what is left, the arrays as one, and how long each is."""
    found: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(state, protocol=5, buffer_callback=found.append)
    arrays = [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in found]
    sizes = [len(array) for array in arrays]
    edges = _edges(sizes)
    piece = np.empty(edges[-1], dtype=np.uint8)
    for array, (start, end) in zip(arrays, pairwise(edges), strict=True):
        piece[start : start + len(array)] = array
        piece[start + len(array) : end] = 0
    return rest, piece, sizes


def _split_arrays(thing: SingleBuffer, rest: bytes, piece: npt.NDArray[np.uint8], sizes: Sequence[int]) -> None:
    """Let the arrays of a thing be those of the piece. It is kept: others may want to have it from here."""
    buffers = [piece[start : start + size] for start, size in zip(_edges(sizes), sizes, strict=False)]
    state = pickle.loads(rest, buffers=buffers)  # noqa: S301  (this is called by those who unpickle)
    vars(thing).update(state, _sent=(rest, piece, sizes))


def _rebuild(kind: type[SingleBuffer], rest: bytes, piece: npt.NDArray[np.uint8], sizes: Sequence[int]) -> SingleBuffer:
    thing = kind.__new__(kind)
    _split_arrays(thing, rest, piece, sizes)
    return thing


def _edges(sizes: Sequence[int]) -> list[int]:
    """Say where each array begins; and, at last, where the piece ends."""
    return list(accumulate((-(-size // ALIGNED) * ALIGNED for size in sizes), initial=0))
