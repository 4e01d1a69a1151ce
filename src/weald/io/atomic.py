"""Atomic writing of files: completely or not at all. Every writer of weald uses `write_file` or `open_new`."""

import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

PathLike: TypeAlias = str | os.PathLike[str]
Buffer: TypeAlias = Any  # bytes, a view or an array: Python 3.11 has no type for objects with a buffer

ABANDONED_AFTER = 3600.0  # minimum age in seconds: a shared folder may have files of processes on other machines


def write_file(path: PathLike, pieces: Iterable[Buffer]) -> None:
    """Write pieces (bytes, views, arrays) to a file atomically: the old file stays until everything is on disk."""
    with open_new(path) as file:
        file.writelines(pieces)


@contextmanager
def open_new(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that replaces the old one at the end, if nothing failed.

    The new file keeps the mode of the old one. Symbolic links are followed. A device or a pipe is written directly.
    """
    given = Path(path)
    if given.exists() and not given.is_file() and not given.is_dir():
        with _named(given), given.open("wb") as device:
            yield device
        return
    target = Path(os.path.realpath(given))
    _remove_abandoned(target)
    unfinished = target.parent / f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}"
    try:
        with unfinished.open("xb") as file:
            _keep_mode(target, file)
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


@contextmanager
def _named(pipe: Path) -> Iterator[None]:
    """Add the name of the pipe to the error, so that it is not mistaken for stdout."""
    try:
        yield
    except BrokenPipeError as error:
        raise BrokenPipeError(error.errno, error.strerror, str(pipe)) from error


def _keep_mode(target: Path, file: BinaryIO) -> None:
    with suppress(FileNotFoundError):
        os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove_abandoned(target: Path) -> None:
    """Remove unfinished files of this target whose writers were killed."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(\d+)-[0-9a-f]{{8}}")
    with suppress(OSError):
        for unfinished in target.parent.iterdir():
            found = pattern.fullmatch(unfinished.name)
            if found is None or _is_alive(int(found[1])):
                continue
            if time.time() - unfinished.stat().st_mtime > ABANDONED_AFTER:
                unfinished.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
