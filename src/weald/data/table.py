"""Reading input data: any X, y and sample_weight -> a Table.

    read_table       X, y, weights of a fit      -> Reading: the table, its classes, which rows were kept
    read_features    X of a fit or a prediction  -> array of float32 or float64
    read_weight      sample_weight               -> array of float64, or None

Arrays of any number type, order and stride are accepted (float32 and float64 without a copy), as are lists, and data
frames of pandas, polars, pyarrow and others. NaN, masked entries and a frame's null are missing values; infinities are
ordinary values. Categories become codes. Everything else is refused with an error that names it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from weald.data.dask_collections import is_dask_collection
from weald.data.few_rows import read_few
from weald.data.foreign_arrays import on_host
from weald.data.frames import Frame, FrameColumn, as_frame, columns_of, float_array, pieces_of, take_stream
from weald.data.mmap_checks import refuse_cut_pieces, refuse_cut_short
from weald.data.object_columns import (
    ENCODE,
    LARGEST_EXACT,
    is_null,
    kind_of_objects,
    labels_of_objects,
    merge_labels,
    numbers_of_objects,
    warn_of_rounding,
)
from weald.data.schema import (
    CATEGORIES,
    NUMBERS,
    ORDERED,
    TIMES,
    Categories,
    Labeled,
    Rules,
    Schema,
    TableReader,
    choose_features,
    label_array,
    learn_categories,
    rules_of,
)
from weald.data.sparse_table import read_sparse
from weald.data.targets import Classes, Targets, check_numbers, number_target, read_column, read_target, words_of
from weald.data.task import Task
from weald.data.times import KIND_OF, UNITS, days_of_times
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray, IntArray, Native, TableLike
from weald.errors import DataError, DataTypeError, WealdError

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Matrix = npt.NDArray[np.float32] | FloatArray  # or a sparse table, for which SciPy has no types


@dataclass(frozen=True)
class Table:
    """A training table as plain numbers: all the data that an engine needs."""

    X: Matrix  # rows x features, any strides, or sparse row by row; NaN: missing
    target: Array  # int32 class codes, or float64
    n_classes: int  # 0: regression
    weight: FloatArray | None  # > 0; None: every row has weight 1
    weights_whole: bool
    size: int  # total weight if weights are whole, else the number of rows
    groups: npt.NDArray[np.int32] | None = None  # group number of each row; groups are drawn as a whole
    strata: npt.NDArray[np.int32] | None = None  # stratum number of each row; each stratum is drawn separately
    categorical: frozenset[int] = frozenset()  # features whose values are category codes: 0, 1, 2 ...
    targets: Targets | None = None  # for multi-output; `target` and `n_classes` are then those of joint targets

    is_in_memory: ClassVar[bool] = True  # otherwise the table may be larger than memory

    @property
    def task(self) -> Task:
        """The kind of target."""
        return Task.of(self.n_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def in_memory(self) -> "Table":
        """Return the same table with all values in memory; tables on disk are read."""
        return self

    def __sizeof__(self) -> int:
        """Return the size of the features in bytes, for code that transfers tables."""
        return int(getattr(self.X, "nbytes", 0))


@dataclass(frozen=True)
class TrainingArguments:
    """The arguments of `fit`."""

    X: TableLike
    y: ColumnLike = None
    sample_weight: ColumnLike = None
    groups: ColumnLike = None
    stratify: ColumnLike = None


@dataclass(frozen=True)
class Reading:
    """A table, and how its codes relate to the user's labels and rows."""

    table: Table
    classes: Classes
    kept: BoolArray | None  # marks the user's rows that are in the table; None: all


def read_table(
    estimator: TableReader, X: TableLike, y: ColumnLike, sample_weight: ColumnLike, *, classify: bool
) -> Reading:
    """Read the arguments of a fit. Rows of weight 0 are dropped, but their classes count."""
    features = read_features(estimator, X, reset=True)
    labels = read_target(y, n_rows=features.shape[0], classify=classify)
    weight = read_weight(sample_weight, n_rows=features.shape[0])
    kept = None
    if weight is not None and not weight.all():
        kept = weight > 0
        features, weight = features[kept], weight[kept]
        estimator.schema_ = estimator.schema_.narrow(features)
    if weight is not None and (weight == 1).all():
        weight = None
    whole, size = measure(weight, features.shape[0])
    found = number_target(labels, classify=classify, kept=kept)
    table = Table(
        features,
        found.target,
        found.n_classes,
        weight,
        whole,
        size,
        categorical=estimator.schema_.categorical,
        targets=found.targets,
    )
    return Reading(table, found.classes, kept)


