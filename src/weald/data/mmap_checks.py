"""Memory maps: refused if the file has become shorter than the map.

Reading a page of a map beyond the end of its file ends the process (SIGBUS), and no program can handle that reliably.
So the end is tested before the first cell is read: a system call copies the last byte, which fails where a read
would end the process. It does not matter which library mapped the file. A file that is truncated later, while it is
read, cannot be detected.

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
    """Refuse an array that extends beyond the end of its file."""
    if isinstance(array, np.ndarray) and array.size and not _is_its_own(array):
        refuse_cut_pieces([piece_of(array)], name)


def refuse_cut_pieces(pieces: Iterable[tuple[int, int]], name: str) -> None:
    """Refuse pieces of memory if one of them extends beyond the end of its file."""
    if not all(_can_be_read(last) for last in {last for _, last in pieces}):
        raise DataError(
            f"{name} is mapped from a file that has been truncated: its last cells are beyond the end. Load the file "
            "again."
        )


def piece_of(array: Array) -> tuple[int, int]:
    """Return the addresses of the first and the last byte of an array with cells."""
    first = last = array.__array_interface__["data"][0]
    for n, stride in zip(array.shape, array.strides, strict=True):
        first, last = first + (n - 1) * min(stride, 0), last + (n - 1) * max(stride, 0)
    return first, last + array.itemsize - 1


def _is_its_own(array: Array) -> bool:
    """Return whether NumPy allocated the memory: then it is not mapped from a file."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.flags.owndata


def _can_be_read(address: int) -> bool:
    """Test a byte by letting the system copy it into a pipe; if no pipe can be opened, the byte counts as readable."""
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
