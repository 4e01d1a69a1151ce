"""Methods by which forests compare rows. The work is done by `weald.inspection.neighbors`, a layer above."""

from typing import TYPE_CHECKING, Any

from scipy import sparse

from weald.estimators.base import TreeModel

if TYPE_CHECKING:
    from weald.inspection.neighbors import LeafRows, Neighbors


class NeighborMethods(TreeModel):
    """Similar rows, as a forest sees them."""

    def proximity(self, X: Any, Y: Any = None, *, k: int | None = None) -> sparse.csr_array:
        """Share of the trees in which two rows are in the same leaf. Needs no training data.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        Y : array or data frame of shape (n_others, n_features), optional
            Rows to compare with; by default X itself.
        k : int, optional
            Keep only the k largest of each row. Without it, leaves that hold many rows make many entries.

        Returns
        -------
        sparse matrix of shape (n_rows, n_others)
        """
        from weald.inspection.neighbors import compare_rows

        return compare_rows(self, X, Y, k)

    def neighbors(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, stratify: Any = None
    ) -> "Neighbors":
        """See the training rows as neighbors, given the training data again.

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

        return find_neighbors(self, X, y, sample_weight, groups=groups, stratify=stratify)

    def weights(
        self,
        X: Any,
        X_train: Any,
        y_train: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        stratify: Any = None,
    ) -> sparse.csr_array:
        """Write each prediction as a weighted mean of training targets: `weights @ y_train` is `predict(X)`.

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
        X_train: Any,
        y_train: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        stratify: Any = None,
    ) -> "LeafRows":
        """List the training rows that a leaf was made of.

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
