"""Random trees embedding: each row is encoded by its leaves in random trees.

RandomTreesEmbedding    an unsupervised transformer

The trees are extra-trees that consider one random feature per node and are grown on a random target, which affects
the trees only if a number of leaves or an impurity decrease limits them. The target of a row is drawn at the
address of its values, so neither the order of the rows nor copies of them change the trees.
"""

import copy
from typing import Annotated, Any, Self, TypedDict, Unpack

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import NOTHING, WholeNumber, check_argument, check_flags
from weald.data.schema import Schema
from weald.data.table import read_features
from weald.data.types import Array, ColumnLike, FloatArray, IntArray, Native, TableLike
from weald.engines import params
from weald.engines.draws import draw_many
from weald.errors import DataError
from weald.estimators.forests import ExtraTreesRegressor
from weald.estimators.kernel.samples import hash_rows
from weald.estimators.parameters import Attribute, Doc, parameters, set_parameters
from weald.estimators.tree_list import TreeList
from weald.estimators.trees import ExtraTreeRegressor
from weald.forest.forest import Forest

PURPOSE_TARGET = 33  # purpose of draws of a row's random target
BLOCK = 4096  # rows of a sparse table that are made dense at a time
OWN = ("sparse_output",)  # parameters that do not apply to the trees


class EmbeddingParams(TypedDict, total=False):
    """The parameters, declared as in `parameters.py`."""

    max_depth: Annotated[
        int | None,
        Doc("int or None", 5, "Maximum depth of a tree. None: until each leaf holds one row, or equal ones."),
    ]
    min_samples_split: Annotated[
        float, Doc("int or float", 2, "Smaller nodes become leaves. A float is a fraction of all rows.")
    ]
    min_samples_leaf: Annotated[
        float, Doc("int or float", 1, "Minimum number of rows in a leaf. A float is a fraction of all rows.")
    ]
    min_weight_fraction_leaf: Annotated[float, Doc("float", 0.0, "Minimum fraction of the total weight in a leaf.")]
    max_leaf_nodes: Annotated[
        int | None, Doc("int or None", None, "Maximum number of leaves of a tree. None: no limit.")
    ]
    min_impurity_decrease: Annotated[
        float,
        Doc("float", 0.0, "A node becomes a leaf if its cut decreases the variance of the random target by less."),
    ]
    sparse_output: Annotated[bool, Doc("bool", True, "Whether `transform` returns a sparse matrix, or a dense array.")]
    n_jobs: Annotated[
        int | None,
        Doc(
            "int or None",
            None,
            "Number of threads. None: all cores that this process may use. It does not affect the result.",
        ),
    ]
    random_state: Annotated[
        object,
        Doc("int, Generator, RandomState or None", None, "The seed, or a generator to draw it; stored as `seed_`."),
    ]
    verbose: Annotated[int, Doc("int", 0, "1 shows progress and the time left on stderr.")]
    warm_start: Annotated[
        bool, Doc("bool", False, "Whether `fit` keeps the existing trees and adds trees up to `n_estimators`.")
    ]
    engine: Annotated[
        str,
        Doc('{"auto", "native", "reference"}', "auto", "The engine, as for forests. All engines grow the same trees."),
    ]
    categorical_features: Annotated[
        object,
        Doc(
            '"from_dtype", list of names, numbers or booleans, or None',
            "from_dtype",
            "Which features are categorical, as for forests.",
        ),
    ]


ATTRIBUTES = (
    Attribute(
        "model_", "ExtraTreesRegressor", "The forest. Its predictions, means of a random target, have no meaning."
    ),
    Attribute("forest_", "weald.forest.forest.Forest", "The trees as immutable arrays."),
    Attribute("estimators_", "sequence of ExtraTreeRegressor", "The trees, created on access."),
    Attribute("seed_", "int", "The seed that was used."),
    Attribute("schema_", "weald.data.schema.Schema", "Names and categories of the features."),
    Attribute("n_features_in_", "int", "Number of features."),
    Attribute("feature_names_in_", "array of shape (n_features,)", "Names of the features, if all are strings."),
)


