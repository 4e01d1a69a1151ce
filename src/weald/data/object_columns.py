"""Reading columns of Python objects, and of NumPy numbers, as floats or as labels.

kind_of_objects      whether objects are labels or numbers
numbers_of_objects   floats, or an error that names the first value that is not a number
labels_of_objects    codes of labels; missing is -1
merge_labels         give equal labels the same code
is_null              None, NaN, or a data frame's own null
"""

from decimal import Decimal

import numpy as np

from weald.data.schema import CATEGORIES, NUMBERS, Labeled
from weald.data.times import kind_of_time
from weald.data.types import Array, FloatArray, Label
from weald.errors import DataError, DataTypeError, shown, warn

LARGEST_EXACT = 2**53  # whole numbers up to here are float64 values

NOT_REAL = (np.complexfloating, np.datetime64, np.timedelta64)

ENCODE = 'Turn it into numbers, leave it out, or leave categorical_features at "from_dtype" to read it as categories.'


def is_null(value: object) -> bool:
    """Return whether an object is a missing value: None, NaN, or a data frame's null."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()  # a signaling NaN cannot be compared
    return isinstance(value, float | np.generic) and bool(value != value)  # NaN and NumPy's NaT


def kind_of_objects(column: Array, labels: tuple[type, ...]) -> str:
    """Return the kind of the objects that are not missing: all labels, all dates, all durations, or else numbers."""
    found = None
    for value in column:
        if is_null(value):
            continue
        kind = CATEGORIES if isinstance(value, labels) else kind_of_time(value) or NUMBERS
        if kind == NUMBERS or found not in (None, kind):
            return NUMBERS
        found = kind
    return found or NUMBERS


def numbers_of_objects(column: Array, where: str) -> FloatArray:
    """Convert Python objects to numbers, or name the first that is not a number."""
    if not any(issubclass(kind, NOT_REAL) for kind in set(map(type, column))):
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    numbers = np.empty(len(column))
    for row, value in enumerate(column):
        try:
            numbers[row] = np.nan if is_null(value) else _real(value)
        except OverflowError:
            raise DataError(
                f"Row {row} of {where} is {shown(value)}, which is too large for float64. Give numbers up to 1.8e308."
            ) from None
        except (TypeError, ValueError) as error:
            msg = f"Row {row} of {where} is {shown(value)}, which is not a number. Turn it into a number first."
            raise (DataTypeError if isinstance(error, TypeError) else DataError)(f"{msg} ({error})") from None
    return numbers


def _real(value: Label) -> float:
    """Convert an object to a float. NumPy would drop the imaginary part of a number and the unit of a duration."""
    if isinstance(value, NOT_REAL):
        raise TypeError(f"it is a {type(value).__name__}")
    return float(value)


def labels_of_objects(column: Array, where: str) -> Labeled:
    """Assign codes to the labels of a column: numbers in ascending order, objects in order of occurrence."""
    if column.dtype.kind in "iufb":
        labels, numbers = np.unique(column, return_inverse=True)
        if len(labels) and labels[-1] != labels[-1]:  # NaN comes last
            labels, numbers = labels[:-1], np.where(numbers == len(labels) - 1, -1, numbers)
        return Labeled(numbers, labels.tolist())
    number_of: dict[Label, int] = {}
    numbers = np.empty(len(column), dtype=np.int64)
    for row, value in enumerate(column):
        try:
            numbers[row] = -1 if is_null(value) else number_of.setdefault(value, len(number_of))
        except TypeError as error:  # values that cannot be hashed
            raise DataTypeError(f"Row {row} of {where} is {shown(value)}, which cannot be a category label.") from error
    return Labeled(numbers, list(number_of))


def merge_labels(column: Labeled, where: str) -> Labeled:
    """Give equal labels the same code, and null labels the code of missing values.

    An Arrow dictionary may contain a value twice, may contain null, and distinguishes 0.0 from -0.0.
    """
    number_of: dict[Label, int] = {}
    try:
        places = [
            -1 if is_null(label) else number_of.setdefault(_plain(label), len(number_of)) for label in column.labels
        ]
    except TypeError as error:  # values that cannot be hashed
        raise DataTypeError(f"{where[0].upper()}{where[1:]} cannot be read as categories: {error}.") from error
    numbers = np.asarray(column.numbers)
    if len(numbers) and not -1 <= int(numbers.min()) <= int(numbers.max()) < len(places):
        raise DataError(
            f"{where[0].upper()}{where[1:]} has codes outside the range of its {len(places)} categories. Create the "
            "column again from its labels."
        )
    return Labeled(np.array([*places, -1])[numbers], list(number_of))  # code -1 selects the last entry


def _plain(label: Label) -> Label:
    """Convert NumPy's numbers and text to Python's, and -0.0 to 0.0, so that equal labels look equal."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain + 0.0 if isinstance(plain, float) else plain


def warn_of_rounding(array: Array, where: str) -> None:
    """Warn if whole numbers are too large to be distinct as float64."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or array.size == 0:
        return
    if array.max() > LARGEST_EXACT or array.min() < -LARGEST_EXACT:
        warn(
            f"{where} contains whole numbers beyond 2**53. They are rounded to float64, so neighboring numbers may "
            "become equal. If they are identifiers, leave them out."
        )
