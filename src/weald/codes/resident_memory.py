"""Pages of mapped files that count as memory of this process: let go of when they are many.

They are copies of what is in the file, so nothing is lost: who looks at them again has them read again, mostly from the
system's own memory.
"""

import mmap
from collections.abc import Callable, Sequence
from pathlib import Path

from weald.engines.interface import Watch

MAPPED_ROOM = 2 * 2**30  # bytes of mapped files that may be resident
_PAGES = Path("/proc/self/statm")  # of all, resident, of these in files, ...; Linux alone tells


def count_mapped() -> int:
    """Count the bytes of files that are resident; 0: the system does not tell."""
    try:
        return int(_PAGES.read_text().split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0


def release(mapped: mmap.mmap) -> None:
    """Let go of the pages of a mapped file: they do not count as memory of this process any more."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def release_many(maps: Sequence[mmap.mmap]) -> None:
    """Let go of the pages of mapped files if there are many."""
    if count_mapped() > MAPPED_ROOM:
        for mapped in maps:
            release(mapped)


def watch_pages(maps: Sequence[mmap.mmap], watch: Watch | None = None) -> Callable[[float], None]:
    """Make a watch that lets go of mapped pages when there are many, and then tells another watch."""

    def tell(share: float) -> None:
        release_many(maps)
        if watch:
            watch(share)

    return tell
