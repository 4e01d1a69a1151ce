"""A fitted model as scikit-learn's own: DecisionTree, ExtraTree, RandomForest or ExtraTrees, with the same trees.

write_sklearn    fitted model -> scikit-learn's fitted estimator, checked by its own predictions

scikit-learn rounds rows to float32 and compares them with double thresholds; so does its copy of a forest. Thresholds
are carried over as they are, hence a row of float32 numbers is answered alike, and a double that lies within the
rounding of a threshold may not be. Rows are compared as float32, rounded down and up.
"""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald import impurity
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, Native, TableLike
from weald.engines.criteria import canonical
from weald.errors import ExportError
from weald.estimators.multi_output import forests_of, is_multi_output, select_target
from weald.estimators.prediction import read_matrix
from weald.estimators.tree_view import NO_CHILD, NO_FEATURE, Tree
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, OTHERS_LEFT, Forest
from weald.io.export.leaf_values import refuse_overflow, votes_are_hard
from weald.io.export.parity import (
    Export,
    Parity,
    answer,
    compare,
    compared_values,
    edge_rows,
    n_categories,
    not_compared,
)
from weald.io.export.sklearn_trees import KINDS

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

TOLERANCE = 0.0  # one thread of scikit-learn adds trees up in their order, as weald does
FORESTS_OF = {
    "RandomForestClassifier": "DecisionTreeClassifier",
    "RandomForestRegressor": "DecisionTreeRegressor",
    "ExtraTreesClassifier": "ExtraTreeClassifier",
    "ExtraTreesRegressor": "ExtraTreeRegressor",
}
# scikit-learn draws a tree's bag again from its random_state. Its error then shows these words instead of another bag.
NO_BAG = "grown by weald, so scikit-learn cannot draw its bag: ask weald's model"
# Parameters of the fitted estimator; what threads do, or what a fit would go on with, is for the user to say.
OWN = ("n_jobs", "verbose", "warm_start")
NOT_MISSED = ("engine", "max_estimators", *OWN)  # of weald's parameters
ROUNDED = "doubles: scikit-learn rounds rows to float32, so those next to a threshold may be answered otherwise"
LARGEST = float(np.finfo(np.float32).max)  # scikit-learn refuses what is larger


def write_sklearn(model: "TreeModel", X: TableLike, *, check: bool) -> Export:
    """Make scikit-learn's estimator of a fitted model; with `check`, let it predict and compare."""
    check_is_fitted(model)
    name = _name_of(model)
    forests = tuple(forest.voters() for forest in forests_of(model))
    _refuse(model, forests)
    made = _make(model, name, forests)
    lost = _lost(model, made)
    return Export(made, _compare(made, model, X, lost) if check else not_compared(*lost, ROUNDED))


# ------------------------------------------------------------------------------------------------ what is refused


def _name_of(model: "TreeModel") -> str:
    """Find the name of the class, which scikit-learn's has as well; a subclass of the user counts as its base."""
    known = {name for kinds in KINDS.values() for name in kinds}
    for kind in type(model).__mro__:
        if kind.__module__.startswith("weald.") and kind.__name__ in known:
            return kind.__name__
    raise ExportError(
        f"scikit-learn has nothing like a {type(model).__name__}. to_sklearn takes {', '.join(sorted(known))}."
    )


