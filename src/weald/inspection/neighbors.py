"""Neighbors and proximity: which training rows determine a prediction.

Rows that share a leaf are neighbors in a tree. A prediction is a weighted mean of training targets, and the fraction of
trees in which two rows share a leaf measures their similarity.

    find_neighbors  a forest and its training data -> Neighbors
    Neighbors       methods that need the training data: weights, rows of a leaf, nearest rows, proximities, outliers

The engine sums, for each row, weights of the members of its leaves. If each member has weight 1, the sum is the number
of trees in which two rows share a leaf; if the weight is its contribution to the leaf value, the sums are the weights
of a prediction. Results are sparse: a row shares leaves with few others.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import NOTHING, WholeNumber, check_argument
from weald.data.short_repr import short_repr
from weald.data.table import TrainingArguments
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray, TableLike
from weald.engines.choose import open_engine
from weald.engines.interface import Engine, LeafMembership
from weald.engines.params import UNLIMITED
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.prediction import find_leaves
from weald.estimators.training_data import TrainingData, read_again
from weald.forest.forest import Forest
from weald.inspection.mdi import class_probabilities

MOST_ENTRIES = 2**29  # limit for entries of a sparse result: 6 GiB


class Nearest(NamedTuple):
    """The training rows with the largest weights: row numbers and weights (rows x k), largest first."""

    rows: IntArray
    weights: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)


class LeafRows(NamedTuple):
    """The training rows of a leaf."""

    rows: IntArray  # row numbers, ascending
    counts: FloatArray  # how many times each was drawn; without bags, its weight
    targets: Array

    def __repr__(self) -> str:
        return short_repr(self)


def list_members(forest: Forest, leaves: IntArray, n_members: int) -> LeafMembership:
    """List the member rows of each leaf (leaves: rows x trees; -1: in none), without query rows."""
    nodes = np.where(leaves < 0, -1, leaves + forest.tree_start[:-1]).ravel()
    rows = np.repeat(np.arange(n_members, dtype=np.int32), forest.n_trees)
    at = nodes >= 0
    marks = np.ones(np.count_nonzero(at), dtype=np.bool_)
    members = sparse.csr_array(sparse.coo_array((marks, (nodes[at], rows[at])), shape=(forest.n_nodes, n_members)))
    return LeafMembership(leaves, forest.tree_start, n_members, members.indptr, members.indices)


def check_k(k: object, *, none: bool) -> None:
    """Check a number of neighbors."""
    check_argument("k", k, (WholeNumber(1, UNLIMITED), NOTHING) if none else (WholeNumber(1, UNLIMITED),))


def require_room(sharing: LeafMembership) -> None:
    """Refuse a result that does not fit into memory. A row has at least as many entries as its largest leaf."""
    sizes, least = np.diff(sharing.start), np.zeros(len(sharing.leaves), dtype=np.int64)
    for tree, leaves in zip(sharing.tree_start[:-1], sharing.leaves.T, strict=True):
        least = np.maximum(least, np.where(leaves < 0, 0, sizes[tree + leaves]))
    n_entries = int(least.sum())
    if n_entries > MOST_ENTRIES:
        raise DataError(
            f"The result would have more than {n_entries:,} entries ({12 * n_entries / 2**30:.0f} GiB), because leaves "
            "have many rows. Give k to keep the largest of each row, or give fewer rows at a time."
        )


def add_up(engine: Engine, sharing: LeafMembership, k: int | None, n_threads: int) -> sparse.csr_array:
    """Sum the weights of leaf members for query rows (rows x members)."""
    check_k(k, none=True)
    if k is None:
        require_room(sharing)
    starts, members, sums = engine.add_proximities(sharing, k or 0, n_threads, None)
    return sparse.csr_array((sums, members, starts), shape=(len(sharing.leaves), sharing.n_members))


def compare_rows(model: TreeModel, X: TableLike, Y: TableLike = None, k: int | None = None) -> sparse.csr_array:
    """Fraction of the trees in which two rows are in the same leaf (rows x others)."""
    check_k(k, none=True)
    leaves = find_leaves(model, X)
    others = leaves if Y is None else find_leaves(model, Y)
    sharing = replace(list_members(model.forest_, others, len(others)), leaves=leaves)
    found = add_up(open_engine(model.engine), sharing, k, count_threads(model.n_jobs))
    found.data /= model.forest_.n_trees
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Neighbors:
    """The neighbors of rows among the training rows; made by `forest.neighbors(X, y)`.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = X[:, 0] ** 2
    >>> forest = weald.RandomForestRegressor(20, random_state=0).fit(X, y)
    >>> neighbors = forest.neighbors(X, y)
    >>> W = neighbors.weights([[0.5, 0.5], [-1.0, 0.0]])
    >>> bool(np.allclose(W @ y, forest.predict([[0.5, 0.5], [-1.0, 0.0]])))
    True
    """

    training: TrainingData

    def __repr__(self) -> str:
        forest = self.training.forest
        trees = "1 tree" if forest.n_trees == 1 else f"{forest.n_trees:,} trees"
        return f"<neighbors: {self.training.n_rows:,} training rows, {trees}>"

    # ------------------------------------------------------------------------------------------------------ weights

    def weights(self, X: TableLike = None, *, k: int | None = None) -> sparse.csr_array:
        """Return each prediction as a weighted mean of training targets.

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
            Each row sums to 1. `weights @ y` is `predict(X)`; with the classes as columns of 0 and 1 it is
            `predict_proba(X)`. A row that is in every bag has no out-of-bag weights: all are 0.
        """
        check_k(k, none=True)
        forest = self.training.forest
        if forest.shrinkage:
            raise ParameterError(
                f"With shrinkage={forest.shrinkage:g} a prediction is no mean over the rows that share its leaves: the "
                "rows of the nodes above count, too. Give a model without: model.truncate(shrinkage=0.0)."
            )
        leaves = self._out_of_bag_leaves() if X is None else find_leaves(self.training.model, X)
        return self._weigh(leaves, k, by_row=X is None)

    def _weigh(self, leaves: IntArray, k: int | None, *, by_row: bool) -> sparse.csr_array:
        """Return the weights of rows in some leaves."""
        forest = self.training.forest
        leaves = np.where(forest.has_vote(), leaves, -1).astype(np.int32)
        members = self._leaf_contributions()
        sharing = LeafMembership(
            leaves, forest.tree_start, self.training.n_rows, members.indptr, members.indices, members.data
        )
        found = self._add_up(sharing, k)
        n_trees = np.maximum(1, np.count_nonzero(leaves >= 0, axis=1))
        found.data /= np.repeat(n_trees, np.diff(found.indptr))
        return self._for_all_columns(found, by_row=by_row)

    def nearest(self, X: TableLike = None, k: int = 5) -> Nearest:
        """Find the training rows with the largest weights in a prediction.

        Parameters
        ----------
        X : array or data frame, optional
            Rows to predict; None: the training rows, out of bag.
        k : int, default=5
            Number of training rows to find. If there are fewer, the rest are -1, with weight 0.

        Returns
        -------
        Nearest
            `rows` and `weights`, each of shape (n_rows, k).
        """
        check_k(k, none=False)
        return _largest(self.weights(X, k=k), k)

    def nearest_of_leaves(self, leaves: IntArray, k: int) -> Nearest:
        """Find the neighbors of rows whose leaves are known (rows x trees)."""
        return _largest(self._weigh(leaves, k, by_row=False), k)

    def targets_of(self, rows: IntArray) -> Array:
        """Return the targets of training rows, as the user gave them."""
        targets: Array = self.training.labels()[np.searchsorted(self._places(), rows)]
        return targets

    def leaf_rows(self, tree: int, leaf: int) -> LeafRows:
        """List the training rows of a leaf.

        Parameters
        ----------
        tree : int
            Number of the tree.
        leaf : int
            Number of the leaf inside the tree, as returned by `apply`.

        Returns
        -------
        LeafRows
            `rows`, `counts` and `targets`.
        """
        forest = self.training.forest
        if not 0 <= tree < forest.n_trees:
            raise ParameterError(f"There is no tree {tree}: give a number from 0 to {forest.n_trees - 1}.")
        begin, end = forest.tree_start[tree : tree + 2].tolist()
        if not 0 <= leaf < end - begin or forest.feature[begin + leaf] >= 0:
            raise ParameterError(f"Node {leaf} of tree {tree} is not a leaf. Give a leaf, as returned by `apply`.")
        counts = self._counts(range(tree, tree + 1))[0]
        rows = np.flatnonzero((self._leaves()[:, tree] == leaf) & (counts > 0))
        return LeafRows(self._places()[rows], counts[rows], self.training.labels()[rows])

    # --------------------------------------------------------------------------------------------------- proximities

    def proximity(self, X: TableLike = None, *, k: int | None = None, out_of_bag: bool = False) -> sparse.csr_array:
        """Compute the fraction of the trees in which rows share a leaf with training rows.

        Parameters
        ----------
        X : array or data frame, optional
            Rows; None: the training rows themselves.
        k : int, optional
            Keep only the k largest of each row. Without it, large leaves give many entries.
        out_of_bag : bool, default=False
            Count only trees whose bags have neither of the two training rows.

        Returns
        -------
        sparse matrix of shape (n_rows, n_training_rows)
        """
        check_k(k, none=True)
        if out_of_bag and X is not None:
            raise ParameterError("out_of_bag=True compares training rows with each other. Leave X out.")
        found = self._add_up(self._sharing(X, out_of_bag=out_of_bag), k)
        if not out_of_bag:
            found.data /= self.training.forest.n_trees
        return self._for_all_columns(found, by_row=X is None)

    def outliers(self, *, out_of_bag: bool = False) -> FloatArray:
        """Outlier scores of training rows: low proximity to other rows of their class (Breiman).

        The raw score of a row is the number of rows divided by the sum of its squared proximities to its class (in
        regression, to all rows). The median of the class is subtracted, and the result divided by the median absolute
        deviation (times 1.4826, the standard deviation of normal numbers). Check rows with a score above 10.

        Parameters
        ----------
        out_of_bag : bool, default=False
            Count only trees whose bags have neither of the two rows.

        Returns
        -------
        array of shape (n_training_rows,)
        """
        table = self.training.reading.table
        kind = table.target if table.task is Task.CLASSIFICATION else np.zeros(table.n_rows, dtype=np.int64)
        training, sharing = self.training, self._sharing(None, out_of_bag=out_of_bag)
        squares = training.engine.square_proximities(sharing, kind, kind, training.n_threads, None)
        n_trees = 1 if out_of_bag else training.forest.n_trees
        with np.errstate(divide="ignore"):
            raw = table.n_rows / (squares / n_trees**2)
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

    def _is_new(self) -> BoolArray:
        """Mark the rows outside each bag (rows x trees)."""
        return self.training.out_of_bag(range(self.training.forest.n_trees)).T

    def _out_of_bag_leaves(self) -> IntArray:
        """Find the leaf of each training row in each tree for which it is out of bag; -1 in the other trees."""
        leaves: IntArray = np.where(self._is_new(), self._leaves(), -1).astype(np.int32)
        return leaves

    def _sharing(self, X: TableLike, *, out_of_bag: bool) -> LeafMembership:
        """Return the leaves of rows, and the training rows in each leaf."""
        forest, n_rows = self.training.forest, self.training.n_rows
        if out_of_bag:
            leaves = self._out_of_bag_leaves()
            return replace(list_members(forest, leaves, n_rows), counting=leaves >= 0)
        leaves = self._leaves()
        members = list_members(forest, leaves, n_rows)
        return members if X is None else replace(members, leaves=find_leaves(self.training.model, X))

    def _add_up(self, sharing: LeafMembership, k: int | None) -> sparse.csr_array:
        return add_up(self.training.engine, sharing, k, self.training.n_threads)

    def _counts(self, trees: range) -> FloatArray:
        """Number of times each training row counts in some trees (trees x rows)."""
        if self.training.with_bags:
            return self.training.bags(trees).astype(np.float64)
        return np.tile(self.training.weight, (len(trees), 1))

    def _leaf_contributions(self) -> sparse.csr_array:
        """Contribution of each training row to each node value: nodes of all trees x training rows.

        The rows of one class share the leaf's value for their class in proportion to their counts; in regression all
        rows are one class. So class weights, which are part of the leaf values, are not needed here.
        """
        forest, table, leaves = self.training.forest, self.training.reading.table, self._leaves()
        kind = table.target if table.task is Task.CLASSIFICATION else np.zeros(table.n_rows, dtype=np.int64)
        n_kinds = table.n_classes if table.task is Task.CLASSIFICATION else 1
        data, nodes, columns = [], [], []
        for trees in self.training.batches():
            for tree, counts in zip(trees, self._counts(trees), strict=True):
                rows = np.flatnonzero(counts)
                at = leaves[rows, tree].astype(np.int64)
                place = at * n_kinds + kind[rows]
                share = counts[rows] / np.bincount(place, weights=counts[rows])[place]
                if table.task is Task.CLASSIFICATION:
                    share *= self._node_predictions(forest.take([tree]))[at, kind[rows]]
                data.append(share)
                nodes.append(at + forest.tree_start[tree])
                columns.append(rows)
        entries = (np.concatenate(data), (np.concatenate(nodes), np.concatenate(columns)))
        shares = sparse.csr_array(sparse.coo_array(entries, shape=(forest.n_nodes, table.n_rows)))
        shares.eliminate_zeros()
        return shares

    def _node_predictions(self, tree: Forest) -> FloatArray:
        """Value of each node for the classes: probabilities, or with hard votes 1 for the majority class."""
        shares = class_probabilities(tree)
        if getattr(self.training.model, "voting", "soft") == "hard":
            votes: FloatArray = np.eye(shares.shape[1])[shares.argmax(axis=1)]
            return votes
        return shares

    def _places(self) -> IntArray:
        """Positions of the table's rows in the user's data, which may also have rows of weight 0."""
        kept = self.training.reading.kept
        return np.arange(self.training.n_rows) if kept is None else np.flatnonzero(kept)

    def _for_all_columns(self, found: sparse.csr_array, *, by_row: bool) -> sparse.csr_array:
        """Add empty columns for rows of weight 0, and empty rows if the rows are training rows."""
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


def _largest(found: sparse.csr_array, k: int) -> Nearest:
    """List the largest weights of each row."""
    lengths = np.diff(found.indptr)
    line = np.repeat(np.arange(found.shape[0]), lengths)
    order = np.lexsort((found.indices, -found.data, line))
    place = np.arange(len(line)) - np.repeat(found.indptr[:-1], lengths)
    rows = np.full((found.shape[0], k), -1, dtype=np.int64)
    weights = np.zeros((found.shape[0], k))
    rows[line, place] = found.indices[order]
    weights[line, place] = found.data[order]
    return Nearest(rows, weights)


def find_neighbors(model: TreeModel, data: TrainingArguments) -> Neighbors:
    """Read the training data of a forest again; see `RandomForestClassifier.neighbors`."""
    check_is_fitted(model, "forest_")
    bags = any(origin.bags.bootstrap for origin in model.forest_.origins)
    return Neighbors(read_again(model, data, bags=bags))
