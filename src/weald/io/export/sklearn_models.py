"""A fitted model as scikit-learn's own: DecisionTree, ExtraTree, RandomForest or ExtraTrees, with the same trees.

write_sklearn    fitted model -> scikit-learn's fitted estimator, checked by its own predictions

scikit-learn rounds rows to float32 and compares them with double thresholds; so does the exported forest. Thresholds do
not change, so predictions are the same for rows of float32 numbers, and may differ for a double within rounding of a
threshold. Rows are compared as float32, rounded down and up.
"""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald import impurity
from weald.data.task import OF_COUNTS, Task
from weald.data.types import Array, BoolArray, FloatArray, Native, TableLike
from weald.engines.criteria import canonical
from weald.errors import ExportError
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.features import features_of
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
    lost_uncertainty,
    n_categories,
    not_compared,
)
from weald.io.export.sklearn_trees import KINDS

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

TOLERANCE = 0.0  # one thread of scikit-learn sums trees in order, as weald does
FORESTS_OF = {
    "RandomForestClassifier": "DecisionTreeClassifier",
    "RandomForestRegressor": "DecisionTreeRegressor",
    "ExtraTreesClassifier": "ExtraTreeClassifier",
    "ExtraTreesRegressor": "ExtraTreeRegressor",
}
# scikit-learn draws a bag again from the tree's random_state. This text raises an error instead of a wrong bag.
NO_BAG = "grown by weald, so scikit-learn cannot draw its bag: use the model of weald"
# Parameters that the user sets, about threads and further fits.
OWN = ("n_jobs", "verbose", "warm_start")
NOT_MISSED = ("engine", "max_estimators", *OWN)  # parameters of weald that may be dropped without a warning
ROUNDED = "doubles: scikit-learn rounds rows to float32, so predictions may differ next to a threshold"
LARGEST = float(np.finfo(np.float32).max)  # scikit-learn refuses larger values


def write_sklearn(model: "TreeModel", X: TableLike, *, check: bool) -> Export:
    """Make scikit-learn's estimator of a fitted model; with `check`, compare its predictions."""
    check_is_fitted(model)
    require_uncalibrated(model, "to_sklearn")
    features_of(model).require_table("to_sklearn")
    name = _name_of(model)
    forests = tuple(forest.voters() for forest in forests_of(model))
    _refuse(model, forests)
    made = _make(model, name, forests)
    lost = _lost(model, made)
    return Export(made, _compare(made, model, X, lost) if check else not_compared(*lost, ROUNDED))


# ------------------------------------------------------------------------------------------------ what is refused


def _name_of(model: "TreeModel") -> str:
    """Return the name of the class, which scikit-learn has as well; for a user's subclass, that of its base."""
    known = {name for kinds in KINDS.values() for name in kinds}
    for kind in type(model).__mro__:
        if kind.__module__.startswith("weald.") and kind.__name__ in known:
            return kind.__name__
    raise ExportError(
        f"scikit-learn has no equivalent of {type(model).__name__}. to_sklearn supports {', '.join(sorted(known))}."
    )


def _refuse(model: "TreeModel", forests: tuple[Forest, ...]) -> None:
    """Raise an error for features that scikit-learn's trees do not support."""
    if votes_are_hard(model):
        raise ExportError(
            'voting="hard" gives one vote to each tree, but scikit-learn averages the probabilities of leaves. Call '
            'model.set_params(voting="soft") to convert the forest with such averages, or export it with '
            "to_onnx, to_treelite, to_shap or to_c."
        )
    if len(forests[0].tree_weight):
        raise ExportError(
            "The trees have different weights (resampling), but in scikit-learn all trees have equal weights. "
            "Export the forest with to_onnx, to_treelite, to_shap or to_c, or fit with "
            'resampling="bagging".'
        )
    for forest in forests:
        refuse_overflow(forest)
    by_set = np.unique(forests[0].feature[forests[0].flags & CATEGORICAL != 0])
    unlike_numbers = [f for f in by_set.tolist() if not _is_boolean(model, f)]
    if unlike_numbers:
        raise ExportError(
            f"scikit-learn's trees support only thresholds, but {model.schema_.where(unlike_numbers[0])} is split into "
            "sets of categories. Fit with categorical_features=None and categories encoded as numbers or as columns of "
            "0 and 1 (OneHotEncoder), or export the forest with to_onnx, to_treelite or to_c."
        )


def _is_boolean(model: "TreeModel", feature: int) -> bool:
    """Return whether a feature has the categories False and True, which equal the numbers 0 and 1."""
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
    """Return the criterion of the impurities; scikit-learn has no misclassification."""
    given = str(model.get_params(deep=False)["criterion"])
    return "gini" if canonical(given) == "misclassification" else given


