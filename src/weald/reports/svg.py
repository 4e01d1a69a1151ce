"""Charts as SVG: scales, axes and frames. Colors are those of the page's style sheet."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from weald.forest.describe.markup import Markup, join, tag
from weald.reports.section import number, shorten

WIDTH, HEIGHT = 330, 240
WIDE = 440  # width of a chart that fills the row
LETTER = 6.1  # average width of a character on an axis
LETTER_OF_NAME = 6.8


@dataclass(frozen=True)
class Scale:
    """Maps a range of numbers to a range of positions in the chart."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the scale."""
        span = self.high - self.low
        step = 10.0 ** math.floor(math.log10(span / most))
        step *= next(times for times in (1, 2, 5, 10) if span / (step * times) <= most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]


def say(value: float) -> str:
    """Format a number of a scale."""
    return number(value)


def fit_ticks(scale: Scale, most: int = 6, words: Callable[[float], str] = say) -> list[tuple[float, str]]:
    """Choose ticks of a horizontal scale so that their labels do not overlap."""
    for n in range(most, 0, -1):
        ticks = [(value, words(value)) for value in scale.ticks(n)]
        pairs = pairwise((scale(value), LETTER * (len(label) + 2) / 2) for value, label in ticks)
        if all(left + half <= right - other for (left, half), (right, other) in pairs):
            break
    return ticks


def span(values: Sequence[float] | np.ndarray, *, zero: bool = False, room: float = 0.04) -> tuple[float, float]:
    """Choose the limits of a scale: slightly beyond the values."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    low, high = (min(0.0, low), max(0.0, high)) if zero else (low, high)
    more = room * (high - low) if high > low else abs(low) * 0.05 or 0.5
    return (low if zero and low == 0 else low - more), (high if zero and high == 0 else high + more)


@dataclass(frozen=True)
class ChartArea:
    """The area of a chart: a scale for each direction, and margins for labels."""

    x: Scale
    y: Scale
    width: float
    height: float


def frame(x: tuple[float, float], y: tuple[float, float], *, width: float = WIDTH, height: float = HEIGHT) -> ChartArea:
    """Make the area for the limits of both scales, with room for the numbers at the left."""
    up = Scale(*y, height - 40, 12)
    left = 28 + LETTER * max([len(say(value)) for value in up.ticks()], default=1)
    return ChartArea(Scale(*x, left, width - 12), up, width, height)


def text(words: str, x: float, y: float, *, anchor: str = "middle", kind: str = "tick", turn: bool = False) -> Markup:
    """Write text at a position."""
    turned = f"rotate(-90 {x:.5g} {y:.5g})" if turn else None
    return tag("text", words, x=float(x), y=float(y), text_anchor=anchor, class_=kind, transform=turned)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=kind)


def axes(
    f: ChartArea, x_words: str, y_words: str, *, x_ticks: Sequence[tuple[float, str]] | None = None, grid: bool = True
) -> Markup:
    """Draw axes with ticks and labels."""
    parts = []
    if grid:
        for value in f.y.ticks():
            at = f.y(value)
            parts += [
                line(f.x.start, at, f.x.end, at, "grid"),
                text(say(value), f.x.start - 6, at + 4, anchor="end"),
            ]
    for value, words in x_ticks if x_ticks is not None else fit_ticks(f.x):
        parts.append(text(words, f.x(value), f.y.start + 16))
    parts.append(line(f.x.start, f.y.start, f.x.end, f.y.start, "axis"))
    middle = (f.x.start + f.x.end) / 2
    parts.append(text(shorten(x_words, 44), middle, f.height - 6, kind="label"))
    if y_words:
        parts.append(text(y_words, 12, (f.y.start + f.y.end) / 2, kind="label", turn=True))
    return join(*parts)


def picture(f: ChartArea, *parts: Markup, alt: str, kind: str = "chart") -> Markup:
    """Return the SVG of a chart; `alt` is its text alternative."""
    return tag(
        "svg",
        tag("title", alt),
        *parts,
        viewBox=f"0 0 {f.width:g} {f.height:g}",
        role="img",
        aria_label=alt,
        class_=kind,
    )


def path(xs: Sequence[float], ys: Sequence[float], kind: str) -> Markup:
    """Draw a line through points, interrupted at NaN."""
    words, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if math.isnan(y):
            pen = "M"
            continue
        words.append(f"{pen}{x:g} {y:g}")
        pen = "L"
    return tag("path", d="".join(words), class_=kind)
