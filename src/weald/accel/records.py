"""What was fitted in this process, and by whom.

record          note a fit
summarize       all of it -> Summary
forget          begin anew
"""

import threading
from collections import Counter
from dataclasses import dataclass

_fits: Counter[tuple[str, str]] = Counter()  # (class, why weald did not fit it; "" where it did)
_recording = threading.Lock()


@dataclass(frozen=True)
class Fits:
    """Fits of one class that went the same way."""

    estimator: str
    count: int
    reason: str  # why scikit-learn made them; "" where weald did

    def __str__(self) -> str:
        times = f"{self.estimator}: {self.count} fit{'s' if self.count > 1 else ''}"
        return f"{times} by scikit-learn, since {self.reason}" if self.reason else f"{times} by weald"


@dataclass(frozen=True)
class Summary:
    """What was replaced, and what came of it in this process; workers in other processes count for themselves."""

    replaced: tuple[str, ...]
    fits: tuple[Fits, ...]

    def __str__(self) -> str:
        modules = sorted({name.rpartition(".")[0] for name in self.replaced})
        replaced = (
            f"weald stands in the place of {len(self.replaced)} classes of {' and '.join(modules)}."
            if self.replaced
            else "weald.accel is not installed."
        )
        return "\n".join([replaced, *(map(str, self.fits) if self.fits else ["Nothing was fitted in this process."])])


def record(estimator: str, reason: str) -> None:
    """Note a fit."""
    with _recording:
        _fits[estimator, reason] += 1


def summarize(replaced: tuple[str, ...]) -> Summary:
    """List the fits so far, by class."""
    with _recording:
        fits = tuple(Fits(name, count, reason) for (name, reason), count in sorted(_fits.items()))
    return Summary(replaced, fits)


def forget() -> None:
    """Forget the fits so far."""
    with _recording:
        _fits.clear()
