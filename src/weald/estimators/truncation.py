"""Truncation of a fitted model: what tighter stopping rules would have grown, without growing it.

    truncate      a model, and stopping rules  ->  the model that a fit with these rules gives
    limits_for    stopping rules  ->  plain numbers, or the reason why a model cannot be truncated to them

A truncated model keeps the rules that are not given. Rules can only become tighter: what was not grown is not known.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import RealNumber, WholeNumber, check_argument, is_whole
from weald.engines import params
from weald.errors import ParameterError, shown
from weald.estimators import multi_output
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.features import Features
from weald.estimators.merging import drop_out_of_bag, take_trees
from weald.estimators.multi_output import forests_of, is_multi_output
from weald.estimators.resampling import BAGGING
from weald.estimators.stopping_rules import COMPACTED, GROWTH_LIMITS, limits_of
from weald.forest.forest import Forest
from weald.forest.truncation import Limits, truncate_forests

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

Model = TypeVar("Model", bound="TreeModel")

TRUNCATING = (*GROWTH_LIMITS, "ccp_alpha", "shrinkage", "n_estimators")


def truncate(model: Model, given: Mapping[str, Any], n_rows: int | None = None) -> Model:
    """Make the model that a fit with other stopping rules gives; None leaves a rule as it is.

    Fractions are of `n_rows`; None: of as many rows as the model remembers.
    """
    check_is_fitted(model)
    require_uncalibrated(model, "truncate")
    wanted = {name: value for name, value in given.items() if value is not None}
    limits = limits_for(model, wanted, n_rows)
    n_estimators = wanted.pop("n_estimators", None)
    made = copy.copy(model) if n_estimators is None else take_trees(model, range(n_estimators))
    if limits != limits_of(model):
        _put_forests(made, truncate_forests(forests_of(made), limits))
        made.growth_ = replace(model.growth_, **limits.of_growth())
    shrinkage = float(wanted.get("shrinkage", model.shrinkage_))
    if shrinkage != model.shrinkage_:
        _put_forests(made, [forest.with_shrinkage(shrinkage) for forest in forests_of(made)])
    if getattr(made, "shrinkage", 0.0) == params.OUT_OF_BAG:
        made.set_params(shrinkage=shrinkage)  # a fit with other rules could choose another lambda
    made.set_params(**wanted)
    if n_estimators is not None:
        made.set_params(n_estimators=int(n_estimators))
    return made


def _put_forests(model: "TreeModel", forests: Sequence[Forest]) -> None:
    """Give a copy of a model other trees, without what belongs to the old ones."""
    targets, same = vars(model).get("leaf_targets_"), forests_of(model)[0].n_nodes == forests[0].n_nodes
    if is_multi_output(model):
        model.forests_ = tuple(forests)
    else:
        (model.forest_,) = forests
    for name in ("tree_", "leaf_targets_", "kept_errors_"):
        model.__dict__.pop(name, None)
    if targets is not None and same:
        model.__dict__["leaf_targets_"] = replace(targets, forest=model.forest_)
    drop_out_of_bag(model)


def limits_for(model: "TreeModel", wanted: Mapping[str, Any], n_rows: int | None = None) -> Limits:
    """Turn stopping rules of a fitted model into plain numbers; refuse those that it cannot be truncated to.

    Fractions are of `n_rows`; None: of as many rows as the model remembers.
    """
    for name, value in wanted.items():
        _check(model, name, value)
    limits = _resolve(model, {name: wanted[name] for name in wanted if name in vars(limits_of(model))}, n_rows)
    before = limits_of(model)
    if limits != before:
        _require_truncatable(model, before, limits)
    return limits


# ---------------------------------------------------------------------------------------------------------- refusals


def _check(model: "TreeModel", name: str, value: Any) -> None:
    """Refuse parameters that are not stopping rules, and values that a fit refuses."""
    known = model.get_params(deep=False)
    if name not in known:
        raise ParameterError(f"{name} is not a parameter of {type(model).__name__}. Give {_listed(known)}.")
    if name not in TRUNCATING:
        raise ParameterError(
            f"truncate cannot set {name}: it takes part in the choice of splits, or does not stop the growth of trees. "
            f"Give {_listed(known)}, or fit again with {name}={shown(value)}."
        )
    if model._features is not Features:  # noqa: SLF001  (the class attribute says which kind)
        raise ParameterError(
            f"A {type(model).__name__} keeps only the prototypes that its trees use, so it cannot be truncated to what "
            f"a fit gives. Fit again with {name}={shown(value)}, or take trees by a slice."
        )
    if name == "shrinkage":
        _check_shrinkage(model, value)
        return
    if name == "n_estimators":
        n_trees = forests_of(model)[0].n_trees
        check_argument(name, value, (WholeNumber(1),))
        if value > n_trees:
            raise ParameterError(
                f"n_estimators={shown(value)} is more than the {n_trees} trees of the forest. Give a number up to "
                f"{n_trees}, or fit with warm_start=True to grow more."
            )
        return
    check_argument(name, value, params.KINDS[name])
    if is_multi_output(model):
        multi_output.refuse({name: value})


def _check_shrinkage(model: "TreeModel", value: Any) -> None:
    """Refuse lambda where predictions could not be shrunk: it is not a limit, so it may also become smaller."""
    check_argument("shrinkage", value, (RealNumber(0),))
    if not value:
        return
    params.refuse_shrinkage(model.growth_.monotonic, value)
    if getattr(model, "resampling", BAGGING) != BAGGING:
        raise ParameterError(
            f"shrinkage={shown(value)} cannot be used with resampling={model.resampling!r}: the weights of votes are "
            "those of trees without shrinkage."
        )
    if getattr(model, "altered_by_", None) == COMPACTED:
        raise ParameterError(
            f"shrinkage={shown(value)} cannot be used after compact(): what a leaf predicts depends on all splits "
            "above it. Shrink the model before."
        )


def _listed(known: Mapping[str, Any]) -> str:
    names = [name for name in TRUNCATING if name in known]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _resolve(model: "TreeModel", wanted: Mapping[str, Any], n_rows: int | None) -> Limits:
    """Turn stopping rules into plain numbers, as a fit does."""
    found: dict[str, Any] = {}
    for name, value in wanted.items():
        if name == "max_depth":
            found[name] = params.limit_depth(value, forests_of(model)[0].n_features)
        elif name == "max_leaf_nodes":
            found[name] = min(int(value or 0), params.UNLIMITED)
        elif name == "min_samples_split":
            found[name] = max(2, _count(model, value, n_rows))
        else:
            found[name] = float(value)
    return replace(limits_of(model), **found)


def _count(model: "TreeModel", value: float, n_rows: int | None) -> int:
    """Read a number of rows, or a fraction of the rows of the table."""
    if is_whole(value):
        return min(int(value), params.UNLIMITED)
    if n_rows is not None:
        return math.ceil(value * n_rows)
    growth = model.growth_
    drawn_from_all = not growth.bootstrap or getattr(model, "max_samples", 1) is None
    if growth.draws or not drawn_from_all:
        raise ParameterError(
            f"min_samples_split={shown(value)} is a fraction of the rows, and the forest does not know how many there "
            "were: its bags have another size (max_samples, groups or strata). Give a whole number."
        )
    return math.ceil(value * growth.n_draws)


def _require_truncatable(model: "TreeModel", before: Limits, limits: Limits) -> None:
    """Refuse limits for which the forest lacks splits."""
    _require_fit(model)
    looser = {
        "max_depth": limits.max_depth > before.max_depth,
        "min_samples_split": limits.min_samples_split < before.min_samples_split,
        "min_impurity_decrease": limits.min_impurity_decrease < before.min_impurity_decrease,
        "max_leaf_nodes": bool(before.max_leaf_nodes) and not 0 < limits.max_leaf_nodes <= before.max_leaf_nodes,
        "ccp_alpha": limits.ccp_alpha < before.ccp_alpha,
    }
    for name, is_looser in looser.items():
        if is_looser:
            raise ParameterError(
                f"{name}={getattr(limits, name)} is looser than {name}={getattr(before, name)}, with which these trees "
                f"were grown, and what was not grown cannot be restored. Fit again with {name}={getattr(limits, name)}."
            )
    changed = [name for name in GROWTH_LIMITS if getattr(limits, name) != getattr(before, name)]
    if changed and before.ccp_alpha:
        raise ParameterError(
            f"These trees were pruned with ccp_alpha={before.ccp_alpha:g}, and a fit applies {changed[0]} before it "
            "prunes. Truncate a forest that was fitted with ccp_alpha=0."
        )
    if before.max_leaf_nodes and set(changed) - {"max_leaf_nodes"}:
        raise ParameterError(
            f"These trees were grown best-first up to max_leaf_nodes={before.max_leaf_nodes}, and with {changed[0]} "
            "other leaves would have been divided. Truncate a forest that was fitted with max_leaf_nodes=None."
        )


def _require_fit(model: "TreeModel") -> None:
    """Refuse trees that are not those of a fit, or of several fits with the same stopping rules."""
    forest, how = forests_of(model)[0], getattr(model, "resampling", BAGGING)
    if hasattr(model, "altered_by_"):
        raise ParameterError(
            f"These trees cannot be truncated: {model.altered_by_}. Truncate the forests as they were fitted."
        )
    if not forest.origins:
        raise ParameterError("These trees were imported, so weald does not know how they were grown. Fit again.")
    if how != BAGGING or any(origin.resampling != BAGGING for origin in forest.origins):
        raise ParameterError(
            f"With resampling={how!r} the bag of a tree depends on the mistakes of earlier trees, which other stopping "
            "rules change. Only n_estimators can be truncated: fit again for other rules."
        )
