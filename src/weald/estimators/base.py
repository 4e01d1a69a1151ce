"""What all estimators share: the flow from the user's arguments to a forest, and back from rows to predictions.

    fit       check (engines/params.py) -> read (data/table.py) -> code (engine) -> resolve (engines/params.py)
              -> grow (engine) -> keep
    predict   read with the same schema -> walk the trees in order (engines) -> shares, labels or means

A fit works on a copy and changes the estimator only when all has gone well: an error or Ctrl-C leaves it as it was.
"""

import copy
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from weald.data import arguments
from weald.data.dask_collections import is_dask_collection
from weald.data.schema import Schema, counts_by_name
from weald.data.table import Matrix, Reading, read_features, read_table
from weald.data.task import Task
from weald.data.types import FloatArray, IntArray
from weald.engines import params, progress
from weald.engines.bagging import read_design
from weald.engines.choose import open_engine
from weald.engines.compiled import compile_forest
from weald.engines.draws import draw_classes
from weald.engines.interface import Engine, Watch
from weald.engines.params import Growth
from weald.engines.table_source import SourcedTable, TableSource
from weald.engines.threads import count_threads
from weald.errors import ParameterError, shown
from weald.estimators import chunked_prediction, dask_methods, multi_output
from weald.estimators.export_methods import ExportMethods
from weald.estimators.report_methods import ReportMethods
from weald.estimators.save_methods import SaveMethods
from weald.estimators.single_target import SingleTargetMethods
from weald.forest import votes
from weald.forest.compaction import compact_forest
from weald.forest.forest import Forest
from weald.forest.impurity_decrease import mean_decrease
from weald.forest.pruning import prune_forest

FEW_STEPS = 16384  # rows x trees that are not worth a second thread
MANY_CELLS = 2**18  # of a table: what its values take is no longer little beside what else a fit takes
Grown = TypeVar("Grown")

# Every attribute that a fit sets, or that is made from a fitted model and kept. A fit begins without them; what else an
# estimator has is its parameters, and what subclasses of the user set.
LEARNED = frozenset(
    {
        "n_features_in_",
        "feature_names_in_",
        "schema_",
        "n_outputs_",
        "classes_",
        "n_classes_",
        "growth_",
        "seed_",
        "forest_",
        "forests_",
        "tree_",
        "thinning_",
        "oob_",
        "oob_score_",
        "oob_error_",
        "oob_share_",
        "oob_decision_function_",
        "oob_prediction_",
        "kernel_",
        "choice_",
        "mix_",
        "sample_kind_",
        "prototype_rows_",
        "_prototype_seed_",
        "_rows_",
        "_n_columns_",
        "_columns_",
        "_n_prototypes_",
        "_kept_",
        "_runs_",
    }
)


