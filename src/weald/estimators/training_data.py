"""The training data, given again.

A forest keeps neither its rows nor its bags. To use them, the caller gives the table again: it is read and coded as in
the fit, compared with the fingerprint that every tree remembers, and the bags are drawn again from the seed.

    TrainingData          a table that the trees were grown from, and the bags they were grown from
    read_training_data    from the user's X, y and weights to a TrainingData; other data is refused
    read_again            the same for trees whose bags are to be drawn again
    read_rows             from any X and y to a TrainingData without bags: rows that are new to every tree
    require_same_data     refuse codes of data that a tree was not grown from
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.schema import same_categories
from weald.data.table import Matrix, Reading
from weald.data.types import FloatArray, IntArray
from weald.engines.interface import Engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError
from weald.estimators.base import unfitted_copy
from weald.estimators.merging import same_values
from weald.estimators.multi_output import forests_of, listed
from weald.estimators.resampling import BAGGING
from weald.forest import votes
from weald.forest.forest import Forest, Origin

BATCH_BYTES = 2**27  # of bags that are held at a time
MOST_BYTES = 2**33  # of a sparse table that is written out


@dataclass(frozen=True)
class TrainingData:
    """A table, how its rows are ranked, and for which trees each row is new."""

    model: Any
    engine: Engine
    coded: Any
    reading: Reading
    with_bags: bool = False  # else every row is new to every tree

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
        """What each row weighs."""
        given = self.reading.table.weight
        return np.ones(self.n_rows) if given is None else given

    def names_of_trees(self) -> list[tuple[int, int]]:
        """Name each tree by its seed and its number."""
        return [tree for origin in self.forest.origins for tree in origin.trees()]

    def order(self) -> IntArray:
        """Rows of the table in rank order."""
        return self.engine.order(self.coded)

    def bags(self, trees: range) -> IntArray:
        """Draw the bags of some trees again (trees x rows): how often each row counts."""
        origins = [replace(o, first_tree=n, n_trees=1) for o in self.forest.origins for _, n in o.trees()]
        wanted = [origins[t] for t in trees]
        return self.engine.bags(self.coded, self.model.growth_, wanted, self.n_threads)

    def out_of_bag(self, trees: range) -> npt.NDArray[np.bool_]:
        """Say which rows are new to which of some trees (trees x rows)."""
        if not self.with_bags:
            return np.ones((len(trees), self.n_rows), dtype=np.bool_)
        is_new: npt.NDArray[np.bool_] = self.bags(trees) == 0
        return is_new

    def batches(self, bytes_per_row: int = 4) -> Iterator[range]:
        """Divide the trees into batches: what is held for each row and tree must fit the memory."""
        n_trees = self.forest.n_trees
        step = max(1, BATCH_BYTES // (bytes_per_row * self.n_rows))
        for begin in range(0, n_trees, step):
            yield range(begin, min(n_trees, begin + step))

    def written_out(self) -> "TrainingData":
        """The same with all cells of a sparse table written out: mixing features reads them one by one."""
        table = self.reading.table
        if not sparse.issparse(table.X):
            return self
        n_bytes = 8 * table.n_rows * table.n_features
        if n_bytes > MOST_BYTES:
            raise DataError(
                f"To ask for importances, a sparse table is written out, and this one would take {n_bytes / 2**30:.0f} "
                "GiB. feature_importances_ needs no table; or grow a forest from fewer rows or features."
            )
        return replace(self, reading=replace(self.reading, table=replace(table, X=_all_cells(table.X))))

    # ---------------------------------------------------------------------------------------- what the forest says

    def averages(self, X: Matrix) -> FloatArray:
        """Average what the trees to which a row is new say of it (rows x classes, or rows); NaN where there is none.

        `X` is the table, or one whose rows are other versions of the same rows.
        """

        def add_up(forest: Forest, room: int) -> tuple[FloatArray, int | IntArray]:
            model, voting = self.model, getattr(self.model, "voting", "soft")
            if not self.with_bags:
                return self.engine.sum_votes(forest, X, voting, self.n_threads, None), forest.n_trees
            found = self.engine.sum_votes_out_of_bag(
                self.coded, model.growth_, forest, X, voting, self.n_threads, None, None, room
            )
            return found.sums, found.n_trees

        return votes.average(self.forest, add_up)

    def losses(self, averages: FloatArray) -> FloatArray:
        """Judge each row: 1 for a wrong class, or the squared error; NaN where nothing is known."""
        target = self.reading.table.target
        if not self.reading.table.n_classes:
            return (target - averages) ** 2
        known = ~np.isnan(averages).any(axis=1)
        return np.where(known, averages.argmax(axis=1) != target, np.nan)

    def labels(self) -> npt.NDArray[Any]:
        """The targets in the user's words."""
        target, classes = self.reading.table.target, self.reading.classes
        return target if classes is None else classes[target]

    def for_all_rows(self, found: FloatArray) -> FloatArray:
        """Give rows that were left out for their zero weight a place of their own: NaN."""
        kept = self.reading.kept
        if kept is None:
            return found
        spread = np.full((len(kept), *found.shape[1:]), np.nan)
        spread[kept] = found
        return spread


