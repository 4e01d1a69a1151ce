"""Any X, y and sample_weight -> a Table. The only file that knows data frames.

    read_table       X, y, weights of a fit      -> Reading: the table, its classes, which rows were kept
    read_features    X of a fit or a prediction  -> array of float32 or float64

What is allowed: arrays of any number type, order and stride (float32 and float64 pass without a copy, everything else
becomes float64), lists, and data frames of pandas, polars, pyarrow and others. NaN, masked entries and a frame's null
are missing values; infinities are values like others. What means nothing as a number is refused by name.
"""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

from weald.errors import DataError, DataTypeError, warn
from weald.model import FloatArray

MAX_CLASSES = 65_536
LARGEST_EXACT = 2**53  # whole numbers up to here are float64 values

ENCODE = "Turn it into numbers (for example with sklearn.preprocessing.OrdinalEncoder) or leave it out."

Matrix = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A training table in plain numbers: all that an engine needs to know of the data."""

    X: Matrix  # rows x features, any strides; NaN: missing
    target: npt.NDArray[Any]  # int32 class numbers, or float64
    n_classes: int  # 0: regression
    weight: FloatArray | None  # > 0; None: every row weighs 1
    weights_whole: bool
    size: int  # total weight when whole, else the number of rows
    groups: npt.NDArray[np.int32] | None = None  # number of each row's group; groups are drawn whole
    strata: npt.NDArray[np.int32] | None = None  # number of each row's stratum; each has draws of its own

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])


@dataclass(frozen=True)
class Reading:
    """A table, and what its reader must remember to speak the user's language."""

    table: Table
    classes: npt.NDArray[Any] | None  # the user's labels by class number
    kept: npt.NDArray[np.bool_] | None  # which of the user's rows are in the table; None: all


def read_table(estimator: Any, X: Any, y: Any, sample_weight: Any, *, classify: bool) -> Reading:
    """Read the arguments of a fit. Rows of zero weight are dropped before anything else."""
    features = read_features(estimator, X, reset=True)
    labels = _read_target(y, n_rows=len(features), classify=classify)
    weight = _read_weight(sample_weight, n_rows=len(features))
    kept = None
    if weight is not None and not weight.all():
        kept = weight > 0
        features, labels, weight = features[kept], labels[kept], weight[kept]
    if weight is not None and (weight == 1).all():
        weight = None
    whole, size = _measure(weight, len(features))
    classes, target = _number_classes(labels) if classify else (None, labels)
    n_classes = 0 if classes is None else len(classes)
    return Reading(Table(features, target, n_classes, weight, whole, size), classes, kept)


# -------------------------------------------------------------------------------------------------------- features


def read_features(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """Read X. With `reset` the estimator learns the number and names of the features, else they must agree."""
    frame = _as_frame(X)
    values = _numbers_of_array(X) if frame is None else _numbers_of_frame(frame)
    try:
        checked: Matrix = check_array(
            values, dtype=(np.float64, np.float32), ensure_all_finite=False, estimator=estimator, input_name="X"
        )
        validate_data(estimator, checked if frame is None else X, reset=reset, skip_check_array=True)
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:
        raise DataError(str(error)) from error
    return checked


def _as_frame(X: Any) -> "nw.DataFrame[Any] | None":
    """See X as a data frame if it is one."""
    if nw.dependencies.is_pandas_dataframe(X):  # the only kind of frame that may have them
        _refuse_twins(list(X.columns))
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise DataTypeError("X is a lazy data frame, which holds no values yet. Collect it first: X.collect().")
    return frame if isinstance(frame, nw.DataFrame) else None


def _refuse_twins(names: list[Any]) -> None:
    """Refuse names that say nothing: two columns of one name."""
    if len(set(names)) < len(names):
        twin = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"X has more than one column named {twin!r}. Give each column a name of its own.")


def _numbers_of_frame(frame: "nw.DataFrame[Any]") -> npt.NDArray[Any]:
    """Turn the columns of a frame into one array; null is NaN."""
    columns = list(frame.iter_columns())  # not by name: the names of a pandas frame may be numbers
    for column in columns:
        if not (column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.Object)):
            raise DataTypeError(_not_numbers(column))
    if {column.dtype for column in columns} in ({nw.Float64()}, {nw.Float32()}):
        return frame.to_numpy()
    values = np.empty((len(frame), len(columns)), dtype=np.float64, order="F")
    for i, column in enumerate(columns):
        where = f"column {column.name!r} of X"
        if column.dtype == nw.Object:
            values[:, i] = _numbers_of_objects(column.to_numpy(), where)
        else:
            _warn_of_rounding(column.to_numpy(), where)
            values[:, i] = column.cast(nw.Float64).to_numpy()
    return values


