"""Sparse tables: any of SciPy's formats -> one, row by row, in float64, without a dense copy."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from weald.errors import DataError, DataTypeError

MOST_COLUMNS = 2**31 - 1  # columns are numbered in 32 bits


def read_sparse(estimator: Any, X: Any, *, reset: bool, allow_missing: bool) -> Any:
    """Read a sparse X. What is not stored is 0, NaN is missing, entries of one place are added up."""
    if X.dtype.kind == "c":
        raise DataError(
            "X holds complex numbers. Complex data not supported: give real and imaginary parts as columns."
        )
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(
            f"X has {X.shape[1]} columns, but a sparse table may have {MOST_COLUMNS} at most. Leave out those that "
            "nothing is stored in, and number the others anew."
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
    if not rows.has_canonical_format:
        rows = rows.copy()  # the user's own stays as it is
        rows.sum_duplicates()
    if not allow_missing and (missing := np.isnan(rows.data)).any():
        row = int(np.searchsorted(rows.indptr, np.argmax(missing), side="right")) - 1
        raise DataError(
            f'Row {row} of X has a missing value, and missing="error" allows none. Fill it in, or set missing="learn".'
        )
    return rows