def _lost(model: "TreeModel", made: Native) -> list[str]:
    """List the features that scikit-learn does not support."""
    given, theirs, plain = (
        model.get_params(deep=False),
        made.get_params(deep=False),
        type(model)().get_params(deep=False),
    )
    lacking = [n for n, v in given.items() if n not in theirs and n not in NOT_MISSED and repr(v) != repr(plain.get(n))]
    lost = ["bags and seeds: scikit-learn has other random generators"]
    if lacking:
        lost.append(f"parameters that scikit-learn lacks: {', '.join(lacking)}")
    if _criterion(model) != given["criterion"]:
        lost.append(f"the criterion {given['criterion']}: impurities are Gini impurities")
    if given["criterion"] in OF_COUNTS:
        lost.append(f"the impurities of the criterion {given['criterion']}: they are variances")
    if any(c is not None and not _is_boolean(model, f) for f, c in enumerate(model.schema_.categories)):
        lost.append("labels of categories: rows have their numbers")
    return [*lost, *lost_uncertainty(model)]


# --------------------------------------------------------------------------------------------------- the estimator


def _make(model: "TreeModel", name: str, forests: tuple[Forest, ...]) -> Native:
    """Make the estimator and set all attributes that its own fit would set."""
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
    """Make one tree of a forest. As in scikit-learn it has neither labels nor names."""
    tree = type(made.estimator)(
        **{name: getattr(made, name) for name in made.estimator_params if name != "random_state"}
    )
    tree.random_state = NO_BAG if made.bootstrap else None
    _learn(tree, model, of_forest=True)
    tree.max_features_ = model.growth_.max_features
    tree.tree_ = _tree(model, tuple(forest.take([number]) for forest in forests))
    return tree


def _learn(made: Native, model: "TreeModel", *, of_forest: bool) -> None:
    """Set the attributes about targets and features. Trees of a forest have class numbers instead of labels."""
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
    """Copy the labels of all targets; scikit-learn stores them in one array, of the type of the first."""
    if len({of_target.dtype for of_target in classes}) == 1:
        return [of_target.copy() for of_target in classes]
    return [of_target.astype(object) for of_target in classes]


# --------------------------------------------------------------------------------------------------------- a tree


def _tree(model: "TreeModel", forests: tuple[Forest, ...]) -> Native:
    """Make scikit-learn's arrays of one tree from the values for each target."""
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
    # Class weights and fractional weights have a scale per tree: the weight of the root becomes its size.
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
    """Find thresholds, and splits with exchanged sides: those that send True to the left and False right."""
    threshold, is_swapped = forest.threshold.copy(), np.zeros(forest.n_nodes, dtype=np.bool_)
    for node in np.flatnonzero(forest.flags & CATEGORICAL).tolist():
        goes_left = np.full(2, bool(forest.flags[node] & OTHERS_LEFT))
        goes_left[forest.category_set(node)] ^= True
        is_swapped[node] = goes_left[1] and not goes_left[0]
        # Present values against missing ones: a threshold that all or none of them pass.
        threshold[node] = 0.5 if goes_left[0] != goes_left[1] else np.inf if goes_left[0] else -np.inf
    return threshold, is_swapped


# -------------------------------------------------------------------------------------------------------- the check


def _compare(made: Native, model: "TreeModel", X: TableLike, lost: list[str]) -> Parity:
    """Predict rows at the edges of leaves with scikit-learn, rounded to float32 down and up."""
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
        missing.append("missing values: this estimator of scikit-learn does not support them")
    ours = np.hstack([answer(m, rows) for m in models])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about missing feature names
        theirs = _predictions(made, model, rows)
    what = f"{compared_values(models[0].forest_)} of rows rounded to float32"
    doubles = ROUNDED if X is None else _describe_rounding(models, given)
    return compare(f"scikit-learn {sklearn.__version__}", what, ours, theirs, TOLERANCE, *lost, *missing, doubles)


def _predictions(made: Native, model: "TreeModel", rows: FloatArray) -> FloatArray:
    """Return scikit-learn's predictions: probabilities of all targets side by side, or means."""
    if model.task is Task.CLASSIFICATION:
        shares = made.predict_proba(rows)
        return np.hstack(shares) if isinstance(shares, list) else np.asarray(shares)
    return np.asarray(made.predict(rows)).reshape(len(rows), -1)


def _round(rows: FloatArray, toward: float | None = None) -> FloatArray:
    """Round to float32: to nearest, as scikit-learn does, or in the given direction. Infinities become finite."""
    clipped = np.where(np.isnan(rows), rows, rows.clip(-LARGEST, LARGEST))
    rounded = clipped.astype(np.float32)
    if toward is not None:
        is_beyond = rounded > clipped if toward < 0 else rounded < clipped
        with np.errstate(over="ignore", under="ignore"):  # infinities beyond the largest numbers; they are replaced
            rounded = np.where(is_beyond, np.nextafter(rounded, np.float32(toward)), rounded)
    found: FloatArray = rounded.astype(np.float64)
    return found


def _describe_rounding(models: "list[TreeModel]", given: FloatArray) -> str:
    """Count the user's rows whose predictions change by rounding."""
    differ = np.zeros(len(given), dtype=np.bool_)
    for model in models:
        differ |= (answer(model, given) != answer(model, _round(given))).any(axis=1)
    changed = f"{differ.sum()} of the {len(given)} rows of X"
    return f"doubles: scikit-learn rounds rows to float32, which changes its predictions for {changed}"
