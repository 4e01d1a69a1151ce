"""Parameters as plain numbers. Only this module knows "sqrt" or None.

    check        each parameter against one table of allowed values; one function writes all messages
    resolve      parameters and table -> Growth
    draw_seed    random_state -> a 64-bit seed
    choose_seed  the same for trees that may need none

Outside this module there is no None, no fraction, and no name for a number.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weald.data.arguments import (
    FLAG,
    NOTHING,
    ArgumentConstraint,
    Fraction,
    OneOf,
    RealNumber,
    Satisfies,
    WholeNumber,
    is_allowed,
    is_list,
    is_real,
    is_whole,
    join_choices,
)
from weald.data.table import Table
from weald.data.task import OF_MEDIANS
from weald.engines import constraints, criteria
from weald.engines.bagging import BALANCED, MAX_DRAWS, plan_bags
from weald.engines.class_weights import check_class_weights
from weald.engines.constraints import FeatureNames
from weald.engines.reference.definition import FREE_CATEGORIES
from weald.errors import DataError, ParameterError, shown, warn
from weald.forest.forest import Bags

UNLIMITED = 2**31 - 1  # larger than any depth, size or number of leaves
MOST_FEATURES = 2**24  # the limit of the address of a draw
MAX_BINS = 65_535
CATEGORY_PENALTY = 2.5  # "auto", by benchmarks/accuracy/categories.py
ROWS_OF_CATEGORY = 40  # with fewer rows per category, "auto" splits a column in the order of its categories
GPU = "cuda"
CLUSTER = "dask"  # grows forests on the cluster of the current Dask client; everything else runs in this process
OUT_OF_BAG = "oob"  # chooses `shrinkage` by the out-of-bag error
ENGINES = ("auto", "native", "reference", GPU, CLUSTER)


@dataclass(frozen=True)
class Growth:
    """Parameters of tree growth, as plain numbers."""

    criterion: str
    max_features: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_leaf_nodes: int  # 0: no limit
    bootstrap: bool
    n_draws: int  # maximum number of draws in a bag
    class_weight: str  # "none", "given", or balanced by "table" or by "bag"
    class_weights: tuple[float, ...] = ()
    strata: str = "none"  # what is sampled separately: "none", "class", or strata that were "given"
    draws: tuple[int, ...] = ()  # from each stratum; empty: n_draws from all rows
    random_cuts: bool = False  # each feature offers one random split, not its best one
    # By feature: 1 increasing, -1 decreasing, 0 unconstrained; empty: all unconstrained
    monotonic: tuple[int, ...] = ()
    interaction_groups: tuple[tuple[int, ...], ...] = ()  # features that may interact on a path; empty: all may
    max_interacting: int = 0  # maximum number of features on a path; 0: no limit
    feature_weights: tuple[float, ...] = ()  # weights for drawing features; empty: all equal
    category_penalty: float = 0.0  # penalty for each category beyond two, in units of the gain of meaningless labels
    ties_by_column: bool = False  # if all features are considered, the first of equal ones wins: nothing is drawn
    max_categories: int = 0  # columns of more categories are cut in the order of these, like numbers; 0: none are

    def bags(self, design: int = 0) -> Bags:
        """Return how bags are drawn from a table, where `design` is the fingerprint of its groups and strata."""
        return Bags(self.bootstrap, self.n_draws, self.strata, self.draws, design)

    def with_bags(self, bags: Bags) -> "Growth":
        """Return the same with bags drawn as for other trees."""
        drawn = {name: value for name, value in vars(bags).items() if name != "design"}
        return replace(self, **drawn)


FUNCTION = Satisfies(callable, ("a function of (y_true, y_pred)",))
OF_FEATURES = Satisfies(callable, ("a function of the number of features",))
MAPPING = Satisfies(lambda value: isinstance(value, Mapping), ("a dict of class: weight",))
MAPPINGS = Satisfies(
    lambda value: isinstance(value, list | tuple) and all(isinstance(entry, Mapping) for entry in value),
    ("for multi-output, a list of such dicts",),
)
ABOVE_0 = Satisfies(
    lambda value: is_real(value) and 0 < value < math.inf,
    ("a fraction above 0 (as a float), also above 1 with bootstrap",),
)
PER_CLASS = Satisfies(
    lambda value: (
        isinstance(value, Mapping)
        and all(WholeNumber(1).is_satisfied_by(n) or ABOVE_0.is_satisfied_by(n) for n in value.values())
    ),
    ("a dict of class: number or fraction",),
)
BY_FEATURE = Satisfies(
    lambda value: is_list(value) or isinstance(value, Mapping), ("one number for each feature", "a dict by name")
)
GROUPS = Satisfies(is_list, ("a list of groups of features",))
GENERATOR = Satisfies(lambda value: callable(getattr(value, "bytes", None)), ("a NumPy Generator", "a RandomState"))

FEATURES = Satisfies(
    lambda value: is_list(value) and not isinstance(value, AbstractSet),
    ("a list of feature names, numbers or booleans",),
)

# One entry for each parameter. `criterion` depends on the task, `class_weight` on the model: see `allowed`.
KINDS: dict[str, tuple[ArgumentConstraint, ...]] = {
    "n_estimators": (WholeNumber(1, UNLIMITED), OneOf(("auto",))),
    "max_estimators": (WholeNumber(1, UNLIMITED),),
    "resampling": (OneOf(("bagging", "boosting", "arcing")),),
    "max_depth": (WholeNumber(1), OneOf(("sqrt",)), NOTHING),
    "min_samples_split": (WholeNumber(2), Fraction()),
    "min_samples_leaf": (WholeNumber(1), Fraction(one=False)),
    "min_weight_fraction_leaf": (RealNumber(0, 0.5),),
    "max_features": (WholeNumber(1), Fraction(), OneOf(("sqrt", "log2", "third", "all")), OF_FEATURES, NOTHING),
    "max_leaf_nodes": (WholeNumber(2), NOTHING),
    "min_impurity_decrease": (RealNumber(0),),
    "bootstrap": (FLAG, OneOf((BALANCED,))),
    "oob_score": (FLAG, FUNCTION),
    "n_jobs": (Satisfies(lambda value: is_whole(value) and value != 0, ("a whole number other than 0",)), NOTHING),
    "random_state": (WholeNumber(0, 2**64 - 1), GENERATOR, NOTHING),
    "verbose": (WholeNumber(0), FLAG),
    "warm_start": (FLAG,),
    "calibrate": (OneOf(("isotonic", "sigmoid", "beta", "venn-abers")), NOTHING),
    "keep_targets": (FLAG,),
    "keep_errors": (FLAG,),
    "max_samples": (WholeNumber(1), ABOVE_0, PER_CLASS, NOTHING),
    "ccp_alpha": (RealNumber(0),),
    "shrinkage": (RealNumber(0), OneOf((OUT_OF_BAG,))),
    "splitter": (OneOf(("best", "random")),),
    "monotonic_cst": (BY_FEATURE, NOTHING),
    "interaction_cst": (GROUPS, OneOf(("pairwise", "no_interactions")), NOTHING),
    "feature_weights": (BY_FEATURE, NOTHING),
    "category_penalty": (RealNumber(0, 1000), OneOf(("auto",))),
    "voting": (OneOf(("soft", "hard")),),
    "max_bins": (WholeNumber(2, MAX_BINS), NOTHING),
    "engine": (OneOf(ENGINES),),
    "categorical_features": (OneOf(("from_dtype",)), FEATURES, NOTHING),
    "unknown_category": (OneOf(("missing", "error")),),
    "missing": (OneOf(("learn", "error")),),
}


PARAMETERS = (*KINDS, "criterion", "class_weight")


def gather(estimator: object) -> dict[str, Any]:
    """Return the parameters of an estimator; a subclass may add or hide some."""
    given = {"splitter": getattr(estimator, "_splitter", "best"), **vars(estimator)}
    return {name: given[name] for name in PARAMETERS if name in given}


def allowed(name: str, given: Mapping[str, Any], task: str) -> tuple[ArgumentConstraint, ...]:
    """List the allowed values of a parameter of this model."""
    if name == "criterion":
        return (OneOf(criteria.names(task)),)
    if name == "class_weight":
        balanced = ("balanced", "balanced_subsample") if "bootstrap" in given else ("balanced",)
        return (MAPPING, MAPPINGS, OneOf(balanced), NOTHING)
    if name == "shrinkage" and "bootstrap" not in given:  # a single tree has no bag
        return (RealNumber(0),)
    return KINDS[name]


def check(given: Mapping[str, Any], task: str) -> None:
    """Check each parameter separately, then combinations of parameters."""
    for name, value in given.items():
        kinds = allowed(name, given, task)
        if not is_allowed(value, kinds):
            choices = join_choices([word for one in kinds for word in one.describe()])
            raise ParameterError(f"{name}={shown(value)} is not allowed. Give {choices}.")
    _check_resampling(given)
    if given.get("bootstrap", False):
        return
    if given.get("n_estimators") == "auto":
        raise ParameterError(
            "n_estimators='auto' needs out-of-bag errors, but with bootstrap=False every tree sees every row. Set "
            "bootstrap=True or give a number."
        )
    if given.get("calibrate") is not None:
        raise ParameterError(
            f"calibrate={given['calibrate']!r} needs out-of-bag rows, but with bootstrap=False every tree sees every "
            "row. Set bootstrap=True, or calibrate the fitted forest on rows that it has not seen: "
            "forest.calibrated(method, X, y, held_out=True)."
        )
    if given.get("keep_errors", False):
        raise ParameterError(
            "keep_errors=True keeps out-of-bag errors, but with bootstrap=False every tree sees every row. Set "
            "bootstrap=True, or give the fitted forest rows that it has not seen: "
            "forest.attach_errors(X, y, held_out=True)."
        )
    if given.get("shrinkage") == OUT_OF_BAG:
        raise ParameterError(
            "shrinkage='oob' needs out-of-bag errors, but with bootstrap=False every tree sees every row. Set "
            "bootstrap=True or give a number."
        )
    if given.get("max_samples") is not None:
        raise ParameterError(
            f"max_samples={shown(given['max_samples'])} is the number of draws of a bag, but bootstrap=False draws "
            "none. Set bootstrap=True or max_samples=None."
        )
    if given.get("oob_score", False):
        raise ParameterError(
            "Out of bag estimation only available if bootstrap=True: with bootstrap=False every tree sees every row. "
            "Set bootstrap=True or oob_score=False."
        )


def _check_resampling(given: Mapping[str, Any]) -> None:
    """Raise an error for parameters that are undefined if bags depend on the errors of earlier trees."""
    way = given.get("resampling", "bagging")
    if way == "bagging":
        return
    plain = {"bootstrap": True, "oob_score": False, "class_weight": None, "calibrate": None, "shrinkage": 0.0}
    plain["keep_errors"] = False
    for name, needed in plain.items():
        if name in given and given[name] is not needed and given[name] != needed:
            raise ParameterError(
                f"{name}={given[name]!r} cannot be used with resampling={way!r}, where bags depend on the mistakes of "
                "earlier "
                f'trees. Set {name}={needed!r} or resampling="bagging".'
            )
    if given["n_estimators"] == "auto":
        raise ParameterError(
            f"n_estimators='auto' cannot be used with resampling={way!r}, which has no out-of-bag rows. Give a number "
            "of "
            'trees or set resampling="bagging".'
        )


# --------------------------------------------------------------------------------------------------------- resolve


def resolve(given: Mapping[str, Any], table: Table, classes: Any, names: Sequence[str] | None = None) -> Growth:
    """Convert checked parameters to plain numbers for this table.

    A single tree has no bags: bag parameters then have the values for "no bootstrap". `names` are those of the
    features, if any.
    """
    if table.n_features > MOST_FEATURES:
        raise DataError(
            f"X has {table.n_features:,} features. weald supports up to {MOST_FEATURES:,}. Select some of them."
        )
    criterion = criteria.canonical(given["criterion"])
    criteria.check_target(criterion, table)
    bags = plan_bags(given.get("bootstrap", False), given.get("max_samples"), table, classes)
    # Sizes count draws, or whole weights, or rows when the weights are not whole or too large to be counted.
    size = table.size if bags.bootstrap or table.size <= MAX_DRAWS else table.n_rows
    class_weight, class_weights = weigh_classes(given.get("class_weight"), classes)
    in_fixed_point = not bags.bootstrap and (not table.weights_whole or table.size > MAX_DRAWS)
    check_class_weights(class_weight, class_weights, table, classes, rounded=not in_fixed_point)
    features = FeatureNames(table.n_features, names, table.categorical)
    monotonic = constraints.bind_features(given.get("monotonic_cst"), features, table.n_classes)
    if any(monotonic) and criterion in OF_MEDIANS:
        raise ParameterError(
            f"monotonic_cst cannot be used with criterion={criterion!r}, whose leaves are medians. Set "
            "monotonic_cst=None, or criterion='squared_error'."
        )
    if given.get("shrinkage"):
        refuse_shrinkage(monotonic, given["shrinkage"])
    groups, max_interacting = constraints.group_features(given.get("interaction_cst"), features)
    max_features = count_features(given["max_features"], table.n_features)
    feature_weights = constraints.weigh_features(given.get("feature_weights"), features)
    n_weighed = sum(w > 0 for w in feature_weights) if feature_weights else table.n_features
    return Growth(
        criterion=criterion,
        max_features=max_features,
        max_depth=limit_depth(given["max_depth"], table.n_features),
        min_samples_split=max(2, _count(given["min_samples_split"], size)),
        min_samples_leaf=_count(given["min_samples_leaf"], size),
        min_weight_fraction_leaf=float(given["min_weight_fraction_leaf"]),
        min_impurity_decrease=float(given["min_impurity_decrease"]),
        max_leaf_nodes=min(int(given["max_leaf_nodes"] or 0), UNLIMITED),
        bootstrap=bags.bootstrap,
        n_draws=bags.n_draws,
        class_weight=class_weight,
        class_weights=class_weights,
        strata=bags.strata,
        draws=bags.draws,
        random_cuts=given.get("splitter") == "random",
        monotonic=monotonic,
        interaction_groups=groups,
        max_interacting=max_interacting,
        feature_weights=feature_weights,
        category_penalty=_penalize(given, table),
        ties_by_column=_needs_no_draw(given) and max_features >= n_weighed,
        max_categories=_limit_categories(given, table),
    )


def refuse_shrinkage(monotonic: Sequence[int], shrinkage: object) -> None:
    """Raise an error for shrinkage with monotonic constraints: rounding could violate them."""
    if any(monotonic):
        raise ParameterError(
            f"shrinkage={shown(shrinkage)} cannot be used with monotonic_cst: shrunk predictions would be monotonic "
            "only up to rounding. Set shrinkage=0.0 or monotonic_cst=None."
        )


def _needs_no_draw(given: Mapping[str, Any]) -> bool:
    """Return whether a model is a single tree with best splits and no seed, where only ties could be drawn."""
    return "n_estimators" not in given and given.get("splitter") == "best" and given.get("random_state") is None


def _limit_categories(given: Mapping[str, Any], table: Table) -> int:
    """Return the maximum number of categories of a column that is split by sets: each category needs some rows."""
    if given.get("category_penalty", 0) != "auto":
        return 0
    return min(max(FREE_CATEGORIES, table.size // ROWS_OF_CATEGORY), UNLIMITED)


def _penalize(given: Mapping[str, Any], table: Table) -> float:
    """Return the category penalty; raise an error where it is undefined."""
    if given.get("category_penalty", "auto") == "auto":
        return 0.0 if given.get("splitter") == "random" or table.targets is not None else CATEGORY_PENALTY
    penalty = float(given["category_penalty"])
    if penalty and given.get("splitter") == "random":
        raise ParameterError(
            f"category_penalty={penalty:g} is for best splits, but this model uses random splits. Set "
            "category_penalty=0."
        )
    if penalty and table.targets is not None:
        raise ParameterError(
            f"category_penalty={penalty:g} supports one target, but y has {table.targets.n_targets}. Set "
            "category_penalty=0, or fit a forest for each target."
        )
    return penalty


def count_features(max_features: Any, n_features: int) -> int:
    """Return the number of features that a node considers: at least 1."""
    if callable(max_features):
        max_features = _ask_for_features(max_features, n_features)
    if is_whole(max_features):
        if max_features > n_features:
            warn(
                f"max_features={max_features} is more than the {n_features} features of X. Give a "
                f'number up to {n_features}, a fraction between 0 and 1, "sqrt" or "log2".'
            )
        return min(int(max_features), n_features)
    if is_real(max_features):
        return max(1, math.floor(float(max_features) * n_features))
    if max_features == "sqrt":
        return math.isqrt(n_features)
    if max_features == "log2":
        return max(1, n_features.bit_length() - 1)
    if max_features == "third":
        return max(1, n_features // 3)
    return n_features


def _ask_for_features(count: Any, n_features: int) -> int:
    """Call a function of the number of features."""
    found = count(n_features)
    if not is_whole(found) or not 1 <= found <= n_features:
        name = getattr(count, "__name__", type(count).__name__)
        raise ParameterError(
            f"max_features: {name}({n_features}) returned {shown(found)}. Give a function of the number of features "
            f"that returns a whole number from 1 to {n_features}."
        )
    return int(found)


def limit_depth(max_depth: Any, n_features: int) -> int:
    """Return the maximum depth of a tree."""
    if max_depth is None:
        return UNLIMITED
    if max_depth == "sqrt":
        return math.isqrt(n_features)
    return min(int(max_depth), UNLIMITED)


def _count(count: float, size: int) -> int:
    """Read a count, or a fraction of the size (rounded up)."""
    return min(int(count), UNLIMITED) if is_whole(count) else math.ceil(count * size)


def weigh_classes(class_weight: Any, classes: Any) -> tuple[str, tuple[float, ...]]:
    """Return the kind of class weights and, if given by the user, the weights of each target."""
    if class_weight is None or classes is None:
        return "none", ()
    if isinstance(class_weight, str):
        return ("table" if class_weight == "balanced" else "bag"), ()
    n_given = 1 if isinstance(class_weight, Mapping) else len(class_weight)
    n_targets = len(classes) if isinstance(classes, list) else 1
    if n_given != n_targets or isinstance(class_weight, Mapping) == isinstance(classes, list):
        raise ParameterError(
            f"class_weight={class_weight!r} does not suit y, which has {n_targets} "
            f"target{'s' if n_targets > 1 else ''}: number of elements in class_weight should match number of outputs. "
            'Give a dict for one target, a list with one dict for each of several, or "balanced".'
        )
    if isinstance(classes, list):
        pairs = zip(class_weight, classes, strict=True)
        return "given", tuple(w for given, of_target in pairs for w in weigh_classes(given, of_target)[1])
    known = classes.tolist()
    others = [label for label in class_weight if label not in known]
    unnamed = [label for label in known if label not in class_weight]
    if others and unnamed:  # as in scikit-learn: probably a misspelled label
        raise ParameterError(
            f"class_weight names the class {others[0]!r}, which is not in y, and omits the class {unnamed[0]!r}. "
            f"The classes of y are {known}: name all of them, or only these."
        )
    for label, weight in class_weight.items():
        if not RealNumber(0).is_satisfied_by(weight):
            choices = join_choices(RealNumber(0).describe())
            raise ParameterError(f"class_weight[{label!r}]={shown(weight)} is not allowed. Give {choices}.")
    return "given", tuple(float(class_weight.get(label, 1.0)) for label in known)


def count_bins(max_bins: Any) -> int:
    """Return the maximum number of codes of a column; 0: one for each value."""
    return 0 if max_bins is None else int(max_bins)


def draw_seed(random_state: Any) -> int:
    """Convert random_state to a seed: an int is the seed, otherwise 64 bits are drawn.

    None draws them from NumPy's global generator, in one call, so that `np.random.seed` makes a script reproducible.

    Examples
    --------
    >>> from weald.engines.params import draw_seed
    >>> draw_seed(7)
    7
    """
    if is_whole(random_state):
        return int(random_state)
    draw_bytes = np.random.bytes if random_state is None else random_state.bytes
    return int.from_bytes(draw_bytes(8), "little")


NO_SEED = 0  # seed of a tree that draws nothing


def choose_seed(growth: Growth, random_state: Any) -> int:
    """Convert random_state to a seed for these growth parameters; nothing is drawn if they need no seed."""
    return NO_SEED if growth.ties_by_column else draw_seed(random_state)
