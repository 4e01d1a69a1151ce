"""`weald diff`: in which parameters, trees and nodes two models differ."""

from pathlib import Path
from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Json, KnownTarget, Weight


def diff(
    model: Annotated[Path, typer.Argument(help="A .weald file", metavar="MODEL")],
    other: Annotated[Path, typer.Argument(help="Another .weald file", metavar="OTHER")],
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Training data: also list the best splits of differing nodes")
    ] = None,
    target: KnownTarget = None,
    weight: Weight = None,
    json: Json = False,
) -> None:
    """Compare two models: parameters, and trees down to the first node that differs.

    The exit code is 0 if all trees are equal, bit for bit, and 1 if not.
    """
    import weald
    from weald.cli.evaluate import read_weighted
    from weald.cli.modeling import load_model, quiet_warnings

    one, two = load_model(model), load_model(other)
    rows = (None, None, None) if data is None else read_weighted(one, data, target, weight)
    with quiet_warnings():
        found = weald.diff(one, two, *rows)
    if json:
        trees = [
            {"tree": d.tree, "node": d.first.node, "what": d.first.what, "one": d.first.one, "other": d.first.other}
            | ({"why": d.why.splitlines()} if d.why else {})
            for d in found.trees
        ]
        moved = [{"tree": t, "other": place} for t, place in found.moved.items()]
        facts = {"same": found.same, "facts": list(found.facts), "n_trees": list(found.n_trees)}
        screen.show_json(facts | {"trees": trees, "moved": moved})
    else:
        for line in str(found).splitlines():
            screen.say(line)
    if not found.same:
        raise typer.Exit(1)
