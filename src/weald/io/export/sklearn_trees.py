"""Forests that scikit-learn grew, as weald's: the same predictions for every input.

    from_sklearn      a fitted tree or forest of scikit-learn -> weald's estimator of the same name
    cut_at            the threshold that cuts doubles as scikit-learn's cuts their float32 neighbors

scikit-learn rounds X to float32 and compares that with a double threshold t. Let a be the largest float32 up to t, and
b the next one. A double is rounded to a or less exactly when it is at most the middle of a and b, or below it where the
tie goes to b. That middle is a double, so it can be the threshold, and no row needs to be rounded.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from weald.data.schema import Schema
from weald.data.table import Table
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, Native, TableLike
from weald.engines import params
from weald.engines.criteria import names
from weald.errors import ExportError
from weald.forest.forest import CONTRACT_VERSION, MISSING_LEFT, Forest
from weald.io.export.parity import Parity, answer, compare, compared_values, not_compared, rows_to_compare

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

LOST = ("bags: no out-of-bag estimates", "seeds: the forest cannot be grown again")
TOLERANCE = 1e-13  # relative: scikit-learn adds trees up in the order in which its threads finish
KINDS = {
    "sklearn.ensemble": (
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
    ),
    # Extra-trees stand first: scikit-learn makes them from decision trees.
    "sklearn.tree": ("ExtraTreeClassifier", "ExtraTreeRegressor", "DecisionTreeClassifier", "DecisionTreeRegressor"),
}
# Parameters that mean the same. Seeds do not, nor what a fit would do again.
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
N_SCALES = 64  # on which leaf weights are tried


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
    """Read a fitted tree or forest of scikit-learn: the same predictions, with weald's speed, files and inspection.

    Parameters
    ----------
    model : fitted estimator
        A DecisionTree, ExtraTree, RandomForest or ExtraTrees of scikit-learn, classifier or regressor, of one target.
    X : array or data frame, optional
        Rows to compare, besides those that are made to be hard: on thresholds, one ulp beside them, missing.
    check : bool, default=True
        Whether to let both predict and compare. A difference is an error.
    return_parity : bool, default=False
        Whether to return what was compared, too.

    Returns
    -------
    estimator
        weald's estimator of the same name, fitted. It takes doubles as they are, and answers as scikit-learn does
        after it has rounded them to float32.
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
    """Make weald's estimator of the same name."""
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
    """Find the trees, and refuse what is not a tree or forest of scikit-learn with one target."""
    kind = type(model).__name__
    if not _name_of(model):
        listed = ", ".join(name for kinds in KINDS.values() for name in kinds)
        raise ExportError(f"from_sklearn does not know a {kind}. Give a fitted {listed} of scikit-learn.")
    if not hasattr(model, "n_features_in_"):
        raise ExportError(f"This {kind} is not fitted. Call its fit first.")
    if model.n_outputs_ != 1:
        raise ExportError(
            f"from_sklearn takes models of one target, and this one has {model.n_outputs_}. Fit one for each target."
        )
    return [tree.tree_ for tree in getattr(model, "estimators_", [model])]


def _name_of(model: object) -> str:
    """Find the name of scikit-learn's class that a model is of."""
    for module, kinds in KINDS.items():
        for name in kinds:
            if isinstance(model, getattr(import_module(module), name)):
                return name
    return ""


def _parameters(model: Native, made: "TreeModel", task: Task) -> dict[str, object]:
    """Take over the parameters that mean the same; a criterion that weald does not have stays at its default."""
    given, ours = model.get_params(deep=False), made.get_params(deep=False)
    carried = {name: given[name] for name in CARRIED if name in given and name in ours}
    if carried["criterion"] not in names(task):
        del carried["criterion"]
    if isinstance(given["random_state"], int):
        carried["random_state"] = given["random_state"]
    return carried


def _growth_of(made: "TreeModel", trees: list[Native], n_classes: int) -> params.Growth:
    """Say in plain numbers how the trees were grown, from what is known of the table."""
    n_rows = max(int(tree.n_node_samples[0]) for tree in trees)
    X = np.broadcast_to(np.float64(0), (n_rows, made.n_features_in_))
    target = np.zeros(n_rows, dtype=np.int32 if Task.of(n_classes) is Task.CLASSIFICATION else np.float64)
    table = Table(X, target, n_classes, None, weights_whole=True, size=n_rows)
    return params.resolve(params.gather(made), table, getattr(made, "classes_", None))


