"""Single decision trees, and the view of a tree's nodes.

Tree                      `tree_`: nodes with scikit-learn's names
DecisionTreeClassifier
DecisionTreeRegressor
"""

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald.data.table import Reading
from weald.data.types import FloatArray, IntArray
from weald.engines import criteria
from weald.engines.interface import Engine
from weald.estimators.base import TreeClassifier, TreeRegressor
from weald.estimators.tree_methods import TreeMethods
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, Forest

NO_CHILD = -1  # scikit-learn's marks of a leaf
NO_FEATURE = -2


class Tree:
    """The nodes of one tree, in pre-order: the left child of node i is node i + 1.

    Names and shapes are scikit-learn's. Arrays are made when they are first asked for.

    Examples
    --------
    >>> from weald import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier(engine="reference").fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
    >>> model.tree_.node_count, model.tree_.n_leaves, model.tree_.max_depth
    (3, 2, 1)
    >>> model.tree_.threshold
    array([ 3., -2., -2.])
    """

    def __init__(self, forest: Forest, criterion: str, of_targets: tuple[Forest, ...] = ()) -> None:
        self._forest = forest
        self._criterion = criterion
        self._of_targets = of_targets or (forest,)  # one for each target: they differ in what nodes say

    def __getstate__(self) -> dict[str, Any]:
        """Keep the nodes; what was made from them is made again."""
        return {"_forest": self._forest, "_criterion": self._criterion, "_of_targets": self._of_targets}

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return len(self._of_targets)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._forest.n_features

    @property
    def n_classes(self) -> IntArray:
        """Number of classes of each target; 1 in regression."""
        return np.array([forest.n_classes or 1 for forest in self._of_targets])

    @property
    def max_n_classes(self) -> int:
        """Number of classes of the target that has most; 1 in regression."""
        return int(self.n_classes.max())

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return self._forest.n_nodes

    @property
    def capacity(self) -> int:
        """Number of nodes: a grown tree has no room for more."""
        return self._forest.n_nodes

    @cached_property
    def max_depth(self) -> int:
        """Depth of the deepest leaf; a single leaf has depth 0."""
        return int(self._forest.depth().max())

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self._is_leaf.sum())

    @cached_property
    def _is_leaf(self) -> npt.NDArray[np.bool_]:
        return self._forest.feature < 0

    @cached_property
    def children_left(self) -> IntArray:
        """Number of the left child, -1 in leaves."""
        return np.where(self._is_leaf, NO_CHILD, self._forest.left()).astype(np.int64)

    @cached_property
    def children_right(self) -> IntArray:
        """Number of the right child, -1 in leaves."""
        return np.where(self._is_leaf, NO_CHILD, self._forest.right).astype(np.int64)

    @cached_property
    def feature(self) -> IntArray:
        """Feature by which a node is cut, -2 in leaves."""
        return np.where(self._is_leaf, NO_FEATURE, self._forest.feature).astype(np.int64)

    @cached_property
    def threshold(self) -> FloatArray:
        """Values up to this one go left; -2 in leaves, NaN where a set of categories is sent left: see `nodes`."""
        of_splits = np.where(self._forest.flags & CATEGORICAL != 0, np.nan, self._forest.threshold)
        return np.where(self._is_leaf, float(NO_FEATURE), of_splits)

    @cached_property
    def missing_go_to_left(self) -> npt.NDArray[np.uint8]:
        """1 where missing values go left."""
        return (self._forest.flags & MISSING_LEFT).astype(np.uint8)

    @cached_property
    def n_node_samples(self) -> IntArray:
        """Size of each node: draws with repetition, or rows (a whole weight of k counts k times)."""
        return self._forest.size.astype(np.int64)

    @property
    def weighted_n_node_samples(self) -> FloatArray:
        """Weight of each node in the statistics.

        Class weights, and sample weights that are not whole, are integers on a scale of the tree's own; shares of the
        root's weight are the user's.
        """
        return self._forest.weight

    @cached_property
    def class_weights(self) -> FloatArray:
        """Weights of the classes in each node (nodes x classes), in units of `weighted_n_node_samples`."""
        return self._forest.class_weights()

    @cached_property
    def value(self) -> FloatArray:
        """Shares of the classes (nodes x targets x classes), or means (nodes x targets x 1)."""
        value = np.zeros((self.node_count, self.n_outputs, self.max_n_classes))
        for o, forest in enumerate(self._of_targets):
            shares = forest.shares() if forest.n_classes else forest.value[:, np.newaxis]
            value[:, o, : shares.shape[1]] = shares
        return value

    @cached_property
    def impurity(self) -> FloatArray:
        """Impurity of each node by the criterion that the tree was grown with; of several targets their mean."""
        if self.n_outputs > 1:
            each = [Tree(forest, self._criterion).impurity for forest in self._of_targets]
            mean: FloatArray = np.mean(each, axis=0)
            return mean
        if self._forest.n_classes:
            return criteria.class_impurities(self._criterion, self.class_weights)
        return self._forest.impurity

    def compute_feature_importances(self, normalize: bool = True) -> FloatArray:
        """Add up the decrease of impurity by feature; with `normalize`, as shares that add up to 1."""
        split = ~self._is_leaf
        decrease = self._forest.decrease[split]
        total = np.bincount(self._forest.feature[split], weights=decrease, minlength=self.n_features).astype(np.float64)
        if normalize:
            return total / total.sum() if total.sum() > 0 else total
        # A decrease is in units of 2^(-2 * target_exponent), which is 1 for classes; of huge targets it is infinite.
        with np.errstate(over="ignore"):
            return np.ldexp(total, -2 * self._forest.target_exponent)


