"""Words, tables and JSON for people and scripts.

Names and labels from files are shown so that they cannot steer the terminal: control signs are replaced, and nothing in
them is read as a style. Colors are left out where output is no terminal, or NO_COLOR is set.
"""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from weald.forest.describe.markup import legible

WIDTH_OF_A_PIPE = 160


def show_json(facts: Any) -> None:
    """Print facts for scripts; what is no number is null."""
    print(json.dumps(_plain(facts), indent=2, ensure_ascii=False))  # noqa: T201  (the screen is its purpose)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def console(*, errors: bool = False) -> Any:
    """Open the screen."""
    from rich.console import Console

    stream = sys.stderr if errors else sys.stdout
    width = None if stream.isatty() else WIDTH_OF_A_PIPE
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def say(words: str = "") -> None:
    """Print a line, or several."""
    console().print("\n".join(map(legible, words.split("\n"))), soft_wrap=True)


def note(words: str) -> None:
    """Print a line for people beside what is printed for pipes."""
    console(errors=True).print(legible(words), soft_wrap=True, style="dim")


def show_table(heads: Sequence[str], rows: Sequence[Sequence[Any]], *, numeric: Sequence[int] = ()) -> None:
    """Print a table."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for i, head in enumerate(heads):
        made.add_column(head, justify="right" if i in numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(legible(str(cell))) for cell in row))
    console().print(made)


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
