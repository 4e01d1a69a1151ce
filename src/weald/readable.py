"""The methods by which a single tree is read and pruned. What they do stands in files of their own.

inspect.py    nodes, errors
prune.py      subtrees, pruning
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from weald import inspect, prune
from weald.errors import ParameterError
from weald.estimator import TreeModel
from weald.params import Number
from weald.result_frame import as_frame
from weald.words import Names


class ReadableTree(TreeModel):
    """A tree that can be read and pruned."""

    tree_: Any
    ccp_alpha: float

    # ------------------------------------------------------------------------------------------------ look inside

    def nodes(
        self,
        *,
        frame: str = "pandas",
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[Any] | None = None,
    ) -> Any:
        """List all nodes, one row each, in pre-order: a node, all below its left child, all below its right child.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The kind of data frame; it must be installed. "dict" needs nothing: arrays and lists by name.
        feature_names, class_names : sequence, optional
            Names to use instead of those that the tree knows.

        Returns
        -------
        data frame
            ============  =========================================================================================
            `node`        number of the node; 0 is the root
            `depth`       0 at the root
            `parent`      number of the parent, -1 at the root
            `left`        number of the left child, -1 in leaves; likewise `right`
            `split`       the condition under which rows go left, in words; None in leaves
            `feature`     name of the feature that is cut, None in leaves
            `threshold`   values up to this one go left; NaN in leaves
            `missing`     the side to which missing values go: "left" or "right"; None in leaves
            `samples`     number of rows: draws with repetition, copies by whole weights
            `share`       share of the weight of all rows
            `impurity`    by the criterion of the tree
            `gain`        impurity less that of the children, by their shares of the node; 0 in leaves
            `decrease`    gain times share: what the split lowers the impurity of the tree by
            `value`       shares of the classes (an array), or the mean
            `prediction`  what the node would say as a leaf: a label, or the mean
            `error`       share of rows of other classes, or the mean squared error, as a leaf
            ============  =========================================================================================

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [4.0]], ["a", "a", "b"])
        >>> nodes = model.nodes(frame="dict")
        >>> nodes["split"], nodes["prediction"].tolist(), nodes["gain"].round(3).tolist()
        (['x0 ≤ 3', None, None], ['a', 'a', 'b'], [0.444, 0.0, 0.0])
        """
        check_is_fitted(self, "forest_")
        return as_frame(inspect.list_nodes(self, Names.of(self, feature_names, class_names)), frame)

    def total_impurity(self) -> float:
        """Average the impurity of the leaves by their share of the weight.

        It is the impurity of the root less the decreases of all splits. By "misclassification" and "squared_error" it
        is the training error.

        Examples
        --------
        >>> from weald import DecisionTreeRegressor
        >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 5.0, 6.0])
        >>> model.total_impurity()
        0.25
        """
        check_is_fitted(self, "forest_")
        return inspect.total_impurity(self)

    def training_error(self) -> float:
        """Compute the error on the rows that the tree was grown from, by weight: it needs no data.

        Returns
        -------
        float
            Share of wrong classes, or mean squared error. A tree of a bootstrap forest judges its bag; class weights
            count.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0], [3.0]], ["a", "b", "c"])
        >>> round(model.training_error(), 3)
        0.333
        """
        check_is_fitted(self, "forest_")
        return inspect.training_error(self)

    # ------------------------------------------------------------------------------------------------------ prune

    def pruning_path(self, *, frame: str = "pandas") -> Any:
        """List every tree that pruning can leave: T_alpha, the smallest subtree of least impurity + alpha * leaves.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The kind of data frame; it must be installed. "dict" needs nothing: arrays by name.

        Returns
        -------
        data frame
            A row for each tree, from the largest (alpha 0) to the root alone: `alpha`, from which on it is T_alpha,
            `leaves`, `impurity` (as `total_impurity`) and `error` (as `training_error`).

        Notes
        -----
        alpha is a price in units of the impurity of the whole tree, as in scikit-learn. Where the cost of a leaf is
        written as rows times impurity, alpha is n times as large, n being the number of rows.

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "a", "b"])
        >>> path = model.pruning_path(frame="dict")
        >>> path["leaves"].tolist(), path["error"].tolist(), path["alpha"].round(3).tolist()
        ([4, 2, 1], [0.0, 0.2, 0.4], [0.0, 0.133, 0.213])
        """
        check_is_fitted(self, "forest_")
        costs = {"impurity": self.tree_.impurity, "error": inspect.errors(self)}
        return as_frame(prune.list_subtrees(self.forest_, costs), frame)

    def prune(self, alpha: float) -> Self:
        """Make the smallest subtree of least impurity + alpha * leaves.

        Parameters
        ----------
        alpha : float
            The price of a leaf, in the units of `ccp_alpha`. 0 takes away only what gains nothing.

        Returns
        -------
        fitted tree
            A new one; this tree stays as it is. Its `ccp_alpha` is alpha, so a fit to the same data grows it again.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import DecisionTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = DecisionTreeClassifier().fit(X, y)
        >>> pruned = model.prune(alpha=0.02)
        >>> model.get_n_leaves(), pruned.get_n_leaves()
        (9, 4)
        >>> DecisionTreeClassifier(ccp_alpha=0.02).fit(X, y).forest_.fingerprint() == pruned.forest_.fingerprint()
        True
        """
        check_is_fitted(self, "forest_")
        if not Number(0).holds(alpha):
            raise ParameterError(f"alpha={alpha!r} is not allowed. Give {Number(0).words()[0]}.")
        twin = copy.copy(self)
        twin.forest_ = prune.prune_forest(self.forest_, float(alpha))
        twin.tree_ = type(self.tree_)(twin.forest_, self.growth_.criterion)
        twin.ccp_alpha = max(alpha, self.ccp_alpha)
        return twin

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Grow a tree and list what pruning can leave of it, as scikit-learn does.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        Bunch
            `ccp_alphas`, ascending, and `impurities` of the trees that they leave. Splits that go at the same alpha are
            one step. `pruning_path` says more, of a tree that is fitted.

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
