"""What random forests have in common.

RandomForest    many trees: fit, forests made of forests, what trees say one by one
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.dask_collections import is_dask_collection
from weald.data.types import IntArray
from weald.engines import params
from weald.errors import ParameterError
from weald.estimators import dask_methods
from weald.estimators.base import unfitted_copy
from weald.estimators.checkpoints import Checkpoint
from weald.estimators.ensemble import TreeEnsemble
from weald.estimators.merging import merge, take_trees
from weald.estimators.neighbor_methods import NeighborMethods
from weald.forest.compaction import Thinning, choose_trees


class RandomForest(NeighborMethods, TreeEnsemble):
    """What both forests share: many trees, bags, growing on."""

    _grows_on_clusters = True

    voting: str

    thinning_: Thinning

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        stratify: Any = None,
        checkpoint: Any = None,
        every: int = 10,
    ) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers of any type; NaN is a missing value. float32 and float64 are used as they are. Or a `CodeStore`
            (see `weald.codes`), given alone: it has the target and the weights.
        y : array of shape (n_rows,)
            Class labels, or numbers.
        sample_weight : array of shape (n_rows,), optional
            A weight of k is the row k times. Rows of weight 0 are left out.
        groups : array of shape (n_rows,), optional
            Labels of groups, patients with several visits, say. A bag draws whole groups, so a row is out of bag only
            when its whole group is. `max_samples` then counts groups.
        stratify : array of shape (n_rows,), optional
            Labels of strata. Each stratum has its share of the draws of every bag, and at least one.
        checkpoint : str or path, optional
            A folder for trees that are grown. If the process dies, the same call goes on with those that are there,
            and ends with the same forest. Each file is a model by itself. The folder is yours to delete.
        every : int, default=10
            How many trees go into a file of the checkpoint.

        Returns
        -------
        self
        """
        self._check_params()
        learned = unfitted_copy(self)
        learned._checkpoint = Checkpoint.read(checkpoint, every, self)  # noqa: SLF001
        learned._learn(self, X, y, sample_weight, groups=groups, stratify=stratify)  # noqa: SLF001  (of the same class)
        del learned._checkpoint  # noqa: SLF001  (a fitted forest has no use for it)
        self.__dict__ = learned.__dict__
        return self

    def _learn(self, before: Self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        if self._is_for_a_cluster(X):
            if self._checkpoint is not None:
                raise ParameterError("checkpoint keeps the trees of one machine. Fit on a cluster without it.")
            dask_methods.fit(self, before, X, y, sample_weight, **by_row)
        else:
            super()._learn(before, X, y, sample_weight, **by_row)

    def _is_for_a_cluster(self, X: Any) -> bool:
        """Say whether a cluster is to grow the trees."""
        return self._grows_on_clusters and (self.engine == params.CLUSTER or is_dask_collection(X))

    # --------------------------------------------------------------------------------------------- other forests

    def __add__(self, other: Any) -> Self:
        """Join two forests: the trees of this one, then those of the other. See `weald.merge`."""
        if not isinstance(other, RandomForest):
            return NotImplemented
        models: list[Self] = [self, other]
        return merge(models)

    def __getitem__(self, which: slice) -> Self:
        """Make a forest of some of the trees, `forest[10:50]`; a single tree is `forest.estimators_[10]`."""
        check_is_fitted(self)
        if not isinstance(which, slice):
            raise TypeError(f"forest[{which!r}] is not a slice. Use forest.estimators_[{which!r}] for a single tree.")
        return take_trees(self, range(self._shape().n_trees)[which])

    def thin(self, *, n_trees: int | None = None, max_bytes: int | None = None, tolerance: float | None = None) -> Self:
        """Make a forest of the first trees, and say what it costs out of bag. Give one of the three.

        Parameters
        ----------
        n_trees : int, optional
            How many trees to keep.
        max_bytes : int, optional
            Keep as many as the arrays of `forest_` may take.
        tolerance : float, optional
            Keep as few as raise the out-of-bag error by no more than this share of it: 0.01 is a hundredth. It needs
            `oob_score=True`.

        Returns
        -------
        forest of the same class
            `thinning_` says how many trees and bytes are left, and the out-of-bag error before and after; printed, it
            is a sentence. Trees are independent of one another, so any of them are as good as the first.

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
        check_is_fitted(self, "forest_")
        errors = self.oob_.curve.error if hasattr(self, "oob_") else None
        thinning = choose_trees(self.forest_, errors, n_trees, max_bytes, tolerance)
        thinned = self[: thinning.n_trees]
        thinned.thinning_ = thinning
        return thinned

    # --------------------------------------------------------------------------------------------------- predict

    def apply(self, X: Any) -> IntArray:
        """Find the leaf of each row in each tree: node numbers inside the trees.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_trees)
        """
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, IntArray]:
        """Mark the nodes that each row passes.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        indicator : sparse matrix of shape (n_rows, n_nodes of all trees)
        n_nodes_ptr : array of shape (n_trees + 1,)
            Columns `n_nodes_ptr[t]` to `n_nodes_ptr[t + 1]` belong to tree t.
        """
        return self._paths(X), self._shape().tree_start.copy()

    # ------------------------------------------------------------------------------------------------------ look

    def get_depth(self) -> IntArray:
        """Depth of each tree: of its deepest leaf.

        Returns
        -------
        array of shape (n_trees,)
        """
        forest = self._shape()
        return np.maximum.reduceat(forest.depth(), forest.tree_start[:-1])

    def get_n_leaves(self) -> IntArray:
        """Number of leaves of each tree.

        Returns
        -------
        array of shape (n_trees,)
        """
        forest = self._shape()
        return np.add.reduceat((forest.feature < 0).astype(np.int64), forest.tree_start[:-1])
