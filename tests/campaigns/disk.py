"""A disk that fills up, a folder that is read-only, a limit on the size of files: errors that leave the old file whole.

The disk is a small tmpfs in a mount namespace of its own. Where namespaces are not allowed, this part is skipped, and
the figures say so.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import weald
from tests.campaigns.campaign import Budget, FaultError, Figures, main, told
from tests.campaigns.kills import WRITERS, X, Y
from weald.errors import WealdError

DISK = 192 * 1024  # bytes
MODELS = [weald.RandomForestClassifier(n, random_state=0) for n in (3, 12)]


def write_or_fail(write, path: Path, before: bytes) -> str:
    """Write a file where there may be no room: a named error and the old file, or the new file."""
    try:
        write()
    except OSError as error:
        if path.read_bytes() != before:
            raise FaultError(f"{error}, and the old file is not whole") from error
        if [p for p in path.parent.iterdir() if p.name.startswith(f".{path.name}")]:
            raise FaultError(f"{error}, and an unfinished file stays") from error
        return "OSError, and the old file is whole"
    return "written"


def limit_sizes(budget: Budget) -> Figures:
    """Every limit of the size of a file, drawn at random: what the system refuses to write must be an error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    small, large = (model.fit(X, Y) for model in MODELS)
    counts, dice = Counter(), budget.dice("sizes")
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    with tempfile.TemporaryDirectory() as folder:
        while not budget.is_over or not counts:
            for name, write in WRITERS.items():
                path = Path(folder, name)
                write(small, path)
                before = path.read_bytes()
                resource.setrlimit(resource.RLIMIT_FSIZE, (dice.randrange(60_000), unlimited[1]))
                try:
                    outcome = write_or_fail(lambda w=write, p=path: w(large, p), path, before)
                finally:
                    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
                counts[outcome] += 1
    return [("writes with a limit on the size of a file", f"{counts.total():,}", told(counts))]


def in_namespace(budget: Budget) -> Figures:
    """Run `fill` in a mount namespace."""
    with tempfile.TemporaryDirectory() as folder:
        mount = f"mount -t tmpfs -o size={DISK} tmpfs {folder}"
        again = f"{sys.executable} -m tests.campaigns.disk --fill {folder} {budget.seconds} {budget.seed}"
        command = ["unshare", "-m", "sh", "-c", f"{mount} || exit 77; exec {again}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=budget.seconds + 120)
        except FileNotFoundError:
            return [("writes to a full disk and a read-only folder", "skipped", "there is no `unshare` here")]
    if done.returncode == 77 or "unshare failed" in done.stderr:
        return [("writes to a full disk and a read-only folder", "skipped", "mount namespaces are not allowed here")]
    if done.returncode:
        raise FaultError(done.stderr[-2000:])
    return [tuple(line) for line in json.loads(done.stdout.splitlines()[-1])]


def fill(folder: Path, budget: Budget) -> Figures:
    """Write to a small disk that other files fill, and to the same disk when it is read-only."""
    small, large = (model.fit(X, Y) for model in MODELS)
    counts, stores, dice = Counter(), Counter(), budget.dice("disk")
    while not budget.is_over or not counts:
        for name, write in WRITERS.items():
            path, ballast = folder / name, folder / "ballast"
            write(small, path)
            before = path.read_bytes()
            room = os.statvfs(folder)
            with ballast.open("wb") as file:
                file.write(bytes(max(0, room.f_bavail * room.f_frsize - dice.randrange(60_000))))
            counts[write_or_fail(lambda w=write, p=path: w(large, p), path, before)] += 1
            ballast.unlink()
            path.unlink(missing_ok=True)
        stores[fill_with_store(folder / "store", dice.randrange(40_000))] += 1
    for name, write in WRITERS.items():
        write(small, folder / name)
        before = (folder / name).read_bytes()
        remount("ro", folder)
        outcome = write_or_fail(lambda w=write, n=name: w(large, folder / n), folder / name, before)
        if outcome == "written":
            raise FaultError("written to a read-only disk")
        remount("rw", folder)
    return [
        ("writes to a disk that fills up", f"{counts.total():,}", told(counts)),
        ("code stores on a disk that fills up", f"{stores.total():,}", told(stores)),
        ("writes to a read-only disk", f"{len(WRITERS)}", "OSError, and the old file is whole"),
    ]


def remount(way: str, folder: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,{way}", folder], check=True)  # noqa: S607  (wherever the system has it)


def fill_with_store(folder: Path, room: int) -> str:
    """Make a code store with too little room; with room, the same call continues."""
    chunks = [(X[i : i + 40], Y[i : i + 40]) for i in range(0, 400, 40)]
    ballast = folder.parent / "ballast"
    free = os.statvfs(folder.parent)
    ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
    try:
        weald.codes.from_chunks(chunks, folder=folder)
        outcome = "made"
    except (OSError, WealdError):
        outcome = "refused, then continued"
    ballast.unlink()
    store = weald.codes.from_chunks(chunks, folder=folder)
    if not np.array_equal(np.sort(store.target), np.sort(Y)):
        raise FaultError("the continued store has other rows")
    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    return outcome


def work(budget: Budget) -> Figures:
    return [*limit_sizes(budget.part(0.5)), *in_namespace(budget.part(0.5))]


if __name__ == "__main__":
    if "--fill" in sys.argv:
        print(json.dumps(fill(Path(sys.argv[2]), Budget(float(sys.argv[3]), int(sys.argv[4])))))  # noqa: T201
    else:
        main("disk", __doc__ or "", work)