def _refuse(model: "TreeModel", forests: tuple[Forest, ...]) -> None:
    """Refuse what scikit-learn's trees cannot hold."""
    if votes_are_hard(model):
        raise ExportError(
            'voting="hard" counts one vote for each tree, but scikit-learn averages the shares of leaves. Call '
            'model.set_params(voting="soft") to convert the forest with such averages, or take it elsewhere with '
            "to_onnx, to_treelite, to_shap or to_c."
        )
    if len(forests[0].tree_weight):
        raise ExportError(
            "The votes of these trees have weights of their own (resampling), but in scikit-learn all trees weigh the "
            "same. Take the forest elsewhere with to_onnx, to_treelite, to_shap or to_c, or fit with "
            'resampling="bagging".'
        )
    for forest in forests:
        refuse_overflow(forest)
    by_set = np.unique(forests[0].feature[forests[0].flags & CATEGORICAL != 0])
    unlike_numbers = [f for f in by_set.tolist() if not _is_boolean(model, f)]
    if unlike_numbers:
        raise ExportError(
            f"scikit-learn's trees cut numbers, but {model.schema_.where(unlike_numbers[0])} is divided into sets of "
            "categories. Fit with categorical_features=None and categories written as numbers, or as columns of 0 and "
            "1 (OneHotEncoder), or take the forest elsewhere with to_onnx, to_treelite or to_c."
        )


def _is_boolean(model: "TreeModel", feature: int) -> bool:
    """Return whether a feature has the categories False and True, which are the numbers 0 and 1."""
    categories = model.schema_.categories[feature]
    return categories is not None and categories.labels.dtype == bool and len(categories.labels) == 2


# ---------------------------------------------------------------------------------------------------- parameters


def _parameters(model: "TreeModel", kind: type) -> dict[str, object]:
    """Translate the parameters that scikit-learn has."""
    given, growth = model.get_params(deep=False), model.growth_
    known = kind().get_params(deep=False)
    carried = {name: value for name, value in given.items() if name in known and name not in OWN}
    translated: dict[str, object] = {
        "n_estimators": forests_of(model)[0].n_trees,
        "criterion": _criterion(model),
        "monotonic_cst": np.array(growth.monotonic) if growth.monotonic else None,
    }
    if given["max_features"] in ("third", "all"):
        translated["max_features"] = growth.max_features
    if given["max_depth"] == "sqrt":
        translated["max_depth"] = growth.max_depth
    if "bootstrap" in given:
        translated["bootstrap"] = bool(given["bootstrap"])
        if isinstance(given["max_samples"], Mapping):
            translated["max_samples"] = None
    seed = given["random_state"]
    translated["random_state"] = int(seed) if isinstance(seed, int | np.integer) and 0 <= seed < 2**32 else None
    return carried | {name: value for name, value in translated.items() if name in known}


def _criterion(model: "TreeModel") -> str:
    """Name the criterion by which impurities are written; scikit-learn has no misclassification."""
    given = str(model.get_params(deep=False)["criterion"])
    return "gini" if canonical(given) == "misclassification" else given


def _lost(model: "TreeModel", made: Native) -> list[str]:
    """Say what scikit-learn does not have."""
    given, theirs, plain = (
        model.get_params(deep=False),
        made.get_params(deep=False),
        type(model)().get_params(deep=False),
    )
    lacking = [n for n, v in given.items() if n not in theirs and n not in NOT_MISSED and repr(v) != repr(plain.get(n))]
    lost = ["what draws a bag or a tree again: scikit-learn has other generators"]
    if lacking:
        lost.append(f"parameters that scikit-learn lacks: {', '.join(lacking)}")
    if _criterion(model) != given["criterion"]:
        lost.append(f"the criterion {given['criterion']}: impurities are Gini's")
    if any(c is not None and not _is_boolean(model, f) for f, c in enumerate(model.schema_.categories)):
        lost.append("labels of categories: rows hold their numbers")
    return lost


# --------------------------------------------------------------------------------------------------- the estimator


def _make(model: "TreeModel", name: str, forests: tuple[Forest, ...]) -> Native:
    """Make the estimator and everything that its own fit would have learned."""
    if name not in FORESTS_OF:
        kind = getattr(import_module("sklearn.tree"), name)
        made = kind(**_parameters(model, kind))
        _learn(made, model, of_forest=False)
        made.max_features_, made.tree_ = model.growth_.max_features, _tree(model, forests)
        return made
    kind = getattr(import_module("sklearn.ensemble"), name)
    made = kind(**_parameters(model, kind))
    _learn(made, model, of_forest=False)
    made.estimator_ = made.estimator
    made.estimators_ = [_member(made, model, forests, t) for t in range(forests[0].n_trees)]
    for learned in ("oob_score_", "oob_decision_function_", "oob_prediction_"):
        if learned in vars(model):
            setattr(made, learned, vars(model)[learned])
    return made


