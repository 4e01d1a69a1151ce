"""The parameters and attributes of all estimators: type, default and documentation of each, written once.

*Params           which parameters an estimator takes
parameters        gives an estimator the signature and the documentation of its parameters
set_parameters    the body of every constructor

An estimator declares `def __init__(self, **given: Unpack[...Params])`, so that type checkers know the names and types.
`inspect`, scikit-learn and `help` see a plain signature with defaults.
"""

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, NamedTuple, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from weald.data.task import Task

WIDTH = 116  # line width of documentation
Estimator = TypeVar("Estimator", bound=type)

ByFeature = Sequence[float] | Mapping[str, float] | None


@dataclass(frozen=True)
class Doc:
    """What a parameter may be, its default, and what it does."""

    kinds: str
    default: object
    text: str


class GrowthParams(TypedDict, total=False):
    """How every tree is grown."""

    criterion: Annotated[
        str,
        Doc(
            "str",
            None,
            'How splits are scored. Classifiers: "gini", "entropy" (also "log_loss") or "misclassification". The last '
            "is for study: it ignores splits that leave the majority class of both sides unchanged, so its trees are "
            'often worse. Regressors: "squared_error"; "poisson" for counts and other targets of at least 0; '
            '"absolute_error", with which leaves predict medians. Survival: "log_rank".',
        ),
    ]
    max_depth: Annotated[
        int | str | None,
        Doc(
            'int, "sqrt" or None',
            None,
            'Maximum depth of a tree; "sqrt" is the square root of the number of features. None: until leaves are '
            "pure.",
        ),
    ]
    min_samples_split: Annotated[
        float, Doc("int or float", 2, "Smaller nodes become leaves. A float is a fraction of all rows.")
    ]
    min_samples_leaf: Annotated[
        float, Doc("int or float", 1, "Minimum number of rows in a leaf. A float is a fraction of all rows.")
    ]
    min_weight_fraction_leaf: Annotated[float, Doc("float", 0.0, "Minimum fraction of the total weight in a leaf.")]
    max_features: Annotated[
        float | str | Callable[[int], int] | None,
        Doc(
            'int, float, "sqrt", "log2", "third", "all", callable or None',
            None,
            'Number of features that a node considers. A float is a fraction; None and "all" are all. "sqrt" is the '
            'square root of the number of features, "log2" its binary logarithm, "third" a third of it. All are '
            'rounded down, to at least 1: "sqrt" of 8 features is 2. A function is called with the number of features. '
            "Features that cannot split the node do not count.",
        ),
    ]
    max_leaf_nodes: Annotated[
        int | None,
        Doc("int or None", None, "Grow best-first, until the tree has this many leaves. None: no limit."),
    ]
    min_impurity_decrease: Annotated[
        float,
        Doc(
            "float",
            0.0,
            "A node becomes a leaf if its best split decreases the impurity by less, weighted by the node's fraction "
            "of all rows.",
        ),
    ]
    n_jobs: Annotated[
        int | None,
        Doc(
            "int or None",
            None,
            "Number of threads. None: all cores that this process may use. It does not affect the result.",
        ),
    ]
    random_state: Annotated[
        object,
        Doc(
            "int, Generator, RandomState or None",
            None,
            "The seed, or where it is drawn from; kept as `seed_`. The same seed gives the same trees everywhere. None "
            "draws one from NumPy's global generator, which `np.random.seed` sets. A single tree needs no seed unless "
            '`max_features` leaves features out or `splitter="random"`: with None it draws nothing, and ties between '
            "features go to the first column.",
        ),
    ]
    verbose: Annotated[int, Doc("int", 0, "1 shows progress and the time left on stderr.")]
    max_bins: Annotated[
        int | None,
        Doc(
            "int or None",
            65535,
            "Columns with more distinct values are cut into this many bins of about equal weight. None keeps every "
            "value.",
        ),
    ]
    engine: Annotated[
        str,
        Doc(
            '{"auto", "native", "reference", "cuda", "dask"}',
            "auto",
            'What grows the trees: the compiled core ("auto", "native"), the definition in plain Python ("reference", '
            'slow), a GPU ("cuda", experimental), or the workers of the Dask client in scope ("dask", forests only). '
            "All grow the same trees. Dask collections always go to the workers.",
        ),
    ]
    categorical_features: Annotated[
        object,
        Doc(
            '"from_dtype", list of names, numbers or booleans, or None',
            "from_dtype",
            'Which features are categorical. "from_dtype": text, boolean and categorical columns of a data frame. '
            "None: none. Ordered categories are split like numbers unless they are named here.",
        ),
    ]
    unknown_category: Annotated[
        str,
        Doc(
            '{"missing", "error"}',
            "missing",
            "How predictions treat a category that no training row had: as a missing value (they are counted), or as "
            "an error.",
        ),
    ]