class TreeModel(SaveMethods, SingleTargetMethods, ReportMethods, ExportMethods, BaseEstimator):
    """A model made of trees. `forest_` is all it knows; a single tree is a forest of one."""

    _task: ClassVar[Task]
    _splitter: ClassVar[str] = "best"  # where it is no parameter
    _grows_on_clusters: ClassVar[bool] = False

    engine: str
    ccp_alpha: float
    n_jobs: int | None
    random_state: Any
    verbose: int

    forest_: Forest
    forests_: tuple[Forest, ...]  # where there are several targets; then there is no forest_
    growth_: Growth
    seed_: int
    n_outputs_: int
    n_features_in_: int
    schema_: Schema

    # ------------------------------------------------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers of any type; NaN is a missing value. float32 and float64 are used as they are. Or a `CodeStore`
            (see `weald.codes`), given alone: it has the target and the weights.
        y : array of shape (n_rows,), or (n_rows, n_targets)
            Class labels, or numbers; with several targets one column for each.
        sample_weight : array of shape (n_rows,), optional
            A weight of k is the row k times. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        self._check_params()
        learned = unfitted_copy(self)
        learned._learn(self, X, y, sample_weight)  # noqa: SLF001  (another of the same class)
        self.__dict__ = learned.__dict__
        return self

    def _learn(self, before: Self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> None:
        """Read, resolve, code, grow, keep. `by_row` is what else is given for each row."""
        reading = self._read_table(X, y, sample_weight, **by_row)
        self._learn_from(reading, *self._code(reading, self._n_trees_at_once()), before)

    def _check_params(self) -> None:
        params.check(params.gather(self), self._task)
        if self.engine == params.CLUSTER and not self._grows_on_clusters:
            raise ParameterError(
                f"engine={self.engine!r} is for forests of the columns of a table, which {type(self).__name__} is not. "
                'Give engine="auto".'
            )

    def _learn_from(self, reading: Reading, engine: Engine, coded: Any, before: Self) -> None:
        """Resolve, grow, keep."""
        names = getattr(self, "feature_names_in_", None)
        if reading.table.targets is not None:
            multi_output.refuse(params.gather(self))
        self.growth_ = params.resolve(params.gather(self), reading.table, reading.classes, names)
        self._keep_schema(reading)
        self._grow(engine, coded, reading, before)

    def _read_table(self, X: Any, y: Any, sample_weight: Any, **by_row: Any) -> Reading:
        """Read a training table."""
        if isinstance(X, TableSource):
            return read_design(X.read_for(self, y, sample_weight), **by_row)
        reading = read_table(self, X, y, sample_weight, classify=self._task == Task.CLASSIFICATION)
        return read_design(reading, **by_row)

    def _n_trees_at_once(self) -> int:
        """Count the trees that will be grown at once from the codes, and then no more; 0: that is not known."""
        return 1

    def _code(self, reading: Reading, n_trees: int = 0) -> tuple[Engine, Any]:
        """Open the engine, and turn the table into its codes."""
        if isinstance(reading.table, SourcedTable):
            return reading.table.source.code(reading.table, count_threads(self.n_jobs))
        engine = open_engine(self.engine)
        given, table = params.gather(self), reading.table
        may_forget = given["splitter"] == "best" and math.prod(table.X.shape) >= MANY_CELLS
        n_at_once = n_trees if may_forget else 0
        max_bins = params.count_bins(given["max_bins"])
        return engine, engine.code(table, max_bins, count_threads(self.n_jobs), None, n_at_once)

    def _keep_schema(self, reading: Reading) -> None:
        """Remember what predictions need to speak the user's language."""
        self.n_outputs_ = 1 if reading.table.targets is None else reading.table.targets.n_targets

    def _grow(self, engine: Engine, coded: Any, reading: Reading, before: Self) -> None:
        """Grow one tree."""
        self.seed_ = params.draw_seed(self.random_state)
        if reading.table.targets is None:
            self.forest_ = self._grow_trees(engine, coded, 0, 1)
        else:
            self.forests_ = self._grow_targets(engine, coded, reading, 0, 1)

    def _grow_trees(self, engine: Engine, coded: Any, first: int, n_trees: int) -> Forest:
        """Grow some trees, and show it if the user wants to see."""
        return self._show(n_trees, lambda watch: self._grow_quietly(engine, coded, first, n_trees, watch))

    def _grow_targets(
        self, engine: Engine, coded: Any, reading: Reading, first: int, n_trees: int
    ) -> tuple[Forest, ...]:
        """Grow trees of several targets."""
        how = multi_output.grow(engine, coded, reading, self.growth_, self.seed_, first, n_trees, self.n_jobs)
        return self._show(n_trees, how)

    def _show(self, n_trees: int, grow: Callable[[Watch | None], Grown]) -> Grown:
        """Let the user see how trees grow."""
        watch = progress.watch_fit(self.verbose, n_trees)
        try:
            grown = grow(watch)
            if watch:
                watch(1.0)  # a short fit may be over before the engine has anything to say
        finally:
            if watch:
                watch.stop()
        return grown

    def _grow_quietly(self, engine: Engine, coded: Any, first: int, n_trees: int, watch: Watch | None = None) -> Forest:
        """Grow some trees, and prune them."""
        forest = engine.grow(coded, self.growth_, self.seed_, first, n_trees, count_threads(self.n_jobs), watch)
        return prune_forest(forest, self.ccp_alpha) if self.ccp_alpha > 0 else forest

    # --------------------------------------------------------------------------------------------------- predict

    def _read(self, X: Any) -> Matrix:
        """Read X with the schema of the fit. An array of floats that needs no reading is taken as it is."""
        if _is_plain(self, X):
            rows: Matrix = X
            return rows
        self._shape()
        return read_features(self, X, reset=False)

    def _shape(self) -> Forest:
        """Give the nodes: those of the forest, or with several targets of any of its forests, which share them."""
        if self._has_several():
            return self.forests_[0]
        check_is_fitted(self, "forest_")
        return self.forest_

    def _is_fitted(self) -> bool:
        return "forest_" in vars(self) or self._has_several()

    def _has_several(self) -> bool:
        return "forests_" in vars(self)

    def _require_no_room(self, out: Any, dtype: Any) -> None:
        """Refuse an array to fill, or a type of it, with several targets."""
        if out is not None or dtype is not None:
            raise multi_output.one_target_only(self.n_outputs_)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say why there is no `forest_`, where several targets are the reason."""
            if name == "forest_" and "forests_" in vars(self):
                raise multi_output.one_target_only(len(self.forests_))
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _sum_votes(self, X: Any) -> FloatArray:
        """Add up what the trees say of each row."""
        rows = self._read(X)
        return self._sum_votes_of(self.forest_, rows)

    def _sum_votes_of(self, forest: Forest, rows: Matrix) -> FloatArray:
        n_threads = self._n_threads(rows)
        return open_engine(self.engine).sum_votes(forest, rows, self._voting(), n_threads, None)

    def _n_threads(self, rows: Matrix) -> int:
        """Say how many threads are to predict rows; to ask the machine takes longer than to predict a few."""
        few = rows.shape[0] * self.forest_.n_trees <= FEW_STEPS
        return 1 if few else count_threads(self.n_jobs)

    def _predict_into(self, rows: Matrix, out: Any, dtype: Any, *width: int) -> npt.NDArray[Any]:
        """Average what the trees say, in an array that was given or is made."""
        room = chunked_prediction.room_for(out, (int(rows.shape[0]), *width), dtype)
        open_engine(self.engine).predict(self.forest_, rows, self._voting(), room, self._n_threads(rows), None)
        return room

    def _voting(self) -> str:
        """Say how leaves vote: a single tree and a regression forest leave no choice."""
        return getattr(self, "voting", "soft")

    def _leaves(self, X: Any) -> IntArray:
        """Find the leaf of each row in each tree."""
        rows = self._read(X)
        return open_engine(self.engine).leaves(self._shape(), rows, count_threads(self.n_jobs), None)

    def _paths(self, X: Any) -> sparse.csr_matrix:
        """Mark the nodes of all trees that each row passes."""
        leaves = self._leaves(X)
        forest = self._shape()
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

    def predict_chunks(
        self,
        X: Any,
        *,
        rows: int = 100_000,
        method: str | None = None,
        out: Any = None,
        dtype: Any = None,
        n_rows: int | None = None,
        verbose: int = 0,
    ) -> Iterator[npt.NDArray[Any]]:
        """Predict a table that need not fit into memory, piece by piece.

        Parameters
        ----------
        X : array, memory map, or iterable of tables
            An array or a memory map is cut into pieces; an iterable gives the pieces itself.
        rows : int, default=100,000
            Rows of a piece.
        method : {"predict", "predict_proba", "predict_votes"}, optional
            What to say of each row: by default shares of classes, or means.
        out : array with a place for every row, optional
            Where to write the predictions, a memory map, for example. What is returned are then its parts.
        dtype : {float64, float32}, optional
            Type of shares or means.
        n_rows : int, optional
            How many rows an iterable has, for the progress.
        verbose : int, default=0
            1 shows progress and the time left on stderr.

        Returns
        -------
        iterator of arrays
            One for each piece. Pieces are read when they are asked for: only one is in memory.

        Examples
        --------
        >>> from weald import RandomForestRegressor
        >>> model = RandomForestRegressor(3, random_state=0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
        >>> pieces = ([[i + 0.5]] for i in range(3))
        >>> [len(means) for means in model.predict_chunks(pieces)]
        [1, 1, 1]
        """
        check_is_fitted(self, "forest_")
        arguments.check_argument("rows", rows, (arguments.Whole(1),))
        arguments.check_argument("n_rows", n_rows, (arguments.Whole(0), arguments.NOTHING))
        chunked_prediction.check_table(X)
        chunked_prediction.check_out(out)
        own = "predict_proba" if self._task == Task.CLASSIFICATION else "predict"
        name = own if method is None else method
        known = [way for way in chunked_prediction.METHODS if hasattr(self, way)]
        arguments.check_argument("method", name, (arguments.Name(tuple(known)),))
        if dtype is not None and name != own:
            raise ParameterError(f"dtype={shown(dtype)} does not go with method={name!r}. Leave one of them out.")
        nothing = chunked_prediction.predict_nothing(self, name)
        nothing = nothing if dtype is None else nothing.astype(chunked_prediction.read_dtype(dtype))
        predict_rows = getattr(self, name) if dtype is None else partial(getattr(self, name), dtype=dtype)

        def predict_piece(piece: Any) -> npt.NDArray[Any]:
            return nothing.copy() if chunked_prediction.is_empty(piece) else predict_rows(piece)

        pieces, n_total = chunked_prediction.cut(X, rows), n_rows or chunked_prediction.count_rows(X)
        return chunked_prediction.predict(predict_piece, pieces, out, n_total, verbose)

    # --------------------------------------------------------------------------------------------------- put to work

    def compile(self, *, dtype: str = "float64") -> Any:
        """Make a predictor for services: a native object that does nothing but predict rows of numbers.

        It holds no Python objects and no locks: threads may share it, and predict at the same time, since it releases
        the GIL. All of it is one buffer, which processes can share; see `weald.open_compiled`.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            What rows hold. "float64" takes both; with "float32" nodes are half as large, and rows must hold numbers
            that are float32. Categories are given as their numbers: their places in `categories_`.

        Returns
        -------
        predictor
            `predictor(row)` gives the shares of the classes, in the order of `classes_`, or the mean. `predictor(X)`
            gives an array of them; `threads=` says on how many threads. The same bits as `predict_proba` or `predict`.
            `predictor.buffer()` is the buffer.

        Examples
        --------
        >>> import numpy as np
        >>> from weald import RandomForestClassifier
        >>> model = RandomForestClassifier(10, random_state=0).fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
        >>> predictor = model.compile()
        >>> row = np.array([2.6])
        >>> bool((predictor(row) == model.predict_proba([row])).all())
        True
        """
        check_is_fitted(self, "forest_")
        return compile_forest(self.forest_, self._voting(), dtype)

    def compact(self) -> Self:
        """Make a model without the splits that decide nothing: those whose two sides say the same of every row.

        A branch whose leaves all say the same becomes one leaf, and of two equal branches side by side one is left.
        Equal branches elsewhere stay, since a node stands below one other node.

        Returns
        -------
        model of the same class
            Its predictions are the same to the last bit. Node numbers are not, nor is `feature_importances_` if a
            split that is gone had a share in it.

        Examples
        --------
        >>> from weald import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"]
        >>> model = RandomForestClassifier(20, random_state=0).fit(X, y)
        >>> smaller = model.compact()
        >>> smaller.forest_.n_nodes <= model.forest_.n_nodes
        True
        """
        check_is_fitted(self, "forest_")
        smaller = copy.copy(self)
        smaller.forest_ = compact_forest(self.forest_)
        return smaller

    # ------------------------------------------------------------------------------------------------------ look

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the decrease of impurity, averaged over trees; they add up to 1.

        It favors features with many distinct values, whether or not they help on new rows.
        """
        return mean_decrease(self._shape())

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
        tags.target_tags.multi_output = True
        return tags


class TreeClassifier(ClassifierMixin, TreeModel):
    """What classifiers add: classes, shares and votes."""

    _task = Task.CLASSIFICATION

    classes_: Any  # an array; of several targets a list of arrays
    n_classes_: Any

    def _keep_schema(self, reading: Reading) -> None:
        super()._keep_schema(reading)
        assert reading.classes is not None  # noqa: S101  (for the type checker: a classifier's reading has classes)
        self.classes_ = reading.classes
        one = reading.table.targets is None
        self.n_classes_ = len(reading.classes) if one else [len(classes) for classes in reading.classes]

    def predict_votes(self, X: Any) -> FloatArray:
        """Add up what the trees say, in tree order.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Sums over trees: of class shares in the leaves, or with `voting="hard"` the number of trees for each class.
            Of several targets a list of such arrays.
        """
        return self._sum_votes_of_targets(X) if self._has_several() else self._sum_votes(X)

    def _sum_votes_of_targets(self, X: Any) -> Any:
        rows = self._read(X)
        return multi_output.sum_votes(open_engine(self.engine), self.forests_, rows, self._voting(), self.n_jobs)

    def predict_proba(self, X: Any, *, out: Any = None, dtype: Any = None) -> FloatArray:
        """Average what the trees say: shares of the classes that add up to 1.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        out : array of shape (n_rows, n_classes), optional
            Where to write the shares: float64 or float32, with any strides; a memory map, for example.
        dtype : {float64, float32}, optional
            What to return. Shares are computed in float64 and rounded once.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Columns in the order of `classes_`. It is `out` if that was given. Of several targets a list of such arrays.
        """
        if is_dask_collection(X):
            return dask_methods.predict(self, "predict_proba", X)  # type: ignore[no-any-return]
        if self._has_several():
            self._require_no_room(out, dtype)
            sums = self._sum_votes_of_targets(X)
            return [of_target / self._shape().vote_total for of_target in sums]  # type: ignore[return-value]
        return self._predict_into(self._read(X), out, dtype, self.n_classes_)

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
            shares = self.predict_proba(X)
            if self._has_several():
                return [np.log(of_target) for of_target in shares]  # type: ignore[return-value]
            return np.log(shares)

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
        if is_dask_collection(X):
            return dask_methods.predict(self, "predict", X, rule=rule, repeat=repeat)  # type: ignore[no-any-return]
        arguments.check_argument("rule", rule, (arguments.Name(("majority", "sample")),))
        arguments.check_argument("repeat", repeat, (arguments.Whole(0, 2**24),))
        if self._has_several():
            if rule == "sample":
                raise multi_output.one_target_only(self.n_outputs_)
            return multi_output.winners(self._sum_votes_of_targets(X), self.classes_)
        sums = self._sum_votes(X)
        winners = sums.argmax(axis=1) if rule == "majority" else draw_classes(sums, self.seed_, repeat)
        labels: npt.NDArray[Any] = self.classes_[winners]
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are predicted right, with several targets in all of them.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,), or (n_rows, n_targets)
        sample_weight : array of shape (n_rows,), optional

        Returns
        -------
        float
        """
        if self._has_several():
            return multi_output.score_classes(np.asarray(y), self.predict(X), sample_weight)
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class TreeRegressor(RegressorMixin, TreeModel):
    """What regressors add: means."""

    _task = Task.REGRESSION

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

    def predict(self, X: Any, *, out: Any = None, dtype: Any = None) -> FloatArray:
        """Average the means that the trees say.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        out : array of shape (n_rows,), optional
            Where to write the means: float64 or float32, with any strides; a memory map, for example.
        dtype : {float64, float32}, optional
            What to return. Means are computed in float64 and rounded once.

        Returns
        -------
        array of shape (n_rows,)
            It is `out` if that was given.
        """
        if is_dask_collection(X):
            return dask_methods.predict(self, "predict", X)  # type: ignore[no-any-return]
        rows = self._read(X)
        if self._has_several():
            self._require_no_room(out, dtype)
            return multi_output.average(open_engine(self.engine), self.forests_, rows, self.n_jobs)
        means = self._predict_into(rows, out, dtype)
        if not np.isfinite(means).all():  # sums of huge numbers, or numbers that float32 does not hold
            add_up = votes.average(self.forest_, lambda forest, _: (self._sum_votes_of(forest, rows), forest.n_trees))
            with np.errstate(over="ignore"):
                means[...] = add_up
        return means


Model = TypeVar("Model", bound=TreeModel)


def unfitted_copy(model: Model) -> Model:
    """Copy an estimator without what it has learned."""
    twin = copy.copy(model)
    twin.__dict__ = {name: value for name, value in vars(model).items() if name not in LEARNED}
    return twin


def _is_plain(model: TreeModel, X: Any) -> bool:
    """Say whether X is an array of floats about which the fit left nothing to ask: no names, no categories."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.aligned
        and X.shape[0] > 0
        and (X.base is None or (type(X.base) is np.ndarray and X.base.base is None))  # not mapped from a file
        and "forest_" in vars(model)
        and X.shape[1] == model.n_features_in_
        and not hasattr(model, "feature_names_in_")
        and not any(model.schema_.categories)
        and getattr(model, "missing", "learn") != "error"
    )


def _parents(forest: Forest) -> IntArray:
    """Number of each node's parent among all nodes; -1 for roots."""
    parents = np.full(forest.n_nodes, -1, dtype=np.int64)
    roots = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    split = np.flatnonzero(forest.feature >= 0)
    parents[split + 1] = split
    parents[roots[split] + forest.right[split]] = split
    return parents
