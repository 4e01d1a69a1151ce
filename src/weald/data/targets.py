"""Reading targets: any y -> class codes, or numbers; one target or several.

read_target     y of a fit           -> labels or numbers, checked: one column, or one per target
number_target   labels or numbers    -> Target: the input of engines
read_labels     one label for each row; also for groups and strata
name_of_target  the name of a column, if it has one
labels_of       the class labels of a fitted model
"""

import hashlib
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from weald.data.foreign_arrays import on_host
from weald.data.frames import as_frame
from weald.data.mmap_checks import refuse_cut_short
from weald.data.object_columns import is_null, numbers_of_objects
from weald.data.task import Task
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray
from weald.errors import DataError, DataTypeError, warn

MAX_CLASSES = 65_536
LOOKED_AT = 1000  # rows searched for labels before all rows are sorted
LOOKS = 3
PART_ROWS = 2**16  # processed together

# The user's labels by class code: an array, or for multi-output a list of arrays; None: regression. The number of
# targets decides, so a union type would have to be narrowed wherever the number is known.
Classes: TypeAlias = Any


@dataclass(frozen=True)
class Targets:
    """Multi-output targets: the value of each target in each joint target.

    Rows that agree in all targets have the same joint target. Joint targets are ordered by the first target, then by
    the second, and so on.
    """

    values: Array  # joint targets x targets: int32 class codes, or float64
    n_classes: tuple[int, ...]  # number of classes of each target; empty: regression

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return int(self.values.shape[1])

    @property
    def task(self) -> Task:
        """The kind of all targets."""
        return Task.CLASSIFICATION if self.n_classes else Task.REGRESSION

    def n_classes_of(self, target: int) -> int:
        """Return the number of classes of a target; 0: regression."""
        return self.n_classes[target] if self.task is Task.CLASSIFICATION else 0

    def add_to(self, values: int | None) -> int | None:
        """Add the values of all targets to the fingerprint of a table, which covers only joint targets."""
        if values is None:
            return None
        digest = hashlib.sha256(np.ascontiguousarray(self.values, dtype="<f8").data).digest()
        return (values + int.from_bytes(digest[:8], "little")) % 2**64


@dataclass(frozen=True)
class Target:
    """The target of the rows."""

    target: Array  # int32 class codes, or float64; for multi-output, the number of the joint target
    n_classes: int  # 0: regression; for multi-output, the number of joint targets
    classes: Classes
    targets: Targets | None = None


def read_target(y: ColumnLike, *, n_rows: int, classify: bool) -> Array:
    """Read y as one label or number per row; for multi-output, as one column per target."""
    columns = _split_columns(y)
    checked = []
    for name, given in columns.items():
        column = read_column(given, name)
        if len(column) != n_rows:
            raise DataError(f"X has {n_rows} rows but y has {len(column)}. Give one target for each row.")
        checked.append(check_labels(column, name, of_target=True) if classify else check_numbers(column, name))
    return checked[0] if len(checked) == 1 else _side_by_side(checked)


