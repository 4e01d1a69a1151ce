"""`weald inspect`: what is in a model file, without running any of it."""

from typing import TYPE_CHECKING

from weald.cli import screen
from weald.cli.options import Json, ModelFile
from weald.cli.screen import Facts

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel


def inspect(model: ModelFile, json: Json = False) -> None:
    """Say what is in a model file.

    The file is read and checked, and never run: it holds no code.
    """
    from weald.cli.modeling import load_model, task_of

    forest = load_model(model)
    facts: Facts = {
        "file": str(model),
        "bytes": model.stat().st_size,
        "estimator": type(forest).__name__,
        "task": task_of(forest),
        "trees": forest.forest_.n_trees,
        "nodes": forest.forest_.n_nodes,
        "leaves": int((forest.forest_.feature < 0).sum()),
        "deepest": int(forest.forest_.depth().max()),
        "seed": int(forest.seed_),
        "fingerprint": forest.forest_.fingerprint(),
        "features": _features(forest),
        "classes": forest.classes_.tolist() if hasattr(forest, "classes_") else None,
        "params": forest.get_params(deep=False),
        "oob_error": getattr(forest, "oob_error_", None),
    }
    if json:
        screen.show_json(facts)
        return
    for key in ("estimator", "trees", "nodes", "leaves", "deepest", "seed", "fingerprint"):
        screen.say(
            f"{key:<12} {facts[key]:,}" if isinstance(facts[key], int) and key != "seed" else f"{key:<12} {facts[key]}"
        )
    screen.say(f"{'size':<12} {screen.size(facts['bytes'])}")
    if facts["classes"] is not None:
        shown = ", ".join(map(str, facts["classes"][:20]))
        screen.say(f"{'classes':<12} {len(facts['classes'])}: {shown}{' …' if len(facts['classes']) > 20 else ''}")
    screen.say()
    lines = [[f["feature"], f["read_as"], f["labels"]] for f in facts["features"][:40]]
    screen.show_table(["feature", "read as", "categories"], lines, numeric=[2])
    if len(facts["features"]) > 40:
        screen.say(f"… and {len(facts['features']) - 40:,} more (--json lists all)")
    changed = {k: v for k, v in facts["params"].items() if v is not None}
    screen.say("\n" + ", ".join(f"{k}={v!r}" for k, v in changed.items()))


def _features(model: "TreeModel") -> list[Facts]:
    from weald.inspection.importance_result import names_of

    if hasattr(model, "plain_forest"):
        return [{"feature": name, "read_as": "kernel values", "labels": ""} for name in names_of(model, None)]
    schema = model.schema_
    kinds = [
        (schema.times.get(f, "numbers"), "") if c is None else ("categories", len(c.labels))
        for f, c in enumerate(schema.categories)
    ]
    return [{"feature": n, "read_as": k, "labels": m} for n, (k, m) in zip(names_of(model, None), kinds, strict=True)]
