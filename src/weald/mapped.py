"""Arrays that are mapped from files: refused if the file has become shorter than the map.

Whoever reads a page of a map behind the end of its file is ended by the system (SIGBUS), and no program can catch that
in earnest. So the length is looked at before the first cell is read. A file that is cut short later, while it is read,
is beyond what a library can see.
"""

import mmap
from typing import Any

import numpy as np

from weald.errors import DataError


def refuse_cut_short(array: Any, name: str) -> None:
    """Refuse an array that is mapped from a file which is now shorter than the map."""
    offset = 0
    while array is not None and not isinstance(array, mmap.mmap):
        if isinstance(array, np.memmap):
            offset = int(array.offset)
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    if array is None:
        return
    try:
        n_bytes = array.size()
    except (OSError, ValueError):  # a map that is closed, or that does not know its file
        return
    needed = offset - offset % mmap.ALLOCATIONGRANULARITY + len(array)
    if n_bytes < needed:
        raise DataError(
            f"{name} is mapped from a file that has been cut short: it has {n_bytes} bytes, but {needed} are mapped. "
            "Read what is left of it anew."
        )
