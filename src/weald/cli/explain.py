"""`weald explain`: why does a model say this of a row?"""

from typing import TYPE_CHECKING, Annotated

import typer

from weald.cli import arrow, screen
from weald.cli.options import Data, Json, ModelFile
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.data.types import FloatArray
    from weald.estimators.base import TreeModel


def explain(
    model: ModelFile,
    data: Data,
    row: Annotated[int, typer.Option(help="Which row of the file, from 0")] = 0,
    most: Annotated[int, typer.Option(help="Features to show at most")] = 15,
    json: Json = False,
) -> None:
    """Say what moved the answer for one row.

    On its way through a tree a row passes nodes, and each cut changes what the node would say. These changes are added
    up by feature, over all trees: together with what the roots say they are the answer.
    """
    from weald.cli.failures import UserError
    from weald.cli.modeling import load_model, quiet_warnings, select_features, types_for
    from weald.cli.reading import read_table

    forest = load_model(model)
    X = select_features(read_table(data, types_for(forest)), forest, data.name)
    if not 0 <= row < X.num_rows:
        raise UserError(f"There is no row {row}: {data.name} has rows 0 to {X.num_rows - 1}.")
    one = X.slice(row, 1)
    with quiet_warnings():
        base, moved = contributions(forest, one)
    facts = _facts(forest, one, base, moved)
    if json:
        screen.show_json({"row": row, **facts})
        return
    screen.say(f"row {row}: {facts['prediction']}" + (f" (share {facts['share']:.3f})" if "share" in facts else ""))
    screen.say(f"\nwhat moved it, from {screen.number(facts['base'])} over all rows to {screen.number(facts['said'])}:")
    shown = facts["contributions"][:most]
    screen.show_table(
        ["feature", "value", "moved by"], [[c["feature"], c["value"], f"{c['moved']:+.4g}"] for c in shown], numeric=[2]
    )
    rest = sum(c["moved"] for c in facts["contributions"][most:])
    if len(facts["contributions"]) > most:
        screen.say(f"{len(facts['contributions']) - most} others: {rest:+.4g}")


def contributions(model: "TreeModel", one: arrow.Table) -> "tuple[FloatArray, FloatArray]":
    """Follow a row through all trees: (prediction of the roots, by how much cuts of each feature moved it)."""
    import numpy as np

    from weald.data.task import Task
    from weald.estimators.prediction import mark_paths

    forest = model.forest_
    predicted = forest.shares() if forest.task is Task.CLASSIFICATION else forest.value[:, None]
    if getattr(model, "voting", "soft") == "hard":
        predicted = np.eye(predicted.shape[1])[predicted.argmax(axis=1)]  # a tree has one vote
    if len(forest.tree_weight):
        weight = forest.tree_weight / forest.vote_total
    else:
        weight = forest.has_vote() / forest.vote_total
    path = np.sort(mark_paths(model, one).indices)  # nodes of all trees that the row passes
    tree = np.searchsorted(forest.tree_start, path, side="right") - 1
    moved = np.zeros((forest.n_features, predicted.shape[1]))
    same = tree[1:] == tree[:-1]  # nodes are in pre-order: on a path each follows its parent
    above, below = path[:-1][same], path[1:][same]
    np.add.at(moved, forest.feature[above], (predicted[below] - predicted[above]) * weight[tree[1:][same]][:, None])
    return (predicted[forest.tree_start[:-1]] * weight[:, None]).sum(axis=0), moved


def _facts(model: "TreeModel", one: arrow.Table, base: "FloatArray", moved: "FloatArray") -> Facts:
    values = [one.column(name)[0].as_py() for name in one.column_names]
    total = base + moved.sum(axis=0)
    facts: Facts = {}
    k = 0
    if hasattr(model, "classes_"):
        k = int(model.predict_proba(one).argmax())  # sums in tree order decide ties
        facts = {"prediction": model.classes_[k], "share": float(total[k])}
        facts["shares"] = {str(label): float(s) for label, s in zip(model.classes_, total, strict=True)}
    else:
        facts = {"prediction": float(total[0])}
    order = abs(moved[:, k]).argsort(kind="stable")[::-1]
    facts |= {"base": float(base[k]), "said": float(total[k])}
    facts["contributions"] = [
        {"feature": one.column_names[f], "value": values[f], "moved": float(moved[f, k])} for f in order if moved[f, k]
    ]
    return facts