def name_of_target(y: ColumnLike) -> str | None:
    """Return the name of y, if it is one named column: a Series, or a data frame of one column."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        names = list(columns)
        name = names[0] if len(names) == 1 else None
    else:
        name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else None


def _split_columns(y: ColumnLike) -> dict[str, ColumnLike]:
    """Split y into columns, one for each target."""
    y = on_host(y, "y")
    frame = None if y is None else as_frame(y, "y")
    if frame is not None and len(frame.columns) > 1:
        return {f"column {column.name!r} of y": column.to_numpy() for column in frame.iter_columns()}
    array = _array_of_targets(y)
    if array is not None and array.ndim == 2 and array.shape[1] > 1:
        return {f"column {o} of y": _of_one_kind(array[:, o]) for o in range(array.shape[1])}
    return {"y": y}


def _array_of_targets(y: ColumnLike) -> Array | None:
    """Convert arrays and lists of rows to an array; None: y is something else, or its rows differ in shape."""
    if isinstance(y, np.ndarray):
        return None if isinstance(y, np.ma.MaskedArray) else y
    if not (isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray)):
        return None
    try:
        return np.array(y, dtype=object)
    except ValueError:  # rows of different shapes, which `read_column` refuses
        return None


def _of_one_kind(column: Array) -> Array:
    """Convert objects to their common NumPy type, if there is one."""
    if column.dtype.kind != "O" or len({type(value) for value in column}) > 1:
        return column
    return np.array(column.tolist())


def _side_by_side(columns: list[Array]) -> Array:
    """Join columns in one array, an array of objects if their types differ."""
    types = {column.dtype for column in columns}
    together = np.empty((len(columns[0]), len(columns)), dtype=types.pop() if len(types) == 1 else object)
    for o, column in enumerate(columns):
        together[:, o] = column
    return together


def number_target(labels: Array, *, classify: bool, kept: BoolArray | None = None) -> Target:
    """Replace class labels by codes, and the targets of a multi-output y by the number of their joint target.

    Only rows that are `kept` have a target in the result, but all rows define the classes.
    """
    if labels.ndim == 2:
        return _number_targets(labels, classify=classify, kept=kept)
    classes, target = _number_classes(labels) if classify else (None, labels)
    return Target(target if kept is None else target[kept], 0 if classes is None else len(classes), classes)


def _number_targets(labels: Array, *, classify: bool, kept: BoolArray | None) -> Target:
    classes, numbers = None, labels
    if classify:
        pairs = [_number_classes(_of_one_kind(labels[:, o])) for o in range(labels.shape[1])]
        classes, numbers = [pair[0] for pair in pairs], np.column_stack([pair[1] for pair in pairs])
    else:
        numbers = labels + 0.0  # -0.0 becomes 0.0
    found, joint = np.unique(numbers if kept is None else numbers[kept], axis=0, return_inverse=True)
    targets = Targets(found, () if classes is None else tuple(map(len, classes)))
    return Target(joint.reshape(-1).astype(np.int32), len(found), classes, targets)


def read_column(y: ColumnLike, name: str) -> Array:
    """Read one value per row."""
    if y is None:
        raise DataError(f"This estimator requires {name} to be passed, but the target {name} is None.")
    if sparse.issparse(y):
        raise DataTypeError(f"{name} is sparse. Use {name}.toarray() to make it dense.")
    y = on_host(y, name)
    if isinstance(y, np.ma.MaskedArray) and y.dtype.kind != "V" and y.mask.any():
        raise DataError(f"{name} has masked entries. Leave those rows out, of X too.")
    try:
        array = np.asarray(y)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} cannot be read as a column: {error}") from error
    refuse_cut_short(array, name)
    if array.ndim == 2 and array.shape[1] > 1:
        raise DataError(f"{name} has {array.shape[1]} columns. Give one value for each row.")
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


def check_numbers(column: Array, name: str) -> FloatArray:
    """Convert a column to float64, all finite."""
    if column.dtype.kind in "USTMm":
        hint = " Turn it into numbers, or use a classifier if these are labels." if name.endswith("y") else ""
        raise DataTypeError(f"{name} holds {words_of(column.dtype)}, not numbers.{hint}")
    numbers = numbers_of_objects(column, name) if column.dtype.kind == "O" else column.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(
            f"Row {row} of {name} is {numbers[row]}. Give finite numbers, or leave such rows out, of X too."
        )
    return numbers


def read_labels(labels: ColumnLike, name: str, n_rows: int) -> Array:
    """Read one label for each row."""
    column = check_labels(read_column(labels, name), name)
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows but {name} has {len(column)}. Give one value for each row.")
    return column


def check_labels(column: Array, name: str, *, of_target: bool = False) -> Array:
    """Refuse values that cannot be labels."""
    if column.dtype.kind == "f":
        check_numbers(column, name)
    if column.dtype.kind == "f" and of_target:
        whole = column == np.floor(column)
        if not whole.all():
            row = int(np.argmin(whole))
            raise DataError(
                f"Unknown label type: continuous. Row {row} of {name} is {column[row]}; a classifier needs class "
                "labels. Use a regressor, or cut y into classes."
            )
    if column.dtype.kind in "OTMm":  # types with their own nulls
        null = next((row for row, label in enumerate(column) if is_null(label)), None)
        if null is not None:
            raise DataError(f"Row {null} of {name} is {column[null]!r}. Remove rows without a label from X and y.")
    return column


def _number_classes(labels: Array) -> tuple[Array, npt.NDArray[np.int32]]:
    """Replace class labels by codes in sorted order."""
    classes, numbers = number_labels(labels, "y")
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"y has {len(classes)} classes; at most {MAX_CLASSES} are allowed. If y contains numbers, use a regressor."
        )
    return classes, numbers


def number_labels(labels: Array, name: str) -> tuple[Array, npt.NDArray[np.int32]]:
    """Replace labels by codes in sorted order."""
    try:
        distinct, numbers = _number_whole(labels, name) or _number_few(labels) or np.unique(labels, return_inverse=True)
    except DataError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:  # arrays and frames compare cell by cell
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataTypeError(
            f"{name} mixes labels that cannot be sorted: {', '.join(kinds)}. Give labels of one kind."
        ) from error
    if distinct.dtype.kind == "f":
        distinct = distinct + distinct.dtype.type(0)  # -0.0 becomes 0.0, whichever occurs first
    return distinct, numbers.astype(np.int32, copy=False).reshape(len(labels))


def _number_whole(labels: Array, name: str) -> tuple[Array, npt.NDArray[np.int32]] | None:
    """Replace labels by codes if they are whole numbers in a small range; return None otherwise.

    Nothing is sorted, and rows are processed in parts: little memory is needed beside the codes.
    """
    if labels.dtype.kind not in "biu" or len(labels) == 0:
        return None
    low, high = int(labels.min()), int(labels.max())
    if high - low >= MAX_CLASSES or max(-low, high) >= 2**62:
        return None
    parts = [slice(begin, begin + PART_ROWS) for begin in range(0, len(labels), PART_ROWS)]
    is_there = np.zeros(high - low + 1, dtype=bool)
    for part in parts:
        is_there[_places(labels[part], low, high, name)] = True
    number_of = np.cumsum(is_there, dtype=np.int32) - np.int32(1)
    numbers = np.empty(len(labels), dtype=np.int32)
    for part in parts:
        places = _places(labels[part], low, high, name)
        if not is_there[places].all():
            raise _changed(name)
        numbers[part] = number_of[places]
    return (np.flatnonzero(is_there) + low).astype(labels.dtype), numbers


def _places(labels: Array, low: int, high: int, name: str) -> npt.NDArray[np.int64]:
    """Subtract the lowest label. Checks the range again, since another thread may have changed the labels."""
    places = labels.astype(np.int64) - low
    if len(places) and not 0 <= places.min() <= places.max() <= high - low:
        raise _changed(name)
    return places


def _changed(name: str) -> DataError:
    return DataError(f"{name} changed while it was read. Do not write to it during a fit, or fit to a copy.")


def _number_few(labels: Array) -> tuple[Array, npt.NDArray[np.intp]] | None:
    """Replace labels by codes if the first rows contain all labels and there are few; return None otherwise.

    Only these rows are sorted. A million rows of two classes take 15 milliseconds instead of 200.
    """
    if labels.dtype.kind not in "biufUS" or len(labels) < LOOKED_AT:
        return None
    distinct = np.unique(labels[:: len(labels) // LOOKED_AT])
    for _ in range(LOOKS):
        if len(distinct) > LOOKED_AT // 4:
            return None
        numbers = np.minimum(np.searchsorted(distinct, labels), len(distinct) - 1)
        other = distinct[numbers] != labels
        if not other.any():
            return distinct, numbers
        distinct = np.union1d(distinct, labels[other][:LOOKED_AT])
    return None


def labels_of(model: object) -> Classes:
    """Return the user's labels. Trees of a forest predict class codes and store the labels separately."""
    labels = getattr(model, "class_labels_", None)
    return getattr(model, "classes_", None) if labels is None else labels


def words_of(dtype: np.dtype[np.generic]) -> str:
    """Return the name of an array's type, with a readable name for text."""
    return f"text ({dtype})" if dtype.kind in "UST" else str(dtype)
