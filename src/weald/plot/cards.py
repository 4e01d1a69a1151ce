"""The boxes ("cards") of the nodes in a drawn tree.

    write_cards    the content and the size of each card
    Pen            draws cards, bars and text on axes whose unit is a point

The card of a split shows its condition and, below, the prediction of the node. The card of a leaf has the color of its
prediction. A thin bar shows the class probabilities, or the position of the mean in the range of the target, with one
standard deviation to each side.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.collections import PatchCollection
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.text import Text

from weald.forest.describe.markup import legible
from weald.forest.describe.summary import Sketch
from weald.plot.palette import CLASSES, INK, LINE, PAPER, SCALE, SOFT, class_colors, tint

PAD_X, PAD_Y = 7.0, 5.0  # points
BAR = 4.0
LEADING = 1.35  # height of a line divided by the font size
BASELINE = 0.77  # position of the baseline in a line
SPACE = 2.5  # gap between a line and the bar
LARGE, SMALL = 9.0, 7.5  # font sizes
ROUND = 3.0
MIN_WIDTH = 46.0
SLACK = 1.04  # small text is slightly wider on a screen than measured
BETWEEN = 5.0  # gap between pieces of a line
STACK = 2.5  # visible edge of a stacked card

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Words:
    """A piece of text on a card."""

    text: str
    size: float = SMALL
    color: str = SOFT
    bold: bool = False
    italic: bool = False

    def __post_init__(self) -> None:
        """Replace characters that matplotlib cannot draw."""
        object.__setattr__(self, "text", legible(self.text))

    @property
    def width(self) -> float:
        """Width in points."""
        return text_width(self.text, self.size, self.bold, self.italic)


Line = tuple[Words, ...]


@dataclass(frozen=True)
class Card:
    """The content of a card: lines above and below the bar."""

    above: tuple[Line, ...]
    below: tuple[Line, ...]

    def width(self) -> float:
        """Width of the text in points."""
        return max(MIN_WIDTH, 2 * PAD_X + SLACK * max(line_width(line) for line in self.above + self.below))

    def height(self) -> float:
        """Height of the lines and the bar in points."""
        lines = sum(line_height(line) for line in self.above + self.below)
        return lines + BAR + SPACE + (SPACE if self.below else 1.5) + 2 * PAD_Y


def line_width(line: Line) -> float:
    """Width of a line of one or two pieces."""
    return sum(words.width for words in line) + BETWEEN * (len(line) - 1)


def line_height(line: Line) -> float:
    """Height of a line: that of its largest font."""
    return LEADING * max(words.size for words in line)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False, italic: bool = False) -> float:
    """Measure a text in points."""
    font = FontProperties(size=size, weight="bold" if bold else "normal", style="italic" if italic else "normal")
    width, _, _ = _ruler().get_text_width_height_descent(text, font, ismath=False)
    return float(width) / 4


@lru_cache(maxsize=1)
def _ruler() -> RendererBase:
    return RendererAgg(1, 1, 4 * 72)  # type: ignore[no-untyped-call]  # four pixels a point, so that hinting does not matter


def write_cards(sketch: Sketch, tags: list[str] | None = None, *, flat: bool = False) -> list[Card]:
    """Create the cards of all nodes.

    A tag, such as a letter, precedes the condition of a split. Flat cards of leaves have a single line.
    """
    return [_write_card(sketch, i, tags[i] if tags else "", flat=flat) for i in range(len(sketch.node))]


def _write_card(sketch: Sketch, i: int, tag: str, *, flat: bool) -> Card:
    answer, tally = sketch.answer[i], Words(sketch.tally[i])
    above: tuple[Line, ...]
    below: tuple[Line, ...]
    if sketch.is_open[i]:
        asked = Words(sketch.question[i], LARGE, INK)
        above = ((Words(tag, LARGE, INK, bold=True), asked) if tag else (asked,),)
        below = ((Words(answer), tally),)
    else:
        title = Words(answer, LARGE, INK, bold=True)
        above, below = (((title, tally),), ()) if flat else (((title,),), ((tally,),))
    if sketch.hidden[i]:
        below += ((Words(f"… {sketch.hidden[i]:,} more nodes", italic=True),),)
    return Card(above, below)


class FittedText(Text):
    """Text whose size is in units of the axes, so that it always fits its card."""

    def __init__(self, x: float, y: float, words: Words, ha: str = "center") -> None:
        super().__init__(
            x,
            y,
            words.text,
            color=words.color,
            fontsize=words.size,
            weight="bold" if words.bold else "normal",
            style="italic" if words.italic else "normal",
            ha=ha,
            va="baseline",
            parse_math=False,
            zorder=5,
        )
        self._points = words.size

    def draw(self, renderer: RendererBase) -> None:
        """Draw at the current size of the axes."""
        if self.axes is not None and self.figure is not None:
            low, high = self.axes.transData.transform([(0, 0), (0, 1)])[:, 1]
            self.set_fontsize(self._points * float(high - low) * 72 / self.figure.dpi)
        super().draw(renderer)


class Pen:
    """Draws the cards of one sketch on axes."""

    def __init__(self, ax: Axes, sketch: Sketch, cards: list[Card], boxes: Floats) -> None:
        self.ax, self.sketch, self.cards, self.boxes = ax, sketch, cards, boxes
        self.colors = class_colors(len(sketch.labels))
        self._patches: list[list[Patch]] = [[], [], []]  # drawing order: stacks, cards, bars

    def draw(self) -> None:
        """Draw every card: boxes and bars as a few collections, then the text."""
        for i, box in enumerate(self.boxes):
            self._draw_box(i, box)
            self._write(i, box)
        for order, patches in enumerate(self._patches):
            if patches:
                self.ax.add_collection(PatchCollection(patches, match_original=True, zorder=2 + order))

    def _draw_box(self, i: int, box: Floats) -> None:
        x, y, width, height = box
        fill, edge = self._look(i)
        if self.sketch.hidden[i]:
            self._patches[0].append(_rounded(x + STACK, y - STACK, width, height, fill, edge))
        self._patches[1].append(_rounded(x, y, width, height, fill, edge))

    def _look(self, i: int) -> tuple[str, str]:
        """Choose the colors of a card; nodes without drawn children have the color of their prediction."""
        if self.sketch.is_open[i]:
            return PAPER, LINE
        color = self._answer_color(i)
        return tint(color, 0.22), tint(color, 0.75)

    def _answer_color(self, i: int) -> str:
        if self.sketch.probabilities is not None:
            return self.colors[int(self.sketch.probabilities[i].argmax())]
        return _hex(SCALE(0.25 + 0.65 * self._place(float(self.sketch.mean[i]))))  # type: ignore[index]

    def _place(self, value: float) -> float:
        """Return the position of a number between the smallest and the largest mean shown."""
        assert self.sketch.mean is not None  # noqa: S101  (for the type checker)
        low, high = self.sketch.mean.min(), self.sketch.mean.max()
        return float(np.clip((value - low) / (high - low), 0, 1)) if high > low else 0.5

    def _write(self, i: int, box: Floats) -> None:
        x, y, width, height = box
        top, card = y + height - PAD_Y, self.cards[i]
        top = self._write_lines(card.above, x + width / 2, top) - SPACE
        self._draw_bar(i, x + PAD_X, top - BAR, width - 2 * PAD_X)
        self._write_lines(card.below, x + width / 2, top - BAR - SPACE)

    def _write_lines(self, lines: tuple[Line, ...], middle: float, top: float) -> float:
        for line in lines:
            high = line_height(line)
            self._write_line(line, middle, top - BASELINE * high)
            top -= high
        return top

    def _write_line(self, line: Line, middle: float, y: float) -> None:
        """Write one or two pieces of text, centered; text is slightly wider on some devices."""
        if len(line) == 1:
            self.ax.add_artist(FittedText(middle, y, line[0]))
            return
        first, second = line
        joint = middle + (first.width - second.width) / 2
        self.ax.add_artist(FittedText(joint - BETWEEN / 2, y, first, "right"))
        self.ax.add_artist(FittedText(joint + BETWEEN / 2, y, second, "left"))

    def _draw_bar(self, i: int, x: float, y: float, width: float) -> None:
        if self.sketch.probabilities is None:
            self._draw_mean(i, x, y, width)
            return
        for share, color in zip(self.sketch.probabilities[i], self.colors, strict=True):
            if share > 0:
                self._patches[2].append(Rectangle((x, y), share * width, BAR, facecolor=color, linewidth=0))
                x += share * width

    def _draw_mean(self, i: int, x: float, y: float, width: float) -> None:
        """Draw a line for the range of means, a band of one standard deviation, and a mark at the mean."""
        assert self.sketch.mean is not None and self.sketch.deviation is not None  # noqa: S101, PT018
        mean, deviation = float(self.sketch.mean[i]), float(self.sketch.deviation[i])
        low, middle, high = (self._place(v) * width for v in (mean - deviation, mean, mean + deviation))
        self._patches[2] += [
            Rectangle((x, y + BAR / 2 - 0.4), width, 0.8, facecolor=LINE, linewidth=0),
            Rectangle((x + low, y + BAR / 2 - 1.2), high - low, 2.4, facecolor=tint(CLASSES[2], 0.6), linewidth=0),
            Rectangle((x + middle - 1, y - 0.5), 2, BAR + 1, facecolor=INK, linewidth=0),
        ]


def _rounded(x: float, y: float, width: float, height: float, fill: str, edge: str) -> Patch:
    return FancyBboxPatch(
        (x, y),
        width,
        height,
        boxstyle=f"round,pad=0,rounding_size={ROUND}",
        facecolor=fill,
        edgecolor=edge,
        linewidth=0.8,
    )


def _hex(rgba: tuple[float, float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgba[:3])
