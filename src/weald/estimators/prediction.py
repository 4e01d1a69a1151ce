"""Prediction: read rows with the schema of the fit, then walk the trees in order.

read_rows       any X            ->  rows
read_row        one row, in any form  ->  a matrix of one row
sum_votes       rows             ->  sums over trees
predict_into    rows             ->  averages over trees, in an array given by the user or a new one
predict_calibrated    rows       ->  calibrated class probabilities
predict_collection    a Dask collection  ->  a Dask collection of predictions
find_leaves     any X            ->  the leaf of each row in each tree
mark_paths      any X            ->  the nodes on the path of each row
"""

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data.foreign_arrays import on_host
from weald.data.table import Matrix
from weald.data.types import Array, FloatArray, IntArray, TableLike
from weald.engines.choose import open_engine
from weald.engines.threads import count_threads
from weald.errors import DataError, DataTypeError, shown
from weald.estimators import chunked_prediction
from weald.estimators.calibration.calibrator import calibrator_of
from weald.estimators.features import RowBlocks, Rows, features_of
from weald.estimators.multi_output import forests_of
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

FEW_STEPS = 16384  # rows x trees below which one thread is used


def read_rows(model: "TreeModel", X: TableLike) -> Rows:
    """Read X with the schema of the fit. An array of floats that needs no conversion is used as it is."""
    if _is_plain(model, X):
        rows: Matrix = X  # type: ignore[assignment]  # it is a NumPy array of floats
        return rows
    check_is_fitted(model)
    return features_of(model).rows(X)


def read_matrix(model: "TreeModel", X: TableLike) -> Matrix:
    """Read X with the schema of the fit, as one matrix."""
    rows = read_rows(model, X)
    return np.concatenate(list(rows.row_blocks())) if isinstance(rows, RowBlocks) else rows


def read_row(model: "TreeModel", x: Any) -> Matrix:
    """Read one row, with or without names, as a table of one row."""
    x = on_host(x, "x")
    if callable(getattr(x, "keys", None)) and np.ndim(x) < 2:
        known = getattr(model, "feature_names_in_", None)
        if known is None:
            raise DataError("x has names, but the model was fitted to a table without. Give values in their order.")
        missing = [name for name in known if name not in x.keys()]  # noqa: SIM118  (of a Series, `in` means its index)
        if missing:
            raise DataError(f"x has no value for {missing[0]!r}. Give a value for each feature; NaN is missing.")
        x = [x[name] for name in known]
    shape = getattr(x, "shape", None)
    is_list = isinstance(x, Iterable) and not isinstance(x, str | bytes)
    if shape == () or (shape is None and not is_list):
        raise DataTypeError(f"x is {shown(x)}, not a row. Give a value for each feature, as in X[0].")
    try:
        is_row = np.ndim(x) < 2
    except ValueError as error:  # lists of different lengths
        raise DataError(f"x cannot be read as a row: {error}. Give a value for each feature, as in X[0].") from error
    if is_row:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # values are matched by position
            return read_matrix(model, [list(x)])
    rows = read_matrix(model, x)
    if rows.shape[0] != 1:
        raise DataError(f"x has {rows.shape[0]} rows, but one row is explained at a time. Give one, as in X[0].")
    return rows.toarray() if hasattr(rows, "toarray") else rows


def voting_of(model: "TreeModel") -> str:
    """Return how leaves vote; only classification forests have the choice."""
    voting: str = getattr(model, "voting", "soft")
    return voting


def sum_votes(model: "TreeModel", forest: Forest, rows: Rows) -> FloatArray:
    """Sum the predictions of the trees, in tree order."""
    engine, voting = open_engine(model.engine), voting_of(model)
    return _concatenate(
        engine.sum_votes(forest, block, voting, _count_threads(model, forest, block), None) for block in _blocks(rows)
    )


