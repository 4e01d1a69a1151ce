"""Words, tables and JSON for people and scripts.

Names and labels from files are shown so that they cannot steer the terminal: control signs are replaced, and nothing in
them is read as a style. Colors are left out where output is no terminal, or NO_COLOR is set.
"""

import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from weald.forest.describe.markup import legible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_OF_A_PIPE = 160

Facts: TypeAlias = dict[str, Any]  # what a command prints as JSON, by name


def show_json(facts: Mapping[str, object]) -> None:
    """Print facts for scripts; what is no number is null. What cannot be printed is escaped."""
    text = json.dumps(_plain(facts), indent=2, ensure_ascii=not _has_unicode())
    _write("".join(_escaped(line) + "\n" for line in text.split("\n")))


def _escaped(line: str) -> str:
    """Escape what json does not: control characters above ASCII, marks that turn text around, half characters."""
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
    """Tell whether a stream is a terminal; a closed one is None."""
    return stream is not None and stream.isatty()


def console(file: TextIO, stream: TextIO | None) -> "Console":
    """Make a console of rich that draws into a file for a stream."""
    from rich.console import Console

    on_terminal = is_terminal(stream)
    width = None if on_terminal else WIDTH_OF_A_PIPE
    return Console(file=file, force_terminal=on_terminal, width=width, markup=False, highlight=False, emoji=False)


def _write(text: str) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text)


def write_error(text: str) -> None:
    """Print a line on stderr."""
    _write_beside(legible(text) + "\n")


def _write_beside(text: str) -> None:
    """Write to stderr. If it is closed or full, the work is done all the same."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _render(
    shown: "RenderableType", stream: TextIO | None, *, soft_wrap: bool = False, style: str | None = None
) -> str:
    """Draw something for a stream. rich does not write it: it would end the process where a pipe is closed."""
    drawn = io.StringIO()
    console(drawn, stream).print(shown, soft_wrap=soft_wrap, style=style)
    return drawn.getvalue()


def say(words: str = "") -> None:
    """Print a line, or several."""
    _write(_render("\n".join(map(legible, words.split("\n"))), sys.stdout, soft_wrap=True))


def note(words: str) -> None:
    """Print a line for people beside what is printed for pipes."""
    _write_beside(_render(legible(words), sys.stderr, soft_wrap=True, style="dim"))


def show_table(heads: Sequence[str], rows: Sequence[Sequence[object]], *, numeric: Sequence[int] = ()) -> None:
    """Print a table."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for i, head in enumerate(heads):
        made.add_column(Text(legible(head)), justify="right" if i in numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(legible(str(cell))) for cell in row))
    _write(_render(made, sys.stdout))


def number(value: float, digits: int = 4) -> str:
    """Say a number shortly."""
    return "unknown" if math.isnan(value) else f"{value:.{digits}g}"


def size(n_bytes: float) -> str:
    """Say a size."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"