def require_one_target(reading: Reading, who: str) -> Reading:
    """Raise an error for multi-output targets."""
    if reading.table.targets is not None:
        raise DataError(
            f"y has {reading.table.targets.n_targets} columns, but {who} supports one target. Fit one model for each."
        )
    return reading


# -------------------------------------------------------------------------------------------------------- features


def read_features(estimator: TableReader, X: TableLike, *, reset: bool) -> Matrix:
    """Read X. With `reset` the names and categories of the features are stored, else they must agree."""
    if not reset and (few := read_few(estimator, X)) is not None:
        return few
    if sparse.issparse(X):
        return _read_stored(estimator, X, reset=reset)
    if is_dask_collection(X):
        raise DataError(
            "X is a Dask collection. Only fit of forests and predictions support those; for everything "
            "else give a table in memory: X.compute()."
        )
    X = on_host(X, "X")
    frame = as_frame(X)
    frame = take_stream(X) if frame is None else frame
    given: Native = _array_of(X) if frame is None else frame.to_native()
    columns = _columns_of_array(given) if frame is None else _columns_of_frame(frame)
    if not reset:
        _refuse_other_number(estimator, columns, by_name=frame is not None)
    try:
        validate_data(estimator, given, reset=reset, skip_check_array=True)
        if reset:
            names = getattr(estimator, "feature_names_in_", None)
            values, estimator.schema_ = _learn(columns, rules_of(estimator), None if names is None else tuple(names))
        else:
            values = _read(columns, rules_of(estimator), estimator.schema_)
        checked: Matrix = check_array(
            values, dtype=(np.float64, np.float32), ensure_all_finite=False, estimator=estimator, input_name="X"
        )
    except WealdError:
        raise
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:
        raise DataError(f"{error}{_name_misplaced_column(estimator, frame)}") from error
    return checked


def read_columns(schema: Schema, values: Array, features: IntArray) -> Array:
    """Read the columns of an array as features of the fit. Unknown categories become missing values."""
    times = {column: schema.times[f] for column, f in enumerate(features.tolist()) if f in schema.times}
    chosen = Schema(None, tuple(schema.categories[f] for f in features.tolist()), times=times)
    return _read(_columns_of_array(values), Rules(None, "missing", "learn"), chosen)


def _name_misplaced_column(estimator: TableReader, frame: Frame | None) -> str:
    """Return text that names the first column whose position differs from the fit, and what to do."""
    known = getattr(getattr(estimator, "schema_", None), "names", None)
    if frame is None or known is None or sorted(map(str, frame.columns)) != sorted(known):
        return ""
    place = next((f for f, name in enumerate(known) if frame.columns[f] != name), None)
    if place is None:
        return ""
    return (
        f"Column {place} is {frame.columns[place]!r}, but was {known[place]!r}. Reorder the columns: "
        "X[list(model.feature_names_in_)]."
    )


def _refuse_other_number(estimator: TableReader, columns: "_Columns", *, by_name: bool) -> None:
    """Raise an error if the number of features differs from the fit. Names are compared later."""
    n_columns, n_features = len(columns.each), estimator.n_features_in_
    if n_columns != n_features and not (by_name and estimator.schema_.names):
        raise DataError(
            f"X has {n_columns} features, but {type(estimator).__name__} is expecting {n_features} features as input."
        )


@dataclass(frozen=True)
class _Columns:
    """The columns of X, and all of them as one array if X is an array of floats."""

    each: Sequence["FrameColumn | ArrayColumn"]
    floats: Array | None

    def kinds(self, rules: Rules, names: tuple[str, ...] | None) -> list[str]:
        """Return the kind of each column: by its type, or as the user specified."""
        if isinstance(rules.categorical_features, str):
            return [column.kind() for column in self.each]
        chosen = choose_features(
            () if rules.categorical_features is None else rules.categorical_features, names, len(self.each)
        )
        found = [column.kind() for column in self.each]
        others = [kind if kind in (ORDERED, *TIMES) else NUMBERS for kind in found]
        return [CATEGORIES if f in chosen else other for f, other in enumerate(others)]

    def checked_floats(self, rules: Rules, schema: Schema) -> Array:
        """Return the array as it is."""
        assert self.floats is not None  # noqa: S101  (for the type checker: the caller has asked)
        for f in range(self.floats.shape[1] if rules.missing == "error" else 0):
            _refuse_missing(self.floats[:, f], schema.where(f), rules)
        return self.floats

    def empty_matrix(self, *, by_label: bool = False) -> Matrix:
        """Allocate an array for all columns, in the smallest float type that holds them; `by_label`: and codes."""
        shape = (len(self.each[0]) if self.each else 0, len(self.each))
        if not by_label and all(column.fits_float32() for column in self.each):
            return np.empty(shape, dtype=np.float32, order="F")
        return np.empty(shape, dtype=np.float64, order="F")


