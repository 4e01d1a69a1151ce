"""Reading the training data again.

A forest stores neither its rows nor its bags. Functions that need them take the table again: it is read and coded as in
the fit, compared with the fingerprint stored with each tree, and the bags are drawn again from the seed.

    TrainingData          the table that the trees were grown from, and their bags
    read_training_data    from X, y and weights to a TrainingData; other data is refused
    read_again            the same for trees whose bags are drawn again
    is_training_data      tells whether a table is the one that the trees were grown from
    read_as_fit           from X, y and weights to a table, with any engine
    require_same_columns  refuse a table of other columns, classes or categories
    read_new_rows         from any X and y to a TrainingData without bags: rows that are new to every tree
    open_bags             the forest with its bags
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.schema import same_categories
from weald.data.table import Matrix, Reading, TrainingArguments
from weald.data.targets import labels_of
from weald.data.task import Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.choose import open_engine
from weald.engines.interface import Codes, Engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError
from weald.estimators.features import features_of
from weald.estimators.fit import unfitted_copy
from weald.estimators.growing import Grower
from weald.estimators.merging import same_values
from weald.estimators.multi_output import forests_of, listed
from weald.estimators.out_of_bag import Bagged, require_bags
from weald.estimators.prediction import read_matrix, voting_of
from weald.estimators.resampling import BAGGING
from weald.estimators.same_data import OTHER_VALUES, other_data, require_same_data, values_of
from weald.estimators.survival.refusals import refuse_survival
from weald.estimators.survival.training_times import number_again, times_and_events
from weald.forest import votes
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

Model = TypeVar("Model", bound="TreeModel")

BATCH_BYTES = 2**27  # memory limit for bags
MOST_BYTES = 2**33  # size limit of a sparse table converted to a dense one


@dataclass(frozen=True)
class TrainingData:
    """A table, its codes, and the trees for which each row is new."""

    model: "TreeModel"
    engine: Engine
    codes: Codes
    reading: Reading
    with_bags: bool = False  # otherwise every row is new to every tree

    @property
    def forest(self) -> Forest:
        """The grown trees."""
        forest: Forest = self.model.forest_
        return forest

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.reading.table.n_rows

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return count_threads(self.model.n_jobs)

    @property
    def weight(self) -> FloatArray:
        """Weight of each row."""
        given = self.reading.table.weight
        return np.ones(self.n_rows) if given is None else given

    def names_of_trees(self) -> list[tuple[int, int]]:
        """Name each tree by its seed and its number."""
        return [tree for origin in self.forest.origins for tree in origin.trees()]

    def order(self) -> IntArray:
        """Rows of the table in rank order."""
        return self.engine.order(self.codes)

    def bags(self, trees: range) -> IntArray:
        """Draw the bags of some trees again (trees x rows): how many times each row counts."""
        origins = [replace(o, first_tree=n, n_trees=1) for o in forests_of(self.model)[0].origins for _, n in o.trees()]
        wanted = [origins[t] for t in trees]
        return self.engine.bags(self.codes, self.model.growth_, wanted, self.n_threads)

    def out_of_bag(self, trees: range) -> BoolArray:
        """Mark the rows that are new to each of some trees (trees x rows)."""
        if not self.with_bags:
            return np.ones((len(trees), self.n_rows), dtype=np.bool_)
        is_new: BoolArray = self.bags(trees) == 0
        return is_new

    def batches(self, bytes_per_row: int = 4) -> Iterator[range]:
        """Divide the trees into batches whose arrays of rows x trees fit into memory."""
        n_trees = self.forest.n_trees
        step = max(1, BATCH_BYTES // (bytes_per_row * self.n_rows))
        for begin in range(0, n_trees, step):
            yield range(begin, min(n_trees, begin + step))

    def bagged(self) -> Bagged:
        """Return the forest together with its bags."""
        return features_of(self.model).grower(self._grower()).bagged(self.forest)

    def _grower(self) -> Grower:
        return Grower(
            *(self.engine, self.codes, self.reading, self.model.growth_, self.model.seed_, self.model.ccp_alpha),
            *(voting_of(self.model), self.n_threads, 0),
        )

    def written_out(self) -> "TrainingData":
        """Return the same with a sparse table converted to a dense one: permuting features reads single cells."""
        table = self.reading.table
        if not sparse.issparse(table.X):
            return self
        n_bytes = 8 * table.n_rows * table.n_features
        if n_bytes > MOST_BYTES:
            raise DataError(
                f"This kind of importance needs a dense table, and this sparse one would take {n_bytes / 2**30:.0f} "
                "GiB. Use feature_importances_, which needs no table, or fit a forest to fewer rows or features."
            )
        return replace(self, reading=replace(self.reading, table=replace(table, X=_all_cells(table.X))))

    # ---------------------------------------------------------------------------------------- predictions

    def averages(self, X: Matrix) -> FloatArray:
        """Average the predictions of the trees that are new to a row (rows x classes, or rows); NaN if there are none.

        `X` is the table, or a changed version of it with the same rows.
        """

        def add_up(forest: Forest, room: int) -> tuple[FloatArray, int | IntArray]:
            model, voting = self.model, voting_of(self.model)
            if not self.with_bags:
                return self.engine.sum_votes(forest, X, voting, self.n_threads, None), forest.n_trees
            found = self.engine.sum_votes_out_of_bag(
                self.codes, model.growth_, forest, X, voting, self.n_threads, None, None, room
            )
            return found.sums, found.n_trees

        return votes.average(self.forest, add_up)

    def losses(self, averages: FloatArray) -> FloatArray:
        """Compute the loss of each row: 1 for a wrong class, or the squared error; NaN without a prediction."""
        refuse_survival(self.model, "This", "Use `score`, `brier_score` and weald.importance.")
        target = self.reading.table.target
        if self.reading.table.task is Task.REGRESSION:
            return (target - averages) ** 2
        known = ~np.isnan(averages).any(axis=1)
        return np.where(known, averages.argmax(axis=1) != target, np.nan)

    def labels(self) -> Array:
        """The targets as the user gave them."""
        target, classes = self.reading.table.target, self.reading.classes
        if self.model.task is Task.SURVIVAL:
            return times_and_events(self.model, target)
        return target if classes is None else classes[target]

    def for_all_rows(self, found: FloatArray) -> FloatArray:
        """Add rows of weight 0, which were left out of the fit: NaN."""
        kept = self.reading.kept
        if kept is None:
            return found
        spread = np.full((len(kept), *found.shape[1:]), np.nan)
        spread[kept] = found
        return spread


def read_again(model: "TreeModel", data: TrainingArguments, *, bags: bool = True) -> TrainingData:
    """Read the training data again to draw the bags of all trees. With `bags`, all must be bootstrapped."""
    check_is_fitted(model, "forest_")
    if any(origin.resampling != BAGGING for origin in model.forest_.origins):
        raise ParameterError(
            "These trees were grown by boosting or arcing: the bag of a tree depends on the trees before it and cannot "
            'be drawn again. Fit a forest with resampling="bagging".'
        )
    if bags and not all(origin.bags.bootstrap for origin in model.forest_.origins):
        raise ParameterError(
            "This needs out-of-bag rows, but with bootstrap=False every tree has seen every row. Fit a forest with "
            "bootstrap=True."
        )
    training = read_training_data(model, data)
    reading = replace(training.reading, table=training.reading.table.in_memory())
    return replace(training, reading=reading, with_bags=bags)


def read_training_data(model: "TreeModel", data: TrainingArguments) -> TrainingData:
    """Read the training data again; refuse data that a tree was not grown from."""
    check_is_fitted(model)
    training = _read(model, data)
    forest = forests_of(model)[0]
    require_same_data(forest, training.codes, training.reading)
    if not _fills_leaves(training, forest):
        raise other_data(forest.n_trees, forest.n_trees, OTHER_VALUES)
    return training


def _fills_leaves(training: TrainingData, forest: Forest) -> bool:
    """Check that a tree's bag fills its leaves as in the fit, for files that store no fingerprint of the values."""
    known = values_of(training.codes, training.reading) is not None
    first = 0
    for origin in forest.origins:
        if not (known and origin.values is not None) and origin.resampling == BAGGING:
            tree = forest.take([first])
            X = training.reading.table.in_memory().X
            leaves = training.engine.leaves(tree, X, training.n_threads, None)[:, 0]
            bag = training.engine.bags(training.codes, training.model.growth_, tree.origins, training.n_threads)[0]
            sizes = np.bincount(leaves, weights=bag, minlength=tree.n_nodes)
            is_leaf = tree.feature < 0
            if not np.array_equal(sizes[is_leaf], tree.size[is_leaf]):
                return False
        first += origin.n_trees
    return True


