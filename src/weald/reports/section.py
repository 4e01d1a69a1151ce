"""A section of the page, and its parts: tables, notes, figures, formatted numbers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from weald.forest.describe.conditions import format_number
from weald.forest.describe.markup import Markup, join, tag

LONGEST = 60  # characters shown of a name or label
LARGE = 1e9  # larger numbers are written with a power of ten
MOST_ROWS = 60  # rows of a table that is shown without scrolling


@dataclass(frozen=True)
class Section:
    """A section of the page with its heading."""

    name: str  # the anchor of links
    title: str
    lead: str  # one or two sentences of introduction
    body: Markup


def shorten(text: str, most: int = LONGEST) -> str:
    """Truncate a long text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def name(text: object, most: int = LONGEST) -> Markup:
    """Show a name or a label from the user's table; a long one is truncated, with the full text as a tooltip."""
    words = str(text)
    return tag("bdi", shorten(words, most), title=words[:1000] if len(words) > most else None)


def percent(share: float) -> str:
    """Format a fraction in percent; values near 0 and 1 are not rounded to them."""
    if math.isnan(share):
        return "unknown"
    words = f"{100 * share:.1f} %"
    return "< 0.1 %" if words == "0.0 %" and share > 0 else "> 99.9 %" if words == "100.0 %" and share < 1 else words


def number(value: float) -> str:
    """Format a number for a table or an axis, with about four digits."""
    if math.isnan(value):
        return "unknown"
    size = abs(value)
    if LARGE <= size < math.inf:
        return _with_power(value)
    text = f"{value:,.0f}" if 1e4 <= size < LARGE else format_number(float(value))
    return text.replace("-", "−")


def _with_power(value: float) -> str:
    """Format a large number with three digits and a power of ten."""
    digits = f"{value:.3g}" if abs(value) >= LARGE else f"{value:.2e}"
    return digits.replace("e+0", "e").replace("e+", "e").replace("-", "−")


def column(values: Iterable[float]) -> list[str]:
    """Format numbers of one unit with the same number of decimals, four digits for the largest."""
    numbers = [float(value) for value in values]
    largest = max((abs(value) for value in numbers if math.isfinite(value)), default=0.0)
    if largest >= LARGE:
        return [_with_power(value) if value else "0" for value in numbers]
    if largest < 1e-4:
        return [number(value) for value in numbers]
    decimals = max(0, 3 - math.floor(math.log10(largest)))
    return [
        f"{value + 0.0:,.{decimals}f}".replace("-", "−") if math.isfinite(value) else number(value) for value in numbers
    ]


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str,
    numeric: Iterable[int] = (),
    sortable: bool = False,
) -> Markup:
    """Make a table that scrolls if it is too wide, or very long; `numeric` columns are right-aligned."""
    right, listed = set(numeric), list(rows)
    caption += f" ({len(listed)} rows: scroll down)" if len(listed) > MOST_ROWS else ""

    def classes(column: int) -> str | None:
        return "n" if column in right else None

    head = (tag("th", text, scope="col", class_=classes(c)) for c, text in enumerate(heads))
    lines = (tag("tr", *(tag("td", cell, class_=classes(c)) for c, cell in enumerate(row))) for row in listed)
    body = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", *lines),
        class_="sort" if sortable else None,
    )
    return tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=caption)


def figure(picture: Markup, caption: str, *, wide: bool = False) -> Markup:
    """Combine a chart and its caption; a wide one fills the row."""
    return tag("figure", picture, tag("figcaption", caption), class_="alone" if wide else None)


def figures(*pictures: Markup) -> Markup:
    """Put figures side by side if there is room."""
    return tag("div", *pictures, class_="figures")


def note(text: str, kind: str = "note") -> Markup:
    """Make a highlighted note."""
    return tag("p", text, class_=kind)


def subhead(text: str) -> Markup:
    """Make a heading inside a section."""
    return tag("h3", text)


def thin(n: int, most: int) -> np.ndarray:
    """Choose at most `most` of n points, evenly spaced, including the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int)) if n else np.empty(0, dtype=int)


def stack(*parts: Markup) -> Markup:
    """Place parts below one another."""
    return join(*parts, between="\n")
