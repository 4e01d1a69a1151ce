"""The fits in this process, by library.

record          count a fit
summarize       all counts -> Summary
forget          reset the counts
"""

import threading
from collections import Counter
from dataclasses import dataclass

_fits: Counter[tuple[str, str]] = Counter()  # (class, reason why weald could not fit it; "" if it did)
_recording = threading.Lock()


@dataclass(frozen=True)
class Fits:
    """Fits of one class by one library."""

    estimator: str
    count: int
    reason: str  # why scikit-learn did the fits; "" if weald did

    def __str__(self) -> str:
        times = f"{self.estimator}: {self.count} fit{'s' if self.count > 1 else ''}"
        return f"{times} by scikit-learn, because {self.reason}" if self.reason else f"{times} by weald"


@dataclass(frozen=True)
class Summary:
    """The replaced classes, and the fits in this process; worker processes count separately."""

    replaced: tuple[str, ...]
    fits: tuple[Fits, ...]

    def __str__(self) -> str:
        modules = sorted({name.rpartition(".")[0] for name in self.replaced})
        replaced = (
            f"weald replaces {len(self.replaced)} classes of {' and '.join(modules)}."
            if self.replaced
            else "weald.accel is not installed."
        )
        return "\n".join([replaced, *(map(str, self.fits) if self.fits else ["Nothing was fitted in this process."])])


def record(estimator: str, reason: str) -> None:
    """Count a fit."""
    with _recording:
        _fits[estimator, reason] += 1


def summarize(replaced: tuple[str, ...]) -> Summary:
    """List the fits so far, by class."""
    with _recording:
        fits = tuple(Fits(name, count, reason) for (name, reason), count in sorted(_fits.items()))
    return Summary(replaced, fits)


def forget() -> None:
    """Reset the counts."""
    with _recording:
        _fits.clear()