def read_again(
    model: Any, X: Any, y: Any, sample_weight: Any = None, *, bags: bool = True, **by_row: Any
) -> TrainingData:
    """Read the training data again, to draw the bags of all trees. With `bags`, every tree must have had one.

    `by_row` is what else `fit` was given for each row: `groups`, `stratify`.
    """
    check_is_fitted(model, "forest_")
    if any(origin.resampling != BAGGING for origin in model.forest_.origins):
        raise ParameterError(
            "These trees were grown by boosting or arcing: the bag of a tree depends on the trees before it and cannot "
            'be drawn again. Fit a forest with resampling="bagging".'
        )
    if bags and not all(origin.bags.bootstrap for origin in model.forest_.origins):
        raise ParameterError(
            "This needs rows that are outside a bag, but without bootstrap every tree has seen every row. Fit a "
            "forest with bootstrap=True."
        )
    training = read_training_data(model, X, y, sample_weight, **by_row)
    reading = replace(training.reading, table=training.reading.table.in_memory())
    return replace(training, reading=reading, with_bags=bags)


def read_training_data(model: Any, X: Any, y: Any, sample_weight: Any = None, **by_row: Any) -> TrainingData:
    """Read the training data again, and refuse data that a tree was not grown from."""
    check_is_fitted(model)
    training = _read(model, X, y, sample_weight, **by_row)
    forest = forests_of(model)[0]
    require_same_data(forest, training.coded, training.reading)
    if not _fills_leaves(training, forest):
        raise _other_data(forest.n_trees, forest.n_trees, OTHER_VALUES)
    return training


# --------------------------------------------------------------------------------------------- is it the same data?

OTHER_DATA = "the fingerprint of X, y, sample_weight and max_bins is another"
OTHER_DESIGN = "groups or stratify are others"
OTHER_VALUES = "X has the same ranks, but other values; columns may be in other units"


def require_same_data(forest: Forest, coded: Any, reading: Reading) -> None:
    """Refuse data that a tree was not grown from, as far as fingerprints tell."""
    if not forest.origins:
        raise DataError(
            "These trees were not grown by weald, so it is not known which data they were grown from. Ask the library "
            "that grew them, evaluate them on other rows, or fit a forest of weald."
        )
    differences = [(origin.n_trees, _difference(origin, coded, reading)) for origin in forest.origins]
    found = [words for _, words in differences if words]
    if found:
        raise _other_data(sum(n for n, words in differences if words), forest.n_trees, found[0])


def refuse_other_values(forest: Forest, data: int, values: int | None) -> None:
    """Refuse to add trees from data of the same ranks but other values: it can only be a mistake."""
    same_ranks = [origin for origin in forest.origins if origin.data == data]
    if any(_differ(origin.values, values) for origin in same_ranks):
        raise DataError(
            f"{OTHER_VALUES}. The trees that warm_start=True keeps have thresholds in the old ones. Give X as in the "
            "first fit, or set warm_start=False to start anew."
        )


def values_of(coded: Any, reading: Reading) -> int | None:
    """Give the fingerprint of the values of a table, with those of all its targets; None: unknown."""
    targets = reading.table.targets
    values: int | None = coded.values if targets is None else targets.add_to(coded.values)
    return values


