"""The charts of the page: lines, bars, histograms, points, and small histograms inside tables.

Each function takes numbers and labels and returns SVG. Colors are CSS classes of the page: s0, s1 ... for series.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weald.data.times import format_time
from weald.forest.describe.markup import Markup, join, tag
from weald.reports import svg
from weald.reports.section import shorten

N_COLORS = 8
FEW_TICKS = 4  # labels of dates are long, so fewer fit


@dataclass(frozen=True)
class Series:
    """A line of a chart: points, a label, and an optional band around them."""

    words: str
    x: np.ndarray
    y: np.ndarray
    band: tuple[np.ndarray, np.ndarray] | None = None
    dots: bool = False


def lines(
    series: Sequence[Series],
    *,
    x_words: str,
    y_words: str,
    alt: str,
    x: tuple[float, float] | None = None,
    y: tuple[float, float] | None = None,
    diagonal: bool = False,
    zero: bool = False,
    rug: Sequence[float] = (),
    time: str | None = None,
) -> Markup:
    """Draw lines over numbers, or over dates or durations (`time`); several lines have a legend."""
    all_y = np.concatenate([v for s in series for v in (s.y, *(s.band or ()))])
    f = svg.frame(
        x or svg.span(np.concatenate([s.x for s in series]), room=0.0 if len(series[0].x) > 1 else 0.04),
        y or svg.span(all_y, zero=zero),
    )
    x_ticks = None if time is None else svg.fit_ticks(f.x, FEW_TICKS, lambda value: format_time(value, time))
    parts = [svg.axes(f, x_words, y_words, x_ticks=x_ticks)]
    if diagonal:
        low, high = max(f.x.low, f.y.low), min(f.x.high, f.y.high)
        parts.append(svg.line(f.x(low), f.y(low), f.x(high), f.y(high), "ideal"))
    parts += [svg.line(f.x(v), f.y.start, f.x(v), f.y.start - 6, "axis") for v in rug]
    for k, s in enumerate(series):
        color = f"s{k % N_COLORS}"
        xs = [f.x(v) for v in s.x]
        if s.band is not None:
            bottom, top = ([f.y(v) for v in edge] for edge in s.band)
            points = " ".join(
                f"{a:g},{b:g}" for a, b in [*zip(xs, top, strict=True), *reversed([*zip(xs, bottom, strict=True)])]
            )
            parts.append(tag("polygon", points=points, class_=f"band {color}"))
        ys = [f.y(v) if np.isfinite(v) else np.nan for v in s.y]
        parts.append(svg.path(xs, ys, f"line {color}"))
        if s.dots:
            parts += [tag("circle", cx=a, cy=b, r=3.5, class_=f"dot {color}") for a, b in zip(xs, ys, strict=True)]
    return join(svg.picture(f, *parts, alt=alt), key([s.words for s in series]) if len(series) > 1 else "")


def key(words: Sequence[str]) -> Markup:
    """List series with their colors."""
    items = (
        tag("li", tag("i", class_=f"swatch b{k % N_COLORS}"), tag("bdi", shorten(w, 40))) for k, w in enumerate(words)
    )
    return tag("ul", *items, class_="key")


def histogram(
    counts: np.ndarray, edges: np.ndarray, *, x_words: str, y_words: str = "rows", alt: str, middle: float | None = None
) -> Markup:
    """Draw a histogram."""
    f = svg.frame((float(edges[0]), float(edges[-1])), svg.span(counts, zero=True))
    bars = []
    for count, a, b in zip(counts, edges[:-1], edges[1:], strict=True):
        left, right, top = f.x(a), f.x(b), f.y(count)
        bars.append(
            tag("rect", x=left + 0.5, y=top, width=max(right - left - 1, 0.5), height=f.y.start - top, class_="mass s0")
        )
    mark = svg.line(f.x(middle), f.y.start, f.x(middle), f.y.end, "ideal") if middle is not None else Markup("")
    return svg.picture(f, svg.axes(f, x_words, y_words), *bars, mark, alt=alt)


def bars(
    words: Sequence[str],
    values: Sequence[float],
    *,
    errors: Sequence[float] | None = None,
    ranges: Sequence[tuple[float, float]] | None = None,
    x_words: str,
    alt: str,
    width: float = svg.WIDTH,
) -> Markup:
    """Draw horizontal bars with names at the left; `errors` are half-widths of intervals, `ranges` their ends."""
    step, names = 22.0, [shorten(w, 26) for w in words]
    left = max(60.0, svg.LETTER_OF_NAME * max(map(len, names)) + 14)
    spread = np.zeros(len(values)) if errors is None else np.nan_to_num(np.asarray(errors))
    ends = np.column_stack([np.asarray(values) - spread, np.asarray(values) + spread])
    ends = ends if ranges is None else np.asarray(ranges, dtype=float)
    both = np.concatenate([ends.ravel(), np.asarray(values, dtype=float)])
    height = step * len(names) + 52
    f = svg.ChartArea(
        svg.Scale(*svg.span(both, zero=True), left, width - 12), svg.Scale(0, 1, height - 40, 6), width, height
    )
    parts = [svg.line(f.x(v), 6, f.x(v), f.y.start, "grid") for v, _ in svg.fit_ticks(f.x)]
    for i, (short, full, value, (low, high)) in enumerate(zip(names, words, values, ends.tolist(), strict=True)):
        y = 10 + step * i
        a, b = sorted((f.x(0.0), f.x(value)))
        parts.append(svg.text(short, left - 8, y + 12, anchor="end", kind="name"))
        parts.append(
            tag(
                "rect",
                tag("title", f"{full}: {svg.say(value)}"),
                x=a,
                y=y + 2,
                width=max(b - a, 0.5),
                height=13,
                class_="mass s0",
            )
        )
        if high > low:
            parts.append(svg.line(f.x(low), y + 8.5, f.x(high), y + 8.5, "error"))
    parts.append(svg.line(f.x(0.0), 6, f.x(0.0), f.y.start, "axis"))
    return svg.picture(f, svg.axes(f, x_words, "", grid=False), *parts, alt=alt, kind="chart wide")


def points(x: np.ndarray, y: np.ndarray, *, x_words: str, y_words: str, alt: str) -> Markup:
    """Draw points on equal scales with the diagonal; many points become a heat map."""
    ends = svg.span(np.concatenate([x, y]))
    f = svg.frame(ends, ends, height=270)
    ideal = svg.line(f.x(ends[0]), f.y(ends[0]), f.x(ends[1]), f.y(ends[1]), "ideal")
    marks = (
        _cells(f, x, y)
        if len(x) > 1500
        else [tag("circle", cx=f.x(a), cy=f.y(b), r=2.2, class_="point") for a, b in zip(x, y, strict=True)]
    )
    return svg.picture(f, svg.axes(f, x_words, y_words), *marks, ideal, alt=alt)


def _cells(f: svg.ChartArea, x: np.ndarray, y: np.ndarray) -> list[Markup]:
    """Count points in the cells of a grid; darker is more."""
    n = 48
    grid, x_edges, y_edges = np.histogram2d(x, y, bins=n, range=[(f.x.low, f.x.high), (f.y.low, f.y.high)])
    shade = np.log1p(grid) / np.log1p(grid.max())
    wide, high = (f.x.end - f.x.start) / n, (f.y.start - f.y.end) / n
    return [
        tag(
            "rect",
            x=f.x(x_edges[i]),
            y=f.y(y_edges[j + 1]),
            width=wide,
            height=high,
            class_="mass s0",
            fill_opacity=round(0.12 + 0.88 * shade[i, j], 2),
        )
        for i, j in np.argwhere(grid > 0)
    ]


def spark(counts: Sequence[float], alt: str) -> Markup:
    """Draw a small histogram that fits into a table row."""
    most = max(counts, default=0) or 1
    step = 96 / max(len(counts), 1)
    rects = [
        tag(
            "rect",
            x=round(i * step, 1),
            y=round(22 - 20 * c / most, 1),
            width=round(max(step - 1, 1), 1),
            height=round(20 * c / most, 1),
            class_="mass s0",
        )
        for i, c in enumerate(counts)
        if c
    ]
    return tag("svg", tag("title", alt), *rects, viewBox="0 0 96 24", role="img", aria_label=alt, class_="spark")
