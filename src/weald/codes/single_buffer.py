"""Pickling objects of many arrays as one buffer.

Dask has a large fixed cost per array: as much as sending some hundred kilobytes.
"""

import pickle
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

ALIGNED = 64  # the size of each array is rounded up to a multiple of this many bytes


class SingleBuffer:
    """An object whose arrays are moved to one buffer when it is pickled, at the sender and at the receiver."""

    def __getstate__(self) -> dict[str, object]:
        """Leave out cached attributes: names with an underscore."""
        here = list(vars(self).items())  # a copy: another thread may add an attribute
        return {name: value for name, value in here if not name.startswith("_")}

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Pickle as one array and a function that restores the object from it."""
        if "_sent" not in vars(self):
            _split_arrays(self, *_gather_arrays(self.__getstate__()))
        return _rebuild, (type(self), *vars(self)["_sent"])


def _gather_arrays(state: dict[str, object]) -> tuple[bytes, npt.NDArray[np.uint8], list[int]]:
    """Move all arrays to one; return the remaining state, the joined array, and the sizes."""
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
    """Replace the arrays of an object by views of the buffer, which is kept to be sent again."""
    buffers = [piece[start : start + size] for start, size in zip(_edges(sizes), sizes, strict=False)]
    state = pickle.loads(rest, buffers=buffers)  # noqa: S301  (called while unpickling)
    vars(thing).update(state, _sent=(rest, piece, sizes))


def _rebuild(kind: type[SingleBuffer], rest: bytes, piece: npt.NDArray[np.uint8], sizes: Sequence[int]) -> SingleBuffer:
    thing = kind.__new__(kind)
    _split_arrays(thing, rest, piece, sizes)
    return thing


def _edges(sizes: Sequence[int]) -> list[int]:
    """Return the offset of each array; the last is the end of the buffer."""
    return list(accumulate((-(-size // ALIGNED) * ALIGNED for size in sizes), initial=0))
