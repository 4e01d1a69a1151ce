"""`weald inspect`: the contents of a model file."""

from typing import TYPE_CHECKING

from weald.cli import screen
from weald.cli.options import Json, ModelFile
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

SHOWN = 40  # features shown
LABELS = 20  # classes shown
OF_TARGETS = {False: ", mean over the targets", True: ": fraction of rows with every target right"}


def inspect(model: ModelFile, json: Json = False) -> None:
    """Show what is in a model file.

    The file is read and checked; it contains no code that could run.
    """
    from weald.cli.modeling import load_model

    facts = examine(load_model(model)) | {"file": str(model), "bytes": model.stat().st_size}
    if json:
        screen.show_json(facts)
    else:
        _show(facts)


def examine(model: "TreeModel") -> Facts:
    """Collect the facts about a fitted model."""
    from weald.cli.modeling import task_of
    from weald.estimators.multi_output import forests_of, is_multi_output, listed, select_target

    forests, several = forests_of(model), is_multi_output(model)
    forest = forests[0]  # the trees of all targets differ only in their leaf values
    prints = [of_target.fingerprint() for of_target in forests]
    params = model.get_params(deep=False)
    defaults = type(model)().get_params(deep=False)
    return {
        "estimator": type(model).__name__,
        "task": task_of(model),
        "target": getattr(model, "target_name_", None),
        "n_targets": len(forests),
        "rows": getattr(model, "n_samples_fit_", None),
        "trees": forest.n_trees,
        "nodes": forest.n_nodes,
        "leaves": int((forest.feature < 0).sum()),
        "deepest": int(forest.depth().max()),
        "seed": int(model.seed_),
        "shrinkage": model.shrinkage_,
        "fingerprint": prints if several else prints[0],
        "features": _features(select_target(model, 0)),
        "classes": listed(model.classes_) if hasattr(model, "classes_") else None,
        "params": params,
        "changed_params": {name: value for name, value in params.items() if _differs(value, defaults[name])},
        "oob_error": getattr(model, "oob_error_", None),
        "oob_score": getattr(model, "oob_score_", None),
    }


def _differs(value: object, default: object) -> bool:
    return type(value) is not type(default) or repr(value) != repr(default)


def _features(model: "TreeModel") -> list[Facts]:
    from weald.estimators.features import features_of
    from weald.inspection.importance_result import names_of

    if not features_of(model).is_table:
        return [{"feature": name, "read_as": "kernel values", "labels": ""} for name in names_of(model, None)]
    schema = model.schema_
    kinds = [
        (schema.times.get(f, "numbers"), "") if c is None else ("categories", len(c.labels))
        for f, c in enumerate(schema.categories)
    ]
    return [{"feature": n, "read_as": k, "labels": m} for n, (k, m) in zip(names_of(model, None), kinds, strict=True)]


def _show(facts: Facts) -> None:
    asked = facts["params"].get("oob_score")
    scores = {"classification": "accuracy", "survival": "concordance"}
    score = asked if isinstance(asked, str) else scores.get(facts["task"], "R²")
    several = facts["n_targets"] > 1
    prints = facts["fingerprint"] if several else [facts["fingerprint"]]
    lines = {
        "estimator": facts["estimator"],
        "target": facts["target"],
        "targets": facts["n_targets"] if several else None,
        "classes": None if facts["classes"] is None or several else _listed(facts["classes"]),
        "rows": None if facts["rows"] is None else f"{facts['rows']:,}",
        "out-of-bag": None
        if facts["oob_score"] is None
        else f"{score} {screen.number(facts['oob_score'])}"
        + (OF_TARGETS[facts["classes"] is not None] if several and not isinstance(asked, str) else ""),
        "trees": f"{facts['trees']:,}",
        "nodes": f"{facts['nodes']:,} ({facts['leaves']:,} leaves), depth up to {facts['deepest']}",
        "seed": facts["seed"],
        "shrinkage": facts["shrinkage"] or None,
        "size": screen.size(facts["bytes"]),
        **({} if several else {"fingerprint": prints[0]}),
        "parameters": ", ".join(f"{k}={v!r}" for k, v in facts["changed_params"].items()) or "defaults",
    }
    for name, value in lines.items():
        if value is not None:
            screen.say(f"{name:<12} {value}")
    screen.say()
    if several:
        _show_targets(prints, facts["classes"])
    rows = [[f["feature"], f["read_as"], f["labels"]] for f in facts["features"][:SHOWN]]
    screen.show_table(["feature", "read as", "categories"], rows, numeric=[2])
    if len(facts["features"]) > SHOWN:
        screen.say(f"… and {len(facts['features']) - SHOWN:,} more (--json lists all)")


def _show_targets(prints: list[str], classes: list[list[object]] | None) -> None:
    """Show the targets of a multi-output model. Its trees differ only in their leaf values."""
    labels = ["" if classes is None else _listed(classes[number]) for number in range(min(len(prints), SHOWN))]
    rows = [[str(number), *([] if classes is None else [text]), prints[number]] for number, text in enumerate(labels)]
    screen.show_table(["target", *([] if classes is None else ["classes"]), "fingerprint"], rows)
    if len(prints) > SHOWN:
        screen.say(f"… and {len(prints) - SHOWN:,} more (--json lists all)")
    screen.say()


def _listed(classes: list[object]) -> str:
    shown = ", ".join(map(str, classes[:LABELS]))
    return f"{len(classes)}: {shown}{' …' if len(classes) > LABELS else ''}"