class ArrayColumn:
    """A column of a NumPy array."""

    def __init__(self, array: Array, feature: int) -> None:
        self._values = array[:, feature]

    def __len__(self) -> int:
        return len(self._values)

    def kind(self) -> str:
        """Return the kind of the column. Text is categorical; numbers and booleans are if the user declares them so."""
        kind = self._values.dtype.kind
        return kind_of_objects(self._values, (str,)) if kind == "O" else KIND_OF.get(kind, NUMBERS)

    def fits_float32(self) -> bool:
        """Return whether float32 represents the column exactly; categories have codes from 0."""
        return np.can_cast(self._values.dtype, np.float32) and len(self) < 2**24

    def numbers(self, where: str) -> Array:
        """Read the column as floats."""
        return numbers_of_objects(self._values, where) if self._values.dtype.kind == "O" else self._values

    def days(self, where: str) -> Array:
        """Read dates or durations as numbers of days."""
        return days_of_times(self._values, where)

    def is_empty(self) -> bool:
        """Return whether all values are missing."""
        return all(map(is_null, self._values))

    def labels(self, where: str) -> Labeled:
        """Read the column as codes of labels."""
        return labels_of_objects(self._values, where)


def _columns_of_frame(frame: Frame) -> _Columns:
    refuse_cut_pieces(pieces_of(frame), "X")
    return _Columns(columns_of(frame), float_array(frame))


def _columns_of_array(array: Array) -> _Columns:
    is_numbers = array.dtype.kind not in "OMm"
    return _Columns([ArrayColumn(array, f) for f in range(array.shape[1])], array if is_numbers else None)


def _learn(columns: _Columns, rules: Rules, names: tuple[str, ...] | None) -> tuple[Array, Schema]:
    """Read the columns of a fit, and store their names and categories."""
    kinds = columns.kinds(rules, names)
    plain = Schema(names, (None,) * len(kinds))
    if columns.floats is not None and set(kinds) <= {NUMBERS}:
        return columns.checked_floats(rules, plain), plain
    X, learned, times = columns.empty_matrix(), [], {}
    for f, (column, kind) in enumerate(zip(columns.each, kinds, strict=True)):
        where, categories = plain.where(f), None
        if kind == NUMBERS:
            X[:, f] = column.numbers(where)
        elif kind in TIMES:
            X[:, f], times[f] = column.days(where), kind
        elif kind == CATEGORIES:
            X[:, f], categories = learn_categories(_labels_of(column, where), where)
        else:
            labeled = _labels_of(column, where)
            categories = Categories(label_array(labeled.labels), is_ordered=True)
            X[:, f], _ = categories.look_up(labeled, where)
        _refuse_missing(X[:, f], where, rules)
        learned.append(categories)
    return X, Schema(names, tuple(learned), times=times)


def _read(columns: _Columns, rules: Rules, schema: Schema) -> Array:
    """Read the columns of a prediction as in the fit."""
    if columns.floats is not None and not any(schema.categories) and not schema.times:
        return columns.checked_floats(rules, schema)
    pairs = list(zip(columns.each, schema.categories, strict=True))
    X = columns.empty_matrix(by_label=any(known is None and column.kind() != NUMBERS for column, known in pairs))
    for f, (column, categories) in enumerate(pairs):
        where = schema.where(f)
        if categories is None:
            X[:, f] = _numbers_again(column, where, schema.times.get(f))
            _refuse_missing(X[:, f], where, rules)
            continue
        labeled = _labels_of(column, where)
        _refuse_missing(labeled.numbers, where, rules)
        X[:, f], is_unknown = categories.look_up(labeled, where)
        schema.count_unknown(f, labeled, is_unknown, rules.unknown_category)
    return X