def predict_into(model: "TreeModel", rows: Rows, out: object, dtype: object, *width: int) -> Array:
    """Average the predictions of the trees, in the given array or a new one."""
    forest, engine, voting = model.forest_, open_engine(model.engine), voting_of(model)
    n_rows = len(rows) if isinstance(rows, RowBlocks) else int(rows.shape[0])
    room, begin = chunked_prediction.room_for(out, (n_rows, *width), dtype), 0
    for block in _blocks(rows):
        part = room[begin : begin + block.shape[0]]
        engine.predict(forest, block, voting, part, _count_threads(model, forest, block), None)
        begin += block.shape[0]
    return room


def predict_calibrated(model: "TreeModel", rows: Rows, out: object = None, dtype: object = None) -> Array:
    """Predict calibrated class probabilities, in the given array or a new one."""
    calibrator = calibrator_of(model)
    assert calibrator is not None  # noqa: S101  (for the type checker: the caller has asked)
    n_rows = len(rows) if isinstance(rows, RowBlocks) else int(rows.shape[0])
    n_classes = model.forest_.n_classes
    room = None if out is None and dtype is None else chunked_prediction.room_for(out, (n_rows, n_classes), dtype)
    found = calibrator(predict_into(model, rows, None, None, n_classes))
    if room is None:
        return found
    room[...] = found
    return room


def predict_collection(model: "TreeModel", name: str, X: TableLike, /, width: int = 0, **how: object) -> Array:
    """Predict a Dask collection, partition by partition."""
    from weald.dask.prediction import predict  # imported here so that Dask is loaded only if it is used

    found: Array = predict(model, name, X, width, **how)
    return found


def find_leaves(model: "TreeModel", X: TableLike) -> IntArray:
    """Find the leaf of each row in each tree (rows x trees): node numbers inside the trees."""
    rows = read_rows(model, X)
    forest, engine, n_threads = forests_of(model)[0], open_engine(model.engine), count_threads(model.n_jobs)
    return _concatenate(engine.leaves(forest, block, n_threads, None) for block in _blocks(rows))


def mark_paths(model: "TreeModel", X: TableLike) -> sparse.csr_matrix:
    """Mark the nodes of all trees on the path of each row."""
    return mark_parents(forests_of(model)[0], find_leaves(model, X))


def mark_parents(forest: Forest, leaves: IntArray) -> sparse.csr_matrix:
    """Mark the leaf of each row in each tree (rows x trees), and all its ancestors."""
    parents = forest.parents()
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


def _blocks(rows: Rows) -> Iterable[Matrix]:
    """Return rows as they are, or as blocks that are computed one at a time."""
    if type(rows) is np.ndarray:  # the usual case, and the fastest check
        return (rows,)
    return rows.row_blocks() if isinstance(rows, RowBlocks) else (rows,)


def _concatenate(parts: Iterable[Array]) -> Array:
    """Concatenate results for blocks of rows; those of a single block are not copied."""
    found = list(parts)
    return found[0] if len(found) == 1 else np.concatenate(found)


def _count_threads(model: "TreeModel", forest: Forest, rows: Matrix) -> int:
    """Choose the number of threads. Few rows use one, because querying the machine takes longer."""
    few = rows.shape[0] * forest.n_trees <= FEW_STEPS
    return 1 if few else count_threads(model.n_jobs)


def _is_plain(model: "TreeModel", X: TableLike) -> bool:
    """Return whether X is an array of floats that needs no conversion: no names, no categories."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.char in "df"
        and X.dtype.isnative
        and X.flags.aligned
        and X.shape[0] > 0
        and (X.base is None or (type(X.base) is np.ndarray and X.base.base is None))  # not a memory map
        and "forest_" in vars(model)
        and "sample_kind_" not in vars(model)
        and X.shape[1] == model.n_features_in_
        and not hasattr(model, "feature_names_in_")
        and not any(model.schema_.categories)
        and not model.schema_.times
        and getattr(model, "missing", "learn") != "error"
    )
