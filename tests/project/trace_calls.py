"""Traces which files of weald a call passes: `python -m tests.project.trace_calls`.

A hop is a call from one file into another. A call-back is a hop into a file that is already waiting further up the
stack. Functions that call nothing of weald's are leaf helpers: a reader need not follow them, so neither they nor their
files count. The walk ends at the engine: what its own files call among themselves is not followed, only what they call
back.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

import weald

PACKAGE = Path(weald.__file__).parent
ENGINES = (
    "engines/interface.py",
    "engines/native.py",
    "engines/reference/engine.py",
    "codes/store.py",
    "dask/engine.py",
)


@dataclass
class Call:
    """A function of weald that was called, and those that it called."""

    file: str
    name: str
    calls: "list[Call]" = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        """Whether it calls no function of weald in another file."""
        return not any(call.file != self.file or not call.is_leaf for call in self.calls)


class Walk(NamedTuple):
    """The trace of one call."""

    files: list[str]  # files between the user's call and the engine
    hops: list[str]
    call_backs: list[str]


def trace(work: Callable[[], object]) -> Call:
    """Call a function, and record the functions of weald that it calls in this thread."""
    top = Call("", "the user")
    stack: list[tuple[FrameType | None, Call]] = [(None, top)]

    def look(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "return" and stack[-1][0] is frame:
            stack.pop()
        elif event == "call" and path.is_relative_to(PACKAGE) and not frame.f_code.co_name.startswith("<"):
            call = Call(path.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname)
            stack[-1][1].calls.append(call)
            stack.append((frame, call))

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return top


def walk(top: Call) -> Walk:
    """Follow the calls as a reader would, down to the engine."""
    edges = list(_edges(top, ()))
    first = {call.file for caller, call, _ in edges if caller is top}
    files = dict.fromkeys(call.file for _, call, _ in edges if call.file not in (*ENGINES, *first))
    hops = [f"{caller.file}:{caller.name} -> {call.file}:{call.name}" for caller, call, _ in edges if caller.file]
    back = [
        f"{caller.file}:{caller.name} -> {call.file}:{call.name}"
        for caller, call, waiting in edges
        if call.file in waiting
    ]
    return Walk(list(files), hops, back)


def frames_to_grow(top: Call) -> list[str]:
    """List the functions between the user's call and the one that grows the trees, both included."""
    for call in top.calls:
        here = f"{call.file}:{call.name}"
        if call.file in ENGINES and call.name.endswith("Engine.grow"):
            return [here]
        if below := frames_to_grow(call):
            return [here, *below]
    return []


def classes_above(kind: type) -> list[str]:
    """List the classes of weald's above an estimator."""
    return [above.__name__ for above in kind.__mro__[1:] if above.__module__.startswith("weald.")]


def _edges(call: Call, waiting: tuple[str, ...]) -> Iterator[tuple[Call, Call, tuple[str, ...]]]:
    """Yield each hop: caller, callee, and the files that wait further up."""
    for called in call.calls:
        if called.file == call.file:
            yield from _edges(called, waiting)
        elif not called.is_leaf:
            yield call, called, waiting
            if not _is_engine(called):
                yield from _edges(called, (*waiting, call.file))
            else:
                yield from _returns(called, (*waiting, call.file))


def _returns(call: Call, waiting: tuple[str, ...]) -> Iterator[tuple[Call, Call, tuple[str, ...]]]:
    """Yield the hops of an engine back into files that wait for it."""
    for called in call.calls:
        if called.file in waiting and not called.is_leaf:
            yield call, called, waiting
        yield from _returns(called, waiting)


def _is_engine(call: Call) -> bool:
    """Whether the trace ends here: reading a table is included, since all engines of one process share it."""
    return call.file in ENGINES and call.name != "LocalEngine.read"


def cases() -> dict[str, Callable[[], object]]:
    """The traced calls, each a typical call by a user."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    forest, fitted = (weald.RandomForestClassifier(5, random_state=0) for _ in range(2))
    judged, tree = weald.RandomForestClassifier(20, oob_score=True, random_state=0), weald.DecisionTreeRegressor()
    fitted.fit(X, y)
    found = {
        "fit": lambda: forest.fit(X, y),
        "fit with out-of-bag score": lambda: judged.fit(X, y),
        "fit of a tree": lambda: tree.fit(X, X[:, 1]),
        "predict": lambda: fitted.predict(X),
        "importance": lambda: weald.importance(fitted, X, y),
    }
    for name in list(found):
        found[name]()  # imports and caches are not traced
    return found


def dask_cases() -> dict[str, Callable[[], object]]:
    """The same on a cluster of the client in scope."""
    import dask.array as da

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] > 0).astype(int)
    parts = da.from_array(X, chunks=(100, 5)), da.from_array(y, chunks=100)
    forest = weald.RandomForestClassifier(5, random_state=0)
    forest.fit(*parts)
    return {"fit on a cluster": lambda: forest.fit(*parts)}


def main() -> None:
    """Print files, hops, call-backs and the frames around the growth of trees; classes above estimators."""
    from distributed import Client

    found = cases()
    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        for name, work in (found | dask_cases()).items():
            calls = trace(work)
            files, hops, back = walk(calls)
            told = [f"{name}: {len(files)} files, {len(hops)} hops, {len(back)} call-backs", ", ".join(files)]
            told += [f"back: {line}" for line in back] + (hops if "-v" in sys.argv else [])
            if frames := frames_to_grow(calls):
                told.append(f"{len(frames)} frames: {' > '.join(frames)}")
            sys.stdout.write("\n  ".join(told) + "\n")
    for kind in (weald.RandomForestClassifier, weald.DecisionTreeRegressor, weald.KernelForestClassifier):
        sys.stdout.write(f"{kind.__name__}: {', '.join(classes_above(kind))}\n")


if __name__ == "__main__":
    main()