def _not_numbers(column: "nw.Series[Any]") -> str:
    """Word the error for a column that holds no numbers."""
    found = getattr(column.to_native(), "dtype", column.dtype)  # the user's own word for the type
    found_in = f"Column {column.name!r} of X holds {found}, not numbers."
    if column.dtype in (nw.Datetime, nw.Date, nw.Duration, nw.Time):
        return f"{found_in} Turn dates and times into numbers first, for example days since a start."
    return f"{found_in} {ENCODE}"


def _words_of(dtype: np.dtype[Any]) -> str:
    """Name what an array holds; NumPy's own names of text say little."""
    return f"text ({dtype})" if dtype.kind in "UST" else str(dtype)


def _numbers_of_array(X: Any) -> Any:
    """See X as an array of numbers; check_array looks at the rest of its shape."""
    if sparse.issparse(X):
        raise DataTypeError("X is sparse, which weald does not read. Use X.toarray() to make it dense.")
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if isinstance(X, np.matrix):
        return X  # check_array words this one
    if X is None or isinstance(X, str | bytes):
        raise DataTypeError(f"X is {X!r}, not a table. Give an array, a list of rows or a data frame.")
    try:
        array = np.asarray(X)
    except (ValueError, TypeError) as error:
        raise DataError(f"X cannot be read as a table of numbers: {error}") from error
    _refuse_no_table(array)
    kind = array.dtype.kind
    if kind == "O" and array.ndim == 2:
        columns = [_numbers_of_objects(array[:, f], f"column {f} of X") for f in range(array.shape[1])]
        return np.column_stack(columns) if columns else array.astype(np.float64)
    if kind in "iu":
        _warn_of_rounding(array, "X")
    return array


def _refuse_no_table(array: npt.NDArray[Any]) -> None:
    """Refuse what means nothing as a number, and what has no rows and columns."""
    kind = array.dtype.kind
    if kind == "c":
        raise DataError(
            "X holds complex numbers. Complex data not supported: give real and imaginary parts as columns."
        )
    if kind in "Mm":
        raise DataTypeError(f"X holds {array.dtype}, not numbers. Turn dates and times into numbers first.")
    if kind in "USTV":
        raise DataTypeError(f"X holds {_words_of(array.dtype)}, not numbers. {ENCODE}")
    if array.ndim < 2:
        found = "1D array" if array.ndim else "scalar"
        raise DataError(
            f"Expected 2D array, got {found}: the shape of X is {array.shape}. Reshape your data: X.reshape(-1, 1) if "
            "it is one feature, X.reshape(1, -1) if it is one row."
        )


def _numbers_of_objects(column: npt.NDArray[Any], where: str) -> FloatArray:
    """Turn Python objects into numbers, or name the first that is none."""
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        pass
    numbers = np.empty(len(column))
    for row, value in enumerate(column):
        try:
            numbers[row] = np.nan if _is_null(value) else float(value)
        except (TypeError, ValueError) as error:
            msg = f"Row {row} of {where} is {value!r}, which is not a number. Turn it into a number first. ({error})"
            raise (DataTypeError if isinstance(error, TypeError) else DataError)(msg) from None
    return numbers


def _is_null(value: Any) -> bool:
    """Say whether an object stands for a missing value: None, NaN, or a data frame's own null."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _warn_of_rounding(array: npt.NDArray[Any], where: str) -> None:
    """Say it when whole numbers are too large to be told apart as float64."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return
    if array.max() > LARGEST_EXACT or array.min() < -LARGEST_EXACT:
        warn(
            f"{where} holds whole numbers beyond 2**53. They are rounded to float64, so that neighbours may "
            "become equal. If they are identifiers, leave them out."
        )


# --------------------------------------------------------------------------------------------------------- targets


def _read_target(y: Any, *, n_rows: int, classify: bool) -> npt.NDArray[Any]:
    """Read y as one label or number per row."""
    column = _read_column(y, "y")
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows but y has {len(column)}. Give one target for each row.")
    return _check_labels(column) if classify else _check_numbers(column, "y")