class ColumnParams(TypedDict, total=False):
    """Parameters about single columns of X."""

    interaction_cst: Annotated[
        object,
        Doc(
            'list of groups, "pairwise", "no_interactions" or None',
            None,
            "Which features may occur together on a path from the root to a leaf: groups of numbers or names; features "
            'in no group form one more group. "pairwise" allows any two, "no_interactions" none.',
        ),
    ]
    feature_weights: Annotated[
        ByFeature,
        Doc(
            "array of float, dict or None",
            None,
            "How likely each feature is drawn, in proportion; a feature of weight 0 is never used. A dict is by name; "
            "features that it omits weigh 1. None: all are equally likely.",
        ),
    ]
    category_penalty: Annotated[
        float | str,
        Doc(
            'float or "auto"',
            "auto",
            "Penalty for each category beyond two when a categorical feature is compared with others, in units of the "
            "gain that meaningless labels would have; columns of up to 10 categories are free. 0.0: no penalty. "
            '"auto": 2.5, or 0.0 for multi-output and where cuts are random; columns with more than 10 categories '
            "and fewer than 40 rows per category are split in the order of the categories, like numbers.",
        ),
    ]
    missing: Annotated[
        str,
        Doc(
            '{"learn", "error"}',
            "learn",
            "Whether each split learns which side missing values go to, or missing values are refused.",
        ),
    ]


SHRINKAGE = (
    "Hierarchical shrinkage: lambda. The larger it is, the more the predictions of leaves are pulled toward those of "
    "the nodes above them, mostly those of small nodes. 0.0: leaves predict their means."
)


SPLITTER = Doc(
    '{"best", "random"}',
    "best",
    "Which split a feature offers: its best one, or one at a random place between the minimum and the maximum "
    "of the node.",
)


class PruningParams(TypedDict, total=False):
    """Pruning by the impurities of nodes. Those of survival trees do not add up."""

    ccp_alpha: Annotated[
        float,
        Doc(
            "float",
            0.0,
            "Cost-complexity pruning: keep the smallest subtree with minimal impurity + ccp_alpha * leaves. 0.0: do "
            "not prune.",
        ),
    ]


class MonotonicParams(TypedDict, total=False):
    """Constraints of the values of nodes. Those of survival trees are curves."""

    monotonic_cst: Annotated[
        ByFeature,
        Doc(
            "array of int, dict or None",
            None,
            "Monotonic constraints by feature: 1 increasing, -1 decreasing, 0 none. A dict is by name. A classifier's "
            "constraints apply to the probability of the second class; more than two classes are refused. Missing "
            "values are not constrained.",
        ),
    ]


class TreeParams(GrowthParams, PruningParams, MonotonicParams, ColumnParams, total=False):
    """A single tree."""

    shrinkage: Annotated[float, Doc("float", 0.0, SHRINKAGE)]

    splitter: Annotated[str, SPLITTER]


class TargetParams(TypedDict, total=False):
    """Parameters of regressors only."""

    keep_targets: Annotated[
        bool,
        Doc(
            "bool",
            False,
            "Whether to keep the training targets of each leaf: `predict_quantiles`, `predict_cdf`, `predict_std` and "
            "`predict_distribution` need them. They take about 5 bytes for each row and tree.",
        ),
    ]


class TreeRegressorParams(TreeParams, TargetParams, total=False):
    """A single regression tree."""


class TreeClassifierParams(TreeParams, total=False):
    """A single classification tree."""

    class_weight: Annotated[
        object,
        Doc(
            'dict, "balanced" or None',
            None,
            'Weights of the classes; classes that a dict omits weigh 1, those of weight 0 are left out. "balanced": '
            "inversely proportional to their frequency.",
        ),
    ]


# The only parameter that may be given by position, so it stands in the signatures themselves.
N_ESTIMATORS = Doc(
    'int or "auto"',
    100,
    'Number of trees. More trees never hurt accuracy; they cost time. "auto": until the out-of-bag error converges.',
)


