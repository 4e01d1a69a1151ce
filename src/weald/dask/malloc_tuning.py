"""Keeping freed memory in the allocator of a worker while a task runs or a table is open.

Dask sets the allocator of its workers (glibc's malloc, by MALLOC_TRIM_THRESHOLD_) to return freed memory at once. Then
every array of 128 KiB or more is allocated anew from the system, page by page. Steps that process columns one by one
take twice as long, and trees that are grown in one task after the other a tenth longer.
"""

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

TRIM, MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
DEFAULTS = {TRIM: ("MALLOC_TRIM_THRESHOLD_", 128 << 10), MMAP: ("MALLOC_MMAP_THRESHOLD_", 128 << 10)}
KEPT = {TRIM: 1 << 30, MMAP: 32 << 20}  # about the maximum that malloc accepts


class RetainedMemory:
    """A function to run as a task on a worker."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__ = function, function.__name__

    def __call__(self, *args: Any) -> Any:
        """Run the function; the allocator keeps the memory that it frees."""
        with keeping_memory():
            return self.function(*args)


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Set the allocator to keep freed memory. Several threads may do this at the same time."""
    if not _trims_at_once():
        yield
        return
    _KEEPERS.add(1)
    try:
        yield
    finally:
        _KEEPERS.add(-1)


def keep_memory_beside(thing: Any) -> None:
    """Let the allocator keep freed memory as long as an object lives."""
    if _trims_at_once():
        _KEEPERS.add(1)
        weakref.finalize(thing, _KEEPERS.add, -1)


def _trims_at_once() -> bool:
    """Return whether the allocator returns memory at once; otherwise it adapts by itself."""
    return DEFAULTS[TRIM][0] in os.environ and sys.platform.startswith("linux")


class _Retainers:
    """Counts the objects that require memory to be kept."""

    def __init__(self) -> None:
        self._n = 0
        self._lock = threading.RLock()  # reentrant: finalizers may run while it is held

    def add(self, n: int) -> None:
        libc = _libc()
        if not hasattr(libc, "mallopt"):  # not glibc
            return
        with self._lock:
            before, self._n = self._n, self._n + n
            if before == 0:
                _tell(libc, KEPT)
            if self._n == 0:
                _tell(libc, {what: int(os.environ.get(name, usual)) for what, (name, usual) in DEFAULTS.items()})
                libc.malloc_trim(0)


@cache
def _libc() -> Any:
    return ctypes.CDLL(None)


def _tell(libc: Any, limits: dict[int, int]) -> None:
    for what, n_bytes in limits.items():
        libc.mallopt(what, n_bytes)


_KEEPERS = _Retainers()