class SingleTree(TreeMethods):
    """What both single trees share."""

    tree_: Tree

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        super()._grow(engine, coded, reading, before)
        of_targets = self.forests_ if self._has_several() else ()
        self.tree_ = Tree(self._shape(), self.growth_.criterion, of_targets)

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of each row: its number in `tree_`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        leaves: IntArray = self._leaves(X)[:, 0]
        return leaves

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Mark the nodes that each row passes.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        sparse matrix of shape (n_rows, n_nodes)
        """
        return self._paths(X)

    def get_depth(self) -> int:
        """Depth of the deepest leaf."""
        self._shape()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        self._shape()
        return self.tree_.n_leaves


class DecisionTreeClassifier(SingleTree, TreeClassifier):
    """A decision tree that predicts classes.

    Every cut is the best one over all thresholds of the features looked at.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        How cuts are scored. "log_loss" is another name of "entropy". "misclassification" is there for study: it does
        not see a cut that makes both sides purer without changing the commonest class, so its trees are often worse.
    splitter : {"best", "random"}, default="best"
        Which cut a feature offers: its best one, or one at a random place between the smallest and the largest value of
        the node.
    max_depth : int, "sqrt" or None, default=None
        How deep a tree may grow; "sqrt" is the root of the number of features. None: until the leaves are pure.
    min_samples_split : int or float, default=2
        A smaller node is a leaf. A float is a share of all rows.
    min_samples_leaf : int or float, default=1
        No cut may leave a smaller side. A float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        No cut may leave a side of a smaller share of the total weight.
    max_features : int, float, "sqrt", "log2", "third", "all" or None, default=None
        How many features a node looks at; a float is a share, None is all. Features that cannot cut the node do not
        count.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`. It matters only if `max_features` leaves features out,
        or with `splitter="random"`.
    max_leaf_nodes : int or None, default=None
        Cut the node of the greatest decrease first, until there are so many leaves. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node whose best cut lowers the impurity by less (weighted by the node's share) is a leaf.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the statistics; classes that a dict leaves out weigh 1. "balanced" weighs classes
        against their frequency.
    ccp_alpha : float, default=0.0
        Prune the tree: keep the smallest subtree of least impurity + ccp_alpha * leaves. 0.0: keep it as it grew.
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
    max_bins : int or None, default=65535
        Columns with more distinct values than this are cut into so many codes of about equal weight. None keeps every
        value.
    engine : {"auto", "native", "reference"}, default="auto"
        Who grows the trees: the compiled core, or the definition in plain Python (slow). Both grow the same. "auto"
        is native.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use, since the forest does not depend on it.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
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
    tree_ : weald.estimators.trees.Tree
        The nodes, with scikit-learn's names.
    forest_ : weald.forest.forest.Forest
        The grown tree as a forest of one; `forest_.fingerprint()` tells trees apart.
    growth_ : weald.engines.params.Growth
        The parameters as plain numbers.
    feature_importances_ : array of shape (n_features,)
        Mean decrease in impurity, as shares.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.96
    >>> model.get_n_leaves()
    3
    """

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_weights: Any = None,
        category_penalty: float = 0.0,
        max_bins: int | None = 65535,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "missing",
        missing: str = "learn",
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_weights = feature_weights
        self.category_penalty = category_penalty
        self.max_bins = max_bins
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.missing = missing


class DecisionTreeRegressor(SingleTree, TreeRegressor):
    """A decision tree that predicts numbers.

    Every cut is the best one over all thresholds of the features looked at.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        How cuts are scored.
    splitter : {"best", "random"}, default="best"
        Which cut a feature offers: its best one, or one at a random place between the smallest and the largest value of
        the node.
    max_depth : int, "sqrt" or None, default=None
        How deep a tree may grow; "sqrt" is the root of the number of features. None: until the leaves are pure.
    min_samples_split : int or float, default=2
        A smaller node is a leaf. A float is a share of all rows.
    min_samples_leaf : int or float, default=1
        No cut may leave a smaller side. A float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        No cut may leave a side of a smaller share of the total weight.
    max_features : int, float, "sqrt", "log2", "third", "all" or None, default=None
        How many features a node looks at; a float is a share, None is all. Features that cannot cut the node do not
        count.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`. It matters only if `max_features` leaves features out,
        or with `splitter="random"`.
    max_leaf_nodes : int or None, default=None
        Cut the node of the greatest decrease first, until there are so many leaves. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node whose best cut lowers the impurity by less (weighted by the node's share) is a leaf.
    ccp_alpha : float, default=0.0
        Prune the tree: keep the smallest subtree of least impurity + ccp_alpha * leaves. 0.0: keep it as it grew.
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
    engine : {"auto", "native", "reference"}, default="auto"
        Who grows the trees: the compiled core, or the definition in plain Python (slow). Both grow the same. "auto"
        is native.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use, since the forest does not depend on it.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
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
    tree_ : weald.estimators.trees.Tree
        The nodes, with scikit-learn's names.
    forest_ : weald.forest.forest.Forest
        The grown tree as a forest of one; `forest_.fingerprint()` tells trees apart.
    growth_ : weald.engines.params.Growth
        The parameters as plain numbers.
    feature_importances_ : array of shape (n_features,)
        Mean decrease in impurity, as shares.

    Examples
    --------
    >>> from weald import DecisionTreeRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 5.0, 6.0]
    >>> model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    >>> model.predict([[0.0], [2.5], [9.0]])
    array([1. , 1. , 5.5])
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_weights: Any = None,
        category_penalty: float = 0.0,
        max_bins: int | None = 65535,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        categorical_features: Any = "from_dtype",
        unknown_category: str = "missing",
        missing: str = "learn",
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_weights = feature_weights
        self.category_penalty = category_penalty
        self.max_bins = max_bins
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.missing = missing