class BagParams(TypedDict, total=False):
    """Parameters of many trees."""

    max_estimators: Annotated[int, Doc("int", 1000, 'Maximum number of trees with `n_estimators="auto"`.')]
    bootstrap: Annotated[
        bool | str,
        Doc(
            'bool or "balanced"',
            True,
            "Whether each tree is grown from rows drawn with replacement. If not, from all rows. Classifiers: "
            '"balanced" draws the same number from each class: the size of the rarest class, or `max_samples`.',
        ),
    ]
    max_samples: Annotated[
        object,
        Doc(
            "int, float, dict or None",
            None,
            "Number of rows drawn for each tree; a float is a fraction of the rows. None: as many as there are rows "
            "(whole weights count). Classifiers: a dict of class: number or fraction draws from each class separately; "
            "classes that it omits have as many draws as rows. With groups, groups are counted.",
        ),
    ]
    oob_score: Annotated[
        object,
        Doc(
            "bool or callable",
            False,
            "Whether to estimate the error from out-of-bag rows. A function of (y_true, y_pred) defines `oob_score_`.",
        ),
    ]
    warm_start: Annotated[
        bool, Doc("bool", False, "Whether `fit` keeps the existing trees and adds those that `n_estimators` lacks.")
    ]


class BagClassifierParams(TypedDict, total=False):
    """Parameters of many classification trees."""

    class_weight: Annotated[
        object,
        Doc(
            'dict, "balanced", "balanced_subsample" or None',
            None,
            "Weights of the classes; classes that a dict omits weigh 1, those of weight 0 are left out of the trees. "
            '"balanced": inversely proportional to their frequency in the table, "balanced_subsample" in each bag. '
            "Bags do not depend on them.",
        ),
    ]
    voting: Annotated[
        str,
        Doc(
            '{"soft", "hard"}',
            "soft",
            "What a tree predicts for a row: the class probabilities of its leaf, or one vote for the majority class.",
        ),
    ]
    calibrate: Annotated[
        str | None,
        Doc(
            '{"isotonic", "sigmoid", "beta", "venn-abers"} or None',
            None,
            "How to calibrate the class probabilities, from the out-of-bag predictions: no second fit, no rows set "
            "aside. `predict`, `predict_proba` and `predict_log_proba` then return calibrated results; out-of-bag "
            "results are those of the trees, before the calibration.",
        ),
    ]
    resampling: Annotated[
        str,
        Doc(
            '{"bagging", "boosting", "arcing"}',
            "bagging",
            'How rows are drawn for the next tree. "bagging": independently of earlier trees. "boosting": rows that '
            "earlier trees misclassify are more likely, and accurate trees have more weight. "
            '"arcing": the same with equal weights.',
        ),
    ]


class ForestParams(BagParams, GrowthParams, PruningParams, MonotonicParams, ColumnParams, total=False):
    """A forest."""

    shrinkage: Annotated[
        float | str,
        Doc(
            'float or "oob"',
            0.0,
            f'{SHRINKAGE} "oob": 0, 0.1, 1, 10, 25, 50, 100 or 500, whichever has the lowest out-of-bag error.',
        ),
    ]
    keep_errors: Annotated[
        bool,
        Doc(
            "bool",
            False,
            "Whether to keep the errors of out-of-bag predictions: `predict_interval` of regressors and `predict_set` "
            "of classifiers need them. They take 16 bytes for each row; of regressors also 1 bit for each row and "
            "tree, and with `keep_targets` about 1.5 bytes for each row and tree.",
        ),
    ]


class SurvivalTreeParams(GrowthParams, ColumnParams, total=False):
    """A single survival tree."""

    splitter: Annotated[str, SPLITTER]


class SurvivalForestParams(BagParams, GrowthParams, ColumnParams, total=False):
    """A survival forest."""


class ForestRegressorParams(ForestParams, TargetParams, total=False):
    """A regression forest."""


class ForestClassifierParams(ForestParams, BagClassifierParams, total=False):
    """A classification forest."""


class Attribute(NamedTuple):
    """An attribute of fitted estimators, and the estimators that have it."""

    name: str
    kinds: str
    text: str
    task: Task | None = None  # None: both
    is_forest: bool | None = None  # None: of trees and of forests


