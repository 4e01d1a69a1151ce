"""Memory that is mapped from files: refused if the file has become shorter than the map.

Whoever reads a page of a map behind the end of its file is ended by the system (SIGBUS), and no program can catch that
in earnest. So the end is tried before the first cell is read, by asking the system to copy the last byte: it says no
where a read would end the process. Who has mapped the file does not matter. A file that is cut short later, while it is
read, is beyond what a library can see.

    refuse_cut_short   an array
    refuse_cut_pieces  pieces of memory: (address of the first byte, of the last one)
    piece_of           an array as such a piece
"""

import ctypes
import errno
import os
from collections.abc import Iterable

import numpy as np

from weald.data.types import Array
from weald.errors import DataError


def refuse_cut_short(array: object, name: str) -> None:
    """Refuse an array that ends behind the end of its file."""
    if isinstance(array, np.ndarray) and array.size and not _is_its_own(array):
        refuse_cut_pieces([piece_of(array)], name)


def refuse_cut_pieces(pieces: Iterable[tuple[int, int]], name: str) -> None:
    """Refuse pieces of memory of which one ends behind the end of its file."""
    if not all(_can_be_read(last) for last in {last for _, last in pieces}):
        raise DataError(
            f"{name} is mapped from a file that has been cut short: its last cells are behind the end. Read what is "
            "left of the file anew."
        )


def piece_of(array: Array) -> tuple[int, int]:
    """Find the first and the last byte of an array that has cells."""
    first = last = array.__array_interface__["data"][0]
    for n, stride in zip(array.shape, array.strides, strict=True):
        first, last = first + (n - 1) * min(stride, 0), last + (n - 1) * max(stride, 0)
    return first, last + array.itemsize - 1


def _is_its_own(array: Array) -> bool:
    """Say whether NumPy itself took the memory: then no file is behind it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.flags.owndata


def _can_be_read(address: int) -> bool:
    """Let the system copy a byte into a pipe; where there can be no more pipes, nothing can be said against it."""
    byte = (ctypes.c_char * 1).from_address(address)
    try:
        end, begin = os.pipe()
    except OSError:
        return True
    try:
        os.write(begin, byte)
    except OSError as error:
        return error.errno != errno.EFAULT
    finally:
        os.close(end)
        os.close(begin)
    return True
