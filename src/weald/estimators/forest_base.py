"""Common base of all forests: bags, out-of-bag estimates, merging and slicing, neighbors.

RandomForest    a model of many trees
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, cast, overload

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import ColumnLike, FloatArray, IntArray, Label, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.callbacks import CALLBACKS, CallbackSupportMixin, fit_with_callbacks
from weald.estimators.checkpoints import Checkpoint
from weald.estimators.features import features_of
from weald.estimators.fit import estimate_targets_out_of_bag, fit
from weald.estimators.merging import merge, take_trees
from weald.estimators.multi_output import OutOfBagOfTargets, forests_of, is_multi_output
from weald.estimators.out_of_bag import OutOfBag, TrainingBags, estimate_out_of_bag, require_bags
from weald.estimators.prediction import find_leaves, mark_paths
from weald.estimators.tree_base import SingleTree

if TYPE_CHECKING:
    from weald.estimators.survival.models import TreeSurvival
    from weald.estimators.survival.out_of_bag import SurvivalOutOfBag
    from weald.forest.compaction import Thinning
    from weald.inspection.neighbors import LeafRows, Neighbors
    from weald.inspection.row_explanation import ForestRowExplanation


class RandomForest(CallbackSupportMixin, TreeModel):
    """A model of many trees."""

    n_estimators: int | str
    max_estimators: int
    bootstrap: bool | str
    oob_score: object
    warm_start: bool
    voting: str
    resampling: str

    thinning_: "Thinning"
    oob_: OutOfBag
    oob_score_: float
    oob_error_: float
    oob_fraction_: float

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: int = 10,
    ) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers of any type; NaN is a missing value. float32 and float64 are used as they are. Or a `CodeStore`
            (see `weald.codes`), given alone: it has the target and the weights.
        y : array of shape (n_rows,)
            Class labels, or numbers.
        sample_weight : array of shape (n_rows,), optional
            A row of weight k counts as k copies. Rows of weight 0 are left out.
        groups : array of shape (n_rows,), optional
            Group labels, for example patients with several visits. A bag draws whole groups, so a row is out of bag
            only if its whole group is. `max_samples` then counts groups.
        stratify : array of shape (n_rows,), optional
            Stratum labels. Each bag draws from every stratum in proportion to its size, and at least one row.
        checkpoint : str or path, optional
            A folder in which grown trees are saved. If the process dies, the same call resumes from them and gives the
            same forest. Each file is a model by itself. weald does not delete the folder.
        every : int, default=10
            Number of trees per file of the checkpoint.

        Returns
        -------
        self
        """
        if sparse.issparse(y):  # as in scikit-learn, where forests and trees raise different errors
            raise DataError("sparse multilabel-indicator for y is not supported. Use y.toarray() to make it dense.")
        features, kept = features_of(self), Checkpoint.read(checkpoint, every, self)
        if kept is not None:
            features.require_checkpoints()
        data = TrainingArguments(X, y, sample_weight, groups, stratify)
        if features.fit_candidates(data):
            return self
        if vars(self).keys() & CALLBACKS:
            fit_with_callbacks(self, data, kept)
        else:
            fit(self, data, kept)
        return self

    # ------------------------------------------------------------------------------------------------ out of bag

    def out_of_bag(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> "OutOfBag | OutOfBagOfTargets | SurvivalOutOfBag":
        """Compute out-of-bag predictions and errors, given the training data again.

        Bags are drawn again from the seeds of the trees, so this works for every forest with bags: fitted without
        `oob_score`, saved and loaded, sliced, merged or extended by a warm start. All trees must have been grown from
        this table; the order of its rows does not matter.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from.

        Returns
        -------
        weald.estimators.out_of_bag.OutOfBag
            The content of `oob_`, with rows in the given order. For multi-output it has `averages` (by target:
            probabilities or means of each row), `score`, `error` and `share`. Of survival forests a
            `weald.estimators.survival.out_of_bag.SurvivalOutOfBag`.
        """
        from weald.estimators.error_surface import rows_outside_bags
        from weald.estimators.training_data import open_bags, read_training_data

        check_is_fitted(self)
        data = TrainingArguments(X, y, sample_weight, groups, stratify)
        if not is_multi_output(self):
            bagged, reading = open_bags(self, data)
            if self.task is Task.SURVIVAL:
                from weald.estimators.survival.out_of_bag import estimate

                return estimate(cast("TreeSurvival", self), bagged, reading)
            found = estimate_out_of_bag(bagged, reading)
            found.rows_to_score = rows_outside_bags(self, bagged.engine, bagged.codes, reading)
            return found
        training = read_training_data(self, data)
        return estimate_targets_out_of_bag(self, training.engine, training.codes, training.reading)

    def bags(
        self,
        X: TableLike,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> IntArray:
        """Draw the bags again, given the training data again: how many times each row was drawn for each tree.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order.

        Returns
        -------
        array of shape (n_trees, n_rows)
            0 where a row is out of the bag.

        Examples
        --------
        >>> import numpy as np
        >>> from weald import RandomForestRegressor
        >>> X, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0]
        >>> bags = RandomForestRegressor(2, random_state=0).fit(X, y).bags(X, y)
        >>> bags.sum(axis=1)
        array([3, 3])
        >>> rows_of_trees = [np.repeat(np.arange(3), bag) for bag in bags]  # scikit-learn's estimators_samples_
        """
        from weald.estimators.training_data import read_training_data

        check_is_fitted(self)
        require_bags(forests_of(self)[0])
        training = read_training_data(self, TrainingArguments(X, y, sample_weight, groups, stratify))
        drawn, kept = training.bags(range(len(self))).astype(np.int64), training.reading.kept
        if kept is None:
            return drawn
        whole = np.zeros((len(drawn), len(kept)), dtype=drawn.dtype)
        whole[:, kept] = drawn
        return whole

    @property
    def estimators_samples_(self) -> list[IntArray]:
        """Rows in the bag of each tree, ascending, each as often as it was drawn.

        Available after a fit to a table in memory, until the forest is pickled, saved or merged: these do not store
        the order of the training rows. `bags(X, y)` works for every forest.

        Examples
        --------
        >>> from weald import RandomForestRegressor
        >>> forest = RandomForestRegressor(2, random_state=0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])
        >>> [len(rows) for rows in forest.estimators_samples_]
        [3, 3]
        """
        check_is_fitted(self)
        bags: TrainingBags | None = vars(self).get("_training_bags")
        if bags is None:
            raise AttributeError(
                "This forest does not know the order of its training rows, so it has no estimators_samples_. Give the "
                "training data again: [numpy.repeat(numpy.arange(len(X)), bag) for bag in forest.bags(X, y)]."
            )
        of_trees = replace(bags, origins=forests_of(self)[0].origins)
        return [of_trees.rows(tree) for tree in range(len(self))]

    # --------------------------------------------------------------------------------------------- other forests

    def __add__(self, other: object) -> Self:
        """Join two forests: the trees of this one, then those of the other. See `weald.merge`."""
        if not isinstance(other, RandomForest):
            return NotImplemented
        models: list[Self] = [self, other]
        return merge(models)

    if TYPE_CHECKING:

        @property
        def estimators_(self) -> Sequence[SingleTree]:
            """The trees as fitted estimators."""

    def __len__(self) -> int:
        """Count the trees."""
        check_is_fitted(self)
        return forests_of(self)[0].n_trees

    def __bool__(self) -> bool:
        """Return True for any forest, fitted or not, although it has a length."""
        return True

    def __iter__(self) -> Iterator[SingleTree]:
        """Iterate over the trees, `estimators_`."""
        return iter(self.estimators_)

    @overload
    def __getitem__(self, which: SupportsIndex) -> SingleTree: ...
    @overload
    def __getitem__(self, which: slice) -> Self: ...
    def __getitem__(self, which: SupportsIndex | slice) -> SingleTree | Self:
        """Return a tree, `forest[3]`, same as `forest.estimators_[3]`; or a forest of some trees, `forest[10:50]`."""
        check_is_fitted(self)
        if isinstance(which, slice):
            return take_trees(self, range(len(self))[which])
        if not isinstance(which, SupportsIndex):
            raise TypeError(f"forest[{which!r}] is neither a number nor a slice. Give a tree number or a slice.")
        return self.estimators_[which.__index__()]

    @property
    def estimator_(self) -> SingleTree:
        """An unfitted tree with the parameters of the trees of the forest.

        Examples
        --------
        >>> from weald import RandomForestRegressor
        >>> RandomForestRegressor(3, max_depth=2).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0]).estimator_.max_depth
        2
        """
        template: SingleTree = clone(self.estimators_[0])
        template.random_state = None
        return template

    def thin(self, *, n_trees: int | None = None, max_bytes: int | None = None, tolerance: float | None = None) -> Self:
        """Return a smaller forest of the first trees, with its out-of-bag error. Give one of the three arguments.

        Parameters
        ----------
        n_trees : int, optional
            Number of trees to keep.
        max_bytes : int, optional
            Keep as many trees as fit: the size of the arrays of `forest_`.
        tolerance : float, optional
            Keep the fewest trees that raise the out-of-bag error by at most this fraction of it: 0.01 is 1 %. It
            requires `oob_score=True`.

        Returns
        -------
        forest of the same class
            `thinning_` has the number of trees and bytes that are left, and the out-of-bag error before and after;
            printed, it is a sentence. Trees are independent of one another, so any others would do as well.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y)
        >>> small = forest.thin(n_trees=20)
        >>> small.thinning_.n_trees, round(small.thinning_.error, 3), round(small.thinning_.error_before, 3)
        (20, 0.053, 0.053)
        """
        from weald.forest.compaction import choose_trees

        check_is_fitted(self, "forest_")
        if self.task is Task.SURVIVAL and tolerance is not None:
            raise ParameterError(
                f"tolerance={tolerance!r} needs the out-of-bag error after each tree, which survival forests do not "
                "have. Give n_trees or max_bytes."
            )
        has_errors = hasattr(self, "oob_") and self.task is not Task.SURVIVAL
        errors = self.oob_.curve.error if has_errors else None
        thinning = choose_trees(self.forest_, errors, n_trees, max_bytes, tolerance)
        thinned = self[: thinning.n_trees]
        thinned.thinning_ = thinning
        return thinned

    def truncate(
        self,
        *,
        max_depth: int | str | None = None,
        min_samples_split: float | None = None,
        min_impurity_decrease: float | None = None,
        max_leaf_nodes: int | None = None,
        ccp_alpha: float | None = None,
        n_estimators: int | None = None,
        shrinkage: float | None = None,
        **others: object,
    ) -> Self:
        """Make the forest that a fit with tighter stopping rules would have grown. No training data is needed.

        The split of a node does not depend on these parameters: they only decide whether it is used. So one full
        forest contains the forest of every setting, which takes milliseconds to extract.

        Parameters
        ----------
        max_depth, min_samples_split, min_impurity_decrease, max_leaf_nodes, ccp_alpha, n_estimators : optional
            As in the constructor. None leaves the parameter as it is. Parameters can only become stricter, and
            `n_estimators` smaller.
        shrinkage : float, optional
            As in the constructor: any value from 0, since trees keep their means.
        **others
            Other parameters raise an error that explains why they cannot be changed.

        Returns
        -------
        forest of the same class
            The same trees, bit for bit, as a fit with these parameters. Out-of-bag estimates are not carried over:
            `forest.out_of_bag(X, y)` computes them.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> full = RandomForestClassifier(50, random_state=0).fit(X, y)
        >>> small = full.truncate(max_depth=3, n_estimators=20)
        >>> fitted = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
        >>> small.forest_.fingerprint() == fitted.forest_.fingerprint()
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
                "n_estimators": n_estimators,
                "shrinkage": shrinkage,
                **others,
            },
        )

    # --------------------------------------------------------------------------------------------------- predict

    def apply(self, X: TableLike) -> IntArray:
        """Return the leaf of each row in each tree: node numbers inside the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_trees)
        """
        return find_leaves(self, X)

    def decision_path(self, X: TableLike) -> tuple[sparse.csr_matrix, IntArray]:
        """Mark the nodes on the path of each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes of all trees)
        n_nodes_ptr : array of shape (n_trees + 1,)
            Columns `n_nodes_ptr[t]` to `n_nodes_ptr[t + 1]` belong to tree t.
        """
        return mark_paths(self, X), forests_of(self)[0].tree_start.copy()

    def predict_standard_error(
        self,
        X: TableLike,
        X_train: TableLike,
        y_train: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        method: str = "infinitesimal-jackknife",
    ) -> FloatArray:
        """Estimate the standard errors of predictions (Wager, Hastie, Efron 2014), given the training data again.

        They estimate the variation of predictions over training tables of the same size: the error of the mean or
        probability, not the spread of the target. The estimates are corrected for the noise of a finite number of
        trees, and still need many trees: about one for each training row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows to predict.
        X_train, y_train, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order. The bags are drawn again.
        method : {"infinitesimal-jackknife", "jackknife"}, default="infinitesimal-jackknife"
            "infinitesimal-jackknife" correlates predictions with the number of draws of each row; it needs fewer trees.
            "jackknife" (after bootstrap) compares them with the predictions of the trees that have not seen a row; it
            does not support weights.

        Returns
        -------
        array of shape (n_rows,), or for classifiers (n_rows, n_classes)
            NaN where the estimated variance is negative, with a warning: there are too few trees.

        Examples
        --------
        >>> import numpy as np
        >>> from weald import RandomForestRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(100, 2))
        >>> y = X[:, 0] + rng.normal(size=100)
        >>> forest = RandomForestRegressor(1000, min_samples_leaf=5, random_state=0).fit(X, y)
        >>> forest.predict_standard_error([[0.0, 0.0], [2.5, 0.0]], X, y).round(2)
        array([0.17, 0.3 ])
        """
        from weald.uncertainty import standard_error

        data = TrainingArguments(X_train, y_train, sample_weight, groups, stratify)
        return standard_error.predict_standard_error(self, X, data, method)

    # ------------------------------------------------------------------------------------------------------ look

    def get_depth(self) -> IntArray:
        """Depth of each tree: the depth of its deepest leaf.

        Returns
        -------
        array of shape (n_trees,)
        """
        check_is_fitted(self)
        forest = forests_of(self)[0]
        return np.maximum.reduceat(forest.depth(), forest.tree_start[:-1])

    def get_n_leaves(self) -> IntArray:
        """Number of leaves of each tree.

        Returns
        -------
        array of shape (n_trees,)
        """
        check_is_fitted(self)
        forest = forests_of(self)[0]
        return np.add.reduceat((forest.feature < 0).astype(np.int64), forest.tree_start[:-1])

    # ------------------------------------------------------------------------------------------------- neighbors

    def proximity(self, X: TableLike, Y: TableLike = None, *, k: int | None = None) -> sparse.csr_array:
        """Fraction of the trees in which two rows fall into the same leaf. Needs no training data.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        Y : array or data frame of shape (n_others, n_features), optional
            Rows to compare with; X itself by default.
        k : int, optional
            Keep only the k largest entries of each row. Without it, leaves with many rows give many entries.

        Returns
        -------
        sparse matrix of shape (n_rows, n_others)
        """
        from weald.inspection.neighbors import compare_rows

        return compare_rows(self, X, Y, k)

    def neighbors(
        self,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> "Neighbors":
        """Use the forest as a weighted nearest-neighbor method, given the training data again.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order.

        Returns
        -------
        weald.inspection.neighbors.Neighbors
            With `weights`, `nearest`, `leaf_rows`, `proximity` and `outliers`.
        """
        from weald.inspection.neighbors import find_neighbors

        return find_neighbors(self, TrainingArguments(X, y, sample_weight, groups, stratify))

    def explain_row(
        self,
        x: Any,
        X: TableLike = None,
        y: ColumnLike = None,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
        label: Label = None,
        move: float | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> "ForestRowExplanation":
        """Explain the prediction for one row, as text.

        Parameters
        ----------
        x : one row
            Values in the order of the features, or by feature name (a dict, a pandas Series), or a table of one row.
        X : array or data frame, optional
            Rows for comparison, to show how unusual the row's values are and how large a change is.
        y, sample_weight, groups, stratify : optional
            If X is the training data: its target and other arguments of the fit. Then the training rows that determine
            the prediction are listed.
        label : class label, optional
            The class to explain; by default the predicted one.
        move : float, optional
            For regression: the required change of the prediction, for the smallest changes. By default half a standard
            deviation of the training targets.
        feature_names : sequence of str, optional
            Names to use instead of those of the fit.

        Returns
        -------
        weald.inspection.row_explanation.ForestRowExplanation
            The prediction, the `contributions` of the features (SHAP values), the smallest `changes` of one feature
            that change the prediction, and `neighbors`. Print it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from weald import RandomForestClassifier
        >>> iris = load_iris(as_frame=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(iris.data, iris.target_names[iris.target])
        >>> print(forest.explain_row(iris.data.iloc[70], iris.data))
        predicted versicolor; probability 0.650, on average 0.337
        <BLANKLINE>
        feature            value  contribution  among the data
        petal length (cm)  4.8          +0.252  higher than 65 %
        petal width (cm)   1.8          -0.142  higher than 73 %
        sepal length (cm)  5.9          +0.109  higher than 54 %
        sepal width (cm)   3.2          +0.095  higher than 67 %
        <BLANKLINE>
        The smallest changes of one feature that change the prediction:
        sepal length (cm)  above 5.95   (now 5.9)  →  virginica (0.53)
        petal length (cm)  above 4.85   (now 4.8)  →  virginica (0.70)
        sepal width (cm)   at most 3.1  (now 3.2)  →  virginica (0.61)
        """
        from weald.inspection.row_explanation import explain_one_row

        check_is_fitted(self)
        require_uncalibrated(self, "explain_row")
        data = TrainingArguments(X, y, sample_weight, groups, stratify)
        return explain_one_row(self, x, data, label=label, move=move, feature_names=feature_names)

    def weights(
        self,
        X: TableLike,
        X_train: TableLike,
        y_train: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> sparse.csr_array:
        """Weights that express each prediction as a mean of training targets: `weights @ y_train` is `predict(X)`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows to predict.
        X_train, y_train, sample_weight, groups, stratify
            The table that the trees were grown from.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows)
        """
        return self.neighbors(X_train, y_train, sample_weight, groups=groups, stratify=stratify).weights(X)

    def leaf_rows(
        self,
        tree: int,
        leaf: int,
        X_train: TableLike,
        y_train: ColumnLike,
        sample_weight: ColumnLike = None,
        *,
        groups: ColumnLike = None,
        stratify: ColumnLike = None,
    ) -> "LeafRows":
        """Return the training rows of a leaf.

        Parameters
        ----------
        tree : int
            Number of the tree.
        leaf : int
            Number of the leaf inside the tree, as `apply` gives it.
        X_train, y_train, sample_weight, groups, stratify
            The table that the trees were grown from.

        Returns
        -------
        weald.inspection.neighbors.LeafRows
            `rows`, `counts` and `targets`.
        """
        return self.neighbors(X_train, y_train, sample_weight, groups=groups, stratify=stratify).leaf_rows(tree, leaf)
