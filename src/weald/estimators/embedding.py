"""Rows as the leaves that they reach in trees with random cuts: features for others to learn from.

RandomTreesEmbedding    an unsupervised transformer

The trees are extra-trees of one random feature at each node, grown on a random target, which decides next to nothing:
where a tree may have so many leaves, or must decrease impurity, and not more. A row's target is drawn at the address of
its values, so that neither the order of the rows nor copies of them change the trees.
"""

import copy
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import NOTHING, Whole, check_argument, check_flags
from weald.data.schema import Schema
from weald.data.table import read_features
from weald.data.types import Array, ColumnLike, FloatArray, IntArray, Native, TableLike
from weald.engines import params
from weald.engines.draws import draw_many
from weald.errors import DataError
from weald.estimators.forests import ExtraTreesRegressor
from weald.estimators.kernel.samples import hash_rows
from weald.estimators.tree_list import TreeList
from weald.estimators.trees import ExtraTreeRegressor
from weald.forest.forest import Forest

PURPOSE_TARGET = 33  # of draws: the random target of a row
BLOCK = 4096  # rows of a sparse table that are written out at a time
OWN = ("sparse_output",)  # parameters that the trees do not have


class RandomTreesEmbedding(TransformerMixin, BaseEstimator):
    """Turn each row into the leaves that it reaches in trees with random cuts, one column of 0 and 1 for each leaf.

    Nothing is learned but where the rows are: each node cuts a random feature at a random place between its smallest
    and its largest value, so that rows that are alike share leaves. A linear model on top of the leaves can follow
    curved borders.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_depth : int or None, default=5
        Maximum depth of a tree. None: until each leaf holds one row, or equal ones.
    min_samples_split : int or float, default=2
        Smaller nodes become leaves. A float is a fraction of all rows.
    min_samples_leaf : int or float, default=1
        Minimum number of rows in a leaf. A float is a fraction of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Minimum fraction of the total weight in a leaf.
    max_leaf_nodes : int or None, default=None
        Maximum number of leaves of a tree. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node becomes a leaf if its cut decreases the variance of the random target by less.
    sparse_output : bool, default=True
        Whether `transform` returns a sparse matrix, or a dense array.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use. It does not affect the result.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
    warm_start : bool, default=False
        Whether `fit` keeps the existing trees and adds those that `n_estimators` lacks.
    engine : {"auto", "native", "reference"}, default="auto"
        What grows the trees, as for forests. All grow the same trees.
    categorical_features : "from_dtype", list of names, numbers or booleans, or None, default="from_dtype"
        Which features are categorical, as for forests.

    Attributes
    ----------
    model_ : ExtraTreesRegressor
        The forest. What it predicts is the mean of a random target.
    forest_ : weald.forest.forest.Forest
        The trees as immutable arrays.
    estimators_ : sequence of ExtraTreeRegressor
        The trees, created on access.
    seed_ : int
        The seed that was used.
    schema_ : weald.data.schema.Schema
        Names and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if all are strings.

    Examples
    --------
    >>> from weald import RandomTreesEmbedding
    >>> X = [[0.0, 0.0], [0.0, 0.1], [5.0, 5.0], [5.0, 5.1]]
    >>> embedding = RandomTreesEmbedding(n_estimators=20, max_depth=1, random_state=0).fit(X)
    >>> leaves = embedding.transform(X)
    >>> leaves.shape
    (4, 40)
    >>> shared = (leaves @ leaves.T).toarray()  # in how many trees two rows share a leaf
    >>> bool(shared[0, 1] > shared[0, 2])
    True
    """

    model_: ExtraTreesRegressor
    n_features_in_: int

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 5,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: object = None,
        verbose: int = 0,
        warm_start: bool = False,
        engine: str = "auto",
        categorical_features: object = "from_dtype",
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.engine = engine
        self.categorical_features = categorical_features

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: TableLike, y: object = None, sample_weight: ColumnLike = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        y : ignored
        sample_weight : array of shape (n_rows,), optional
            A weight of k is the row k times. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        model = self._prepare()
        target = draw_targets(_read_values(model, X), params.draw_seed(model.random_state))
        model.fit(X, target, sample_weight)
        self.model_, self.n_features_in_ = model, model.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        return self

    def _prepare(self) -> ExtraTreesRegressor:
        """Make the forest that will be fitted: a new one, or with a warm start a copy of the one that is there."""
        check_flags(sparse_output=self.sparse_output, warm_start=self.warm_start)
        check_argument("n_estimators", self.n_estimators, (Whole(1, params.UNLIMITED),))
        check_argument("max_depth", self.max_depth, (Whole(1), NOTHING))
        goes_on = self.warm_start and "model_" in vars(self)
        model = copy.copy(self.model_) if goes_on else ExtraTreesRegressor()
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        model.set_params(**given, max_features=1)
        params.check(params.gather(model), model.task)
        model.random_state = self.seed_ if goes_on else params.draw_seed(self.random_state)
        return model

    def fit_transform(self, X: TableLike, y: object = None, sample_weight: ColumnLike = None) -> Any:
        """Grow the trees, and transform the rows that they were grown from.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        y : ignored
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        sparse matrix or array of shape (n_rows, n_leaves)
        """
        return self.fit(X, y, sample_weight).transform(X)

    # -------------------------------------------------------------------------------------------------- transform

    def transform(self, X: TableLike) -> Any:
        """Mark the leaf of each tree that a row reaches.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        sparse matrix or array of shape (n_rows, n_leaves)
            A column for each leaf of each tree, in their order; as many ones in a row as there are trees.
        """
        check_is_fitted(self)
        forest, leaves = self.forest_, self.apply(X)
        columns = forest.leaf_index()[forest.tree_start[:-1] + leaves]
        n_rows, n_trees = leaves.shape
        starts = np.arange(0, n_rows * n_trees + 1, n_trees)
        shape = (n_rows, (forest.n_nodes + n_trees) // 2)  # a tree has one leaf more than it has splits
        marks = sparse.csr_matrix((np.ones(n_rows * n_trees), columns.ravel(), starts), shape=shape)
        return marks if self.sparse_output else marks.toarray()

    def apply(self, X: TableLike) -> IntArray:
        """Find the leaf of each row in each tree: node numbers inside the trees.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_trees)
        """
        check_is_fitted(self)
        return self.model_.apply(X)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Name the columns of `transform`: `randomtreesembedding_{tree}_{leaf}`, with the number of the leaf's node.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the features that the fit saw; others are refused.

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if len(given) != self.n_features_in_:
                raise DataError(
                    f"input_features should have length equal to the number of features, {self.n_features_in_}, but "
                    f"has {len(given)}. Give those of the fit, or None."
                )
            if known is not None and not np.array_equal(given, known):
                raise DataError("input_features is not equal to feature_names_in_. Give the names of the fit, or None.")
        forest = self.forest_
        tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_start))
        node = np.arange(forest.n_nodes) - np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
        is_leaf = forest.feature < 0
        names = [
            f"randomtreesembedding_{t}_{n}" for t, n in zip(tree[is_leaf].tolist(), node[is_leaf].tolist(), strict=True)
        ]
        return np.array(names, dtype=object)

    # ------------------------------------------------------------------------------------------------------- look

    @property
    def forest_(self) -> Forest:
        """The trees as immutable arrays."""
        check_is_fitted(self)
        return self.model_.forest_

    @property
    def estimators_(self) -> TreeList[ExtraTreeRegressor]:
        """The trees as fitted estimators, created on access."""
        check_is_fitted(self)
        return self.model_.estimators_

    @property
    def seed_(self) -> int:
        """The seed that was used."""
        check_is_fitted(self)
        return self.model_.seed_

    @property
    def schema_(self) -> Schema:
        """Names and categories of the features."""
        check_is_fitted(self)
        return self.model_.schema_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _read_values(model: ExtraTreesRegressor, X: TableLike) -> Native:
    """Read X as the fit will: numbers, and categories as their numbers."""
    return read_features(copy.copy(model), X, reset=True)


def draw_targets(values: Native, seed: int) -> FloatArray:
    """Draw a number from 0 to 1 for each row, at the address of its values."""
    if sparse.issparse(values):
        blocks = (values[begin : begin + BLOCK].toarray() for begin in range(0, values.shape[0], BLOCK))
        hashes = np.concatenate([hash_rows(block) for block in blocks])
    else:
        numbers = np.asarray(values, dtype=np.float64)
        hashes = hash_rows(np.where(np.isnan(numbers), np.nan, numbers))  # missing values are all the same
    target: FloatArray = (draw_many(seed, hashes, 0, PURPOSE_TARGET, 0) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return target
