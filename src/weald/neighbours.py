"""The forest as a weighing of neighbours.

Rows that share a leaf are neighbours in the eyes of a tree. A prediction is a weighted mean of training targets, and
how often two rows share a leaf says how alike the forest finds them.

    HasNeighbours   the methods of forests: proximity, neighbours, weights, leaf_rows
    Neighbours      what needs the training data: weights, rows of a leaf, nearest rows, proximities, outliers

Everything is sparse: a row shares leaves with few others. With leaves (rows x leaves of all trees, one 1 per tree) as
sparse matrices A and B, proximities are A·Bᵀ / trees; with the weights of training rows in leaves instead of B they are
the weights of predictions.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.errors import ParameterError
from weald.estimator import TreeModel
from weald.mdi import class_shares
from weald.model import FloatArray, Forest, IntArray
from weald.params import is_whole
from weald.training import Training, read_again

BLOCK = 2048  # rows that are compared with all others at a time
ONES = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)  # bits that are set


class Nearest(NamedTuple):
    """The training rows that weigh most: numbers of rows and their weights (rows x k), largest first."""

    rows: IntArray
    weights: FloatArray


class LeafRows(NamedTuple):
    """The training rows that a leaf was made of."""

    rows: IntArray  # numbers of rows, ascending
    counts: FloatArray  # how often each was drawn; without bags, its weight
    targets: npt.NDArray[Any]


def mark_leaves(forest: Forest, leaves: IntArray) -> sparse.csr_array:
    """Mark the leaf of each row in each tree: rows x nodes of all trees."""
    n_rows, n_trees = leaves.shape
    columns = (leaves + forest.tree_start[:-1]).ravel()
    starts = np.arange(0, n_rows * n_trees + 1, n_trees)
    return sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(n_rows, forest.n_nodes))


def keep_largest(block: sparse.csr_array, k: int) -> sparse.csr_array:
    """Keep the k largest entries of each row; of equal ones the first columns."""
    block.sort_indices()
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    order = np.lexsort((block.indices, -block.data, rows))
    place = np.arange(len(order)) - block.indptr[rows]
    kept = np.sort(order[place < k])
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=block.shape[0]))])
    return sparse.csr_array((block.data[kept], block.indices[kept], starts), shape=block.shape)


def multiply_in_blocks(left: sparse.csr_array, right: sparse.csr_array, k: int | None) -> Iterator[sparse.csr_array]:
    """Multiply some rows at a time, so that only the largest entries are ever held for all rows."""
    for begin in range(0, left.shape[0], BLOCK):
        block = sparse.csr_array(left[begin : begin + BLOCK] @ right)
        yield block if k is None else keep_largest(block, k)


def check_k(k: Any, *, none: bool) -> None:
    """Refuse what is not a number of neighbours."""
    if not (none and k is None) and not (is_whole(k) and k >= 1):
        raise ParameterError(f"k={k!r} is not allowed. Give a whole number from 1{' or None' if none else ''}.")


def share_leaves(forest: Forest, leaves: IntArray, others: IntArray, k: int | None) -> sparse.csr_array:
    """Share of the trees in which two rows are in the same leaf (rows x others)."""
    check_k(k, none=True)
    right = sparse.csr_array(mark_leaves(forest, others).T)
    blocks = list(multiply_in_blocks(mark_leaves(forest, leaves), right, k))
    return sparse.csr_array(sparse.vstack(blocks, format="csr") / forest.n_trees)


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The training rows as a forest's neighbours; made by `forest.neighbours(X, y)`.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = X[:, 0] ** 2
    >>> forest = weald.RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> neighbours = forest.neighbours(X, y)
    >>> W = neighbours.weights([[0.5, 0.5], [-1.0, 0.0]])
    >>> bool(np.allclose(W @ y, forest.predict([[0.5, 0.5], [-1.0, 0.0]])))
    True
    """

    training: Training

    # ------------------------------------------------------------------------------------------------------ weights

    def weights(self, X: Any = None, *, k: int | None = None) -> sparse.csr_array:
        """Write each prediction as a weighted mean of training targets.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to predict. None: the training rows, each by the trees whose bags lack it; then the weights give the
            out-of-bag predictions.
        k : int, optional
            Keep only the k largest weights of each row.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows)
            Rows add up to 1. `weights @ y` is `predict(X)`; with the classes as columns of 0 and 1 it is
            `predict_proba(X)`. A row that is in every bag has no out-of-bag weights, and its line is empty.
        """
        check_k(k, none=True)
        training = self.training
        if X is None:
            asked = mark_leaves(training.forest, self._leaves())
            asked.data = self._is_new().T.astype(np.float64).ravel()
            asked.eliminate_zeros()
            n_trees = np.diff(asked.indptr)
        else:
            asked = mark_leaves(training.forest, training.model.apply(X))
            n_trees = np.full(asked.shape[0], training.forest.n_trees)
        blocks = list(multiply_in_blocks(asked, self._shares_of_leaves(), k))
        scale = sparse.diags_array(1 / np.maximum(n_trees, 1))
        return self._for_all_columns(sparse.csr_array(scale @ sparse.vstack(blocks, format="csr")), by_row=X is None)

    def nearest(self, X: Any = None, k: int = 5) -> Nearest:
        """Find the training rows that weigh most in a prediction.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to predict; None: the training rows, out of bag.
        k : int, default=5
            How many training rows to find. Where there are fewer, the rest are -1, with weight 0.

        Returns
        -------
        Nearest
            `rows` and `weights`, each of shape (n_rows, k).
        """
        check_k(k, none=False)
        found = self.weights(X, k=k)
        rows = np.full((found.shape[0], k), -1, dtype=np.int64)
        weights = np.zeros((found.shape[0], k))
        for i, (begin, end) in enumerate(zip(found.indptr[:-1], found.indptr[1:], strict=True)):
            order = np.lexsort((found.indices[begin:end], -found.data[begin:end]))
            rows[i, : end - begin] = found.indices[begin:end][order]
            weights[i, : end - begin] = found.data[begin:end][order]
        return Nearest(rows, weights)

    def leaf_rows(self, tree: int, leaf: int) -> LeafRows:
        """List the training rows that a leaf was made of.

        Parameters
        ----------
        tree : int
            Number of the tree.
        leaf : int
            Number of the leaf inside the tree, as `apply` gives it.

        Returns
        -------
        LeafRows
            `rows`, `counts` and `targets`.
        """
        forest = self.training.forest
        if not 0 <= tree < forest.n_trees:
            raise ParameterError(f"There is no tree {tree}: the forest has {forest.n_trees}, counted from 0.")
        begin, end = forest.tree_start[tree : tree + 2].tolist()
        if not 0 <= leaf < end - begin or forest.feature[begin + leaf] >= 0:
            raise ParameterError(f"Node {leaf} of tree {tree} is not a leaf. `apply` gives the leaves of rows.")
        counts = self._counts(range(tree, tree + 1))[0]
        rows = np.flatnonzero((self._leaves()[:, tree] == leaf) & (counts > 0))
        return LeafRows(self._places()[rows], counts[rows], self.training.labels()[rows])

    # --------------------------------------------------------------------------------------------------- proximities

    def proximity(self, X: Any = None, *, k: int | None = None, out_of_bag: bool = False) -> sparse.csr_array:
        """Share of the trees in which rows share a leaf with training rows.

        Parameters
        ----------
        X : array or data frame, optional
            Rows; None: the training rows themselves.
        k : int, optional
            Keep only the k largest of each row. Without it, leaves that hold many rows make many entries.
        out_of_bag : bool, default=False
            Count only trees that have seen neither of two training rows.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows)
        """
        check_k(k, none=True)
        if out_of_bag and X is not None:
            raise ParameterError("out_of_bag=True compares training rows with one another. Leave X out.")
        blocks = list(self._proximities(X, k, out_of_bag=out_of_bag))
        return self._for_all_columns(sparse.csr_array(sparse.vstack(blocks, format="csr")), by_row=X is None)

    def _proximities(self, X: Any, k: int | None, *, out_of_bag: bool) -> Iterator[sparse.csr_array]:
        """Compare rows with the training rows, some rows at a time."""
        forest = self.training.forest
        right = mark_leaves(forest, self._leaves())
        left = right if X is None else mark_leaves(forest, self.training.model.apply(X))
        if not out_of_bag:
            for block in multiply_in_blocks(left, sparse.csr_array(right.T), k):
                yield sparse.csr_array(block / forest.n_trees)
            return
        is_new = self._is_new()
        right.data = is_new.T.astype(np.float64).ravel()
        right.eliminate_zeros()
        bits, begin = np.packbits(is_new, axis=0).T, 0
        for block in multiply_in_blocks(right, sparse.csr_array(right.T), None):
            rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr)) + begin
            both = ONES[bits[rows] & bits[block.indices]].sum(axis=1)
            block.data /= np.maximum(both, 1)
            begin += block.shape[0]
            yield block if k is None else keep_largest(block, k)

    def outliers(self, *, out_of_bag: bool = False) -> FloatArray:
        """Score training rows by how little they have in common with others of their class (Breiman).

        The raw score of a row is the number of rows divided by the sum of its squared proximities to its class (in
        regression, to all rows). It is given less the median of the class, in units of the median absolute deviation
        (times 1.4826, the standard deviation of normal numbers). Above 10 a row deserves a look.

        Parameters
        ----------
        out_of_bag : bool, default=False
            Count only trees that have seen neither of two rows.

        Returns
        -------
        array of shape (n_training_rows,)
        """
        table = self.training.reading.table
        kind = table.target if table.n_classes else np.zeros(table.n_rows, dtype=np.int64)
        sums, begin = np.empty(table.n_rows), 0
        for block in self._proximities(None, None, out_of_bag=out_of_bag):
            rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
            same = kind[rows + begin] == kind[block.indices]
            sums[begin : begin + block.shape[0]] = np.bincount(
                rows[same], weights=block.data[same] ** 2, minlength=block.shape[0]
            )
            begin += block.shape[0]
        with np.errstate(divide="ignore"):
            raw = table.n_rows / sums
        scores = np.empty(table.n_rows)
        for k in np.unique(kind):
            of_class = raw[kind == k]
            away = of_class - np.median(of_class)
            spread = 1.4826 * np.median(np.abs(away))
            scores[kind == k] = away / spread if spread > 0 else away
        return self.training.for_all_rows(scores)

    # ---------------------------------------------------------------------------------------------- the training data

    def _leaves(self) -> IntArray:
        """Find the leaf of each training row in each tree."""
        t = self.training
        return t.engine.leaves(t.forest, t.reading.table.X, t.n_threads, None)

    def _is_new(self) -> npt.NDArray[np.bool_]:
        """Say which rows are outside which bags (trees x rows)."""
        return self.training.out_of_bag(range(self.training.forest.n_trees))

    def _counts(self, trees: range) -> FloatArray:
        """How much each training row counts in some trees (trees x rows)."""
        if self.training.with_bags:
            return self.training.bags(trees).astype(np.float64)
        return np.tile(self.training.weight, (len(trees), 1))

    def _shares_of_leaves(self) -> sparse.csr_array:
        """What each training row contributes to what each leaf says: nodes of all trees x training rows.

        Rows of one class share what the leaf says of their class by how much they count; in regression all rows are of
        one class. So class weights, which a leaf knows, need not be known here.
        """
        forest, table, leaves = self.training.forest, self.training.reading.table, self._leaves()
        kind = table.target if table.n_classes else np.zeros(table.n_rows, dtype=np.int64)
        n_kinds = max(1, table.n_classes)
        data, nodes, columns = [], [], []
        for trees in self.training.batches():
            for tree, counts in zip(trees, self._counts(trees), strict=True):
                rows = np.flatnonzero(counts)
                at = leaves[rows, tree].astype(np.int64)
                place = at * n_kinds + kind[rows]
                share = counts[rows] / np.bincount(place, weights=counts[rows])[place]
                if table.n_classes:
                    share *= self._said(forest.take([tree]))[at, kind[rows]]
                data.append(share)
                nodes.append(at + forest.tree_start[tree])
                columns.append(rows)
        entries = (np.concatenate(data), (np.concatenate(nodes), np.concatenate(columns)))
        shares = sparse.csr_array(sparse.coo_array(entries, shape=(forest.n_nodes, table.n_rows)))
        shares.eliminate_zeros()
        return shares

    def _said(self, tree: Forest) -> FloatArray:
        """What each node says of the classes: their shares, or with hard votes 1 for the commonest."""
        shares = class_shares(tree)
        if getattr(self.training.model, "voting", "soft") == "hard":
            votes: FloatArray = np.eye(shares.shape[1])[shares.argmax(axis=1)]
            return votes
        return shares

    def _places(self) -> IntArray:
        """The user's numbers of the rows of the table: rows without weight are not in it."""
        kept = self.training.reading.kept
        return np.arange(self.training.n_rows) if kept is None else np.flatnonzero(kept)

    def _for_all_columns(self, found: sparse.csr_array, *, by_row: bool) -> sparse.csr_array:
        """Give rows that were left out for their zero weight empty columns, and empty lines where lines are rows."""
        kept = self.training.reading.kept
        if kept is None:
            return found
        lengths = np.diff(found.indptr)
        if by_row:
            spread = np.zeros(len(kept), dtype=lengths.dtype)
            spread[kept] = lengths
            lengths = spread
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_array((found.data, self._places()[found.indices], starts), shape=(len(lengths), len(kept)))


