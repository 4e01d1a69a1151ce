"""What the four estimators share: the flow from the user's arguments to a forest, and back from rows to predictions.

    fit       read (table.py) -> check, resolve (params.py) -> code, grow (engines) -> keep
    predict   read with the same schema -> walk the trees in order (engines) -> shares, labels or means

A fit works on a copy and changes the estimator only when all has gone well: an error or Ctrl-C leaves it as it was.
"""

import copy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from weald import criteria, params, progress, votes
from weald.decrease import mean_decrease
from weald.draws import draw_classes
from weald.engines.door import Engine, Watch, open_engine
from weald.exporting import Exportable
from weald.model import FloatArray, Forest, IntArray
from weald.params import Growth
from weald.prune import prune_forest
from weald.reporting import CanReport
from weald.saving import Saved
from weald.schema import Schema, counts_by_name
from weald.table import Matrix, Reading, read_features, read_table
from weald.threads import count_threads


class TreeModel(Saved, CanReport, Exportable, BaseEstimator):
    """A model made of trees. `forest_` is all it knows; a single tree is a forest of one."""

    _task: ClassVar[str]
    _splitter: ClassVar[str] = "best"  # where it is no parameter

    engine: str
    ccp_alpha: float
    n_jobs: int | None
    random_state: Any
    verbose: int

    forest_: Forest
    growth_: Growth
    seed_: int
    n_outputs_: int
    n_features_in_: int
    schema_: Schema

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers of any type; NaN is a missing value. float32 and float64 are used as they are.
        y : array of shape (n_rows,)
            Class labels, or numbers.
        sample_weight : array of shape (n_rows,), optional
            A weight of k is the row k times. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        learnt = unfitted_copy(self)
        learnt._learn(self, X, y, sample_weight)  # noqa: SLF001  (another of the same class)
        self.__dict__ = learnt.__dict__
        return self

    def _learn(self, before: Self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        """Read, resolve, code, grow, keep. `by_row` is what else is given for each row."""
        self._check_params()
        reading = self._read_table(X, y, sample_weight, **by_row)
        self._learn_from(reading, *self._code(reading), before)

    def _check_params(self) -> None:
        params.check(params.gather(self), self._task)

    def _learn_from(self, reading: Reading, engine: Engine, coded: Any, before: Self) -> None:
        """Resolve, grow, keep."""
        names = getattr(self, "feature_names_in_", None)
        self.growth_ = params.resolve(params.gather(self), reading.table, reading.classes, names)
        self._keep_schema(reading)
        self._grow(engine, coded, reading, before)

    def _read_table(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> Reading:
        """Read a training table."""
        return read_table(self, X, y, sample_weight, classify=self._task == criteria.CLASSIFICATION)

    def _code(self, reading: Reading) -> tuple[Engine, Any]:
        """Open the engine, and turn the table into its codes."""
        engine = open_engine(self.engine)
        max_bins = params.count_bins(params.gather(self)["max_bins"])
        return engine, engine.code(reading.table, max_bins, count_threads(self.n_jobs), None)

    def _keep_schema(self, reading: Reading) -> None:
        """Remember what predictions need to speak the user's language."""
        self.n_outputs_ = 1

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow one tree."""
        self.seed_ = params.draw_seed(self.random_state)
        self.forest_ = self._grow_trees(engine, coded, 0, 1)

    def _grow_trees(self, engine: Engine, coded: Any, first: int, n_trees: int) -> Forest:
        """Grow some trees, and show it if the user wants to see."""
        watch = progress.watch_fit(self.verbose, n_trees)
        try:
            forest = self._grow_quietly(engine, coded, first, n_trees, watch)
            if watch:
                watch(1.0)  # a short fit may be over before the engine has anything to say
        finally:
            if watch:
                watch.stop()
        return forest

    def _grow_quietly(self, engine: Engine, coded: Any, first: int, n_trees: int, watch: Watch | None = None) -> Forest:
        """Grow some trees, and prune them."""
        forest = engine.grow(coded, self.growth_, self.seed_, first, n_trees, count_threads(self.n_jobs), watch)
        return prune_forest(forest, self.ccp_alpha) if self.ccp_alpha > 0 else forest

    # --------------------------------------------------------------------------------------------------- predict

    def _read(self, X: Any) -> Matrix:
        """Read X with the schema of the fit."""
        check_is_fitted(self, "forest_")
        return read_features(self, X, reset=False)

    def _sum_votes(self, X: Any) -> FloatArray:
        """Add up what the trees say of each row."""
        rows = self._read(X)
        return self._sum_votes_of(self.forest_, rows)

    def _sum_votes_of(self, forest: Forest, rows: Matrix) -> FloatArray:
        return open_engine(self.engine).sum_votes(forest, rows, self._voting(), count_threads(self.n_jobs), None)

    def _voting(self) -> str:
        """Say how leaves vote: a single tree and a regression forest leave no choice."""
        return getattr(self, "voting", "soft")

    def _leaves(self, X: Any) -> IntArray:
        """Find the leaf of each row in each tree."""
        rows = self._read(X)
        return open_engine(self.engine).leaves(self.forest_, rows, count_threads(self.n_jobs), None)

    def _paths(self, X: Any) -> sparse.csr_matrix:
        """Mark the nodes of all trees that each row passes."""
        leaves = self._leaves(X)
        forest = self.forest_
        parents = _parents(forest)
        n_rows = len(leaves)
        at = (leaves + forest.tree_start[:-1]).ravel()
        row = np.repeat(np.arange(n_rows), forest.n_trees)
        rows, nodes = [], []
        while len(at):
            rows.append(row)
            nodes.append(at)
            up = parents[at]
            at, row = up[up >= 0], row[up >= 0]
        passed = (np.concatenate(rows), np.concatenate(nodes))
        marks = np.ones(len(passed[0]), dtype=np.int64)
        return sparse.csr_matrix((marks, passed), shape=(n_rows, forest.n_nodes))

    # ------------------------------------------------------------------------------------------------------ look

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the decrease of impurity, averaged over trees; they add up to 1.

        It favours features with many distinct values, whether or not they help on new rows.
        """
        check_is_fitted(self, "forest_")
        return mean_decrease(self.forest_)

    @property
    def categories_(self) -> list[npt.NDArray[Any] | None]:
        """Labels of each categorical feature, in the order of their numbers; None for features that are numbers.

        A split of an ordered feature is a cut of these numbers, that of any other a set of them.
        """
        check_is_fitted(self, "schema_")
        return [None if categories is None else categories.labels for categories in self.schema_.categories]

    @property
    def unknown_categories_(self) -> dict[Any, int]:
        """How many cells with a category that no training row had were read since the fit, by column."""
        check_is_fitted(self, "schema_")
        return counts_by_name(self.schema_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class TreeClassifier(ClassifierMixin, TreeModel):
    """What classifiers add: classes, shares and votes."""

    _task = criteria.CLASSIFICATION

    classes_: npt.NDArray[Any]
    n_classes_: int

    def _keep_schema(self, reading: Reading) -> None:
        super()._keep_schema(reading)
        assert reading.classes is not None  # noqa: S101  (for the type checker: a classifier's reading has classes)
        self.classes_ = reading.classes
        self.n_classes_ = len(reading.classes)

    def predict_votes(self, X: Any) -> FloatArray:
        """Add up what the trees say, in tree order.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Sums over trees: of class shares in the leaves, or with `voting="hard"` the number of trees for each class.
        """
        return self._sum_votes(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Average what the trees say: shares of the classes that add up to 1.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        return self._sum_votes(X) / self.forest_.vote_total

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Take the logarithm of `predict_proba`; a share of 0 becomes minus infinity.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any, *, rule: str = "majority", repeat: int = 0) -> npt.NDArray[Any]:
        """Choose a class for each row.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        rule : {"majority", "sample"}, default="majority"
            "majority" takes the class with the most votes; ties go to the class that is first in `classes_`. "sample"
            draws a class by the shares of `predict_proba`. It is wrong more often: on the rows of a tree as often as
            the Gini index of its leaves says.
        repeat : int, default=0
            Which draw of "sample". A draw is made from the seed of the model and the place of the row in X, so the same
            repeat gives the same classes.

        Returns
        -------
        array of shape (n_rows,)

        Examples
        --------
        >>> from weald import DecisionTreeClassifier
        >>> model = DecisionTreeClassifier(random_state=0).fit([[1.0]] * 4, ["a", "a", "a", "b"])
        >>> print(*model.predict([[1.0]] * 8))
        a a a a a a a a
        >>> print(*model.predict([[1.0]] * 8, rule="sample"))
        a a a b a a a a
        """
        params.check_argument("rule", rule, (params.Name(("majority", "sample")),))
        params.check_argument("repeat", repeat, (params.Whole(0, 2**24),))
        sums = self._sum_votes(X)
        winners = sums.argmax(axis=1) if rule == "majority" else draw_classes(sums, self.seed_, repeat)
        labels: npt.NDArray[Any] = self.classes_[winners]
        return labels


class TreeRegressor(RegressorMixin, TreeModel):
    """What regressors add: means."""

    _task = criteria.REGRESSION

    def predict_votes(self, X: Any) -> FloatArray:
        """Add up the means that the trees say, in tree order.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._sum_votes(X)

    def predict(self, X: Any) -> FloatArray:
        """Average the means that the trees say.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)
        """
        rows = self._read(X)
        return votes.average(self.forest_, lambda forest, _: (self._sum_votes_of(forest, rows), forest.n_trees))


Model = TypeVar("Model", bound=TreeModel)


def unfitted_copy(model: Model) -> Model:
    """Copy an estimator without what it has learnt."""
    twin = copy.copy(model)
    twin.__dict__ = {
        name: value for name, value in vars(model).items() if not name.endswith("_") or name.startswith("__")
    }
    return twin


def _parents(forest: Forest) -> IntArray:
    """Number of each node's parent among all nodes; -1 for roots."""
    parents = np.full(forest.n_nodes, -1, dtype=np.int64)
    roots = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    split = np.flatnonzero(forest.feature >= 0)
    parents[split + 1] = split
    parents[roots[split] + forest.right[split]] = split
    return parents
