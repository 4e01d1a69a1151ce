"""Import trees and forests of scikit-learn: the same predictions for every input.

    from_sklearn      a fitted tree or forest of scikit-learn -> weald's estimator of the same name
    cut_at            the threshold for doubles that equals scikit-learn's for float32

scikit-learn rounds X to float32 and compares it with a double threshold t. Let a be the largest float32 up to t, and b
the next one. A double is rounded to a or less exactly if it is at most the midpoint of a and b, or below the midpoint
if ties round to b. The midpoint is a double, so it can be the threshold, and rows need no rounding.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from weald.data.schema import Schema
from weald.data.table import Table
from weald.data.task import OF_COUNTS, Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, Native, TableLike
from weald.engines import params
from weald.engines.criteria import names
from weald.errors import ExportError
from weald.forest.forest import CONTRACT_VERSION, MISSING_LEFT, Forest
from weald.io.export.parity import Parity, answer, compare, compared_values, not_compared, rows_to_compare

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LOST = ("bags: no out-of-bag estimates", "seeds: the forest cannot be grown again")
TOLERANCE = 1e-13  # relative tolerance: scikit-learn sums trees in the order in which its threads finish
KINDS = {
    "sklearn.ensemble": (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
    ),
    # Extra-trees come first: scikit-learn derives them from decision trees.
    "sklearn.tree": ("ExtraTreeClassifier", "ExtraTreeRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor"),
}
# Parameters with the same meaning, without seeds and parameters for further fits.
CARRIED = (
    *("n_estimators", "criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf"),
    *(
        "max_features",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "bootstrap",
        "max_samples",
        "class_weight",
        "ccp_alpha",
    ),
    *("monotonic_cst", "splitter"),
)
N_SCALES = 64  # tolerance for leaf weights


@overload
def from_sklearn(
    model: Native, *, X: TableLike = None, check: bool = True, return_parity: Literal[False] = False
) -> "TreeModel": ...


@overload
def from_sklearn(
    model: Native, *, X: TableLike = None, check: bool = True, return_parity: Literal[True]
) -> "tuple[TreeModel, Parity]": ...


@overload
def from_sklearn(
    model: Native, *, X: TableLike = None, check: bool = True, return_parity: bool
) -> "TreeModel | tuple[TreeModel, Parity]": ...


def from_sklearn(
    model: Native, *, X: TableLike = None, check: bool = True, return_parity: bool = False
) -> "TreeModel | tuple[TreeModel, Parity]":
    """Convert a fitted tree or forest of scikit-learn: the same predictions, with weald's speed, files and inspection.

    Parameters
    ----------
    model : fitted estimator
        A DecisionTree, ExtraTree, RandomForest or ExtraTrees of scikit-learn, classifier or regressor, of one target.
    X : array or data frame, optional
        Rows to compare, besides generated ones: on thresholds, one ulp next to them, missing.
    check : bool, default=True
        Whether to compare the predictions of both. A difference is an error.
    return_parity : bool, default=False
        Whether to also return the result of the comparison.

    Returns
    -------
    estimator
        weald's estimator of the same name, fitted. It does not round doubles to float32, but predicts the same as
        scikit-learn after rounding.
    parity : weald.io.export.parity.Parity
        If `return_parity` is set.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> ours = weald.from_sklearn(theirs)
    >>> (ours.predict_proba(X) == theirs.predict_proba(X)).all()
    np.True_
    """
    made = _make(model)
    parity = _compare(model, made, X) if check else not_compared(*_lost(model))
    return (made, parity) if return_parity else made


def _make(model: Native) -> "TreeModel":
    """Create weald's estimator of the same name."""
    import weald

    trees, name = _trees_of(model), _name_of(model)
    made: TreeModel = getattr(weald, name)()
    n_classes = int(model.n_classes_) if hasattr(model, "classes_") else 0
    made.set_params(**_parameters(model, made, Task.of(n_classes)))
    made.forest_ = _forest_of(trees, int(model.n_features_in_), n_classes)
    made.n_features_in_, made.n_outputs_ = int(model.n_features_in_), 1
    names_in = getattr(model, "feature_names_in_", None)
    if names_in is not None:
        made.feature_names_in_ = np.array(names_in, dtype=object)
    made.schema_ = Schema(None if names_in is None else tuple(names_in), (None,) * made.n_features_in_)
    if made.forest_.task is Task.CLASSIFICATION:
        made.classes_, made.n_classes_ = np.array(model.classes_), n_classes
    made.seed_ = model.random_state if isinstance(model.random_state, int) else 0
    made.growth_ = _growth_of(made, trees, n_classes)
    return made


