"""Random forests.

RandomForestClassifier
RandomForestRegressor
"""

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from weald.data.table import Reading
from weald.data.types import FloatArray
from weald.engines import progress
from weald.engines.interface import Engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError
from weald.estimators import multi_output
from weald.estimators import resampling as ways
from weald.estimators.base import TreeClassifier, TreeRegressor
from weald.estimators.forest_base import RandomForest
from weald.estimators.merging import same_values
from weald.estimators.out_of_bag import OutOfBag
from weald.estimators.tree_list import TreeList
from weald.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor
from weald.forest.forest import Forest


class RandomForestClassifier(RandomForest, TreeClassifier):
    """A random forest that predicts classes.

    Each tree sees a bag of rows, each node a draw of features, and every cut is the best one over all thresholds. The
    forest is a function of table, parameters and seed: neither the number of threads nor the order of rows changes it.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. More trees never hurt, they only cost time. "auto": until the out-of-bag error has settled.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        How cuts are scored. "log_loss" is another name of "entropy". "misclassification" is there for study: it does
        not see a cut that makes both sides purer without changing the commonest class, so its trees are often worse.
    max_depth : int, "sqrt" or None, default=None
        How deep a tree may grow; "sqrt" is the root of the number of features. None: until the leaves are pure.
    min_samples_split : int or float, default=2
        A smaller node is a leaf. A float is a share of all rows.
    min_samples_leaf : int or float, default=1
        No cut may leave a smaller side. A float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        No cut may leave a side of a smaller share of the total weight.
    max_features : int, float, "sqrt", "log2", "third", "all" or None, default="sqrt"
        How many features a node looks at; a float is a share, None is all. Features that cannot cut the node do not
        count.
    max_leaf_nodes : int or None, default=None
        Cut the node of the greatest decrease first, until there are so many leaves. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node whose best cut lowers the impurity by less (weighted by the node's share) is a leaf.
    bootstrap : bool or "balanced", default=True
        Whether each tree sees rows drawn with replacement. If not, it sees all of them. "balanced" draws the same
        number from each class: as many as the rarest has rows, or as `max_samples` says.
    oob_score : bool or callable, default=False
        Whether to estimate the error from rows outside the bags. A function of (y_true, y_pred) becomes `oob_score_`.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use, since the forest does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`. The same seed gives the same forest everywhere.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and adds those that `n_estimators` lacks.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes in the statistics; classes that a dict leaves out weigh 1. "balanced" weighs classes
        against their frequency in the table, "balanced_subsample" in each bag. The bags do not depend on it.
    ccp_alpha : float, default=0.0
        Prune each tree: keep the smallest subtree of least impurity + ccp_alpha * leaves. 0.0: keep trees as they grew.
    max_samples : int, float, dict or None, default=None
        Number of draws of a bag; a float is a share of the rows. None: as many as there are rows (whole weights
        count). A dict of class: number or share draws from each class by itself; classes that it leaves out have as
        many draws as rows. With groups, groups are counted.
    monotonic_cst : array of int, dict or None, default=None
        Which way each feature must act on what is predicted: 1 rising, -1 falling, 0 free. A dict is by name. With two
        classes what is predicted is the share of the second; more classes are refused.
        Missing values have no place in the order and are free.
    interaction_cst : list of groups, "pairwise", "no_interactions" or None, default=None
        Which features may meet on a path from the root to a leaf: groups of numbers or names; features in no group are
        one more group. "pairwise" lets any two meet, "no_interactions" none.
    feature_weights : array of float, dict or None, default=None
        How likely each feature is drawn, in proportion; a feature of weight 0 is never looked at. A dict is by name,
        features that it leaves out weigh 1. None: all alike.
    category_penalty : float, default=0.0
        What each category beyond two costs a feature where it is compared with others: so many times what labels
        without meaning would gain. 0.0: gains are compared as they are. Try 1.5 where columns have many labels.
    voting : {"soft", "hard"}, default="soft"
        What a tree says of a row: the class shares of its leaf, or one vote for the commonest class.
    resampling : {"bagging", "boosting", "arcing"}, default="bagging"
        Which rows the next tree sees. "bagging": any, whatever earlier trees say. "boosting": rather those that they
        got wrong, and a tree votes by how well it does. "arcing": the same with equal votes.
    max_bins : int or None, default=65535
        Columns with more distinct values than this are cut into so many codes of about equal weight. None keeps every
        value.
    max_estimators : int, default=1000
        With `n_estimators="auto"`: the most trees.
    engine : {"auto", "native", "reference", "dask"}, default="auto"
        Who grows the trees: the compiled core, the definition in plain Python (slow), or the workers of the Dask
        client in scope. All grow the same. "auto" is native; Dask collections always go to the workers.
    categorical_features : "from_dtype", list of names, numbers or truth values, or None, default="from_dtype"
        Which features are categories. "from_dtype": columns of text, truth values and categories of a data frame. None:
        none. Ordered categories are cut like numbers unless they are named here.
    unknown_category : {"missing", "error"}, default="missing"
        What a category means that no training row had: a missing value (they are counted), or an error.
    missing : {"learn", "error"}, default="learn"
        Whether cuts learn where missing values go, or missing values are refused.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
    categories_ : list of n_features arrays or None
        Labels of each categorical feature by number; None: numbers.
    unknown_categories_ : dict
        How many cells with an unknown category were read since the fit, by column.
    schema_ : weald.data.schema.Schema
        The names and categories of the features, by which predictions read their columns.
    n_outputs_ : int
        Number of targets.
    seed_ : int
        The seed that was used.
    forest_ : weald.forest.forest.Forest
        The grown forest: immutable arrays; `forest_.fingerprint()` tells forests apart.
    growth_ : weald.engines.params.Growth
        The parameters as plain numbers.
    estimators_ : sequence of DecisionTreeClassifier
        The trees, made when they are asked for.
    feature_importances_ : array of shape (n_features,)
        Mean decrease in impurity, as shares.
    oob_ : weald.estimators.out_of_bag.OutOfBag
        What is known of the rows outside the bags, if `oob_score` is set: errors, scores, the curve over trees.
    oob_score_ : float
        Accuracy over the rows that are out of at least one bag, or what `oob_score` says of them.
    oob_error_ : float
        Share of wrong classes among the same rows.
    oob_share_ : float
        Share of the rows that are out of at least one bag.
    oob_decision_function_ : array of shape (n_rows, n_classes)
        Out-of-bag shares of the classes; NaN where a row is in every bag.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 50, 100]])
    array([0, 1, 2])
    >>> model.oob_error_ < 0.1
    True
    """

    _kind_of_tree: ClassVar[type[DecisionTreeClassifier]] = DecisionTreeClassifier

    oob_decision_function_: FloatArray

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "gini",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_weights: Any = None,
        category_penalty: float = 0.0,
        voting: str = "soft",
        resampling: str = "bagging",
        max_bins: int | None = 65535,
        max_estimators: int = 1000,
        engine: str = "auto",
        categorical_features: Any = "from_dtype",
        unknown_category: str = "missing",
        missing: str = "learn",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_weights = feature_weights
        self.category_penalty = category_penalty
        self.voting = voting
        self.resampling = resampling
        self.max_bins = max_bins
        self.max_estimators = max_estimators
        self.engine = engine
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.missing = missing

    def _check_that_it_goes_on(self, before: Self, old: Forest) -> None:
        super()._check_that_it_goes_on(before, old)
        if not same_values(self.classes_, before.classes_):
            raise DataError(
                f"y has the classes {multi_output.listed(self.classes_)}, but warm_start=True goes on with trees "
                f"of the classes {multi_output.listed(before.classes_)}. Give the same classes, or set "
                "warm_start=False to start anew."
            )

    def _n_trees_at_once(self) -> int:
        return super()._n_trees_at_once() if self.resampling == ways.BAGGING else 0

    def _grow_so_many(self, engine: Engine, coded: Any, reading: Reading, n_trees: int, old: Forest | None) -> Forest:
        if self.resampling == ways.BAGGING:
            return super()._grow_so_many(engine, coded, reading, n_trees, old)
        if reading.table.groups is not None:
            raise ParameterError(
                f"groups do not go with resampling={self.resampling!r}, which weighs rows one by one. Leave groups out "
                'or set resampling="bagging".'
            )
        if old is not None:
            if not ways.goes_on(self.resampling, old, self.seed_, coded.fingerprint):
                raise DataError(
                    f"resampling={self.resampling!r} goes on only from the first trees of the same forest: same table, "
                    "same seed, none left out. Set warm_start=False to start anew."
                )
            if not self._lacks_trees(n_trees, old):
                return old
        watch = progress.watch_fit(self.verbose, n_trees)
        made = ways.Resampled(engine, reading.table, count_threads(self.n_jobs))
        return made.grow(self.resampling, coded, partial(self._grow_quietly, engine), n_trees, watch, old)

    def _keep_out_of_bag(self, found: OutOfBag) -> None:
        super()._keep_out_of_bag(found)
        self.oob_decision_function_ = found.shares

    def _keep_averages_of_targets(self, averages: list[FloatArray]) -> None:
        self.oob_decision_function_ = multi_output.side_by_side(averages)

    @property
    def estimators_(self) -> TreeList[DecisionTreeClassifier]:
        """The trees as fitted estimators, made when they are asked for."""
        self._shape()
        return TreeList(self, self._kind_of_tree)


