"""Reading samples: vectors, curves, or any objects that a user's kernel can compare.

Vectors         rows of numbers, including curves on a common grid
Curves          curves of any length, with or without times
Things          any other objects, compared by a user's kernel
read_samples    the X of a fit or a prediction -> one of them
Grid            common times for curves of different lengths or times

Samples of numbers or text have a hash, so that the order of rows does not matter and copies are found. Other objects
have none.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald.data.table import read_features
from weald.data.types import Array, FloatArray, IntArray, TableLike
from weald.engines.reference import kernels
from weald.errors import DataError, DataTypeError

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Rows of numbers."""

    matrix: FloatArray

    def __len__(self) -> int:
        return len(self.matrix)

    def take(self, rows: IntArray) -> "Vectors":
        """Select some of them."""
        return Vectors(np.ascontiguousarray(self.matrix[rows]))

    def hashes(self) -> Hashes:
        """Hash each by its numbers."""
        return hash_rows(self.matrix)

    def given(self) -> FloatArray:
        """Return them in the form in which the user gives samples."""
        return self.matrix


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of any length. Without times, a curve is sampled evenly from 0 to 1."""

    each: tuple[FloatArray, ...]
    times: tuple[FloatArray, ...] | None = None

    def __len__(self) -> int:
        return len(self.each)

    def take(self, rows: IntArray) -> "Curves":
        """Select some of them."""
        times = None if self.times is None else tuple(self.times[i] for i in rows)
        return Curves(tuple(self.each[i] for i in rows), times)

    def hashes(self) -> Hashes:
        """Hash each by its numbers and times."""
        whole = self.each if self.times is None else [np.concatenate(pair) for pair in zip(*self._both(), strict=True)]
        return np.array([hash_rows(curve[np.newaxis])[0] for curve in whole], dtype=np.uint64)

    def given(self) -> list[object]:
        """Return them in the form in which the user gives samples."""
        return list(self.each) if self.times is None else list(zip(*self._both(), strict=True))

    def _both(self) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
        assert self.times is not None  # noqa: S101  (for the type checker: the caller has asked)
        return self.times, self.each

    def packed(self) -> kernels.Samples:
        """Concatenate the values."""
        lengths = [len(curve) for curve in self.each]
        values = np.concatenate(self.each) if self.each else np.empty(0)
        return kernels.Samples(values, np.cumsum([0, *lengths], dtype=np.int64))

    def times_of(self, i: int) -> FloatArray:
        """Return the times of the values of a curve."""
        return np.linspace(0, 1, len(self.each[i])) if self.times is None else self.times[i]


@dataclass(frozen=True, eq=False)
class Things:
    """Objects that a user's kernel can compare."""

    each: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.each)

    def take(self, rows: IntArray) -> "Things":
        """Select some of them."""
        return Things(tuple(self.each[i] for i in rows))

    def hashes(self) -> Hashes | None:
        """Hash text; other objects have no hash."""
        if not all(isinstance(thing, str | bytes) for thing in self.each):
            return None
        texts = (t.encode() if isinstance(t, str) else t for t in self.each)
        digests = (hashlib.blake2b(text, digest_size=8).digest() for text in texts)
        return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)

    def given(self) -> list[object]:
        """Return them in the form in which the user gives samples."""
        return list(self.each)


AnySamples = Vectors | Curves | Things


def hash_rows(matrix: FloatArray) -> Hashes:
    """Hash rows of numbers, as the contract defines it for sampling rows: Σ mix64(bits(x_f) + mix64(f + 1)), mixed.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.kernel.samples import hash_rows
    >>> one, two = hash_rows(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> bool(one == two)
    False
    """
    sums = np.zeros(len(matrix), dtype=np.uint64)
    for f, column in enumerate((matrix + 0.0).T):
        salt = _mix64(np.array([f + 1], dtype=np.uint64))
        sums += _mix64(np.ascontiguousarray(column).view(np.uint64) + salt)
    return _mix64(sums)


