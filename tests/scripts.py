"""Scripts in separate processes, so that their effects on the process do not affect the tests.

The processes are forked from one that has imported weald, which takes longer than most of the scripts.
"""

import multiprocessing
import os
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["sklearn.ensemble", "weald.estimators.forests", "weald.estimators.save_methods"])


class Done(NamedTuple):
    """How a script ended: a returncode below zero is the signal that killed it."""

    returncode: int | None
    stdout: str
    stderr: str


def run(source, *words, timeout=240):
    """Run a script; sys.argv has the words. The returncode is None if it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("stdout", "stderr")]
        for path in paths:
            path.touch()
        process = SERVER.Process(target=_execute, args=(textwrap.dedent(source), words, *map(str, paths)))
        process.start()
        process.join(timeout)
        returncode = process.exitcode
        process.kill()
        process.join()
        return Done(returncode, *(path.read_text() for path in paths))


def run_to_the_end(source, timeout=240):
    """Run a script, which must reach its last line without an error."""
    done = run(source + "\nprint('all well')\n", timeout=timeout)
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    assert done.stdout.endswith("all well\n"), done.stdout
    return done


def _execute(source, words, stdout, stderr):
    sys.argv = ["script", *words]
    for number, path in ((1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
    exec(compile(source, "script", "exec"), vars(sys.modules["__main__"]))  # noqa: S102  (it is our own)
