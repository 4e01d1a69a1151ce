"""The training data, given again.

A forest keeps neither its rows nor its bags. Whoever needs them gives the table once more: it is read and coded as in
the fit, held against the fingerprint that every tree remembers, and the bags are drawn again from the seed.

    Training        a table that the trees were grown from, and the bags they were grown from
    read_again      from the user's X, y and weights to a Training
    read_rows       from any X and y to a Training without bags: rows that are new to every tree
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.table import Matrix, Reading
from weald.data.types import FloatArray, IntArray
from weald.engines.interface import Engine
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError
from weald.estimators.base import unfitted_copy
from weald.forest import votes
from weald.forest.forest import Forest

BATCH_BYTES = 2**27  # of bags that are held at a time
MOST_BYTES = 2**33  # of a sparse table that is written out
NO_DESIGN = {"groups": None, "stratify": None}  # bags are drawn from all rows alike


@dataclass(frozen=True)
class Training:
    """A table, how its rows are ranked, and for which trees each row is new."""

    model: Any
    engine: Engine
    coded: Any
    reading: Reading
    with_bags: bool  # else every row is new to every tree

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

    def written_out(self) -> "Training":
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


def read_again(model: Any, X: Any, y: Any, sample_weight: Any = None, *, bags: bool = True, **by_row: Any) -> Training:
    """Read the training table again and make sure that it is the one. With `bags`, every tree must have had one.

    `by_row` is what else `fit` was given for each row: `groups`, `stratify`.
    """
    check_is_fitted(model, "forest_")
    if any(origin.resampling != "bagging" for origin in model.forest_.origins):
        raise ParameterError(
            "These trees were grown by boosting or arcing: the bag of a tree depends on the trees before it and cannot "
            'be drawn again. Fit a forest with resampling="bagging".'
        )
    if bags and not all(origin.bags.bootstrap for origin in model.forest_.origins):
        raise ParameterError(
            "This needs rows that are outside a bag, but without bootstrap every tree has seen every row. Fit a "
            "forest with bootstrap=True."
        )
    training = _read(model, X, y, sample_weight, with_bags=bags, **by_row)
    if any(origin.bags.design != training.coded.design for origin in training.forest.origins):
        raise DataError(
            "The bags of these trees were drawn with other groups or stratify. Give the same ones as to fit."
        )
    same = all(origin.data == training.coded.fingerprint for origin in training.forest.origins)
    if not (same and _fits_a_tree(training)):
        raise DataError(
            "X, y and sample_weight are not the data that this forest was grown from: their fingerprint is another. "
            "Give the training data (rows may be in any order)."
        )
    return training


def _fits_a_tree(training: Training) -> bool:
    """Say whether the first tree's bag fills its leaves as it did when the tree grew.

    The fingerprint is of codes: a column in another unit has the same one, but its rows take other paths.
    """
    tree = training.forest.take([0])
    leaves = training.engine.leaves(tree, training.reading.table.X, training.n_threads, None)[:, 0]
    sizes = np.bincount(leaves, weights=training.bags(range(1))[0], minlength=tree.n_nodes)
    is_leaf = tree.feature < 0
    return np.array_equal(sizes[is_leaf], tree.size[is_leaf])


def read_rows(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Training:
    """Read rows that are new to every tree."""
    check_is_fitted(model, "forest_")
    return _read(model, X, y, sample_weight, with_bags=False, new=True)


def _read(
    model: Any, X: Any, y: Any, sample_weight: Any, *, with_bags: bool, new: bool = False, **by_row: Any
) -> Training:
    reading = unfitted_copy(model)._read_table(X, y, sample_weight, **{**NO_DESIGN, **by_row})  # noqa: SLF001  (reading leaves its marks)
    if reading.classes is not None:
        reading = _number_as_the_forest(reading, model.classes_)
    if new:  # categories are numbered as at the fit, though these rows may lack some
        X = model._read(X)  # noqa: SLF001  (a step of its prediction)
        reading = replace(reading, table=replace(reading.table, X=X if reading.kept is None else X[reading.kept]))
    engine, coded = model._code(reading)  # noqa: SLF001  (a step of its fit)
    if reading.table.n_features != model.forest_.n_features:
        known = model.forest_.n_features
        raise DataError(f"X has {reading.table.n_features} features, but the forest knows {known}.")
    return Training(model, engine, coded, replace(reading, table=reading.table.in_memory()), with_bags)


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
