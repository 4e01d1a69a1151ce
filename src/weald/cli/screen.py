"""Printing text, tables and JSON.

Names and labels from files cannot control the terminal: control characters are replaced, and nothing in them is read as
markup. Output has no colors if it is not a terminal, or if NO_COLOR is set.
"""

import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from weald.forest.describe.markup import legible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_OF_A_PIPE = 160
LONG = 12  # longer column heads are broken into lines

Facts: TypeAlias = dict[str, Any]  # the JSON output of a command, by name


def show_json(facts: Mapping[str, object]) -> None:
    """Print facts as JSON for scripts. NaN and infinity become null; unprintable characters are escaped."""
    text = json.dumps(_plain(facts), indent=2, ensure_ascii=not _has_unicode())
    _write("".join(_escaped(line) + "\n" for line in text.split("\n")))


class JsonRows:
    """Prints one JSON object with a list of rows, chunk by chunk, for any number of rows."""

    def __init__(self, name: str) -> None:
        self.name, self.n_rows = name, 0

    def write(self, columns: Mapping[str, Iterable[object]]) -> None:
        """Print some rows, given as columns by name."""
        values = [_plain(column.to_pylist() if hasattr(column, "to_pylist") else column) for column in columns.values()]
        for row in zip(*values, strict=True):
            text = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=not _has_unicode())
            _write((",\n    " if self.n_rows else f'{{\n  "{self.name}": [\n    ') + _escaped(text))
            self.n_rows += 1

    def end(self, facts: Mapping[str, object]) -> None:
        """Print the facts after the rows, and close the object."""
        text = json.dumps(_plain(facts), indent=2, ensure_ascii=not _has_unicode())
        _write("\n  ]," + "".join(_escaped(line) + "\n" for line in text.split("\n"))[1:])


def _escaped(line: str) -> str:
    """Escape characters that json does not: non-ASCII control characters, direction marks, surrogates."""
    return line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _has_unicode() -> bool:
    return str(getattr(sys.stdout, "encoding", "")).lower().replace("-", "") == "utf8"


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal; a closed one is None."""
    return stream is not None and stream.isatty()


def console(file: TextIO, stream: TextIO | None) -> "Console":
    """Make a rich console that renders to a file for a stream."""
    from rich.console import Console

    on_terminal = is_terminal(stream)
    width = None if on_terminal else WIDTH_OF_A_PIPE
    return Console(file=file, force_terminal=on_terminal, width=width, markup=False, highlight=False, emoji=False)


def _write(text: str) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text)


def write_error(text: str) -> None:
    """Print a line on stderr."""
    _write_beside(_render(legible(text), sys.stderr, soft_wrap=not is_terminal(sys.stderr)))


def _write_beside(text: str) -> None:
    """Write to stderr. If it is closed or full, the command still succeeds."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _render(
    shown: "RenderableType", stream: TextIO | None, *, soft_wrap: bool = False, style: str | None = None
) -> str:
    """Render for a stream without writing: rich would end the process if a pipe is closed."""
    drawn = io.StringIO()
    console(drawn, stream).print(shown, soft_wrap=soft_wrap, style=style)
    return drawn.getvalue()


def say(words: str = "") -> None:
    """Print one or more lines."""
    _write(_render("\n".join(map(legible, words.split("\n"))), sys.stdout, soft_wrap=True))


def note(words: str) -> None:
    """Print a line on stderr, so that piped output does not contain it."""
    _write_beside(_render(legible(words), sys.stderr, soft_wrap=not is_terminal(sys.stderr), style="dim"))


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, numeric: Sequence[int] = ()) -> None:
    """Print a table."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for i, head in enumerate(heads):
        made.add_column(Text(_lines(legible(head))), justify="right" if i in numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(legible(str(cell))) for cell in row))
    _write("".join(line.rstrip() + "\n" for line in _render(made, sys.stdout).splitlines()))


def _lines(name: str) -> str:
    """Break a long name at its underscores."""
    return name.replace("_", "_\n") if len(name) > LONG else name


def number(value: float, digits: int = 4) -> str:
    """Round a number for display, without an exponent unless it is very large or small."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else f"{value}"
    if 10**digits <= abs(value) < 1e15:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-6 <= abs(value) < 1:
        text = f"{value:.{digits - 1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    return text


def signed(value: float) -> str:
    """Round a contribution to three significant digits, with its sign."""
    return f"{'-' if value < 0 else '+'}{number(abs(value), 3)}"


def probability(value: float) -> str:
    """Format a number from 0 to 1 with all digits, so that columns align."""
    return "unknown" if math.isnan(value) else f"{value:.4f}"


def cell(value: object) -> str:
    """Format a value for a table: numbers rounded, dates without a time of day."""
    if value is None:
        return "missing"
    if isinstance(value, float):
        return number(value, 6)
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())
    return str(value)


def size(n_bytes: float) -> str:
    """Format a file size."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"