def _labels_of(column: "FrameColumn | ArrayColumn", where: str) -> Labeled:
    """Read a column as codes of distinct labels."""
    return merge_labels(column.labels(where), where)


def _numbers_again(column: "FrameColumn | ArrayColumn", where: str, time: str | None) -> Array:
    """Read a column that was numbers, dates or durations in the fit; errors do not suggest categories."""
    found = column.kind()
    if found in TIMES or time is not None:
        if found != time and not column.is_empty():
            was = f"{time}, read as {UNITS[time]}," if time else "numbers"
            raise DataTypeError(
                f"{where[0].upper()}{where[1:]} holds {_name_kind(found)}, but held {was} in the fit. "
                f"Give {time or 'numbers'}."
            )
        return column.days(where) if found == time else np.full(len(column), np.nan)
    try:
        return column.numbers(where)
    except DataTypeError as error:
        if column.kind() != NUMBERS:
            labeled = _labels_of(column, where)
            if labeled.labels and all(isinstance(label, int | float) for label in labeled.labels):
                # Code -1 selects the last entry
                return np.array([*labeled.labels, np.nan], dtype=np.float64)[labeled.numbers]
        advice = "It was numbers when the model was fitted: give numbers."
        raise DataTypeError(str(error).replace(ENCODE, advice)) from error


def _name_kind(kind: str) -> str:
    return "text or truth values" if kind == CATEGORIES else kind


def _refuse_missing(column: Array, where: str, rules: Rules) -> None:
    """Refuse missing values if `missing="error"`; codes of labels are negative where they are missing."""
    if rules.missing != "error":
        return
    missing = np.isnan(column) if column.dtype.kind == "f" else column < 0
    if missing.any():
        raise DataError(
            f'Row {int(np.argmax(missing))} of {where} is missing, and missing="error" refuses missing values. Fill '
            'them in, or set missing="learn".'
        )


def _array_of(X: TableLike) -> Array:
    """Convert X to an array of numbers or objects; check_array checks the rest of its shape."""
    if isinstance(X, np.ma.MaskedArray):
        X = _fill_masked(X)
    if isinstance(X, Mapping):
        raise DataTypeError(
            "X is a mapping, not a table. Convert it to a data frame, for example with pandas.DataFrame(X)."
        )
    if X is None or isinstance(X, str | bytes):
        raise DataTypeError(f"X is {X!r}, not a table. Give an array, a list of rows or a data frame.")
    try:
        array = X if isinstance(X, np.matrix) else np.asarray(X)
        if array.dtype.kind in "UST" and not isinstance(X, np.ndarray):
            array = np.array(X, dtype=object)  # rows of text and numbers: NumPy would convert the numbers to text
    except (ValueError, TypeError) as error:
        raise DataError(f"X cannot be read as a table of numbers: {error}") from error
    refuse_cut_short(array, "X")
    _refuse_no_table(array)
    if array.dtype.kind in "iu":
        warn_of_rounding(array, "X")
    # A field of a record array; the core counts strides in items
    if any(stride % array.itemsize for stride in array.strides):
        array = array.copy()
    return array


def _fill_masked(X: np.ma.MaskedArray[tuple[int, ...], np.dtype[np.generic]]) -> Array:
    """Convert masked entries to missing values."""
    _refuse_no_table(X.data)
    if X.dtype.kind == "O":
        filled: Array = X.data.copy()
        filled[np.ma.getmaskarray(X)] = None
        return filled
    if X.dtype.kind in KIND_OF:
        times: Array = X.data.copy()
        times[np.ma.getmaskarray(X)] = np.array("NaT", dtype=X.dtype)
        return times
    warn_of_rounding(X.data, "X")
    return np.ma.filled(X.astype(np.float64), np.nan)


def _refuse_no_table(array: Array) -> None:
    """Raise an error for an array that cannot be read as numbers, or is not a table of rows and columns."""
    kind = array.dtype.kind
    if kind == "c":
        raise DataError(
            "X holds complex numbers. Complex data not supported: give real and imaginary parts as columns."
        )
    if kind in "USTV":
        raise DataTypeError(
            f"X holds {words_of(array.dtype)}, not numbers. Give a data frame, or an array of objects "
            "(X.astype(object)), whose columns of text are read as categories."
        )
    if array.ndim < 2:
        found = "1D array" if array.ndim else "scalar"
        raise DataError(
            f"Expected 2D array, got {found}: the shape of X is {array.shape}. Reshape your data: X.reshape(-1, 1) if "
            "it is one feature, X.reshape(1, -1) if it is one row."
        )
    if array.ndim > 2:
        raise DataError(
            f"Found array with dim {array.ndim}, while dim <= 2 is required: X is a table of rows and columns."
        )