def _trees_of(model: Native) -> list[Native]:
    """Return the trees; refuse models that are not trees or forests of scikit-learn with one target."""
    kind = type(model).__name__
    if not _name_of(model):
        listed = ", ".join(name for kinds in KINDS.values() for name in kinds)
        raise ExportError(f"from_sklearn does not support {kind}. Give a fitted {listed} of scikit-learn.")
    if not hasattr(model, "n_features_in_"):
        raise ExportError(f"This {kind} is not fitted. Call its fit first.")
    if model.n_outputs_ != 1:
        raise ExportError(
            f"from_sklearn supports models of one target, but this one has {model.n_outputs_}. Fit one per target."
        )
    return [tree.tree_ for tree in getattr(model, "estimators_", [model])]


def _name_of(model: object) -> str:
    """Return the name of scikit-learn's class of a model."""
    for module, kinds in KINDS.items():
        for name in kinds:
            if isinstance(model, getattr(import_module(module), name)):
                return name
    return ""


def _parameters(model: Native, made: "TreeModel", task: Task) -> dict[str, object]:
    """Translate parameters with the same meaning; a criterion that weald lacks stays at its default."""
    given, ours = model.get_params(deep=False), made.get_params(deep=False)
    carried = {name: given[name] for name in CARRIED if name in given and name in ours}
    if carried["criterion"] not in names(task):
        del carried["criterion"]
    if isinstance(given["random_state"], int):
        carried["random_state"] = given["random_state"]
    return carried


def _growth_of(made: "TreeModel", trees: list[Native], n_classes: int) -> params.Growth:
    """Return the growth parameters as plain numbers, from what is known of the table."""
    n_rows = max(int(tree.n_node_samples[0]) for tree in trees)
    X = np.broadcast_to(np.float64(0), (n_rows, made.n_features_in_))
    target = np.zeros(n_rows, dtype=np.int32 if Task.of(n_classes) is Task.CLASSIFICATION else np.float64)
    table = Table(X, target, n_classes, None, weights_whole=True, size=n_rows)
    return params.resolve(params.gather(made), table, getattr(made, "classes_", None))


# ------------------------------------------------------------------------------------------------------- the forest


def _forest_of(trees: list[Native], n_features: int, n_classes: int) -> Forest:
    """Concatenate the trees."""
    parts = [_read_tree(tree, n_classes) for tree in trees]
    joined: dict[str, Array] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])
    }
    return Forest(
        n_features=n_features,
        n_classes=n_classes,
        target_center=0.0,
        target_exponent=0,
        tree_start=np.cumsum([0, *(len(part.feature) for part in parts)], dtype=np.int64),
        leaf_start=np.concatenate([[0], np.cumsum(joined.pop("n_entries"))]).astype(np.int64),
        category_start=np.zeros(1, dtype=np.int64),
        category_sets=np.empty(0, dtype=np.uint32),
        origins=(),
        shrinkage=0.0,
        contract=CONTRACT_VERSION,
        **joined,
    )


@dataclass(frozen=True)
class _TreePart:
    """The arrays of one tree, with nodes in pre-order; names as in `Forest`."""

    feature: IntArray
    threshold: FloatArray
    right: IntArray
    flags: IntArray
    size: IntArray
    weight: FloatArray
    decrease: FloatArray
    n_entries: IntArray  # indexed by leaf
    leaf_class: IntArray
    leaf_weight: FloatArray
    value: FloatArray
    impurity: FloatArray


def _read_tree(tree: Native, n_classes: int) -> _TreePart:
    left, right = tree.children_left, tree.children_right
    place = place_in_pre_order(left, right)
    order = np.argsort(place)
    left, right, feature = left[order], right[order], tree.feature[order]
    is_split = left >= 0
    weight = tree.weighted_n_node_samples[order]
    impurity = np.maximum(tree.impurity[order], 0.0)  # rounding leaves some pure nodes slightly below 0
    nothing, is_of_classes = np.empty(0), Task.of(n_classes) is Task.CLASSIFICATION
    entries = _leaf_entries(tree.value[order][~is_split, 0, :n_classes], weight[~is_split])
    return _TreePart(
        feature=np.where(is_split, feature, -1).astype(np.int32),
        threshold=np.where(is_split, cut_at(tree.threshold[order]), 0.0),
        right=np.where(is_split, place[right], 0).astype(np.int32),
        flags=np.where(is_split & (tree.missing_go_to_left[order] != 0), MISSING_LEFT, 0).astype(np.uint8),
        size=tree.n_node_samples[order].astype(np.uint32),
        weight=weight,
        decrease=_decreases(weight, impurity, is_split, place[right]),
        n_entries=entries[0] if is_of_classes else nothing.astype(np.int64),
        leaf_class=entries[1] if is_of_classes else nothing.astype(np.int32),
        leaf_weight=entries[2] if is_of_classes else nothing,
        value=nothing if is_of_classes else tree.value[order][:, 0, 0],
        impurity=nothing if is_of_classes else impurity,
    )


