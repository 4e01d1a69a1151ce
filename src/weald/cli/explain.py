"""`weald explain`: how much each feature contributed to the prediction of a row."""

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
    row: Annotated[int, typer.Option(help="Row number in the file, from 0")] = 0,
    label: Annotated[
        str | None, typer.Option("--class", "-c", help="Class to explain; default: the predicted class")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Maximum number of features to show")] = 15,
    json: Json = False,
) -> None:
    """Show what each feature contributed to a prediction.

    Each split on the path of the row changes the mean or the class probabilities of the nodes. The changes are summed
    by feature over all trees. Average over the training rows + contributions = prediction.
    """
    from weald.cli.failures import UserError
    from weald.cli.modeling import load_model, quiet_warnings, select_features, types_for
    from weald.cli.reading import read_table

    forest = load_model(model)
    k = None if label is None else _number_of(forest, label)
    X = select_features(read_table(data, types_for(forest)), forest, data.name)
    if not 0 <= row < X.num_rows:
        raise UserError(f"There is no row {row}: {data.name} has rows 0 to {X.num_rows - 1}.")
    one = X.slice(row, 1)
    with quiet_warnings():
        base, effects = contributions(forest, one)
        facts = _facts(forest, one, base, effects, k)
    if json:
        screen.show_json({"row": row, **facts})
        return
    _show(facts, row, most)


def _number_of(model: "TreeModel", label: str) -> int:
    """Find a class by its label."""
    from weald.cli.columns import choose
    from weald.cli.failures import UserError

    if not hasattr(model, "classes_"):
        raise UserError("--class is for classification, but this model predicts numbers. Leave it out.")
    labels = [str(one) for one in model.classes_]
    return labels.index(choose(label, labels, "class"))


def contributions(model: "TreeModel", one: arrow.Table) -> "tuple[FloatArray, FloatArray]":
    """Return the mean prediction of the roots, and the changes at the splits of each feature, over all trees."""
    import numpy as np

    from weald.estimators.prediction import mark_paths
    from weald.forest.shrinkage import predict_nodes

    forest = model.forest_
    predicted = predict_nodes(forest)
    if getattr(model, "voting", "soft") == "hard":
        predicted = np.eye(predicted.shape[1])[predicted.argmax(axis=1)]  # each tree has one vote
    if len(forest.tree_weight):
        weight = forest.tree_weight / forest.vote_total
    else:
        weight = forest.has_vote() / forest.vote_total
    path = np.sort(mark_paths(model, one).indices)  # nodes of all trees that the row passes
    tree = np.searchsorted(forest.tree_start, path, side="right") - 1
    effects = np.zeros((forest.n_features, predicted.shape[1]))
    same = tree[1:] == tree[:-1]  # nodes are in pre-order: on a path, each node follows its parent
    above, below = path[:-1][same], path[1:][same]
    np.add.at(effects, forest.feature[above], (predicted[below] - predicted[above]) * weight[tree[1:][same]][:, None])
    return (predicted[forest.tree_start[:-1]] * weight[:, None]).sum(axis=0), effects


def _facts(model: "TreeModel", one: arrow.Table, base: "FloatArray", effects: "FloatArray", k: int | None) -> Facts:
    values = [one.column(name)[0].as_py() for name in one.column_names]
    total = base + effects.sum(axis=0)
    facts: Facts = {}
    if hasattr(model, "classes_"):
        winner = int(model.predict_proba(one).argmax())  # sums in tree order break ties
        k = winner if k is None else k
        facts = {"prediction": model.classes_[winner], "probability": float(total[winner]), "class": model.classes_[k]}
        facts["probabilities"] = {str(label): float(p) for label, p in zip(model.classes_, total, strict=True)}
    else:
        k = 0
        facts = {"prediction": float(total[0])}
    order = abs(effects[:, k]).argsort(kind="stable")[::-1]
    facts |= {"average": float(base[k]), "value": float(total[k])}
    facts["contributions"] = [
        {"feature": one.column_names[f], "value": values[f], "contribution": float(effects[f, k])}
        for f in order
        if effects[f, k]
    ]
    return facts


def _show(facts: Facts, row: int, most: int) -> None:
    write, what = (
        (screen.number, "prediction") if "class" not in facts else (_short, f"probability of {facts['class']}")
    )
    predicted = facts["prediction"] if "class" in facts else screen.number(facts["prediction"])
    screen.say(f"row {row}: predicted {predicted}")
    screen.say(f"{what}: {write(facts['value'])}; average over the training rows: {write(facts['average'])}")
    screen.say("\ncontributions of the features to the difference:")
    shown, rest = facts["contributions"][:most], facts["contributions"][most:]
    lines = [[c["feature"], screen.cell(c["value"]), screen.signed(c["contribution"])] for c in shown]
    if rest:
        lines.append([f"{len(rest)} others", "", screen.signed(sum(c["contribution"] for c in rest))])
    screen.show_table(["feature", "value", "contribution"], lines, numeric=[1, 2])


def _short(probability: float) -> str:
    return f"{probability:.3f}"
