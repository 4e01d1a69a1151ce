"""The errors that intervals and prediction sets are computed from, as arrays of a file (word `errors`), and back.

pack      kept errors -> note and arrays
take      arrays of a file -> the arrays of errors, and all others
unpack    note, arrays and the forest -> kept errors, with every number checked unless the file is mapped
"""

import numpy as np

from weald.data.task import Task
from weald.data.types import Array
from weald.estimators.calibration.kept_errors import ClassificationErrors, KeptErrors, RegressionErrors, Weighing
from weald.forest.forest import Forest
from weald.io.container import Json, require
from weald.io.streams import Arrays, narrow

PREFIX = "errors."
TARGET, PREDICTION, OUTSIDE, LEAF = "errors.target", "errors.prediction", "errors.outside", "errors.leaf"
LAC, APS, WEIGHT = "errors.lac", "errors.aps", "errors.weight"
LARGEST_SCORE = 1.0 + 1e-9  # sums of probabilities are rounded


def pack(errors: KeptErrors, *, mappable: bool) -> tuple[Json, Arrays]:
    """Write the stored errors."""
    note = {"held_out": errors.is_held_out, "whole_weights": errors.weighing.whole}
    weight = errors.weighing.weight
    arrays: Arrays = {} if weight is None else {WEIGHT: weight}
    if isinstance(errors, ClassificationErrors):
        return note, {**arrays, LAC: errors.lac, APS: errors.aps}
    arrays |= {TARGET: errors.target, PREDICTION: errors.prediction}
    if errors.outside is not None:
        arrays[OUTSIDE] = errors.outside
    if errors.leaf is not None:
        arrays[LEAF] = errors.leaf.astype(np.uint32) if mappable else narrow(errors.leaf)
    return note, arrays


def take(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Divide the arrays of a file into those of errors and the others."""
    own = {name: array for name, array in arrays.items() if name.startswith(PREFIX)}
    return own, {name: array for name, array in arrays.items() if name not in own}


def unpack(note: Json, arrays: Arrays, forest: Forest, voting: str, *, mapped: bool) -> KeptErrors:
    """Restore the stored errors, for trees with this voting."""
    proper = isinstance(note, dict) and note.keys() == {"held_out", "whole_weights"}
    require(proper and all(type(value) is bool for value in note.values()), "The note on errors is invalid.")
    is_held_out = note["held_out"]
    is_classes = forest.task is Task.CLASSIFICATION
    needed = {LAC, APS} if is_classes else {TARGET, PREDICTION}
    needed |= set() if is_classes or is_held_out else {OUTSIDE}
    optional = {WEIGHT} if is_classes else {WEIGHT, LEAF}
    require(arrays.keys() - optional == needed, "The arrays of errors are not those of this task.")
    n_rows = len(arrays[LAC if is_classes else TARGET])
    of_rows = [array for name, array in arrays.items() if name not in (OUTSIDE, LEAF)]
    require(
        n_rows > 0 and all(array.dtype == np.float64 and array.shape == (n_rows,) for array in of_rows),
        "The arrays of errors have a wrong type or length.",
    )
    weighing = Weighing(arrays.get(WEIGHT), note["whole_weights"])
    errors = (
        ClassificationErrors(forest, is_held_out, arrays[LAC], arrays[APS], weighing, voting)
        if is_classes
        else _of_numbers(arrays, forest, weighing, is_held_out=is_held_out)
    )
    if not mapped:
        _check(errors)
    return errors


def _of_numbers(arrays: Arrays, forest: Forest, weighing: Weighing, *, is_held_out: bool) -> RegressionErrors:
    outside, leaf = arrays.get(OUTSIDE), arrays.get(LEAF)
    shape = len(arrays[TARGET]), -(-forest.n_trees // 8)
    require(
        outside is None or (outside.dtype == np.uint8 and outside.shape == shape),
        "The trees that have not seen rows have a wrong type or number.",
    )
    require(leaf is None or (leaf.ndim == 1 and leaf.dtype.kind == "u"), "The leaves of rows have a wrong type.")
    return RegressionErrors(forest, is_held_out, arrays[TARGET], arrays[PREDICTION], weighing, outside, leaf)


def _check(errors: KeptErrors) -> None:
    weight = errors.weighing.weight
    if weight is not None:
        require(np.isfinite(weight).all() and (weight > 0).all(), "The weight of an error must be positive and finite.")
        require(not errors.weighing.whole or (weight == np.floor(weight)).all(), "The weights of errors are not whole.")
    if isinstance(errors, ClassificationErrors):
        scores = np.concatenate([errors.lac, errors.aps])
        require(((scores >= 0) & (scores <= LARGEST_SCORE)).all(), "A score is not from 0 to 1.")
        return
    require(np.isfinite(errors.target).all(), "A target of an error is not finite.")
    require(not np.isinf(errors.prediction).any(), "A prediction of an error is infinite.")
    is_outside = errors.trees_outside(slice(None))
    require(np.array_equal(is_outside.any(axis=1), errors.is_seen), "Rows and the trees that predict them disagree.")
    require(errors.is_seen.any(), "No row has a prediction.")
    if errors.outside is not None:
        padded = np.unpackbits(errors.outside, axis=1)[:, errors.forest.n_trees :]
        require(not padded.any(), "A row is predicted by a tree that does not exist.")
    if errors.leaf is not None:
        _check_leaves(errors.forest, errors.leaf, np.nonzero(is_outside)[1])


def _check_leaves(forest: Forest, leaf: Array, tree: Array) -> None:
    """Check that each number is a leaf of its tree."""
    require(len(leaf) == len(tree), "The number of leaves of rows is inconsistent.")
    n_nodes = np.diff(forest.tree_start)[tree]
    require((leaf < n_nodes).all(), "A row is in a leaf that does not exist.")
    require((forest.feature[forest.tree_start[tree] + leaf] < 0).all(), "A row is in a node that is no leaf.")