def place_in_pre_order(left: IntArray, right: IntArray) -> IntArray:
    """Return the position of each node in pre-order."""
    levels, level = [], np.zeros(1, dtype=np.int64)
    while len(level):
        level = level[left[level] >= 0]
        levels.append(level)
        level = np.concatenate([left[level], right[level]])
    n_below = np.ones(len(left), dtype=np.int64)
    for nodes in reversed(levels):
        n_below[nodes] += n_below[left[nodes]] + n_below[right[nodes]]
    place = np.zeros(len(left), dtype=np.int64)
    for nodes in levels:
        place[left[nodes]] = place[nodes] + 1
        place[right[nodes]] = place[nodes] + 1 + n_below[left[nodes]]
    return place


def cut_at(thresholds: FloatArray) -> FloatArray:
    """Find the largest double that is at most the threshold after rounding to float32."""
    with np.errstate(over="ignore"):  # values beyond the largest float32 become infinity
        below = thresholds.astype(np.float32)
        below = np.where(below > thresholds, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    # The step beyond the largest float32 is as wide as the one before it: beyond it, values round to infinity.
    largest = np.finfo(np.float32).max
    high = np.where(np.isinf(above), 2.0**128, above.astype(np.float64))
    low = np.where(below == -np.inf, -(2.0**128), below.astype(np.float64))
    middle = low / 2 + high / 2
    is_even = below.view(np.uint32) & 1 == 0  # ties are rounded to even
    cut = np.where(is_even & (below >= -largest), middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(thresholds), thresholds, cut)


def _decreases(weight: FloatArray, impurity: FloatArray, is_split: BoolArray, right: IntArray) -> FloatArray:
    """Return how much each split decreases the impurity, relative to the weight of the root."""
    decrease = np.zeros(len(weight))
    nodes, spread = np.flatnonzero(is_split), weight * impurity
    decrease[nodes] = np.maximum(0.0, spread[nodes] - spread[nodes + 1] - spread[right[nodes]]) / weight[0]
    return decrease


def _leaf_entries(shares: FloatArray, weight: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Find class weights that give the probabilities of the leaves: number of classes by leaf, classes, weights.

    Probabilities times the weight of the leaf are whole numbers unless rows or classes have weights; dividing them
    gives the same probabilities. Otherwise product and quotient are rounded, and if a bit is lost, nearby scales are
    tried. If none of them is exact, a probability differs in its last bit.
    """
    best = shares * weight[:, np.newaxis]
    whole = np.rint(best)
    best = np.where(_gives(whole, shares)[:, np.newaxis], whole, best)
    for step in range(1, N_SCALES):
        lacking = np.flatnonzero(~_gives(best, shares))
        if not len(lacking):
            break
        tried = shares[lacking] * (weight[lacking] * (1 + step * 2.0**-50))[:, np.newaxis]
        found = _gives(tried, shares[lacking])
        best[lacking[found]] = tried[found]
    leaf, which = np.nonzero(best)
    return np.bincount(leaf, minlength=len(best)), which.astype(np.int32), best[leaf, which]


def _gives(weights: FloatArray, shares: FloatArray) -> BoolArray:
    """Return the leaves whose weights, divided by their sum in class order, are exactly the probabilities."""
    total = np.cumsum(weights, axis=1)[:, -1:] if weights.shape[1] else np.ones((len(weights), 1))
    with np.errstate(invalid="ignore"):  # light leaves, rounded to whole numbers, have weight 0
        given: BoolArray = (weights / total == shares).all(axis=1)
    return given


# -------------------------------------------------------------------------------------------------------- the check


def _compare(model: Native, made: "TreeModel", X: TableLike) -> Parity:
    """Predict rows at the edges of leaves with both."""
    import sklearn
    from sklearn.utils import get_tags

    rows = rows_to_compare(made, X)
    largest = float(np.finfo(np.float32).max)  # scikit-learn refuses larger values
    rows = np.where(np.isnan(rows), rows, rows.clip(-largest, largest))
    if not get_tags(model).input_tags.allow_nan:
        rows = np.nan_to_num(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about missing feature names and overflows
        theirs = (
            model.predict_proba(rows)
            if made.forest_.task is Task.CLASSIFICATION
            else model.predict(rows)[:, np.newaxis]
        )
    consumer = f"scikit-learn {sklearn.__version__}"
    return compare(consumer, compared_values(made.forest_), answer(made, rows), theirs, TOLERANCE, *_lost(model))


def _lost(model: Native) -> list[str]:
    """List the features that are not converted."""
    task = Task.CLASSIFICATION if hasattr(model, "classes_") else Task.REGRESSION
    known = model.criterion in names(task) and model.criterion not in OF_COUNTS
    return [*LOST, *([] if known else [f"the criterion {model.criterion}: impurities are those of scikit-learn"])]