ATTRIBUTES = (
    Attribute("classes_", "array of shape (n_classes,)", "The class labels, sorted.", Task.CLASSIFICATION),
    Attribute("n_classes_", "int", "Number of classes.", Task.CLASSIFICATION),
    Attribute("n_features_in_", "int", "Number of features."),
    Attribute("n_samples_fit_", "int", "Number of training rows; rows of weight 0 do not count."),
    Attribute("feature_names_in_", "array of shape (n_features,)", "Names of the features, if all are strings."),
    Attribute("target_name_", "str", "Name of y, if it is a Series or a data frame of one column."),
    Attribute(
        "categories_", "list of n_features arrays or None", "Categories of each feature, by code; None: numeric."
    ),
    Attribute("unknown_categories_", "dict", "Number of cells with an unknown category since the fit, by column."),
    Attribute("schema_", "weald.data.schema.Schema", "Names and categories of the features, for predictions."),
    Attribute("n_outputs_", "int", "Number of targets."),
    Attribute("seed_", "int", "The seed that was used; 0 for a single tree that needs none."),
    Attribute(
        "forest_",
        "weald.forest.forest.Forest",
        "The trees as immutable arrays. `forest_.fingerprint()` is equal for equal trees.",
    ),
    Attribute("growth_", "weald.engines.params.Growth", "The parameters as plain numbers."),
    Attribute("shrinkage_", "float", 'Lambda of hierarchical shrinkage: `shrinkage`, or the value that "oob" chose.'),
    Attribute("tree_", "weald.estimators.tree_view.Tree", "The nodes, with scikit-learn's names.", None, False),
    Attribute(
        "estimators_",
        "list of DecisionTreeClassifier",
        "The trees, created on access; they predict codes of classes.",
        Task.CLASSIFICATION,
        True,
    ),
    Attribute("estimators_", "list of DecisionTreeRegressor", "The trees, created on access.", Task.REGRESSION, True),
    Attribute("estimators_", "list of SurvivalTree", "The trees, created on access.", Task.SURVIVAL, True),
    Attribute("oob_score_", "float", "Out-of-bag concordance index.", Task.SURVIVAL, True),
    Attribute("oob_error_", "float", "1 - `oob_score_`.", Task.SURVIVAL, True),
    Attribute(
        "oob_prediction_",
        "array of shape (n_rows,)",
        "Out-of-bag risks; NaN for rows in every bag.",
        Task.SURVIVAL,
        True,
    ),
    Attribute(
        "unique_times_",
        "array of shape (n_times,)",
        "The distinct times of the training rows, ascending: the steps of survival and cumulative hazard functions.",
        Task.SURVIVAL,
    ),
    Attribute(
        "event_times_",
        "array of shape (n_event_times,)",
        "Those at which a row had the event. The risk is the sum of the cumulative hazard over them.",
        Task.SURVIVAL,
    ),
    Attribute(
        "leaf_times_",
        "weald.forest.leaf_times.LeafTimes",
        "Events and censored rows of each leaf by time.",
        Task.SURVIVAL,
    ),
    Attribute("estimator_", "estimator", "A tree that is not fitted, with the parameters of the trees.", None, True),
    Attribute(
        "estimators_samples_",
        "list of arrays",
        "Rows in the bag of each tree. Not available in pickles, copies and files; see `bags`.",
        None,
        True,
    ),
    Attribute("max_features_", "int", "Number of features that a node considers.", None, False),
    Attribute("feature_importances_", "array of shape (n_features,)", "Mean decrease in impurity; it sums to 1."),
    Attribute(
        "oob_",
        "weald.estimators.out_of_bag.OutOfBag",
        "Out-of-bag predictions, errors and scores, if `oob_score` is set. It keeps the training table in memory until "
        "the forest is pickled or saved.",
        None,
        True,
    ),
    Attribute(
        "oob_score_",
        "float",
        "Out-of-bag accuracy, or the result of `oob_score`.",
        Task.CLASSIFICATION,
        True,
    ),
    Attribute("oob_score_", "float", "Out-of-bag R squared, or the result of `oob_score`.", Task.REGRESSION, True),
    Attribute("oob_error_", "float", "Fraction of out-of-bag rows misclassified.", Task.CLASSIFICATION, True),
    Attribute("oob_error_", "float", "Mean squared error of out-of-bag rows.", Task.REGRESSION, True),
    Attribute("oob_fraction_", "float", "Fraction of rows that are out of at least one bag.", None, True),
    Attribute(
        "data_hash_",
        "str",
        "Cryptographic hash of the training data, after `attach_data_hash`.",
    ),
    Attribute(
        "leaf_targets_",
        "weald.forest.leaf_targets.LeafTargets",
        "The training targets of each leaf, if `keep_targets` is set or after `attach_targets`.",
        Task.REGRESSION,
    ),
    Attribute(
        "kept_errors_",
        "weald.estimators.calibration.kept_errors.RegressionErrors",
        "The errors that intervals are computed from, if `keep_errors` is set or after `attach_errors`.",
        Task.REGRESSION,
    ),
    Attribute(
        "kept_errors_",
        "weald.estimators.calibration.kept_errors.ClassificationErrors",
        "The scores that prediction sets are computed from, if `keep_errors` is set or after `attach_errors`.",
        Task.CLASSIFICATION,
    ),
    Attribute(
        "calibrator_",
        "weald.estimators.calibration.calibrator.Calibrator",
        "The calibration of the class probabilities, if `calibrate` is set or after `calibrated`.",
        Task.CLASSIFICATION,
    ),
    Attribute(
        "oob_decision_function_",
        "array of shape (n_rows, n_classes)",
        "Out-of-bag class probabilities; NaN for rows in every bag.",
        Task.CLASSIFICATION,
        True,
    ),
    Attribute(
        "oob_prediction_",
        "array of shape (n_rows,)",
        "Out-of-bag predictions; NaN for rows in every bag.",
        Task.REGRESSION,
        True,
    ),
)


