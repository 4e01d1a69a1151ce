"""Sparse input: any of SciPy's formats -> CSR in float64, without a dense copy."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from weald.data.schema import TableReader
from weald.data.types import IntArray, Native
from weald.errors import DataError, DataTypeError

MOST_COLUMNS = 2**31 - 1  # column indices have 32 bits


def read_sparse(estimator: TableReader, X: Native, *, reset: bool, allow_missing: bool) -> Native:
    """Read a sparse X. Values that are not stored are 0, NaN is missing, duplicate entries are added up."""
    if X.ndim != 2:
        raise DataError(
            f"X is a sparse array of {X.ndim} dimension(s), but a table has 2: rows and columns. Reshape it."
        )
    _check_structure(X)
    if X.dtype.kind == "c":
        raise DataError(
            "X holds complex numbers. Complex data not supported: give real and imaginary parts as columns."
        )
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(
            f"X has {X.shape[1]} columns, but a sparse table may have {MOST_COLUMNS} at most. Drop the empty columns "
            "and renumber the others."
        )
    try:
        checked = check_array(
            X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, estimator=estimator, input_name="X"
        )
        validate_data(estimator, checked, reset=reset, skip_check_array=True)
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:
        raise DataError(str(error)) from error
    rows = sparse.csr_array(checked)
    _check_structure(rows)  # formats built of Python lists can be checked only now
    if not rows.has_canonical_format:
        rows = rows.copy()  # the user's matrix must not change
        rows.sum_duplicates()
    if not allow_missing and (missing := np.isnan(rows.data)).any():
        row = int(np.searchsorted(rows.indptr, np.argmax(missing), side="right")) - 1
        raise DataError(
            f'Row {row} of X has a missing value, and missing="error" refuses them. Fill it in, or set missing="learn".'
        )
    return rows


def _check_structure(X: Native) -> None:
    """Refuse indices outside the table: SciPy and the core read memory at them without a check."""
    if X.format in {"csr", "csc", "bsr"}:
        block = X.blocksize if X.format == "bsr" else (1, 1)
        shape = (X.shape[0] // block[0], X.shape[1] // block[1])
        n_major, n_minor = shape[::-1] if X.format == "csc" else shape
        start, n_stored = X.indptr, len(X.indices)
        _require(start.ndim == 1 and len(start) == n_major + 1, "indptr", f"must have {n_major + 1} entries")
        _require(start[0] == 0 and start[-1] <= n_stored, "indptr", f"must begin at 0 and end at {n_stored} at most")
        _require(bool((start[:-1] <= start[1:]).all()), "indptr", "must not descend")
        _require(len(X.data) >= start[-1], "data", "must be as long as indices")
        _require_within("indices", X.indices[: start[-1]], n_minor)
    elif X.format == "coo":
        _require(len(X.row) == len(X.col) == len(X.data), "row, col and data", "must be of one length")
        _require_within("row", X.row, X.shape[0])
        _require_within("col", X.col, X.shape[1])


def _require_within(name: str, index: IntArray, end: int) -> None:
    _require(not len(index) or (index.min() >= 0 and index.max() < end), name, f"must be from 0 to {end - 1}")


def _require(holds: bool, name: str, rule: str) -> None:
    if not holds:
        raise DataError(f"X is a malformed sparse matrix: {name} {rule}. Build it again from rows, columns and values.")
