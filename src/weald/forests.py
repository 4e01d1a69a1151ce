"""Random forests.

Trees                     `estimators_`: the trees of a forest, as a list
RandomForestClassifier
RandomForestRegressor
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald import lazily, oob, params, progress, settling, several
from weald import resampling as ways
from weald.bagging import read_design
from weald.checkpoints import Checkpoint
from weald.engines.door import Engine
from weald.errors import DataError, ParameterError, warn
from weald.estimator import TreeClassifier, TreeRegressor, unfitted_copy
from weald.merging import merge, take_trees
from weald.model import FloatArray, Forest, IntArray
from weald.neighbours import HasNeighbours
from weald.oob import OutOfBag
from weald.schema import same_categories
from weald.shrinking import Thinning, choose_trees
from weald.table import Reading
from weald.threads import count_threads
from weald.trees import DecisionTreeClassifier, DecisionTreeRegressor, SingleTree, Tree

AnyTree = TypeVar("AnyTree", bound=SingleTree)


class Trees(Sequence[AnyTree], Generic[AnyTree]):
    """The trees of a forest as fitted estimators, made when they are asked for.

    Examples
    --------
    >>> from weald import RandomForestRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 3.0, 4.0]
    >>> model = RandomForestRegressor(n_estimators=3, random_state=0, engine="reference").fit(X, y)
    >>> len(model.estimators_)
    3
    >>> sum(tree.predict([[2.5]]) for tree in model.estimators_) / 3 == model.predict([[2.5]])
    array([ True])
    """

    def __init__(self, model: "RandomForest", kind: type[AnyTree]) -> None:
        self._model = model
        self._kind = kind

    def __len__(self) -> int:
        return self._model._shape().n_trees  # noqa: SLF001  (it belongs to forests)

    @overload
    def __getitem__(self, which: int) -> AnyTree: ...
    @overload
    def __getitem__(self, which: slice) -> list[AnyTree]: ...
    def __getitem__(self, which: int | slice) -> AnyTree | list[AnyTree]:
        if isinstance(which, slice):
            return [self._make(t) for t in range(len(self))[which]]
        try:
            number = range(len(self))[which]
        except IndexError:
            raise IndexError(f"There is no tree {which}: the forest has {len(self)}, counted from 0.") from None
        return self._make(number)

    def __iter__(self) -> Iterator[AnyTree]:
        return (self._make(t) for t in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} trees>"

    def _make(self, number: int) -> AnyTree:
        """Make a fitted estimator of one tree."""
        model, tree = self._model, self._kind()
        shared = {name: value for name, value in params.gather(model).items() if name in tree.get_params()}
        if shared.get("class_weight") == "balanced_subsample":
            shared["class_weight"] = "balanced"  # a single tree has no bag but the table
        tree.set_params(**{**shared, "random_state": model.seed_})
        learnt = ("growth_", "seed_", "n_outputs_", "classes_", "n_classes_", "n_features_in_", "feature_names_in_")
        tree.__dict__.update({name: getattr(model, name) for name in (*learnt, "schema_") if hasattr(model, name)})
        tree.__dict__.update(model._table_schema())  # noqa: SLF001  (its trees)
        if model._has_several():  # noqa: SLF001
            tree.forests_ = tuple(forest.take([number]) for forest in model.forests_)
            tree.tree_ = Tree(tree.forests_[0], model.growth_.criterion, tree.forests_)
            return tree
        tree.forest_ = replace(model.forest_.take([number]), tree_weight=np.empty(0))
        tree.tree_ = Tree(tree.forest_, model.growth_.criterion)
        return tree


class RandomForest(HasNeighbours):
    """What both forests share: many trees, bags, growing on."""

    _grows_on_clusters = True

    n_estimators: int | str
    max_estimators: int
    bootstrap: bool | str
    oob_score: Any
    warm_start: bool
    voting: str

    oob_: OutOfBag
    oob_score_: float
    oob_error_: float
    oob_share_: float
    thinning_: Thinning

    _checkpoint: Checkpoint | None = None  # of the fit that is under way

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
        learnt = unfitted_copy(self)
        learnt._checkpoint = Checkpoint.read(checkpoint, every, self)  # noqa: SLF001
        learnt._learn(self, X, y, sample_weight, groups=groups, stratify=stratify)  # noqa: SLF001  (of the same class)
        del learnt._checkpoint  # noqa: SLF001  (a fitted forest has no use for it)
        self.__dict__ = learnt.__dict__
        return self

    def _learn(self, before: Self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        if self._is_for_a_cluster(X):
            from weald.on_cluster import learn  # loads only when it is wanted, and stands above

            if self._checkpoint is not None:
                raise ParameterError("checkpoint keeps the trees of one machine. Fit on a cluster without it.")
            learn(self, before, X, y, sample_weight, **by_row)
        else:
            super()._learn(before, X, y, sample_weight, **by_row)

    def _is_for_a_cluster(self, X: Any) -> bool:
        """Say whether a cluster is to grow the trees."""
        return self._grows_on_clusters and (self.engine == params.CLUSTER or lazily.is_lazy(X))

    def _read_table(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> Reading:
        return read_design(super()._read_table(X, y, sample_weight), **by_row)

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow the trees, or those that are still missing; then look at the rows outside the bags."""
        if reading.table.targets is not None:
            self._grow_all_targets(engine, coded, reading)
            return
        old = before.forest_ if self.warm_start and hasattr(before, "forest_") else None
        self.seed_ = self._draw_seed() if old is None else before.seed_
        if old is not None:
            self._check_that_it_goes_on(before, old)
        if isinstance(self.n_estimators, str):
            self._grow_until_settled(engine, coded, reading, old)
            return
        self.forest_ = self._grow_so_many(engine, coded, reading, self.n_estimators, old)
        if self.oob_score:
            self._look_out_of_bag(engine, coded, reading)

    def _grow_all_targets(self, engine: Engine, coded: Any, reading: Reading) -> None:
        """Grow trees of several targets, then look at the rows outside the bags."""
        if self._checkpoint is not None:
            raise DataError("checkpoint keeps forests of one target, but y has several. Fit one for each, or without.")
        assert isinstance(self.n_estimators, int)  # noqa: S101  (for the type checker: other words are refused)
        self.seed_ = params.draw_seed(self.random_state)
        self._grow_targets(engine, coded, reading, self.n_estimators)
        if self.oob_score:
            metric = self.oob_score if callable(self.oob_score) else None
            found = several.look_out_of_bag(
                engine, coded, reading, self.growth_, self.forests_, self._voting(), self.n_jobs, metric
            )
            self.oob_score_, self.oob_error_, self.oob_share_ = found.score, found.error, found.share
            self._keep_averages_of_targets(found.averages)

    def _keep_averages_of_targets(self, averages: list[FloatArray]) -> None:
        """Remember what was said of rows outside the bags, under the names that scikit-learn has for it."""

    def _draw_seed(self) -> int:
        """Draw a seed; a fit that goes on, and was given none, takes that of its trees."""
        is_given = isinstance(self.random_state, int | np.integer)
        there = None if self._checkpoint is None or is_given else self._checkpoint.seed()
        return params.draw_seed(self.random_state) if there is None else there

    def _grow_so_many(self, engine: Engine, coded: Any, reading: Reading, n_trees: int, old: Forest | None) -> Forest:
        """Grow trees, independent of one another, until there are so many."""
        if self._checkpoint is not None:
            return self._grow_and_keep(engine, coded, self._checkpoint, n_trees, old)
        tell = progress.listener()
        if old is None and tell is not None:
            return self._grow_and_tell(engine, coded, reading, n_trees, tell)
        if old is None:
            return self._grow_trees(engine, coded, 0, n_trees)
        if not self._lacks_trees(n_trees, old):
            return old
        more = self._grow_trees(engine, coded, old.next_tree(self.seed_), n_trees - old.n_trees)
        return old.join(more)

    def _grow_and_keep(
        self, engine: Engine, coded: Any, checkpoint: Checkpoint, n_trees: int, old: Forest | None
    ) -> Forest:
        """Grow the same trees, some at a time, and keep them on the disk."""
        if old is not None and not self._lacks_trees(n_trees, old):
            return old
        first, n_more = (0, n_trees) if old is None else (old.next_tree(self.seed_), n_trees - old.n_trees)
        more = checkpoint.grow(self, coded, partial(self._grow_quietly, engine, coded), first, n_more)
        return more if old is None else old.join(more)

    def _grow_and_tell(
        self, engine: Engine, coded: Any, reading: Reading, n_trees: int, tell: progress.Listener
    ) -> Forest:
        """Grow the same trees in steps, and tell a listener of each."""
        X = reading.table.X
        return settling.grow_and_tell(
            lambda first, n_more: self._grow_trees(engine, coded, first, n_more),
            (lambda forest, start: self._bagged(engine, coded, forest).sum_votes(X, forest, start))
            if self.bootstrap
            else None,
            n_trees,
            count_threads(self.n_jobs),
            tell,
        )

    def _grow_until_settled(self, engine: Engine, coded: Any, reading: Reading, old: Forest | None) -> None:
        """Grow trees until the error of rows outside the bags has settled."""
        first = 0 if old is None else old.next_tree(self.seed_) - old.n_trees
        X = reading.table.X
        self.forest_, votes, settled = settling.grow_until_settled(
            lambda number, n_trees: self._grow_trees(engine, coded, first + number, n_trees),
            lambda forest, start: self._bagged(engine, coded, forest).sum_votes(X, forest, start),
            old,
            reading.table.size,
            self.max_estimators,
        )
        if not settled:
            warn(
                f"The out-of-bag error has not settled after {self.forest_.n_trees} trees. More of them may help: give "
                f"more than max_estimators={self.max_estimators}."
            )
        self._keep_out_of_bag(oob.look(self._bagged(engine, coded, self.forest_), reading, votes))

    def _lacks_trees(self, n_trees: int, old: Forest) -> bool:
        """Say whether a forest lacks trees, and refuse to take some away."""
        if n_trees < old.n_trees:
            raise ParameterError(
                f"n_estimators={self.n_estimators} is less than the {old.n_trees} trees that warm_start=True keeps. "
                f"Give n_estimators={old.n_trees} or more, or set warm_start=False to start anew."
            )
        if n_trees == old.n_trees:
            warn("Warm-start fitting without increasing n_estimators does not fit new trees.")
        return n_trees > old.n_trees

    def _table_schema(self) -> dict[str, Any]:
        """Say what trees know of their features, where they are not the columns of X."""
        return {}

    def _n_table_features(self) -> int:
        """Count the features that trees are grown from."""
        return self.n_features_in_

    def _check_that_it_goes_on(self, before: Self, old: Forest) -> None:
        """Refuse a table that old trees could not have been grown from."""
        if self._n_table_features() != old.n_features:
            raise DataError(
                f"X has {self.n_features_in_} features, but warm_start=True goes on with trees of {old.n_features}. "
                "Give the same features, or set warm_start=False to start anew."
            )
        if not same_categories(self.schema_, before.schema_):
            raise DataError(
                "X has other categories than the table from which warm_start=True goes on, so that they would have "
                "other numbers. Give the same table, or set warm_start=False to start anew."
            )
        bound = ("monotonic", "interaction_groups", "max_interacting")
        if any(getattr(self.growth_, name) != getattr(before.growth_, name) for name in bound):
            raise ParameterError(
                "monotonic_cst or interaction_cst differs from that of the trees that warm_start=True keeps, which "
                "would not obey it. Give the same, or set warm_start=False to start anew."
            )
        if self.growth_.criterion != before.growth_.criterion:
            raise ParameterError(
                f"criterion={self.criterion!r} differs from the {before.growth_.criterion!r} of the trees that "
                "warm_start=True keeps. Give the same criterion, or set warm_start=False to start anew."
            )

    def out_of_bag(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, stratify: Any = None
    ) -> OutOfBag:
        """Look at the rows outside the bags, given the training data again.

        Bags are drawn again from the seeds of the trees, so this works for every forest with bags: one that was fitted
        without `oob_score`, that was saved and loaded, sliced, merged or grown on. All trees must have been grown from
        this table; the order of its rows does not matter.

        Parameters
        ----------
        X, y, sample_weight, groups, stratify
            The table that the trees were grown from.

        Returns
        -------
        weald.oob.OutOfBag
            The same as `oob_`, for the rows as they are given.
        """
        return oob.look(*self._open(X, y, sample_weight, groups=groups, stratify=stratify))

    def _open(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> tuple[oob.Bagged, Reading]:
        """Read the table that the forest was grown from, and put both together."""
        check_is_fitted(self, "forest_")
        twin = unfitted_copy(self)
        reading = twin._read_table(X, y, sample_weight, **by_row)  # noqa: SLF001  (another of the same class)
        self._check_classes(reading)
        return self._bagged(*self._code(reading), self.forest_), reading

    def _bagged(self, engine: Engine, coded: Any, forest: Forest) -> oob.Bagged:
        """Put a forest and its training table together, and make sure that they belong together."""
        origins = forest.origins
        if any(origin.resampling != ways.BAGGING for origin in origins):
            raise DataError(
                "Bags of boosting and arcing follow the mistakes of earlier trees on all rows. No row is new to them, "
                'so there is nothing honest to say out of bag. Fit with resampling="bagging".'
            )
        if not origins:
            raise DataError(
                "These trees were not grown by weald, so it is not known which rows were in their bags. Ask the "
                "library that grew them, judge them by other rows, or fit a forest of weald."
            )
        if not any(origin.bags.bootstrap for origin in origins):
            raise DataError(
                "Nothing is out of bag: with bootstrap=False every tree sees every row. Fit with bootstrap=True."
            )
        n_strange = sum(origin.n_trees for origin in origins if origin.data != coded.fingerprint)
        if n_strange:
            raise DataError(
                f"Rows outside the bags are known only for trees grown from this table, but {n_strange} of the "
                f"{forest.n_trees} trees were grown from other data, weights or max_bins. Give the table that "
                "they were grown from, or take the trees that were grown from this one, for example forest[:10]."
            )
        if any(origin.bags.design != coded.design for origin in origins):
            raise DataError(
                "Rows outside the bags are known only with the groups and stratify that the trees were grown with; "
                "these are others. Give the same ones."
            )
        return oob.Bagged(engine, coded, self.growth_, forest, self._voting(), count_threads(self.n_jobs))

    def _check_classes(self, reading: Reading) -> None:
        """Refuse classes that the forest does not know."""

    def _look_out_of_bag(self, engine: Engine, coded: Any, reading: Reading) -> None:
        """Estimate errors from the rows outside the bags."""
        self._keep_out_of_bag(oob.look(self._bagged(engine, coded, self.forest_), reading))

    def _keep_out_of_bag(self, found: OutOfBag) -> None:
        """Remember what was found, also under the names that scikit-learn has for it."""
        self.oob_ = found
        self.oob_share_, self.oob_error_ = found.share, found.error
        self.oob_score_ = found.score(self.oob_score if callable(self.oob_score) else None)

    def _forget_out_of_bag(self) -> Self:
        """Drop estimates that other trees have made."""
        for name in [name for name in vars(self) if name.startswith("oob_") and name.endswith("_")]:
            delattr(self, name)
        return self

    # --------------------------------------------------------------------------------------------- other forests

    def __add__(self, other: Any) -> Self:
        """Join two forests: the trees of this one, then those of the other. See `weald.merge`."""
        if not isinstance(other, RandomForest):
            return NotImplemented
        models: list[Self] = [self, other]
        return merge(models)

    def __getitem__(self, which: slice) -> Self:
        """Make a forest of some of the trees, `forest[10:50]`; a single tree is `forest.estimators_[10]`."""
        check_is_fitted(self, "forest_")
        if not isinstance(which, slice):
            raise TypeError(f"forest[{which!r}] is not a slice. Use forest.estimators_[{which!r}] for a single tree.")
        return take_trees(self, range(self.forest_.n_trees)[which])

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


class RandomForestClassifier(RandomForest, TreeClassifier):
    """A random forest that predicts classes.

    Each tree sees a bag of rows, each node a draw of features, and every cut is the best one over all thresholds. The
    forest is a function of table, parameters and seed: neither the number of threads nor the order of rows changes it.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. More trees never hurt, they only cost time. "auto": until the out-of-bag error has settled.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        How cuts are scored. "log_loss" is another name of "entropy". "misclassification" is there for study: it does
        not see a cut that makes both sides purer without changing the commonest class, so its trees are often worse.
    max_depth : int, "sqrt" or None, default=None
        How deep a tree may grow; "sqrt" is the root of the number of features. None: until the leaves are pure.
    min_samples_split : int or float, default=2
        A smaller node is a leaf. A float is a share of all rows.
    min_samples_leaf : int or float, default=1
        No cut may leave a smaller side. A float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        No cut may leave a side of a smaller share of the total weight.
    max_features : int, float, "sqrt", "log2", "third", "all" or None, default="sqrt"
        How many features a node looks at; a float is a share, None is all. Features that cannot cut the node do not
        count.
    max_leaf_nodes : int or None, default=None
        Cut the node of the greatest decrease first, until there are so many leaves. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node whose best cut lowers the impurity by less (weighted by the node's share) is a leaf.
    bootstrap : bool or "balanced", default=True
        Whether each tree sees rows drawn with replacement. If not, it sees all of them. "balanced" draws the same
        number from each class: as many as the rarest has rows, or as `max_samples` says.
    oob_score : bool or callable, default=False
        Whether to estimate the error from rows outside the bags. A function of (y_true, y_pred) becomes `oob_score_`.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use, since the forest does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`. The same seed gives the same forest everywhere.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and adds those that `n_estimators` lacks.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Weights of the classes in the statistics; classes that a dict leaves out weigh 1. "balanced" weighs classes
        against their frequency in the table, "balanced_subsample" in each bag. The bags do not depend on it.
    ccp_alpha : float, default=0.0
        Prune each tree: keep the smallest subtree of least impurity + ccp_alpha * leaves. 0.0: keep trees as they grew.
    max_samples : int, float, dict or None, default=None
        Number of draws of a bag; a float is a share of the rows. None: as many as there are rows (whole weights
        count). A dict of class: number or share draws from each class by itself; classes that it leaves out have as
        many draws as rows. With groups, groups are counted.
    monotonic_cst : array of int, dict or None, default=None
        Which way each feature must act on what is predicted: 1 rising, -1 falling, 0 free. A dict is by name. With two
        classes what is predicted is the share of the second; more classes are refused.
        Missing values have no place in the order and are free.
    interaction_cst : list of groups, "pairwise", "no_interactions" or None, default=None
        Which features may meet on a path from the root to a leaf: groups of numbers or names; features in no group are
        one more group. "pairwise" lets any two meet, "no_interactions" none.
    feature_weights : array of float, dict or None, default=None
        How likely each feature is drawn, in proportion; a feature of weight 0 is never looked at. A dict is by name,
        features that it leaves out weigh 1. None: all alike.
    voting : {"soft", "hard"}, default="soft"
        What a tree says of a row: the class shares of its leaf, or one vote for the commonest class.
    resampling : {"bagging", "boosting", "arcing"}, default="bagging"
        Which rows the next tree sees. "bagging": any, whatever earlier trees say. "boosting": rather those that they
        got wrong, and a tree votes by how well it does. "arcing": the same with equal votes.
    max_bins : int or None, default=65535
        Columns with more distinct values than this are cut into so many codes of about equal weight. None keeps every
        value.
    max_estimators : int, default=1000
        With `n_estimators="auto"`: the most trees.
    engine : {"auto", "native", "reference", "dask"}, default="auto"
        Who grows the trees: the compiled core, the definition in plain Python (slow), or the workers of the Dask
        client in scope. All grow the same. "auto" is native; Dask collections always go to the workers.
    categorical_features : "from_dtype", list of names, numbers or truth values, or None, default="from_dtype"
        Which features are categories. "from_dtype": columns of text, truth values and categories of a data frame. None:
        none. Ordered categories are cut like numbers unless they are named here.
    unknown_category : {"missing", "error"}, default="missing"
        What a category means that no training row had: a missing value (they are counted), or an error.
    missing : {"learn", "error"}, default="learn"
        Whether cuts learn where missing values go, or missing values are refused.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted.
    n_classes_ : int
        Number of classes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
    categories_ : list of n_features arrays or None
        Labels of each categorical feature by number; None: numbers.
    unknown_categories_ : dict
        How many cells with an unknown category were read since the fit, by column.
    schema_ : weald.schema.Schema
        The names and categories of the features, by which predictions read their columns.
    n_outputs_ : int
        Number of targets.
    seed_ : int
        The seed that was used.
    forest_ : weald.model.Forest
        The grown forest: immutable arrays; `forest_.fingerprint()` tells forests apart.
    growth_ : weald.params.Growth
        The parameters as plain numbers.
    estimators_ : sequence of DecisionTreeClassifier
        The trees, made when they are asked for.
    feature_importances_ : array of shape (n_features,)
        Mean decrease in impurity, as shares.
    oob_ : weald.oob.OutOfBag
        What is known of the rows outside the bags, if `oob_score` is set: errors, scores, the curve over trees.
    oob_score_ : float
        Accuracy over the rows that are out of at least one bag, or what `oob_score` says of them.
    oob_error_ : float
        Share of wrong classes among the same rows.
    oob_share_ : float
        Share of the rows that are out of at least one bag.
    oob_decision_function_ : array of shape (n_rows, n_classes)
        Out-of-bag shares of the classes; NaN where a row is in every bag.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 50, 100]])
    array([0, 1, 2])
    >>> model.oob_error_ < 0.1
    True
    """

    _kind_of_tree: ClassVar[type[DecisionTreeClassifier]] = DecisionTreeClassifier

    oob_decision_function_: FloatArray

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "gini",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_weights: Any = None,
        voting: str = "soft",
        resampling: str = "bagging",
        max_bins: int | None = 65535,
        max_estimators: int = 1000,
        engine: str = "auto",
        categorical_features: Any = "from_dtype",
        unknown_category: str = "missing",
        missing: str = "learn",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_weights = feature_weights
        self.voting = voting
        self.resampling = resampling
        self.max_bins = max_bins
        self.max_estimators = max_estimators
        self.engine = engine
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.missing = missing

    def _table_schema(self) -> dict[str, Any]:
        """Say what trees know of their features, where they are not the columns of X."""
        return {}

    def _n_table_features(self) -> int:
        """Count the features that trees are grown from."""
        return self.n_features_in_

    def _check_that_it_goes_on(self, before: Self, old: Forest) -> None:
        super()._check_that_it_goes_on(before, old)
        if not np.array_equal(self.classes_, before.classes_):
            raise DataError(
                f"y has the classes {self.classes_.tolist()}, but warm_start=True goes on with trees of the classes "
                f"{before.classes_.tolist()}. Give the same classes, or set warm_start=False to start anew."
            )

    def _grow_so_many(self, engine: Engine, coded: Any, reading: Reading, n_trees: int, old: Forest | None) -> Forest:
        if self.resampling == ways.BAGGING:
            return super()._grow_so_many(engine, coded, reading, n_trees, old)
        if reading.table.groups is not None:
            raise ParameterError(
                f"groups do not go with resampling={self.resampling!r}, which weighs rows one by one. Leave groups out "
                'or set resampling="bagging".'
            )
        if old is not None:
            if not ways.goes_on(self.resampling, old, self.seed_, coded.fingerprint):
                raise DataError(
                    f"resampling={self.resampling!r} goes on only from the first trees of the same forest: same table, "
                    "same seed, none left out. Set warm_start=False to start anew."
                )
            if not self._lacks_trees(n_trees, old):
                return old
        watch = progress.watch_fit(self.verbose, n_trees)
        made = ways.Resampled(engine, reading.table, count_threads(self.n_jobs))
        return made.grow(self.resampling, coded, partial(self._grow_quietly, engine), n_trees, watch, old)

    def _check_classes(self, reading: Reading) -> None:
        assert reading.classes is not None  # noqa: S101  (for the type checker: a classifier's reading has classes)
        if not np.array_equal(reading.classes, self.classes_):
            raise DataError(
                f"y has the classes {reading.classes.tolist()}, but the forest knows {self.classes_.tolist()}. "
                "Give the y of the fit."
            )

    def _keep_out_of_bag(self, found: OutOfBag) -> None:
        super()._keep_out_of_bag(found)
        self.oob_decision_function_ = found.shares

    def _keep_averages_of_targets(self, averages: list[FloatArray]) -> None:
        self.oob_decision_function_ = several.side_by_side(averages)

    @property
    def estimators_(self) -> Trees[DecisionTreeClassifier]:
        """The trees as fitted estimators, made when they are asked for."""
        self._shape()
        return Trees(self, self._kind_of_tree)


class RandomForestRegressor(RandomForest, TreeRegressor):
    """A random forest that predicts numbers.

    Each tree sees a bag of rows, each node a draw of features, and every cut is the best one over all thresholds. The
    forest is a function of table, parameters and seed: neither the number of threads nor the order of rows changes it.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. More trees never hurt, they only cost time. "auto": until the out-of-bag error has settled.
    criterion : {"squared_error"}, default="squared_error"
        How cuts are scored.
    max_depth : int, "sqrt" or None, default=None
        How deep a tree may grow; "sqrt" is the root of the number of features. None: until the leaves are pure.
    min_samples_split : int or float, default=2
        A smaller node is a leaf. A float is a share of all rows.
    min_samples_leaf : int or float, default=1
        No cut may leave a smaller side. A float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        No cut may leave a side of a smaller share of the total weight.
    max_features : int, float, "sqrt", "log2", "third", "all" or None, default="third"
        How many features a node looks at; a float is a share, None is all. Features that cannot cut the node do not
        count.
    max_leaf_nodes : int or None, default=None
        Cut the node of the greatest decrease first, until there are so many leaves. None: no limit.
    min_impurity_decrease : float, default=0.0
        A node whose best cut lowers the impurity by less (weighted by the node's share) is a leaf.
    bootstrap : bool, default=True
        Whether each tree sees rows drawn with replacement. If not, it sees all of them.
    oob_score : bool or callable, default=False
        Whether to estimate the error from rows outside the bags. A function of (y_true, y_pred) becomes `oob_score_`.
    n_jobs : int or None, default=None
        Number of threads. None: all cores that this process may use, since the forest does not depend on it.
    random_state : int, Generator, RandomState or None, default=None
        The seed, or where it is drawn from; kept as `seed_`. The same seed gives the same forest everywhere.
    verbose : int, default=0
        1 shows progress and the time left on stderr.
    warm_start : bool, default=False
        Whether `fit` keeps the trees there are and adds those that `n_estimators` lacks.
    ccp_alpha : float, default=0.0
        Prune each tree: keep the smallest subtree of least impurity + ccp_alpha * leaves. 0.0: keep trees as they grew.
    max_samples : int, float or None, default=None
        Number of draws of a bag; a float is a share of the rows. None: as many as there are rows (whole weights
        count). With groups, groups are counted.
    monotonic_cst : array of int, dict or None, default=None
        Which way each feature must act on what is predicted: 1 rising, -1 falling, 0 free. A dict is by name. Nothing
        predicted falls where it must rise.
        Missing values have no place in the order and are free.
    interaction_cst : list of groups, "pairwise", "no_interactions" or None, default=None
        Which features may meet on a path from the root to a leaf: groups of numbers or names; features in no group are
        one more group. "pairwise" lets any two meet, "no_interactions" none.
    feature_weights : array of float, dict or None, default=None
        How likely each feature is drawn, in proportion; a feature of weight 0 is never looked at. A dict is by name,
        features that it leaves out weigh 1. None: all alike.
    max_bins : int or None, default=65535
        Columns with more distinct values than this are cut into so many codes of about equal weight. None keeps every
        value.
    max_estimators : int, default=1000
        With `n_estimators="auto"`: the most trees.
    engine : {"auto", "native", "reference", "dask"}, default="auto"
        Who grows the trees: the compiled core, the definition in plain Python (slow), or the workers of the Dask
        client in scope. All grow the same. "auto" is native; Dask collections always go to the workers.
    categorical_features : "from_dtype", list of names, numbers or truth values, or None, default="from_dtype"
        Which features are categories. "from_dtype": columns of text, truth values and categories of a data frame. None:
        none. Ordered categories are cut like numbers unless they are named here.
    unknown_category : {"missing", "error"}, default="missing"
        What a category means that no training row had: a missing value (they are counted), or an error.
    missing : {"learn", "error"}, default="learn"
        Whether cuts learn where missing values go, or missing values are refused.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features, if X had names that are all strings.
    categories_ : list of n_features arrays or None
        Labels of each categorical feature by number; None: numbers.
    unknown_categories_ : dict
        How many cells with an unknown category were read since the fit, by column.
    schema_ : weald.schema.Schema
        The names and categories of the features, by which predictions read their columns.
    n_outputs_ : int
        Number of targets.
    seed_ : int
        The seed that was used.
    forest_ : weald.model.Forest
        The grown forest: immutable arrays; `forest_.fingerprint()` tells forests apart.
    growth_ : weald.params.Growth
        The parameters as plain numbers.
    estimators_ : sequence of DecisionTreeRegressor
        The trees, made when they are asked for.
    feature_importances_ : array of shape (n_features,)
        Mean decrease in impurity, as shares.
    oob_ : weald.oob.OutOfBag
        What is known of the rows outside the bags, if `oob_score` is set: errors, scores, the curve over trees.
    oob_score_ : float
        R squared over the rows that are out of at least one bag, or what `oob_score` says of them.
    oob_error_ : float
        Mean squared error of the same rows.
    oob_share_ : float
        Share of the rows that are out of at least one bag.
    oob_prediction_ : array of shape (n_rows,)
        Out-of-bag predictions; NaN where a row is in every bag.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from weald import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y)
    >>> 0.3 < model.oob_score_ < 0.6
    True
    """

    _kind_of_tree: ClassVar[type[DecisionTreeRegressor]] = DecisionTreeRegressor

    oob_prediction_: FloatArray

    def __init__(
        self,
        n_estimators: int | str = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | str | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: float | str | None = "third",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool | str = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: float | None = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        feature_weights: Any = None,
        max_bins: int | None = 65535,
        max_estimators: int = 1000,
        engine: str = "auto",
        categorical_features: Any = "from_dtype",
        unknown_category: str = "missing",
        missing: str = "learn",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.feature_weights = feature_weights
        self.max_bins = max_bins
        self.max_estimators = max_estimators
        self.engine = engine
        self.categorical_features = categorical_features
        self.unknown_category = unknown_category
        self.missing = missing

    def _keep_out_of_bag(self, found: OutOfBag) -> None:
        super()._keep_out_of_bag(found)
        self.oob_prediction_ = found.predictions

    def _keep_averages_of_targets(self, averages: list[FloatArray]) -> None:
        self.oob_prediction_ = np.column_stack(averages)

    @property
    def estimators_(self) -> Trees[DecisionTreeRegressor]:
        """The trees as fitted estimators, made when they are asked for."""
        self._shape()
        return Trees(self, self._kind_of_tree)
