"""The nodes of a tree with scikit-learn's names.

Tree    `tree_` of a single tree
"""

from functools import cached_property

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, TableLike
from weald.engines import criteria
from weald.engines.choose import open_engine
from weald.errors import DataError
from weald.estimators.prediction import mark_parents
from weald.forest.forest import CATEGORICAL, MISSING_LEFT, Forest
from weald.forest.shrinkage import predict_nodes

NO_CHILD = -1  # scikit-learn's values for leaves
NO_FEATURE = -2


class Tree:
    """The nodes of one tree, in pre-order: the left child of node i is node i + 1.

    Names and shapes are scikit-learn's. Arrays are created on access.

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
        self._of_targets = of_targets or (forest,)  # one for each target: they differ in the values of the nodes

    def __repr__(self) -> str:
        return f"<tree: {self.node_count:,} nodes, {self.n_leaves:,} leaves, depth {self.max_depth}>"

    def __getstate__(self) -> dict[str, object]:
        """Pickle the nodes only; derived arrays are computed again."""
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
        return np.array([forest.width for forest in self._of_targets])

    @property
    def max_n_classes(self) -> int:
        """Number of classes of the target with the most classes; 1 in regression."""
        return int(self.n_classes.max())

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        return self._forest.n_nodes

    @property
    def capacity(self) -> int:
        """Number of nodes, as in scikit-learn, where a tree may have allocated more."""
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
    def _is_leaf(self) -> BoolArray:
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
        """Feature that splits the node, -2 in leaves."""
        return np.where(self._is_leaf, NO_FEATURE, self._forest.feature).astype(np.int64)

    @cached_property
    def threshold(self) -> FloatArray:
        """Values up to this one go left; -2 in leaves, NaN for splits on a set of categories: see `nodes`."""
        of_splits = np.where(self._forest.flags & CATEGORICAL != 0, np.nan, self._forest.threshold)
        return np.where(self._is_leaf, float(NO_FEATURE), of_splits)

    @cached_property
    def missing_go_to_left(self) -> Array:
        """1 where missing values go left."""
        return (self._forest.flags & MISSING_LEFT).astype(np.uint8)

    @cached_property
    def n_node_samples(self) -> IntArray:
        """Size of each node: draws with repetition, or rows (a whole weight of k counts k times)."""
        return self._forest.size.astype(np.int64)

    @cached_property
    def weighted_n_node_samples(self) -> FloatArray:
        """Weight of each node: the sum of sample weight times class weight, or draws times class weight.

        Trees are grown from integers. Class weights are rounded to 2^-20 of the largest, sample weights that are not
        whole to about 2^-53 of the number of rows times the largest weight.
        """
        return self._forest.in_user_weights(self._forest.weight)

    @cached_property
    def class_weights(self) -> FloatArray:
        """Weights of the classes in each node (nodes x classes), in units of `weighted_n_node_samples`."""
        return self._forest.in_user_weights(self._forest.class_weights())

    @cached_property
    def value(self) -> FloatArray:
        """Class probabilities (nodes x targets x classes), or means (nodes x targets x 1), with shrinkage if any."""
        value = np.zeros((self.node_count, self.n_outputs, self.max_n_classes))
        for o, forest in enumerate(self._of_targets):
            shares = predict_nodes(forest)
            value[:, o, : shares.shape[1]] = shares
        return value

    @cached_property
    def impurity(self) -> FloatArray:
        """Impurity of each node by the criterion ("poisson": the variance); for multi-output, their mean."""
        if self.n_outputs > 1:
            each = [Tree(forest, self._criterion).impurity for forest in self._of_targets]
            mean: FloatArray = np.mean(each, axis=0)
            return mean
        if self._forest.task is Task.CLASSIFICATION:
            return criteria.class_impurities(self._criterion, self._forest.class_weights())
        return self._forest.impurity

    def apply(self, X: TableLike) -> IntArray:
        """Find the leaf of each row of numbers; categories are given as codes.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(engine="reference").fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> model.tree_.apply([[1.5], [9.0]])
        array([1, 2])
        """
        rows = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False)
        if rows.shape[1] != self.n_features:
            raise DataError(
                f"X has {rows.shape[1]} features, but the tree was grown on {self.n_features}. Give the features of "
                "the fit."
            )
        leaves: IntArray = open_engine("auto").leaves(self._forest, rows, 1, None)[:, 0]
        return leaves.astype(np.int64)

    def predict(self, X: TableLike) -> FloatArray:
        """Return the value of the leaf of each row: rows x classes, or rows x 1; for multi-output one axis more.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(engine="reference").fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> model.tree_.predict([[1.5], [9.0]])
        array([[1., 0.],
               [0., 1.]])
        """
        predictions: FloatArray = self.value[self.apply(X)]
        return predictions[:, 0, :] if self.n_outputs == 1 else predictions

    def decision_path(self, X: TableLike) -> sparse.csr_matrix:
        """Mark the nodes on the path of each row: rows x nodes.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(engine="reference").fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> model.tree_.decision_path([[1.5]]).toarray()
        array([[1, 1, 0]])
        """
        return mark_parents(self._forest, self.apply(X)[:, np.newaxis])

    def compute_node_depths(self) -> IntArray:
        """Count the nodes on the path to each node, from 1 at the root.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(engine="reference").fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> model.tree_.compute_node_depths()
        array([1, 2, 2])
        """
        return self._forest.depth().astype(np.int64) + 1

    def compute_feature_importances(self, normalize: bool = True) -> FloatArray:
        """Sum the decrease in impurity by feature; with `normalize`, divided by the total."""
        split = ~self._is_leaf
        decrease = self._forest.decrease[split]
        total = np.bincount(self._forest.feature[split], weights=decrease, minlength=self.n_features).astype(np.float64)
        if normalize:
            return total / total.sum() if total.sum() > 0 else total
        # A decrease is in units of 2^(-2 * target_exponent), which is 1 for classes; with huge targets it overflows.
        with np.errstate(over="ignore"):
            return np.ldexp(total, -2 * self._forest.target_exponent)