def _member(made: Native, model: "TreeModel", forests: tuple[Forest, ...], number: int) -> Native:
    """Make one tree of a forest. As in scikit-learn it knows neither labels nor names."""
    tree = type(made.estimator)(
        **{name: getattr(made, name) for name in made.estimator_params if name != "random_state"}
    )
    tree.random_state = NO_BAG if made.bootstrap else None
    _learn(tree, model, of_forest=True)
    tree.max_features_ = model.growth_.max_features
    tree.tree_ = _tree(model, tuple(forest.take([number]) for forest in forests))
    return tree


def _learn(made: Native, model: "TreeModel", *, of_forest: bool) -> None:
    """Write down targets and features. Trees of a forest number the classes."""
    made.n_features_in_, made.n_outputs_ = model.n_features_in_, model.n_outputs_
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not of_forest:
        made.feature_names_in_ = np.array(names, dtype=object)
    if model.task is not Task.CLASSIFICATION:
        return
    classes = model.classes_ if is_multi_output(model) else [model.classes_]
    labels = [np.arange(len(c), dtype=np.float64) for c in classes] if of_forest else _of_one_type(classes)
    numbers = np.array([len(c) for c in classes], dtype=np.intp)
    made.classes_ = labels if is_multi_output(model) else labels[0]
    made.n_classes_ = numbers if is_multi_output(model) else numbers[0]


def _of_one_type(classes: list[Array]) -> list[Array]:
    """Copy the labels of all targets; scikit-learn writes them into one array, of the type of the first."""
    if len({of_target.dtype for of_target in classes}) == 1:
        return [of_target.copy() for of_target in classes]
    return [of_target.astype(object) for of_target in classes]


# --------------------------------------------------------------------------------------------------------- a tree


def _tree(model: "TreeModel", forests: tuple[Forest, ...]) -> Native:
    """Make scikit-learn's arrays of one tree, from what each target says of it."""
    from sklearn.tree import _tree as native

    forest, view = forests[0], Tree(forests[0], model.growth_.criterion, forests)
    threshold, is_swapped = _cuts(model, forest)
    is_leaf = forest.feature < 0
    left, right = forest.left(), forest.right
    made = native.Tree(forest.n_features, view.n_classes.astype(np.intp), len(forests))
    nodes = np.zeros(forest.n_nodes, dtype=made.__getstate__()["nodes"].dtype)
    nodes["left_child"] = np.where(is_leaf, NO_CHILD, np.where(is_swapped, right, left))
    nodes["right_child"] = np.where(is_leaf, NO_CHILD, np.where(is_swapped, left, right))
    nodes["feature"] = np.where(is_leaf, NO_FEATURE, forest.feature)
    nodes["threshold"] = np.where(is_leaf, float(NO_FEATURE), threshold)
    nodes["missing_go_to_left"] = ~is_leaf & ((forest.flags & MISSING_LEFT != 0) != is_swapped)
    nodes["impurity"] = np.mean([_impurity(model, of_target) for of_target in forests], axis=0)
    nodes["n_node_samples"] = forest.size
    # Class weights, and weights that are not whole, are on a scale of the tree's own: the root then weighs its size.
    nodes["weighted_n_node_samples"] = forest.weight * (forest.size[0] / forest.weight[0])
    made.__setstate__(
        {"max_depth": view.max_depth, "node_count": forest.n_nodes, "nodes": nodes, "values": view.value.copy()}
    )
    return made