class HasNeighbours(TreeModel):
    """What forests know of rows that are alike."""

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
        leaves = self._leaves(X)
        return share_leaves(self.forest_, leaves, leaves if Y is None else self._leaves(Y), k)

    def neighbours(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, stratify: Any = None
    ) -> Neighbours:
        """See the training rows as neighbours, given the training data again.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from, rows in any order.

        Returns
        -------
        weald.neighbours.Neighbours
            With `weights`, `nearest`, `leaf_rows`, `proximity` and `outliers`.
        """
        check_is_fitted(self, "forest_")
        bags = any(origin.bags.bootstrap for origin in self.forest_.origins)
        return Neighbours(read_again(self, X, y, sample_weight, bags=bags, groups=groups, stratify=stratify))

    def weights(self, X: Any, X_train: Any, y_train: Any, sample_weight: Any = None) -> sparse.csr_array:
        """Write each prediction as a weighted mean of training targets: `weights @ y_train` is `predict(X)`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Rows to predict.
        X_train, y_train, sample_weight
            The table that the trees were grown from.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows)
        """
        return self.neighbours(X_train, y_train, sample_weight).weights(X)

    def leaf_rows(self, tree: int, leaf: int, X_train: Any, y_train: Any, sample_weight: Any = None) -> LeafRows:
        """List the training rows that a leaf was made of.

        Parameters
        ----------
        tree : int
            Number of the tree.
        leaf : int
            Number of the leaf inside the tree, as `apply` gives it.
        X_train, y_train, sample_weight
            The table that the trees were grown from.

        Returns
        -------
        weald.neighbours.LeafRows
            `rows`, `counts` and `targets`.
        """
        return self.neighbours(X_train, y_train, sample_weight).leaf_rows(tree, leaf)