@parameters(EmbeddingParams, ATTRIBUTES, Doc("int", 100, "Number of trees."))
class RandomTreesEmbedding(TransformerMixin, BaseEstimator):
    """Encode each row by its leaves in trees with random cuts: one binary column per leaf.

    The encoding depends on X alone: each node cuts a random feature at a random place between its minimum and its
    maximum, so similar rows fall into the same leaves. A linear model on top of the leaves can learn curved
    boundaries.

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

    n_estimators: int
    sparse_output: bool
    warm_start: bool
    max_depth: int | None
    random_state: object

    def __init__(self, n_estimators: int = 100, **given: Unpack[EmbeddingParams]) -> None:
        set_parameters(self, RandomTreesEmbedding, n_estimators=n_estimators, **given)

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: TableLike, y: object = None, sample_weight: ColumnLike = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
        y : ignored
        sample_weight : array of shape (n_rows,), optional
            A row of weight k counts as k copies. Rows of weight 0 are left out.

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
        """Return the forest to fit: a new one, or for a warm start a copy of the existing one."""
        check_flags(sparse_output=self.sparse_output, warm_start=self.warm_start)
        check_argument("n_estimators", self.n_estimators, (WholeNumber(1, params.UNLIMITED),))
        check_argument("max_depth", self.max_depth, (WholeNumber(1), NOTHING))
        can_continue = self.warm_start and "model_" in vars(self)
        model = copy.copy(self.model_) if can_continue else ExtraTreesRegressor()
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}
        model.set_params(**given, max_features=1)
        params.check(params.gather(model), model.task)
        model.random_state = self.seed_ if can_continue else params.draw_seed(self.random_state)
        return model

    def fit_transform(self, X: TableLike, y: object = None, sample_weight: ColumnLike = None) -> Any:
        """Grow the trees, and transform the rows they are grown from.

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
        """Mark the leaf of each tree that a row falls into.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_rows, n_features)

        Returns
        -------
        sparse matrix or array of shape (n_rows, n_leaves)
            A column for each leaf of each tree, in tree order; each row has one 1 per tree.
        """
        check_is_fitted(self)
        forest, leaves = self.forest_, self.apply(X)
        columns = forest.leaf_index()[forest.tree_start[:-1] + leaves]
        n_rows, n_trees = leaves.shape
        starts = np.arange(0, n_rows * n_trees + 1, n_trees)
        shape = (n_rows, (forest.n_nodes + n_trees) // 2)  # a tree has one more leaf than splits
        marks = sparse.csr_matrix((np.ones(n_rows * n_trees), columns.ravel(), starts), shape=shape)
        return marks if self.sparse_output else marks.toarray()

    def apply(self, X: TableLike) -> IntArray:
        """Return the leaf of each row in each tree: node numbers inside the trees.

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
        """Names of the columns of `transform`: `randomtreesembedding_{tree}_{leaf}`, with the node number of the leaf.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the features, as in the fit; others are refused.

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
                    f"has {len(given)}. Give the names of the fit, or None."
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
    """Read X as the fit will: numbers, and categories as codes."""
    return read_features(copy.copy(model), X, reset=True)


def draw_targets(values: Native, seed: int) -> FloatArray:
    """Draw a number between 0 and 1 for each row, at the address of its values."""
    if sparse.issparse(values):
        blocks = (values[begin : begin + BLOCK].toarray() for begin in range(0, values.shape[0], BLOCK))
        hashes = np.concatenate([hash_rows(block) for block in blocks])
    else:
        numbers = np.asarray(values, dtype=np.float64)
        hashes = hash_rows(np.where(np.isnan(numbers), np.nan, numbers))  # all missing values get the same NaN
    target: FloatArray = (draw_many(seed, hashes, 0, PURPOSE_TARGET, 0) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return target