def _read_column(y: Any, name: str) -> npt.NDArray[Any]:
    """Read one value per row."""
    if y is None:
        raise DataError(f"This estimator requires {name} to be passed, but the target {name} is None.")
    if sparse.issparse(y):
        raise DataTypeError(f"{name} is sparse. Use {name}.toarray() to make it dense.")
    if isinstance(y, np.ma.MaskedArray) and y.mask.any():
        raise DataError(f"{name} has masked entries. Leave those rows out, of X too.")
    try:
        array = np.asarray(y)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} cannot be read as a column: {error}") from error
    if array.ndim == 2 and array.shape[1] > 1:
        raise DataError(
            f"{name} has {array.shape[1]} columns: weald predicts one target at a time. Fit one model per column, "
            "for example with sklearn.multioutput."
        )
    if array.dtype.kind in "cV":
        raise DataTypeError(f"{name} holds {array.dtype}, which is neither a number nor a label.")
    if array.ndim == 2 and array.shape[1] == 1:
        warn(
            f"A column-vector {name} was passed when a 1d array was expected: its shape is {array.shape}. Give one "
            f"value for each row, for example {name}.ravel().",
            DataConversionWarning,
        )
    elif array.ndim != 1:
        raise DataError(f"{name} should be a 1d array, but its shape is {array.shape}. Give one value for each row.")
    return array.reshape(-1)


def _check_numbers(column: npt.NDArray[Any], name: str) -> FloatArray:
    """Make a column float64, all finite."""
    if column.dtype.kind in "USTMm":
        hint = " Turn it into numbers, or use a classifier if these are labels." if name == "y" else ""
        raise DataTypeError(f"{name} holds {_words_of(column.dtype)}, not numbers.{hint}")
    numbers = _numbers_of_objects(column, name) if column.dtype.kind == "O" else column.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(
            f"Row {row} of {name} is {numbers[row]}. Give finite numbers, or leave such rows out, of X too."
        )
    return numbers


def read_labels(labels: Any, name: str, n_rows: int) -> npt.NDArray[Any]:
    """Read one label for each row."""
    column = _check_labels(_read_column(labels, name), name)
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows but {name} has {len(column)}. Give one value for each row.")
    return column


def _check_labels(column: npt.NDArray[Any], name: str = "y") -> npt.NDArray[Any]:
    """Refuse what cannot be a label."""
    if column.dtype.kind == "f":
        _check_numbers(column, name)
    if column.dtype.kind == "f" and name == "y":
        whole = column == np.floor(column)
        if not whole.all():
            row = int(np.argmin(whole))
            raise DataError(
                f"Unknown label type: continuous. Row {row} of y is {column[row]}; a classifier needs class labels. "
                "Use a regressor, or cut y into classes."
            )
    if column.dtype.kind == "O":
        nulls = [row for row, label in enumerate(column) if _is_null(label)]
        if nulls:
            raise DataError(
                f"Row {nulls[0]} of {name} is {column[nulls[0]]!r}. Leave rows without a label out, of X too."
            )
    return column


def _number_classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Replace class labels by their numbers in sorted order."""
    classes, numbers = number_labels(labels, "y")
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"y has {len(classes)} classes; at most {MAX_CLASSES} are allowed. Is it meant for a regressor?"
        )
    return classes, numbers


def number_labels(labels: npt.NDArray[Any], name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Replace labels by their numbers in sorted order."""
    try:
        distinct, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataTypeError(
            f"{name} mixes labels that cannot be sorted: {', '.join(kinds)}. Give labels of one kind."
        ) from error
    return distinct, numbers.astype(np.int32).reshape(len(labels))


# --------------------------------------------------------------------------------------------------------- weights


def _read_weight(sample_weight: Any, *, n_rows: int) -> FloatArray | None:
    """Read one weight per row: finite, none negative, not all zero."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, int | float | np.number):
        sample_weight = np.full(n_rows, float(sample_weight))
    column = np.asarray(sample_weight)
    if column.ndim != 1:
        raise DataError(
            f"sample_weight has {column.ndim} dimensions. Give one number for each row: sample_weights must be 1D."
        )
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows but sample_weight has {len(column)}. Give one weight for each row.")
    weight = _check_numbers(_read_column(column, "sample_weight"), "sample_weight")
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise DataError(f"Row {row} of sample_weight is {weight[row]}. Negative weights are not allowed.")
    if not weight.any():
        raise DataError("sample_weight is zero for every row. Give at least one row a positive weight.")
    return weight


def _measure(weight: FloatArray | None, n_rows: int) -> tuple[bool, int]:
    """Say whether all weights are whole, and how large the table is: the total weight if so, else the rows."""
    if weight is None:
        return True, n_rows
    # The first tests, of the largest and of a rounded sum, only make sure that the sum of integers cannot overflow.
    whole = bool(weight.max() <= LARGEST_EXACT and weight.sum() <= 2 * LARGEST_EXACT)
    whole = whole and bool((weight == np.floor(weight)).all())
    total = int(weight.astype(np.int64).sum()) if whole else 0
    whole = whole and total <= LARGEST_EXACT
    return whole, total if whole else n_rows