def _mix64(x: Hashes) -> Hashes:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# ------------------------------------------------------------------------------------------------------------- grid


@dataclass(frozen=True)
class Grid:
    """Evenly spaced times at which curves are compared. Curves are constant outside their first and last value."""

    begin: float
    end: float
    n: int

    @classmethod
    def of(cls, curves: Curves) -> "Grid":
        """Span the times of all curves; the number of points is the median length, at least 2."""
        begin = min(float(curves.times_of(i)[0]) for i in range(len(curves)))
        end = max(float(curves.times_of(i)[-1]) for i in range(len(curves)))
        lengths = sorted(len(curve) for curve in curves.each)
        return cls(begin, end, max(2, lengths[len(lengths) // 2]))

    def read(self, curves: Curves) -> FloatArray:
        """Interpolate the curves linearly at the times of the grid (curves x times)."""
        at = self.begin + (self.end - self.begin) * (np.arange(self.n) / (self.n - 1))
        return np.array([_read_curve(curves.times_of(i), curves.each[i], at) for i in range(len(curves))])


def _read_curve(times: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    after = np.searchsorted(times, at, side="right")
    right = np.clip(after, 1, len(times) - 1) if len(times) > 1 else np.zeros(len(at), dtype=np.int64)
    left = np.maximum(right - 1, 0)
    gap = times[right] - times[left]
    share = np.clip((at - times[left]) / np.where(gap > 0, gap, 1.0), 0.0, 1.0)
    read: FloatArray = values[left] + (values[right] - values[left]) * share
    return read


# ------------------------------------------------------------------------------------------------------------- read


@dataclass(frozen=True, eq=False)
class SampleReading:
    """The samples to compare, and the numeric and categorical columns of X."""

    samples: AnySamples
    raw: Array | None  # None: X has no columns

    def take(self, rows: IntArray) -> "SampleReading":
        """Select some rows."""
        return SampleReading(self.samples.take(rows), None if self.raw is None else self.raw[rows])


def read_samples(estimator: Any, X: TableLike, *, reset: bool, own_kernel: bool, mix: bool) -> SampleReading:
    """Read X. With `reset` its kind is stored in `sample_kind_`, else it must be the same.

    `own_kernel`: a user's function compares samples, so they may be any objects.
    """
    kind = None if reset else estimator.sample_kind_
    curves = None if own_kernel else _as_curves(X, curves_wanted=kind == "curves")
    sample_reading: SampleReading
    if own_kernel and not (_is_table(X) if kind is None else kind == "vectors"):
        sample_reading = SampleReading(Things(_list_of(X)), None)
    elif curves is not None:
        sample_reading = SampleReading(curves, None)
    else:
        sample_reading = _read_vectors(estimator, X, reset=reset, mix=mix)
    found = type(sample_reading.samples).__name__.lower()
    if reset:
        estimator.sample_kind_ = found
    elif found != kind:
        raise DataError(f"X contains {found}, but the fit had {kind}. Give samples of the same kind.")
    return sample_reading


def read_prototypes(estimator: Any, given: Any, like: AnySamples, *, mix: bool) -> AnySamples:
    """Read prototypes given by the user, which must be of the same kind as the samples. May write to `estimator`."""
    if isinstance(given, Vectors | Curves | Things):
        found: AnySamples | None = given
    elif isinstance(like, Things):
        found = Things(_list_of(given))
    elif isinstance(like, Curves):
        found = _as_curves(given, curves_wanted=True)
    else:
        found = read_samples(estimator, given, reset=True, own_kernel=False, mix=mix).samples
    widths = [s.matrix.shape[1] for s in (found, like) if isinstance(s, Vectors)]
    if type(found) is not type(like) or len(set(widths)) > 1:
        raise DataError("The prototypes are samples of another kind or length than X. Give samples like those of X.")
    assert found is not None  # noqa: S101  (for the type checker: its type was asked for)
    return found


def _is_table(X: Any) -> bool:
    """Return whether X is a table of numbers, whose rows are the samples."""
    return sparse.issparse(X) or hasattr(X, "columns") or (getattr(X, "ndim", 0) == 2 and X.dtype.kind in "fiub")


def _list_of(X: Any) -> tuple[Any, ...]:
    """Read X as a list of objects."""
    if isinstance(X, str | bytes) or not (isinstance(X, Sequence) or hasattr(X, "__array__")):
        raise DataTypeError(
            f"X is a {type(X).__name__}, not a list of samples. Give a list, one entry for each sample."
        )
    if not len(X):
        raise DataError("X contains no samples: found array with 0 sample(s). Give at least one.")
    return tuple(X)


def _as_curves(X: Any, *, curves_wanted: bool) -> Curves | None:
    """Read X as curves of any length; None: it is a table."""
    is_list = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 1)
    if curves_wanted and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiu":
        return Curves(tuple(_check_curve(row, i, "values") for i, row in enumerate(X)))
    if not is_list or not len(X):
        return None
    if all(isinstance(curve, tuple) and len(curve) == 2 and all(np.ndim(part) == 1 for part in curve) for curve in X):
        times = tuple(_check_curve(curve[0], i, "times") for i, curve in enumerate(X))
        each = tuple(_check_curve(curve[1], i, "values") for i, curve in enumerate(X))
        for i, (t, v) in enumerate(zip(times, each, strict=True)):
            if len(t) != len(v):
                raise DataError(f"Curve {i} has {len(t)} times but {len(v)} values. Give one time for each value.")
            if (np.diff(t) <= 0).any():
                raise DataError(
                    f"The times of curve {i} are not increasing. Sort its values by time, with one value for each time."
                )
        return Curves(each, times)
    if any(isinstance(curve, str) or not hasattr(curve, "__len__") or np.ndim(curve) != 1 for curve in X):
        return None
    if len({len(curve) for curve in X}) == 1 and not curves_wanted:
        return None
    return Curves(tuple(_check_curve(curve, i, "values") for i, curve in enumerate(X)))


def _check_curve(curve: Any, number: int, what: str) -> FloatArray:
    """Read the values or times of one curve: finite numbers, at least one."""
    try:
        values = np.asarray(curve, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise DataError(f"The {what} of curve {number} cannot be read as numbers: {error}") from error
    if not len(values):
        raise DataError(f"Curve {number} has no {what}. Leave it out, of y too.")
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        raise DataError(
            f"Curve {number} has {values[place]} among its {what}, at position {place}. Kernels compare finite "
            "numbers: leave missing values out, and give the others with their times, (times, values)."
        )
    return values


def _read_vectors(estimator: Any, X: TableLike, *, reset: bool, mix: bool) -> SampleReading:
    """Read a table. Categorical columns are used beside the kernel with `mix`, and refused without."""
    if sparse.issparse(X):
        raise DataTypeError("X is sparse, but kernels compare dense rows. Use X.toarray() to make it dense.")
    raw = read_features(estimator, X, reset=reset)
    is_number = np.array([categories is None for categories in estimator.schema_.categories])
    if not is_number.all() and not mix:
        where = estimator.schema_.where(int(np.argmin(is_number)))
        raise DataTypeError(
            f"{where} is categorical, and a kernel cannot compare categories. Set mix=True to use such columns beside "
            "the kernel, or leave them out."
        )
    if not is_number.any():
        raise DataTypeError("X has only categorical columns, which a kernel cannot compare. Use a RandomForest.")
    numbers = np.ascontiguousarray(raw[:, is_number], dtype=np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        row, place = np.argwhere(~finite)[0]
        where = estimator.schema_.where(int(np.flatnonzero(is_number)[place]))
        value = "NaN" if np.isnan(numbers[row, place]) else "inf"
        raise DataError(
            f"Row {row} of {where} is {value}. A kernel compares finite numbers: fill in such values (NaN, inf and "
            "missing values have no distance), or use a RandomForest, which supports missing values."
        )
    return SampleReading(Vectors(numbers + 0.0), raw)