class RandomForestRegressor(RandomForest, TreeRegressor):
    """A random forest that predicts numbers.

    Each tree sees a bag of rows, each node a draw of features, and every cut is the best one over all thresholds. The
    forest is a function of table, parameters and seed: neither the number of threads nor the order of rows changes it.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. More trees never hurt, they only cost time. "auto": until the out-of-bag error has settled.
    criterion : {"squared_error"}, default="squared_error"
        How cuts are scored.
    max_depth : int, "sqrt" or None, default=None
        How deep a tree may grow; "sqrt" is the root of the number of features. None: until the leaves are pure.
    min_samples_split : int or float, default=2
        A smaller node is a leaf. A float is a share of all rows.
    min_samples_leaf : int or float, default=1
        No cut may leave a smaller side. A float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        No cut may leave a side of a smaller share of the total weight.
    max_features : int, float, "sqrt", "log2", "third", "all" or None, default="third"
        How many features a node looks at; a float is a share, None is all. Features that cannot cut the node do not
        count.
    max_leaf_nodes : int or None, default=None
        Cut the node of the greatest decrease first, until there are so many leaves. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node whose best cut lowers the impurity by less (weighted by the node's share) is a leaf.
    bootstrap : bool, default=True
        Whether each tree sees rows drawn with replacement. If not, it sees all of them.
    oob_score : bool or callable, default=False
        Whether to estimate the error from rows outside the bags. A function of (y_true, y_pred) becomes `oob_score_`.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use, since the forest does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`. The same seed gives the same forest everywhere.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and adds those that `n_estimators` lacks.
    ccp_alpha : float, default=0.0
        Prune each tree: keep the smallest subtree of least impurity + ccp_alpha * leaves. 0.0: keep trees as they grew.
    max_samples : int, float or None, default=None
        Number of draws of a bag; a float is a share of the rows. None: as many as there are rows (whole weights
        count). With groups, groups are counted.
    monotonic_cst : array of int, dict or None, default=None
        Which way each feature must act on what is predicted: 1 rising, -1 falling, 0 free. A dict is by name. Nothing
        predicted falls where it must rise.
        Missing values have no place in the order and are free.
    interaction_cst : list of groups, "pairwise", "no_interactions" or None, default=None
        Which features may meet on a path from the root to a leaf: groups of numbers or names; features in no group are
        one more group. "pairwise" lets any two meet, "no_interactions" none.
    feature_weights : array of float, dict or None, default=None
        How likely each feature is drawn, in proportion; a feature of weight 0 is never looked at. A dict is by name,
        features that it leaves out weigh 1. None: all alike.
    category_penalty : float, default=0.0
        What each category beyond two costs a feature where it is compared with others: so many times what labels
        without meaning would gain. 0.0: gains are compared as they are. Try 1.5 where columns have many labels.
    max_bins : int or None, default=65535
        Columns with more distinct values than this are cut into so many codes of about equal weight. None keeps every
        value.
    max_estimators : int, default=1000
        With `n_estimators="auto"`: the most trees.
    engine : {"auto", "native", "reference", "dask"}, default="auto"
        Who grows the trees: the compiled core, the definition in plain Python (slow), or the workers of the Dask
        client in scope. All grow the same. "auto" is native; Dask collections always go to the workers.
    categorical_features : "from_dtype", list of names, numbers or truth values, or None, default="from_dtype"
        Which features are categories. "from_dtype": columns of text, truth values and categories of a data frame. None:
        none. Ordered categories are cut like numbers unless they are named here.
    unknown_category : {"missing", "error"}, default="missing"
        What a category means that no training row had: a missing value (they are counted), or an error.
    missing : {"learn", "error"}, default="learn"
        Whether cuts learn where missing values go, or missing values are refused.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
    categories_ : list of n_features arrays or None
        Labels of each categorical feature by number; None: numbers.
    unknown_categories_ : dict
        How many cells with an unknown category were read since the fit, by column.
    schema_ : weald.data.schema.Schema
        The names and categories of the features, by which predictions read their columns.
    n_outputs_ : int
        Number of targets.
    seed_ : int
        The seed that was used.
    forest_ : weald.forest.forest.Forest
        The grown forest: immutable arrays; `forest_.fingerprint()` tells forests apart.
    growth_ : weald.engines.params.Growth
        The parameters as plain numbers.
    estimators_ : sequence of DecisionTreeRegressor
        The trees, made when they are asked for.
    feature_importances_ : array of shape (n_features,)
        Mean decrease in impurity, as shares.
    oob_ : weald.estimators.out_of_bag.OutOfBag
        What is known of the rows outside the bags, if `oob_score` is set: errors, scores, the curve over trees.
    oob_score_ : float
        R squared over the rows that are out of at least one bag, or what `oob_score` says of them.
    oob_error_ : float
        Mean squared error of the same rows.
    oob_share_ : float
        Share of the rows that are out of at least one bag.
    oob_prediction_ : array of shape (n_rows,)
        Out-of-bag predictions; NaN where a row is in every bag.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> 0.3 < model.oob_score_ < 0.6
    True
    """

    _kind_of_tree: ClassVar[type[DecisionTreeRegressor]] = DecisionTreeRegressor

    oob_prediction_: FloatArray

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "third",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_weights: Any = None,
        category_penalty: float = 0.0,
        max_bins: int | None = 65535,
        max_estimators: int = 1000,
        engine: str = "auto",
        categorical_features: Any = "from_dtype",
        unknown_category: str = "missing",
        missing: str = "learn",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_weights = feature_weights
        self.category_penalty = category_penalty
        self.max_bins = max_bins
        self.max_estimators = max_estimators
        self.engine = engine
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.missing = missing

    def _keep_out_of_bag(self, found: OutOfBag) -> None:
        super()._keep_out_of_bag(found)
        self.oob_prediction_ = found.predictions

    def _keep_averages_of_targets(self, averages: list[FloatArray]) -> None:
        self.oob_prediction_ = np.column_stack(averages)

    @property
    def estimators_(self) -> TreeList[DecisionTreeRegressor]:
        """The trees as fitted estimators, made when they are asked for."""
        self._shape()
        return TreeList(self, self._kind_of_tree)