def _impurity(model: "TreeModel", forest: Forest) -> FloatArray:
    """Compute the impurity of each node."""
    if forest.task is Task.REGRESSION:
        return forest.impurity
    formula = impurity.entropy if canonical(_criterion(model)) == "entropy" else impurity.gini
    return np.asarray(formula(forest.class_weights()))


def _cuts(model: "TreeModel", forest: Forest) -> tuple[FloatArray, BoolArray]:
    """Find thresholds, and the splits whose sides change places: those that send True to the left and False right."""
    threshold, is_swapped = forest.threshold.copy(), np.zeros(forest.n_nodes, dtype=np.bool_)
    for node in np.flatnonzero(forest.flags & CATEGORICAL).tolist():
        goes_left = np.full(2, bool(forest.flags[node] & OTHERS_LEFT))
        goes_left[forest.category_set(node)] ^= True
        is_swapped[node] = goes_left[1] and not goes_left[0]
        # Present values against missing ones: a cut that all or none of them pass.
        threshold[node] = 0.5 if goes_left[0] != goes_left[1] else np.inf if goes_left[0] else -np.inf
    return threshold, is_swapped


# -------------------------------------------------------------------------------------------------------- the check


def _compare(made: Native, model: "TreeModel", X: TableLike, lost: list[str]) -> Parity:
    """Let scikit-learn predict rows at the edges of leaves, rounded to float32: down, and up."""
    import sklearn
    from sklearn.utils import get_tags

    models = [select_target(model, o) for o in range(model.n_outputs_)] if is_multi_output(model) else [model]
    edges = edge_rows(models[0].forest_, n_categories(model))
    given = np.empty((0, model.n_features_in_))
    if X is not None:
        given = np.asarray(read_matrix(models[0], X), dtype=np.float64)
    rows = np.vstack([_round(given), _round(edges, -np.inf), _round(edges, np.inf)])
    missing: list[str] = []
    if not get_tags(made).input_tags.allow_nan:
        rows = np.nan_to_num(rows)
        missing.append("missing values: this estimator of scikit-learn refuses them")
    ours = np.hstack([answer(m, rows) for m in models])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rows without names
        theirs = _predictions(made, model, rows)
    what = f"{compared_values(models[0].forest_)} of rows rounded to float32"
    doubles = ROUNDED if X is None else _describe_rounding(models, given)
    return compare(f"scikit-learn {sklearn.__version__}", what, ours, theirs, TOLERANCE, *lost, *missing, doubles)


def _predictions(made: Native, model: "TreeModel", rows: FloatArray) -> FloatArray:
    """Let scikit-learn predict: shares of the classes of all targets side by side, or means."""
    if model.task is Task.CLASSIFICATION:
        shares = made.predict_proba(rows)
        return np.hstack(shares) if isinstance(shares, list) else np.asarray(shares)
    return np.asarray(made.predict(rows)).reshape(len(rows), -1)


def _round(rows: FloatArray, toward: float | None = None) -> FloatArray:
    """Round to float32: to the nearest, as scikit-learn does, or the way that is given. Infinities become finite."""
    clipped = np.where(np.isnan(rows), rows, rows.clip(-LARGEST, LARGEST))
    rounded = clipped.astype(np.float32)
    if toward is not None:
        is_beyond = rounded > clipped if toward < 0 else rounded < clipped
        with np.errstate(over="ignore", under="ignore"):  # next to the largest and the smallest; they are not taken
            rounded = np.where(is_beyond, np.nextafter(rounded, np.float32(toward)), rounded)
    found: FloatArray = rounded.astype(np.float64)
    return found


def _describe_rounding(models: "list[TreeModel]", given: FloatArray) -> str:
    """Count the rows of the user that rounding takes to another answer."""
    differ = np.zeros(len(given), dtype=np.bool_)
    for model in models:
        differ |= (answer(model, given) != answer(model, _round(given))).any(axis=1)
    changed = f"{differ.sum()} of the {len(given)} rows of X"
    return f"doubles: scikit-learn rounds rows to float32, which changes its answer to {changed}"