def is_training_data(model: "TreeModel", data: TrainingArguments) -> bool:
    """Tell whether X and y are the table that the trees were grown from, in any order of rows."""
    try:
        read_training_data(model, data)
    except DataError:
        return False
    return True


def read_new_rows(model: "TreeModel", data: TrainingArguments) -> TrainingData:
    """Read rows that are new to every tree."""
    check_is_fitted(model, "forest_")
    return _read(model, data, new=True)


def open_bags(model: "TreeModel", data: TrainingArguments) -> tuple[Bagged, Reading]:
    """Read the training data again, and return the forest with its bags."""
    check_is_fitted(model, "forest_")
    require_bags(model.forest_)
    training = read_training_data(model, data)
    return training.bagged(), training.reading


def read_as_fit(model: Model, engine: Engine, data: TrainingArguments, *, new: bool = False) -> tuple[Model, Reading]:
    """Read a table as a fit does. Also returns the copy of the model that has learned its columns."""
    reader = unfitted_copy(model)  # reading sets attributes
    reader.seed_ = model.seed_
    if model.task is Task.SURVIVAL:
        data = number_again(model, data, new=new)
    return reader, features_of(reader).read(engine, data, model)


def require_same_columns(model: Model, reader: Model, reading: Reading) -> None:
    """Refuse a table with other columns, targets, classes or categories than that of the fit."""
    _require_same_shape(model, reader, reading)
    _require_same_labels(model, reader, reading)


