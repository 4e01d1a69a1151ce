"""A progress bar on the terminal while trees grow: trees done, time left, and the out-of-bag error so far."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from weald.engines.progress import Growing, listening


@contextmanager
def show_growth(*, quiet: bool) -> Iterator[None]:
    """Show the progress of a fit, if stderr is a terminal."""
    from weald.cli.screen import console, is_terminal

    if quiet or not is_terminal(sys.stderr):
        yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    count, left = TextColumn("{task.fields[count]}"), (TimeRemainingColumn(), TextColumn("left"))
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        count,
        *left,
        console=console(sys.stderr, sys.stderr),
        transient=True,
    ) as bar:
        task = bar.add_task("growing trees", total=1.0, count="")

        def look(growing: Growing) -> None:
            error = "" if growing.error is None else f", out-of-bag error {growing.error:.4g}"
            count = f"{growing.n_done} of {growing.n_trees}{error}"
            bar.update(task, completed=growing.n_done / growing.n_trees, count=count)

        with listening(look):
            yield
