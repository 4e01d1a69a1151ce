"""The stopping rules of a fitted model, and whether all of its trees obey the same ones.

limits_of     the rules that only decide whether a split is used
note_mixed    remember that trees of other rules have joined
"""

from typing import TYPE_CHECKING, Any

from weald.forest.truncation import Limits

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

# Rules that only decide whether a split is used; all others take part in the choice of splits.
COMPACTED = "compact() removed splits"  # why trees are not those of a fit
GROWTH_LIMITS = ("max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes")


def limits_of(model: "TreeModel") -> Limits:
    """Return the stopping rules of a fitted model."""
    rules: dict[str, Any] = {name: getattr(model.growth_, name) for name in GROWTH_LIMITS}
    return Limits(**rules, ccp_alpha=float(model.ccp_alpha))


def note_mixed(model: "TreeModel", other: "TreeModel", how: str) -> None:
    """Record that a model has trees of another one, if their stopping rules differ or are unknown."""
    if hasattr(model, "altered_by_"):
        return
    if hasattr(other, "altered_by_"):
        model.altered_by_ = other.altered_by_
    elif limits_of(model) != limits_of(other):
        model.altered_by_ = f"{how} joined trees grown with different stopping rules"
