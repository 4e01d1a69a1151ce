"""`weald audit`: grow trees of a model again from its training data, and compare."""

from typing import Annotated

import typer

from weald.cli import screen
from weald.cli.options import Data, Json, KnownTarget, ModelFile, Weight


def audit(
    model: ModelFile,
    data: Data,
    trees: Annotated[
        int, typer.Option("--trees", "-n", metavar="N", help="Trees to grow again, drawn at random", min=1)
    ] = 5,
    everything: Annotated[bool, typer.Option("--all", help="Grow all trees again")] = False,
    target: KnownTarget = None,
    weight: Weight = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the draw of trees; default: the operating system draws")
    ] = None,
    json: Json = False,
) -> None:
    """Check that a model was trained on a file: compare the data, grow random trees again, and compare them.

    Wrong data, a changed parameter and a changed tree are named, and the exit code is 2.
    """
    import weald
    from weald.cli.evaluate import read_weighted
    from weald.cli.modeling import load_model, quiet_warnings, say_warnings

    fitted = load_model(model)
    X, y, weights = read_weighted(fitted, data, target, weight)
    with quiet_warnings() as said:
        found = weald.audit(fitted, X, y, weights, trees="all" if everything else trees, random_state=seed)
    if json:
        findings = [{"kind": f.kind, "name": f.name, "node": f.node, "text": f.text} for f in found.findings]
        facts = {"file": str(model), "data": str(data), "passed": found.passed, "findings": findings}
        facts |= {"trees": list(found.trees), "of": found.n_trees, "data_hash": found.data_hash}
        facts["chance_unnoticed"] = {f"{f:g}": found.chance_unnoticed(f) for f in (0.01, 0.1, 0.5)}
        screen.show_json(facts)
    else:
        for line in str(found).splitlines():
            screen.say(line)
        say_warnings(said)
    if not found.passed:
        raise typer.Exit(2)