def _read_stored(estimator: TableReader, X: Native, *, reset: bool) -> Matrix:
    """Read a sparse X, all of whose columns are numbers."""
    for part in ("data", "indices", "indptr"):
        refuse_cut_short(getattr(X, part, None), "X")
    stored: Matrix = read_sparse(estimator, X, reset=reset, allow_missing=rules_of(estimator).missing != "error")
    if reset:
        _refuse_categories(rules_of(estimator).categorical_features, X.shape[1])
        estimator.schema_ = Schema(None, (None,) * X.shape[1])
    elif any(estimator.schema_.categories) or estimator.schema_.times:
        saw = "categories" if any(estimator.schema_.categories) else "dates"
        raise DataTypeError(f"X is sparse, which holds numbers, but the fit had {saw}. Give a data frame.")
    return stored


def _refuse_categories(given: str | Iterable[object] | None, n_features: int) -> None:
    """Raise an error if `categorical_features` is given with a sparse table."""
    if given is not None and not isinstance(given, str) and choose_features(given, None, n_features):
        raise DataError(
            "categorical_features names columns, but X is sparse, so all columns are numbers. Give a data frame or "
            "an array."
        )


# --------------------------------------------------------------------------------------------------------- weights


def read_weight(sample_weight: ColumnLike, *, n_rows: int) -> FloatArray | None:
    """Read one weight per row: finite, none negative, not all zero."""
    if sample_weight is None:
        return None
    sample_weight = on_host(sample_weight, "sample_weight")
    if isinstance(sample_weight, int | float | np.number):
        sample_weight = np.full(n_rows, sample_weight)
    weights = sample_weight if isinstance(sample_weight, np.ma.MaskedArray) else _see_array(sample_weight)
    if weights.ndim == 0 and weights.dtype.kind in "biuf":
        raise DataTypeError(
            "Input should have at least 1 dimension i.e. satisfy `len(x.shape) > 0`, got scalar "
            f"`{np.asarray(weights, dtype=np.float64)!r}` instead. Give sample_weight one number for each row."
        )
    if weights.ndim > 1:
        raise DataError(
            f"sample_weight has {weights.ndim} dimensions. Give one number for each row: sample_weights must be 1D."
        )
    column = read_column(weights, "sample_weight")
    if len(column) != n_rows:
        raise DataError(f"X has {n_rows} rows but sample_weight has {len(column)}. Give one weight for each row.")
    weight = check_numbers(column, "sample_weight")
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise DataError(
            f"Row {row} of sample_weight is {weight[row]}. Negative weights are not allowed, since a "
            "weight of k is the row k times. Leave such rows out, or set their weights to 0."
        )
    if not weight.any():
        raise DataError("sample_weight is zero for every row. Give at least one row a positive weight.")
    return weight


def _see_array(sample_weight: ColumnLike) -> Array:
    try:
        return np.asarray(sample_weight)
    except (ValueError, TypeError) as error:
        raise DataError(f"sample_weight cannot be read as a column: {error}") from error


def measure(weight: FloatArray | None, n_rows: int) -> tuple[bool, int]:
    """Return whether all weights are whole, and the size of the table: the total weight if so, else the rows."""
    if weight is None:
        return True, n_rows
    # The first two conditions ensure that the sum of integers cannot overflow.
    whole = bool(weight.max() <= LARGEST_EXACT and weight.sum() <= 2 * LARGEST_EXACT)
    whole = whole and bool((weight == np.floor(weight)).all())
    total = int(weight.astype(np.int64).sum()) if whole else 0
    whole = whole and total <= LARGEST_EXACT
    return whole, total if whole else n_rows


def up_to_one(weight: FloatArray) -> FloatArray:
    """Scale weights by a power of two, so that the largest is below 1: sums and squares do not overflow."""
    scaled: FloatArray = np.ldexp(weight, -np.frexp(weight.max())[1])
    return scaled
