"""Progress of a fit on stderr: fraction done, trees, elapsed time and time left.

Progress    a progress line, shown with `verbose`
tell        a message beside it
listening   a callback for other displays: it is called with `Growing` as trees are grown
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import NamedTuple, TextIO

STEP_ON_TERMINAL = 0.1  # seconds between two updates
STEP_ELSEWHERE = 0.1  # fraction of the work between two lines


class Progress:
    """A progress display: engines call it with the fraction of the work done. Ctrl-C passes through it."""

    def __init__(
        self, n_trees: int, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.n_trees = n_trees
        self.stream: TextIO | None = sys.stderr if stream is None else stream  # None if the program has no console
        self.on_terminal = self.stream is not None and self.stream.isatty()
        self.clock = clock
        self.began = clock()
        self.steps_shown = 0
        self.done = False
        self.note = ""  # additional information

    def __call__(self, share: float) -> None:
        """Update the line if it is time to."""
        share = min(max(share, 0.0), 1.0)
        seconds = self.clock() - self.began
        step = seconds / STEP_ON_TERMINAL if self.on_terminal else share / STEP_ELSEWHERE
        step = int(step + 1e-9)  # 0.3 / 0.1 is a little less than 3
        if self.done or (share < 1 and step <= self.steps_shown):
            return
        self.steps_shown, self.done = step, share == 1
        self._show(share, seconds)

    def _show(self, share: float, seconds: float) -> None:
        text = self.line(share, seconds)
        if self.on_terminal:
            self._write("\r" + text + "\x1b[K" + ("\n" if share == 1 else ""))
        else:
            self._write(text + "\n")

    def _write(self, text: str) -> None:
        """Write text; errors of the stream are ignored, since they must not stop a fit."""
        if self.stream is None:
            return
        with suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()

    def tell(self, text: str) -> None:
        """Show a message on a line of its own."""
        self._write(f"weald       {text}\n")

    def stop(self) -> None:
        """End the line, so that an error or Ctrl-C starts on its own line."""
        if self.on_terminal and self.steps_shown and not self.done:
            self._write("\n")
        self.done = True

    def line(self, share: float, seconds: float) -> str:
        """Return the text of the line."""
        n_done = int(share * self.n_trees + 1e-9)
        left = f", {words_of(seconds / share - seconds)} left" if 0 < share < 1 else ""
        return f"weald {share:4.0%}  {n_done} of {self.n_trees} trees  {words_of(seconds)}{left}{self.note}"


class Growing(NamedTuple):
    """The state of a fit in progress."""

    n_done: int
    n_trees: int
    error: float | None  # out of bag, so far; None: unknown


Listener = Callable[[Growing], bool | None]  # True: no more trees are needed
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a function with the progress of fits in this context."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Listener | None:
    """Return the current callback."""
    return _LISTENER.get()


def words_of(seconds: float) -> str:
    """Format a duration for people.

    Examples
    --------
    >>> from weald.engines.progress import words_of
    >>> words_of(0.25), words_of(75), words_of(7300)
    ('0.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def tell(watch: Callable[[float], None] | None, text: str) -> None:
    """Show a message if the user wants to see progress."""
    if isinstance(watch, Progress):
        watch.tell(text)


@contextmanager
def watch_fit(verbose: int, n_trees: int) -> Iterator[Progress | None]:
    """Show the progress of a fit; None if the user did not ask for it."""
    if not verbose:
        yield None
        return
    watch = Progress(n_trees)
    try:
        yield watch
        watch(1.0)  # a short fit may be over before the engine reports anything
    finally:
        watch.stop()