# ------------------------------------------------------------------------------------------------------- the forest


def _forest_of(trees: list[Native], n_features: int, n_classes: int) -> Forest:
    """Put the trees behind one another."""
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
        contract=CONTRACT_VERSION,
        **joined,
    )


@dataclass(frozen=True)
class _TreePart:
    """The arrays of one tree, nodes in pre-order; names are those of `Forest`."""

    feature: IntArray
    threshold: FloatArray
    right: IntArray
    flags: IntArray
    size: IntArray
    weight: FloatArray
    decrease: FloatArray
    n_entries: IntArray  # by leaf
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
    impurity = np.maximum(tree.impurity[order], 0.0)  # rounding leaves some pure nodes a little below 0
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
    """Place of each node when a node stands before its left branch, and that before its right branch."""
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
    """Find the largest double that, rounded to float32, is at most the threshold."""
    with np.errstate(over="ignore"):  # beyond float32 there is only infinity
        below = thresholds.astype(np.float32)
        below = np.where(below > thresholds, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    # The step beyond the largest float32 is as wide as the one before it: there infinity begins.
    largest = np.finfo(np.float32).max
    high = np.where(np.isinf(above), 2.0**128, above.astype(np.float64))
    low = np.where(below == -np.inf, -(2.0**128), below.astype(np.float64))
    middle = low / 2 + high / 2
    is_even = below.view(np.uint32) & 1 == 0  # a tie is rounded to the even one
    cut = np.where(is_even & (below >= -largest), middle, np.nextafter(middle, -np.inf))
    return np.where(np.isinf(thresholds), thresholds, cut)


def _decreases(weight: FloatArray, impurity: FloatArray, is_split: BoolArray, right: IntArray) -> FloatArray:
    """How much each split lowers the impurity, over the weight of the root."""
    decrease = np.zeros(len(weight))
    nodes, spread = np.flatnonzero(is_split), weight * impurity
    decrease[nodes] = np.maximum(0.0, spread[nodes] - spread[nodes + 1] - spread[right[nodes]]) / weight[0]
    return decrease


def _leaf_entries(shares: FloatArray, weight: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Find class weights whose shares are those of the leaves: number of classes by leaf, classes, weights.

    Shares times the weight of the leaf are whole numbers unless rows or classes have weights, and then dividing them
    gives back the same shares. Otherwise the product is rounded, and so is the quotient: other scales, next to that
    one, are tried where a bit is lost. Where none keeps it, a share differs by its last bit.
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
    """Say in which leaves weights, divided by their sum in the order of classes, are the shares."""
    total = np.cumsum(weights, axis=1)[:, -1:] if weights.shape[1] else np.ones((len(weights), 1))
    with np.errstate(invalid="ignore"):  # light leaves, rounded to whole numbers, weigh nothing
        given: BoolArray = (weights / total == shares).all(axis=1)
    return given


# -------------------------------------------------------------------------------------------------------- the check


def _compare(model: Native, made: "TreeModel", X: TableLike) -> Parity:
    """Let both predict rows at the edges of leaves."""
    import sklearn
    from sklearn.utils import get_tags

    rows = rows_to_compare(made, X)
    largest = float(np.finfo(np.float32).max)  # scikit-learn refuses what is larger
    rows = np.where(np.isnan(rows), rows, rows.clip(-largest, largest))
    if not get_tags(model).input_tags.allow_nan:
        rows = np.nan_to_num(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows without names, and of sums that overflow
        theirs = (
            model.predict_proba(rows)
            if made.forest_.task is Task.CLASSIFICATION
            else model.predict(rows)[:, np.newaxis]
        )
    consumer = f"scikit-learn {sklearn.__version__}"
    return compare(consumer, compared_values(made.forest_), answer(made, rows), theirs, TOLERANCE, *_lost(model))


def _lost(model: Native) -> list[str]:
    """List what the model loses in weald."""
    task = Task.CLASSIFICATION if hasattr(model, "classes_") else Task.REGRESSION
    known = model.criterion in names(task)
    return [*LOST, *([] if known else [f"the criterion {model.criterion}: impurities are as scikit-learn left them"])]
