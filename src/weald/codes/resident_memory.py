"""Releasing the resident pages of memory-mapped files when they are many.

The pages are copies of file contents, so nothing is lost: the next access reads them again, mostly from the page cache
of the operating system.
"""

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path

from weald.engines.interface import Watch

MAPPED_ROOM = 2 * 2**30  # bytes of mapped files that may stay resident
_PAGES = Path("/proc/self/statm")  # pages: total, resident, resident of files, ...; on Linux only


def count_mapped() -> int:
    """Count the resident bytes of mapped files; 0: unknown on this system."""
    try:
        return int(_PAGES.read_text().split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0


def release(mapped: mmap.mmap) -> None:
    """Release the pages of a mapped file: they no longer count as memory of this process."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def release_many(maps: Sequence[mmap.mmap]) -> None:
    """Release the pages of mapped files if they are many."""
    if count_mapped() > MAPPED_ROOM:
        for mapped in maps:
            release(mapped)


def watch_pages(maps: Sequence[mmap.mmap], watch: Watch | None = None) -> Callable[[float], None]:
    """Return a progress callback that releases mapped pages when they are many, then calls another callback."""

    def tell(share: float) -> None:
        release_many(maps)
        if watch:
            watch(share)

    return tell