def _read(model: "TreeModel", data: TrainingArguments, *, new: bool = False) -> TrainingData:
    engine = open_engine(model.engine, data.X).local  # a local engine, even if the trees were grown on a cluster
    reader, reading = read_as_fit(model, engine, data, new=new)
    _require_same_shape(model, reader, reading)
    if new:  # classes and categories keep the codes of the fit, even if these rows lack some
        reading = reading if reading.classes is None else _number_as_the_forest(reading, labels_of(model))
        X = read_matrix(model, data.X)
        reading = replace(reading, table=replace(reading.table, X=X if reading.kept is None else X[reading.kept]))
    else:
        _require_same_labels(model, reader, reading)
    codes = features_of(model).code(engine, reading)
    return TrainingData(model, engine, codes, reading)


def _require_same_shape(model: "TreeModel", reader: "TreeModel", reading: Reading) -> None:
    n_targets = 1 if reading.table.targets is None else reading.table.targets.n_targets
    if n_targets != model.n_outputs_:
        raise DataError(f"y has {n_targets} targets, but the forest has {model.n_outputs_}. Give the y of the fit.")
    found, known = (len(schema.categories) for schema in (reader.schema_, model.schema_))
    if found != known:
        raise DataError(f"X has {found} features, but the forest was fitted to {known}. Give the X of the fit.")


def _require_same_labels(model: "TreeModel", reader: "TreeModel", reading: Reading) -> None:
    if reading.classes is not None and not same_values(reading.classes, labels_of(model)):
        raise DataError(
            f"y has the classes {listed(reading.classes)}, but the forest was fitted to {listed(labels_of(model))}. "
            "Give the y of the fit."
        )
    if not same_categories(reader.schema_, model.schema_):
        raise DataError("The categories in X differ from those of the fit. Give the X of the fit.")


def _number_as_the_forest(reading: Reading, classes: Array) -> Reading:
    """Number classes as in the forest, even if some of them are absent."""
    assert reading.classes is not None  # noqa: S101  (for the type checker: it was asked for classes)
    known = classes.tolist()
    strange = [label for label in reading.classes.tolist() if label not in known]
    if strange:
        raise DataError(f"y has the class {strange[0]!r}, which was not in the fit. Its classes are {known}.")
    number_of = np.array([known.index(label) for label in reading.classes.tolist()], dtype=np.int32)
    table = replace(reading.table, target=number_of[reading.table.target], n_classes=len(known))
    return replace(reading, table=table, classes=classes)


def _all_cells(X: sparse.csr_matrix) -> FloatArray:
    cells: FloatArray = X.toarray()
    return cells