# -------------------------------------------------------------------------------------------------------- signatures


def parameters(
    params: type, attributes: Sequence[Attribute] = (), number: Doc = N_ESTIMATORS, **defaults: object
) -> Callable[[Estimator], Estimator]:
    """Add the parameters of `params`, with some other defaults, and their documentation to an estimator.

    `attributes` are those that it has in addition to `ATTRIBUTES`; `number` describes `n_estimators`. The docstring of
    the class has a summary and examples.
    """
    docs = {name: _doc_of(hint) for name, hint in get_type_hints(params, include_extras=True).items()}
    docs = {name: Doc(doc.kinds, defaults.get(name, doc.default), doc.text) for name, doc in docs.items()}

    def describe(kind: Estimator) -> Estimator:
        init = vars(kind)["__init__"]
        first = [p for p in inspect.signature(init).parameters.values() if p.kind is not p.VAR_KEYWORD]
        rest = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=doc.default) for name, doc in docs.items()
        ]
        init.__signature__ = inspect.Signature([*first, *rest])  # where scikit-learn looks for the names
        if kind.__doc__:  # python -OO removes docstrings
            is_forest = len(first) > 1
            known = {"n_estimators": number, **docs} if is_forest else docs
            kind.__doc__ = _document(kind, known, attributes, is_forest=is_forest)
        return kind

    return describe


def set_parameters(model: object, kind: type, **given: object) -> None:
    """Set all parameters of an estimator: those given, and the defaults of the others. `kind` is its class."""
    defaults = _defaults_of(kind)
    unknown = given.keys() - defaults.keys()
    if unknown:
        raise TypeError(f"{kind.__name__}.__init__() got an unexpected keyword argument {min(unknown)!r}")
    for name, value in (defaults | given).items():
        setattr(model, name, value)


@cache
def _defaults_of(kind: type) -> dict[str, object]:
    """Return the defaults of all parameters of the class that declares them, in their order."""
    signature = inspect.signature(kind.__init__)  # type: ignore[misc]
    return {parameter.name: parameter.default for parameter in list(signature.parameters.values())[1:]}


def _doc_of(hint: object) -> Doc:
    """Return the documentation stored in the type of a parameter."""
    assert get_origin(hint) is Annotated, hint  # noqa: S101  (a parameter without documentation)
    return next(part for part in get_args(hint) if isinstance(part, Doc))


def _document(kind: type, docs: Mapping[str, Doc], attributes: Sequence[Attribute], *, is_forest: bool) -> str:
    """Insert the sections on parameters and attributes before the examples of a docstring."""
    summary, examples = inspect.cleandoc(kind.__doc__ or "").split("Examples\n--------\n")
    task = getattr(kind, "task", None)
    known = [entry for entry in ATTRIBUTES if entry.task in (None, task) and entry.is_forest in (None, is_forest)]
    if task is Task.SURVIVAL:  # whose y has two columns
        known = [entry for entry in known if entry.name != "target_name_"]
    known = known if task else []  # estimators without predictions have their own attributes
    takes = [_entry(name, f"{doc.kinds}, default={_shown(doc.default)}", doc.text) for name, doc in docs.items()]
    has = [_entry(entry.name, entry.kinds, entry.text) for entry in (*known, *attributes)]
    sections = (("Parameters", takes), ("Attributes", has))
    middle = "\n\n".join(f"{title}\n{'-' * len(title)}\n" + "\n".join(entries) for title, entries in sections)
    return f"{summary}{middle}\n\nExamples\n--------\n{examples}"


@cache  # most estimators share most parameters
def _entry(name: str, kinds: str, text: str) -> str:
    return f"{name} : {kinds}\n" + textwrap.fill(
        text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )


def _shown(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)
