"""Seconds of a fit over rows and columns, from the tables of docs/benchmarks/speed.md."""

import re
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from docs.figures.drawing import BARK, FAINT, GRAY, INK, LEAF, PAPER, SKY, save

PAGE = Path(__file__).parents[2] / "benchmarks" / "speed.md"
COLORS = {"weald": LEAF, "scikit-learn": BARK, "scikit-learn-intelex": SKY}
Line = dict[int, float]  # seconds by size


def read_table(what: str) -> tuple[dict[str, Line], dict[str, str]]:
    """Read a table of the page: the lines of each library, and their exponents."""
    lines = re.findall(r"^\| (.*) \|$", PAGE.read_text(), flags=re.MULTILINE)
    tables = [[cell.strip() for cell in line.split("|")] for line in lines]
    start = next(i for i, cells in enumerate(tables) if cells[0] == what)
    libraries = tables[start][1:]
    rows = {}
    for cells in tables[start + 2 :]:
        rows[cells[0]] = dict(zip(libraries, cells[1:], strict=True))
        if cells[0] == "exponent":
            break
    exponents = {library: text.strip("*") for library, text in rows.pop("exponent").items()}
    measured = {
        library: {number(size): float(cells[library]) for size, cells in rows.items() if cells[library] != "–"}
        for library in libraries
    }
    return measured, exponents


def number(text: str) -> int:
    """Read a number with commas."""
    return int(text.replace(",", ""))


def draw_lines(axes: Axes, what: str) -> None:
    """Draw one line for each library; names and exponents are in the free corner, highest line first."""
    lines, exponents = read_table(what)
    highest_first = sorted(lines, key=lambda library: -next(iter(lines[library].values())))
    for i, library in enumerate(highest_first):
        sizes, seconds = list(lines[library]), list(lines[library].values())
        color, y = COLORS[library], 0.95 - 0.075 * i
        axes.plot(sizes, seconds, "o-", color=color, lw=2.2 if library == "weald" else 1.4, ms=4, clip_on=False)
        words = {"transform": axes.transAxes, "color": color, "fontsize": 9, "va": "center"}
        axes.text(0.03, y, library, weight="bold" if library == "weald" else "normal", **words)
        axes.text(0.47, y, exponents[library], ha="right", **words)
    axes.text(0.47, 1.03, "exponent", transform=axes.transAxes, fontsize=9, color=FAINT, ha="right", va="center")
    everything = [seconds for line in lines.values() for seconds in line.values()]
    axes.set(xscale="log", yscale="log", xlabel=what, ylim=(min(everything) / 2, max(everything) * 6))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g} s"))
    axes.grid(color=GRAY, lw=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0)


def draw() -> Figure:
    """Draw both panels."""
    figure = Figure(figsize=(9.4, 4.2), facecolor=PAPER)
    for i, what in enumerate(("rows", "columns")):
        axes = figure.add_axes((0.065 + 0.5 * i, 0.12, 0.41, 0.74))
        draw_lines(axes, what)
        axes.set_title(f"Seconds of a fit by {what}", loc="left", fontsize=10, color=INK, weight="bold", pad=16)
    return figure


if __name__ == "__main__":
    save(draw(), __file__)