def _difference(origin: Origin, coded: Any, reading: Reading) -> str | None:
    """Name the first thing in which data differs from that of an origin."""
    if origin.data != coded.fingerprint:
        return OTHER_DATA
    if origin.bags.design != coded.design:
        return OTHER_DESIGN
    return OTHER_VALUES if _differ(origin.values, values_of(coded, reading)) else None


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def _other_data(n_strange: int, n_trees: int, words: str) -> DataError:
    these = "This tree was" if n_trees == 1 else f"{n_strange} of the {n_trees} trees were"
    some = " Or take the trees that were grown from this data, for example forest[:10]." * (n_strange < n_trees)
    return DataError(
        f"{these} grown from other data: {words}. Give X, y, sample_weight, groups and stratify as to fit, rows in any "
        f"order.{some}"
    )


def _fills_leaves(training: TrainingData, forest: Forest) -> bool:
    """Say whether a tree's bag fills its leaves as it did when the tree grew, where a file does not tell the values."""
    known = values_of(training.coded, training.reading) is not None
    first = 0
    for origin in forest.origins:
        if not (known and origin.values is not None) and origin.resampling == BAGGING:
            tree = forest.take([first])
            X = training.reading.table.in_memory().X
            leaves = training.engine.leaves(tree, X, training.n_threads, None)[:, 0]
            bag = training.engine.bags(training.coded, training.model.growth_, tree.origins, training.n_threads)[0]
            sizes = np.bincount(leaves, weights=bag, minlength=tree.n_nodes)
            is_leaf = tree.feature < 0
            if not np.array_equal(sizes[is_leaf], tree.size[is_leaf]):
                return False
        first += origin.n_trees
    return True


def read_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> TrainingData:
    """Read rows that are new to every tree."""
    check_is_fitted(model, "forest_")
    return _read(model, X, y, sample_weight, new=True)


def _read(model: Any, X: Any, y: Any, sample_weight: Any, *, new: bool = False, **by_row: Any) -> TrainingData:
    reader = unfitted_copy(model)  # reading leaves its marks
    reading = reader._read_table(X, y, sample_weight, **by_row)  # noqa: SLF001  (of the same class)
    _require_same_shape(model, reader, reading)
    if new:  # classes and categories are numbered as at the fit, though these rows may lack some
        reading = reading if reading.classes is None else _number_as_the_forest(reading, model.classes_)
        X = model._read(X)  # noqa: SLF001  (a step of its prediction)
        reading = replace(reading, table=replace(reading.table, X=X if reading.kept is None else X[reading.kept]))
    else:
        _require_same_labels(model, reader, reading)
    engine, coded = model._code(reading)  # noqa: SLF001  (a step of its fit)
    return TrainingData(model, engine, coded, reading)


def _require_same_shape(model: Any, reader: Any, reading: Reading) -> None:
    n_targets = 1 if reading.table.targets is None else reading.table.targets.n_targets
    if n_targets != model.n_outputs_:
        raise DataError(f"y has {n_targets} targets, but the forest has {model.n_outputs_}. Give the y of the fit.")
    found, known = (len(schema.categories) for schema in (reader.schema_, model.schema_))
    if found != known:
        raise DataError(f"X has {found} features, but the forest knows {known}. Give the X of the fit.")


def _require_same_labels(model: Any, reader: Any, reading: Reading) -> None:
    if reading.classes is not None and not same_values(reading.classes, model.classes_):
        raise DataError(
            f"y has the classes {listed(reading.classes)}, but the forest knows {listed(model.classes_)}. Give the y "
            "of the fit."
        )
    if not same_categories(reader.schema_, model.schema_):
        raise DataError("X has other categories than the data of the fit. Give the X of the fit.")


def _number_as_the_forest(reading: Reading, classes: npt.NDArray[Any]) -> Reading:
    """Number classes as the forest does, even where some of them are absent."""
    assert reading.classes is not None  # noqa: S101  (for the type checker: it was asked for classes)
    known = classes.tolist()
    strange = [label for label in reading.classes.tolist() if label not in known]
    if strange:
        raise DataError(f"y has the class {strange[0]!r}, which the forest does not know. It knows {known}.")
    number_of = np.array([known.index(label) for label in reading.classes.tolist()], dtype=np.int32)
    table = replace(reading.table, target=number_of[reading.table.target], n_classes=len(known))
    return replace(reading, table=table, classes=classes)


def _all_cells(X: Any) -> FloatArray:
    cells: FloatArray = X.toarray()
    return cells
