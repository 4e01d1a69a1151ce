"""Common base of single trees: inspection and pruning. Most of the work is done by `forest/`.

SingleTree    a model of one tree
"""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch, metadata_routing
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import FLAG, NOTHING, OneOf, RealNumber, WholeNumber, check_argument
from weald.data.result_frame import as_frame
from weald.data.table import TrainingArguments, read_columns
from weald.data.types import Array, ColumnLike, FloatArray, IntArray, TableLike
from weald.engines.choose import open_engine
from weald.errors import DataError
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.multi_output import each_target, forests_of, is_multi_output
from weald.estimators.prediction import find_leaves, mark_paths, read_row

if TYPE_CHECKING:
    from weald.estimators.choose_alpha import AlphaChoice
    from weald.estimators.tree_view import Tree
    from weald.forest.describe.decision_path import RowExplanation
    from weald.forest.describe.regions import Region
    from weald.inspection.explain_split import SplitExplanation
    from weald.inspection.neighbors import LeafRows, Neighbors

METHODS = ("holdout", "cv")  # ways of choosing alpha


class SingleTree(TreeModel):
    """A model of one tree."""

    @cached_property
    def tree_(self) -> "Tree":
        """The nodes, with scikit-learn's names."""
        from weald.estimators.tree_view import Tree

        check_is_fitted(self)
        forests = forests_of(self)
        return Tree(forests[0], self.growth_.criterion, forests)

    @property
    def max_features_(self) -> int:
        """Number of features that a node considers.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> DecisionTreeClassifier(max_features=0.5).fit([[1.0, 2.0], [3.0, 4.0]], ["a", "b"]).max_features_
        1
        """
        check_is_fitted(self)
        return self.growth_.max_features

    # As in scikit-learn's trees: this argument is not routed as metadata.
    __metadata_request__fit: ClassVar = {"check_input": metadata_routing.UNUSED}
    __metadata_request__predict: ClassVar = {"check_input": metadata_routing.UNUSED}
    __metadata_request__predict_proba: ClassVar = {"check_input": metadata_routing.UNUSED}

    def fit(
        self, X: TableLike, y: ColumnLike = None, sample_weight: ColumnLike = None, check_input: bool = True
    ) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers of any type; NaN is a missing value. float32 and float64 are used as they are. Or a `CodeStore`
            (see `weald.codes`), without y: it contains the target and the weights.
        y : array of shape (n_rows,), or (n_rows, n_targets)
            Class labels, or numbers; for multi-output one column for each.
        sample_weight : array of shape (n_rows,), optional
            A row of weight k counts as k copies. Rows of weight 0 are left out.
        check_input : bool, default=True
            For compatibility with scikit-learn. Input is always checked.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    # --------------------------------------------------------------------------------------------------- predict

    def apply(self, X: TableLike, check_input: bool = True) -> IntArray:
        """Find the leaf of each row: its number in `tree_`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        check_input : bool, default=True
            For compatibility with scikit-learn. Input is always checked.

        Returns
        -------
        array of shape (n_rows,)
        """
        leaves: IntArray = find_leaves(self, X)[:, 0]
        return leaves

    def decision_path(self, X: TableLike, check_input: bool = True) -> sparse.csr_matrix:
        """Mark the nodes on the path of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        check_input : bool, default=True
            For compatibility with scikit-learn. Input is always checked.

        Returns
        -------
        sparse matrix of shape (n_rows, n_nodes)
        """
        return mark_paths(self, X)

    def get_depth(self) -> int:
        """Depth of the deepest leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    # ------------------------------------------------------------------------------------------------- neighbors

    def proximity(self, X: TableLike, Y: TableLike = None, *, k: int | None = None) -> sparse.csr_array:
        """Mark the pairs of rows that fall into the same leaf. Needs no training data.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        Y : array or data frame of shape (n_others, n_features), optional
            Rows to compare with; X itself by default.
        k : int, optional
            Keep only k entries of each row.

        Returns
        -------
        sparse matrix of shape (n_rows, n_others)
            1 for rows that share a leaf.
        """
        from weald.inspection.neighbors import compare_rows

        return compare_rows(self, X, Y, k)

    def neighbors(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> "Neighbors":
        """Use the tree as a weighted nearest-neighbor method, given the training data again.

        Parameters
        ----------
        X, y, sample_weight
            The table that the tree was grown from, rows in any order.

        Returns
        -------
        weald.inspection.neighbors.Neighbors
            With `weights`, `nearest`, `leaf_rows` and `proximity`.
        """
        from weald.inspection.neighbors import find_neighbors

        return find_neighbors(self, TrainingArguments(X, y, sample_weight))

    def weights(
        self, X: TableLike, X_train: TableLike, y_train: ColumnLike, sample_weight: ColumnLike = None
    ) -> sparse.csr_array:
        """Weights that express each prediction as a mean of training targets: `weights @ y_train` is `predict(X)`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows to predict.
        X_train, y_train, sample_weight
            The table that the tree was grown from.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows)
        """
        return self.neighbors(X_train, y_train, sample_weight).weights(X)

    def leaf_rows(
        self, leaf: int, X_train: TableLike, y_train: ColumnLike, sample_weight: ColumnLike = None
    ) -> "LeafRows":
        """Return the training rows of a leaf.

        Parameters
        ----------
        leaf : int
            Number of the leaf, as `apply` gives it.
        X_train, y_train, sample_weight
            The table that the tree was grown from.

        Returns
        -------
        weald.inspection.neighbors.LeafRows
            `rows`, `counts` and `targets`.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> X, y = [[1.0], [2.0], [4.0]], ["a", "a", "b"]
        >>> tree = DecisionTreeClassifier().fit(X, y)
        >>> tree.leaf_rows(int(tree.apply([[0.0]])[0]), X, y).rows
        array([0, 1])
        """
        return self.neighbors(X_train, y_train, sample_weight).leaf_rows(0, leaf)

    def _compute_partial_dependence_recursion(self, grid: Array, target_features: IntArray) -> FloatArray:
        """Average the predictions at points of a grid: scikit-learn's `partial_dependence` calls it by this name."""
        from weald.forest.partial_dependence import average_paths

        check_is_fitted(self)
        features = np.asarray(target_features, dtype=np.intp)
        values = read_columns(self.schema_, np.asarray(grid), features)
        leaf_values = self.tree_.value[:, :, 0]  # values of a regression tree: nodes x targets
        means = average_paths(forests_of(self)[0], leaf_values, values, features)
        return means[:, 0] if self.n_outputs_ == 1 else means.T

    # ------------------------------------------------------------------------------------------------ look inside

    def nodes(
        self,
        *,
        frame: str = "pandas",
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[object] | None = None,
    ) -> Any:
        """List all nodes, one row each, in pre-order: a node, its left subtree, its right subtree.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The data frame library; it must be installed. "dict" returns a dict of arrays and lists.
        feature_names, class_names : sequence, optional
            Names to use instead of those of the fit.

        Returns
        -------
        data frame
            ============  =========================================================================================
            `node`        number of the node; 0 is the root
            `depth`       0 at the root
            `parent`      number of the parent, -1 at the root
            `left`        number of the left child, -1 in leaves; likewise `right`
            `split`       the condition under which rows go left, as text; None in leaves
            `feature`     name of the feature that is split, None in leaves
            `threshold`   values up to this one go left; NaN in leaves and for splits on categories
            `categories`  the labels in `split` for splits on categories; else None
            `missing`     the side to which missing values go: "left" or "right"; None in leaves
            `samples`     number of rows: draws with repetition, copies by whole weights
            `share`       fraction of the weight of all rows
            `impurity`    by the criterion of the tree; with "poisson" the variance
            `gain`        impurity minus the weighted mean impurity of the children; 0 in leaves
            `decrease`    gain times share: how much the split decreases the impurity of the tree
            `value`       class probabilities (an array), or the mean
            `prediction`  what the node would predict as a leaf: a label, or the mean
            `error`       fraction of rows misclassified, or the mean squared error, as a leaf
            ============  =========================================================================================

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> nodes = model.nodes(frame="dict")
        >>> nodes["split"], nodes["prediction"].tolist(), nodes["gain"].round(3).tolist()
        (['x0 ≤ 3', None, None], ['a', 'a', 'b'], [0.444, 0.0, 0.0])
        """
        from weald.forest.describe import nodes
        from weald.forest.describe.conditions import Names

        check_is_fitted(self, "forest_")
        return as_frame(nodes.list_nodes(self, Names.of(self, feature_names, class_names)), frame)

    def regions(
        self, *, feature_names: Sequence[str] | None = None, class_names: Sequence[object] | None = None
    ) -> "list[Region]":
        """List the leaves as regions: the boxes into which the tree divides the feature space.

        Parameters
        ----------
        feature_names, class_names : sequence, optional
            Names to use instead of those of the fit.

        Returns
        -------
        list of weald.forest.describe.regions.Region
            Every row is in exactly one of them. A region has bounds (`low`, `high`), `conditions` as text, the
            prediction of the leaf, and `contains(X)`. Printed, it is a rule.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor(max_depth=2).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 5.0, 6.0])
        >>> region = model.regions()[1]
        >>> region.low, region.high, region.prediction
        (array([1.5]), array([2.5]), 2.0)
        """
        from weald.forest.describe.conditions import Names
        from weald.forest.describe.regions import list_regions

        check_is_fitted(self, "forest_")
        return list_regions(self, Names.of(self, feature_names, class_names))

    def rules(
        self, *, feature_names: Sequence[str] | None = None, class_names: Sequence[object] | None = None
    ) -> list[str]:
        """Write the tree as if-then rules, one for each leaf. Exactly one holds for each row.

        Missing values go to the child with the larger weight unless the rule says otherwise.

        Parameters
        ----------
        feature_names, class_names : sequence, optional
            Names to use instead of those of the fit.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> for rule in DecisionTreeClassifier(max_depth=2).fit(X, y).rules():
        ...     print(rule)
        if petal length (cm) ≤ 2.45: 0 (50 of 50 rows)
        if petal length (cm) > 2.45 and petal width (cm) ≤ 1.75: 1 (49 of 54 rows)
        if petal length (cm) > 2.45 and petal width (cm) > 1.75: 2 (45 of 46 rows)
        """
        from weald.forest.describe.conditions import Names
        from weald.forest.describe.regions import list_rules

        check_is_fitted(self, "forest_")
        return list_rules(self, Names.of(self, feature_names, class_names))

    def export_text(
        self,
        *,
        max_depth: int | None = 10,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[object] | None = None,
    ) -> str:
        """Write the tree as text.

        Missing values go to the child with the larger weight unless the text says otherwise.

        Parameters
        ----------
        max_depth : int or None, default=10
            Nodes below this depth are left out, and their number is shown. None writes all.
        feature_names, class_names : sequence, optional
            Names to use instead of those of the fit.

        Returns
        -------
        str

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> iris = load_iris(as_frame=True)
        >>> model = DecisionTreeClassifier().fit(iris.data, iris.target_names[iris.target])
        >>> print(model.export_text(max_depth=2))
        petal length (cm) ≤ 2.45
        ├─ yes: setosa (50 of 50 rows)
        └─ no: petal width (cm) ≤ 1.75
           ├─ yes: versicolor (49 of 54 rows) … 8 nodes below
           └─ no: virginica (45 of 46 rows) … 4 nodes below
        """
        from weald.forest.describe.conditions import Names
        from weald.forest.describe.text import write_text

        check_is_fitted(self, "forest_")
        check_argument("max_depth", max_depth, (WholeNumber(0), NOTHING))
        return write_text(self, Names.of(self, feature_names, class_names), max_depth)

    def explain_row(
        self, x: Any, *, feature_names: Sequence[str] | None = None, class_names: Sequence[object] | None = None
    ) -> "RowExplanation":
        """Explain the prediction for one row: its path through the tree, as text.

        Parameters
        ----------
        x : one row
            Values in the order of the features, or by feature name (a dict, a pandas Series), or a table of one row.
        feature_names, class_names : sequence, optional
            Names to use instead of those of the fit.

        Returns
        -------
        weald.forest.describe.decision_path.RowExplanation
            `steps`, `leaf`, `value` and `prediction`. Print it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> iris = load_iris(as_frame=True)
        >>> model = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target_names[iris.target])
        >>> print(model.explain_row(iris.data.iloc[60]))
        at the root  →  setosa (50 of 150 rows)
        petal length (cm) is 3.5, more than 2.45  →  versicolor (50 of 100 rows)
        petal width (cm) is 1, at most 1.75  →  versicolor (49 of 54 rows)
        """
        from weald.forest.describe.conditions import Names
        from weald.forest.describe.decision_path import explain_row

        check_is_fitted(self, "forest_")
        rows = read_row(self, x)
        leaf = open_engine(self.engine).leaves(self.forest_, rows, 1, None)[0, 0]
        return explain_row(self, rows[0], int(leaf), Names.of(self, feature_names, class_names))

    def explain_split(
        self,
        node: int,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[object] | None = None,
    ) -> "SplitExplanation":
        """Explain a split: every split that was considered for the node, with its gain.

        A tree does not store its rows, so the training data is needed again. The reference engine lists the candidates;
        it takes seconds for a node of a million rows.

        Parameters
        ----------
        node : int
            Number of the node, as in `nodes`; 0 is the root.
        X, y, sample_weight, groups, stratify
            The training data of the tree or its forest. Rows may be in any order.
        feature_names, class_names : sequence, optional
            Names to use instead of those of the fit.

        Returns
        -------
        weald.inspection.explain_split.SplitExplanation
            `candidates()` lists the splits, best first; `why` explains why the best one was chosen, or why the node is
            a leaf. Print it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
        >>> print(model.explain_split(2, X, y).why)
        petal width (cm) ≤ 1.75 was chosen: it has the largest gain. The next, petal width (cm) ≤ 1.65, has 0.387821.
        """
        from weald.estimators.training_data import read_again
        from weald.forest.describe.conditions import Names

        check_is_fitted(self, "forest_")
        from weald.inspection.explain_split import explain_split  # a layer above

        data = TrainingArguments(X, y, sample_weight, groups, stratify)
        training = read_again(self, data, bags=False)
        return explain_split(training, node, Names.of(self, feature_names, class_names))

    def total_impurity(self) -> float:
        """Return the mean impurity of the leaves, by weight.

        It is the impurity of the root minus the decreases of all splits; with "poisson" it is the variance, and the
        decreases are of half the deviance. With "misclassification" and "squared_error"
        it is the training error.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 5.0, 6.0])
        >>> model.total_impurity()
        0.25
        """
        from weald.forest.describe import nodes

        check_is_fitted(self, "forest_")
        return nodes.total_impurity(self)

    def training_error(self) -> float:
        """Return the error on the training rows, by weight. It needs no data.

        Returns
        -------
        float
            Misclassification rate, or mean squared error. For a tree of a bootstrap forest, it is the error on its bag;
            class weights count. It is unknown for regression trees with monotonic constraints.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0]], ["a", "b", "c"])
        >>> round(model.training_error(), 3)
        0.333
        """
        from weald.forest.describe import nodes

        check_is_fitted(self, "forest_")
        return nodes.training_error(self)

    # ------------------------------------------------------------------------------------------------------ prune

    def pruning_path(self, *, frame: str = "pandas") -> Any:
        """List the subtrees of cost-complexity pruning: T_alpha is the smallest with minimal impurity + alpha * leaves.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The data frame library; it must be installed. "dict" returns a dict of arrays.

        Returns
        -------
        data frame
            A row for each subtree, from the full tree (alpha 0) to the root alone: `alpha`, the smallest alpha for
            which it is T_alpha, `leaves`, `impurity` (as `total_impurity`) and `error` (as `training_error`). With
            several targets, both are means over the targets.

        Notes
        -----
        alpha is in units of the impurity of the whole tree, as in scikit-learn. If the cost of a leaf is defined as
        rows times impurity, alpha is n times as large, where n is the number of rows.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "a", "b"])
        >>> path = model.pruning_path(frame="dict")
        >>> path["leaves"].tolist(), path["error"].tolist(), path["alpha"].round(3).tolist()
        ([4, 2, 1], [0.0, 0.2, 0.4], [0.0, 0.133, 0.213])
        """
        from weald.forest import pruning
        from weald.forest.describe import nodes

        check_is_fitted(self)
        errors = np.mean([nodes.errors(one) for one in each_target(self)], axis=0)
        costs = {"impurity": self.tree_.impurity, "error": errors}
        return as_frame(pruning.list_subtrees(forests_of(self)[0], costs), frame)

    def prune(
        self,
        alpha: float | str,
        X: TableLike = None,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        cv: Any = 5,
        one_standard_error: bool = True,
    ) -> Self:
        """Return the smallest subtree with minimal impurity + alpha * leaves.

        Parameters
        ----------
        alpha : float, "holdout" or "cv"
            The cost of a leaf, in the units of `ccp_alpha`; 0 removes only splits without gain. Or how to choose it:
            see `choose_alpha`.
        X, y, sample_weight : optional
            For "holdout", rows that the tree has not seen. For "cv", the rows that it was grown from.
        cv, one_standard_error
            See `choose_alpha`.

        Returns
        -------
        fitted tree
            A new tree; this one is unchanged. Its `ccp_alpha` is alpha, so a fit to the same data grows it again.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = DecisionTreeClassifier(random_state=0).fit(X, y)
        >>> pruned = model.prune(alpha=0.02)
        >>> model.get_n_leaves(), pruned.get_n_leaves()
        (9, 4)
        >>> DecisionTreeClassifier(ccp_alpha=0.02).fit(X, y).forest_.fingerprint() == pruned.forest_.fingerprint()
        True
        >>> model.prune("cv", X, y).get_n_leaves()
        3
        """
        from weald.forest import pruning

        check_is_fitted(self)
        require_uncalibrated(self, "prune")
        check_argument("alpha", alpha, (RealNumber(0), OneOf(METHODS)))
        if isinstance(alpha, str):
            alpha = self.choose_alpha(
                X, y, sample_weight, method=alpha, cv=cv, one_standard_error=one_standard_error
            ).alpha
        twin = copy.copy(self)
        pruned = tuple(pruning.prune_forest(forest, float(alpha)) for forest in forests_of(self))
        twin.__dict__.update({"forests_": pruned} if is_multi_output(self) else {"forest_": pruned[0]})
        for name in ("tree_", "leaf_targets_", "kept_errors_"):  # remove what belongs to the larger tree
            twin.__dict__.pop(name, None)
        twin.ccp_alpha = max(alpha, self.ccp_alpha)
        if not twin.ccp_alpha and pruned[0].n_nodes < forests_of(self)[0].n_nodes:
            twin.altered_by_ = "prune(0) removed splits, which a fit with ccp_alpha=0 keeps"
        return twin

    def truncate(
        self,
        *,
        max_depth: int | str | None = None,
        min_samples_split: float | None = None,
        min_impurity_decrease: float | None = None,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float | None = None,
        shrinkage: float | None = None,
        **others: object,
    ) -> Self:
        """Make the tree that a fit with tighter stopping rules would have grown, without the training data.

        Parameters
        ----------
        max_depth, min_samples_split, min_impurity_decrease, max_leaf_nodes, ccp_alpha : optional
            As in the constructor. None leaves the parameter as it is. Parameters can only become stricter.
        shrinkage : float, optional
            As in the constructor: any value from 0, since the tree keeps its means.
        **others
            No other parameter can be truncated: an error says why.

        Returns
        -------
        tree of the same class
            The same tree, bit for bit, as a fit with these parameters. This one stays as it is.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> small = DecisionTreeClassifier().fit(X, y).truncate(max_depth=2)
        >>> small.forest_.fingerprint() == DecisionTreeClassifier(max_depth=2).fit(X, y).forest_.fingerprint()
        True
        """
        from weald.estimators.truncation import truncate

        return truncate(
            self,
            {
                "max_depth": max_depth,
                "min_samples_split": min_samples_split,
                "min_impurity_decrease": min_impurity_decrease,
                "max_leaf_nodes": max_leaf_nodes,
                "ccp_alpha": ccp_alpha,
                "shrinkage": shrinkage,
                **others,
            },
        )

    def choose_alpha(
        self,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        method: str = "cv",
        cv: Any = 5,
        one_standard_error: bool = True,
    ) -> "AlphaChoice":
        """Test every subtree T_alpha on rows that are new to it, and choose one.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
        method : {"cv", "holdout"}, default="cv"
            "holdout" tests this tree on rows that it has not seen. "cv" takes its training rows, grows a tree with the
            same parameters without each fold, and tests it on the fold.
        cv : int, splitter of scikit-learn or iterable, default=5
            The folds. If a number, folds are drawn with the seed of the tree, stratified by class.
        one_standard_error : bool, default=True
            Choose the smallest tree whose error is within one standard error of the minimum. False: the one with
            minimal error.

        Returns
        -------
        weald.estimators.choose_alpha.AlphaChoice
            `alpha`, and the errors of all trees of `pruning_path` with their standard errors.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
        >>> choice = model.choose_alpha(X[1::2], y[1::2], method="holdout")
        >>> choice.leaves.tolist(), choice.errors.round(3).tolist()
        ([6, 4, 3, 2, 1], [0.04, 0.04, 0.053, 0.333, 0.667])
        >>> print(choice)
        chosen: 3 leaves, error 0.05333 ± 0.026 (alpha 0.0256)
        lowest: 4 leaves, error 0.04 ± 0.023 (alpha 0.0128)
        """
        from weald.estimators.choose_alpha import choose, evaluate_by_folds, evaluate_on_holdout

        check_is_fitted(self, "forest_")
        check_argument("one_standard_error", one_standard_error, (FLAG,))
        check_argument("method", method, (OneOf(METHODS),))
        if X is None or y is None:
            rows = "rows that the tree has not seen" if method == "holdout" else "the rows that it was grown from"
            raise DataError(f'"{method}" needs X and y. Give {rows}.')
        evaluation = (
            evaluate_by_folds(self, X, y, sample_weight, cv)
            if method == "cv"
            else evaluate_on_holdout(self, X, y, sample_weight)
        )
        return choose(self, evaluation, one_standard_error=one_standard_error)

    def cost_complexity_pruning_path(self, X: TableLike, y: ColumnLike, sample_weight: ColumnLike = None) -> Bunch:
        """Grow a tree and list its pruned subtrees, as scikit-learn does.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        Bunch
            `ccp_alphas`, ascending, and the `impurities` of the subtrees. Splits removed at the same alpha are one
            step. `pruning_path` returns more, for a fitted tree.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> path = DecisionTreeClassifier().cost_complexity_pruning_path([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> path.ccp_alphas.round(3), path.impurities.round(3)
        (array([0.   , 0.444]), array([0.   , 0.444]))
        """
        grown = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight)
        path = grown.pruning_path(frame="dict")
        return Bunch(ccp_alphas=path["alpha"], impurities=path["impurity"])
