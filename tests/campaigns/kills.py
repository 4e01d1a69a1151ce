"""SIGKILL at random moments while files are written: the old file or the new one is whole each time.

A forked process writes again and again, and is killed after a random time. Then the file must be one of the two that it
writes in turn. An interrupted checkpoint and an interrupted code store must continue, and give the forest of an
uninterrupted fit.
"""

import functools
import operator
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import weald
from tests.campaigns.campaign import Budget, FaultError, Figures, main, told

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] + RNG.normal(size=400) > 0).astype(int)
LONGEST = 0.1  # seconds until a writer is killed


def kill_after(seconds: float, work) -> bool:
    """Do work in a forked process and kill it; return whether it was still at work."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def in_turn(write, models, path):
    """Write two models to one path, again and again."""
    while True:
        for model in models:
            write(model, path)


WRITERS = {
    "save": lambda model, path: model.save(path),
    "save, mappable": lambda model, path: model.save(path, mappable=True),
    "to_json": lambda model, path: model.to_json(path, check=False),
    "to_c": lambda model, path: model.to_c(path, check=False),
    "to_onnx": lambda model, path: model.to_onnx(path, check=False),
}


def kill_writers(name: str, write, budget: Budget) -> Figures:
    """Kill writers; the file must always be one of the two."""
    models = [weald.RandomForestClassifier(n, random_state=0).fit(X, Y) for n in (4, 9)]
    counts, dice = Counter(), budget.dice(name)
    with tempfile.TemporaryDirectory() as folder:
        path, whole = Path(folder, "file"), []
        for model in models:
            write(model, path)
            whole.append(path.read_bytes())
        while not budget.is_over or not counts:
            kill_after(dice.random() * LONGEST, lambda: in_turn(write, models, path))
            found = path.read_bytes()
            if found not in whole:
                raise FaultError(f"{name}: the file is neither of the two, {len(found)} bytes")
            counts["the old file" if found == whole[1] else "the new file"] += 1
            left = [p.name for p in Path(folder).iterdir() if p != path]
            counts["unfinished files beside it"] += len(left)
            for unfinished in left:  # the next writer removes those of earlier processes after an hour
                Path(folder, unfinished).unlink()
    n = counts["the old file"] + counts["the new file"]
    return [(f"kills during `{name}`", f"{n:,}", told(counts))]


def kill_fits(budget: Budget) -> Figures:
    """Kill fits with a checkpoint; the fit that continues gives the forest of an uninterrupted one."""
    model = weald.RandomForestClassifier(40, random_state=0, n_jobs=1)
    wanted, counts, dice = model.fit(X, Y).forest_.fingerprint(), Counter(), budget.dice("fits")
    while not budget.is_over or not counts:
        with tempfile.TemporaryDirectory() as folder:
            n_kills = 0
            while kill_after(dice.random() * 4 * LONGEST, lambda: model.fit(X, Y, checkpoint=folder, every=2)):
                n_kills += 1
                if n_kills == 6:
                    break
            if model.fit(X, Y, checkpoint=folder, every=2).forest_.fingerprint() != wanted:
                raise FaultError("a continued fit gives another forest")
            counts["kills"] += n_kills
            counts["continued fits"] += 1
    return [("kills during fits with a checkpoint", f"{counts.pop('kills'):,}", f"{told(counts)}: the same forest")]


def kill_stores(budget: Budget) -> Figures:
    """Kill the making of code stores; the same call continues, and gives the same forest."""
    chunks = [(X[i : i + 40], Y[i : i + 40]) for i in range(0, 400, 40)]
    model = weald.RandomForestClassifier(4, random_state=0, n_jobs=1)
    wanted, counts, dice = model.fit(X, Y).forest_.fingerprint(), Counter(), budget.dice("stores")
    while not budget.is_over or not counts:
        with tempfile.TemporaryDirectory() as folder:
            n_kills = 0
            while kill_after(dice.random() * 2 * LONGEST, lambda: weald.codes.from_chunks(chunks, folder=folder)):
                n_kills += 1
                if n_kills == 4:
                    break
            store = weald.codes.from_chunks(chunks, folder=folder)
            if model.fit(store).forest_.fingerprint() != wanted:
                raise FaultError("a continued store gives another forest")
            counts["kills"] += n_kills
            counts["continued stores"] += 1
    return [("kills during the making of code stores", f"{counts.pop('kills'):,}", f"{told(counts)}: the same forest")]


def work(budget: Budget) -> Figures:
    writers = [kill_writers(name, write, budget.part(0.12)) for name, write in WRITERS.items()]
    return [*functools.reduce(operator.iadd, writers, []), *kill_fits(budget.part(0.2)), *kill_stores(budget.part(0.2))]


if __name__ == "__main__":
    main("kills", __doc__ or "", work)
