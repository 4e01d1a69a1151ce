"""Single decision trees, and the view of a tree's nodes.

    Tree                      `tree_`: nodes with scikit-learn's names
    DecisionTreeClassifier
    DecisionTreeRegressor
"""

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald import criteria
from weald.engines.door import Engine
from weald.estimator import TreeClassifier, TreeModel, TreeRegressor
from weald.model import MISSING_LEFT, FloatArray, Forest, IntArray
from weald.table import Reading

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

    n_outputs: ClassVar[int] = 1

    def __init__(self, forest: Forest, criterion: str) -> None:
        self._forest = forest
        self._criterion = criterion

    def __getstate__(self) -> dict[str, Any]:
        """Keep the nodes; what was made from them is made again."""
        return {"_forest": self._forest, "_criterion": self._criterion}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._forest.n_features

    @property
    def n_classes(self) -> IntArray:
        """Number of classes, as an array of one; 1 in regression."""
        return np.array([self._forest.n_classes or 1])

    @property
    def max_n_classes(self) -> int:
        """Number of classes; 1 in regression."""
        return self._forest.n_classes or 1

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
        """Values up to this one go left; -2 in leaves."""
        return np.where(self._is_leaf, float(NO_FEATURE), self._forest.threshold)

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
    def _class_weights(self) -> FloatArray:
        return self._forest.class_weights()

    @cached_property
    def value(self) -> FloatArray:
        """Shares of the classes (nodes x 1 x classes), or means (nodes x 1 x 1)."""
        if self._forest.n_classes:
            shares = self._class_weights / self._class_weights.sum(axis=1, keepdims=True)
            return shares[:, np.newaxis, :]
        return self._forest.value[:, np.newaxis, np.newaxis]

    @cached_property
    def impurity(self) -> FloatArray:
        """Impurity of each node by the criterion that the tree was grown with."""
        if self._forest.n_classes:
            return criteria.class_impurities(self._criterion, self._class_weights)
        return self._forest.impurity

    def compute_feature_importances(self, normalize: bool = True) -> FloatArray:
        """Add up the decrease of impurity by feature; with `normalize`, as shares that add up to 1."""
        split = ~self._is_leaf
        # A decrease is in units of 2^(-2 * target_exponent), which is 1 for classes.
        decrease = np.ldexp(self._forest.decrease[split], -2 * self._forest.target_exponent)
        total = np.bincount(self._forest.feature[split], weights=decrease, minlength=self.n_features)
        return total / total.sum() if normalize and total.sum() > 0 else total


class SingleTree(TreeModel):
    """What both single trees share."""

    tree_: Tree

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        super()._grow(engine, coded, reading, before)
        self.tree_ = Tree(self.forest_, self.growth_.criterion)

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
        check_is_fitted(self, "forest_")
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self, "forest_")
        return self.tree_.n_leaves


class DecisionTreeClassifier(SingleTree, TreeClassifier):
    """TODO."""

    def __init__(
        self,
        *,
        criterion: str = "gini",
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
        max_bins: int | None = 65535,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
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
        self.max_bins = max_bins
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose


class DecisionTreeRegressor(SingleTree, TreeRegressor):
    """TODO."""

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        max_bins: int | None = 65535,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.max_bins = max_bins
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose
