"""Reading times and events: the target of survival forests.

read_survival    any y with a time and an event for each row -> Survival
number_times     Survival -> the target that engines read: 2 * place of the time + event

As in scikit-survival, y may be a structured array with a field for the event and one for the time. A data frame or an
array of two columns does as well: the event is the column of booleans, or of nothing but 0 and 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from weald.data.foreign_arrays import on_host
from weald.data.frames import as_frame
from weald.data.targets import check_numbers, read_column
from weald.data.types import Array, BoolArray, ColumnLike, FloatArray
from weald.errors import DataError, shown

HOW = (
    "Give a time and an event for each row: a data frame with two columns, or a structured array as scikit-survival's "
    "Surv.from_arrays(event, time) makes it. The event is True (1) where it happened at this time, and False (0) "
    "where the row was censored then."
)


@dataclass(frozen=True)
class Survival:
    """Times, and whether the event happened then; if not, the row was censored."""

    time: FloatArray
    event: BoolArray

    def __len__(self) -> int:
        return len(self.time)


def read_survival(y: ColumnLike) -> Survival:
    """Read the time and the event of each row."""
    columns = {name: read_column(column, name) for name, column in _split(y).items()}
    which = _find_event(columns)
    (time_name,) = columns.keys() - {which}
    event, time = check_numbers(columns[which], which), check_numbers(columns[time_name], time_name) + 0.0
    if len(event) != len(time):
        raise DataError(f"{which} has {len(event)} rows, but {time_name} has {len(time)}. Give both for each row.")
    if len(time) and time.min() < 0:
        row = int(np.argmin(time))
        raise DataError(
            f"Row {row} of {time_name} is {time[row]}. Times cannot be negative: they are counted from the moment at "
            "which a row begins to be observed. Leave such rows out, of X too."
        )
    return Survival(time, event == 1)


def number_times(survival: Survival, times: FloatArray) -> FloatArray:
    """Number each row by the place of its time among `times`, ascending, and by its event."""
    place = np.minimum(np.searchsorted(times, survival.time), max(len(times) - 1, 0))
    return 2.0 * place + survival.event


def _split(y: ColumnLike) -> dict[str, ColumnLike]:
    """Split y into two columns, by their names in messages."""
    if y is None:
        raise DataError(f"This estimator requires y to be passed, but the target y is None. {HOW}")
    y = on_host(y, "y")
    frame = None if isinstance(y, Mapping) else as_frame(y, "y")
    if isinstance(y, Mapping):
        named = {str(name): column for name, column in y.items()}
    elif frame is not None:
        named = {str(column.name): column.to_numpy() for column in frame.iter_columns()}
    else:
        named = _split_array(y)
    if len(named) != 2:
        raise DataError(f"y has {len(named)} column{'s' * (len(named) != 1)}, but survival needs two. {HOW}")
    return {name if name.startswith("column ") else f"column {name!r} of y": named[name] for name in named}


def _split_array(y: ColumnLike) -> dict[str, ColumnLike]:
    try:
        array = np.asarray(y) if isinstance(y, np.ndarray) else np.array(y, dtype=object)
    except (ValueError, TypeError) as error:
        raise DataError(f"y cannot be read as times and events: {error}. {HOW}") from error
    if array.dtype.names is not None:
        return {name: array[name] for name in array.dtype.names}
    if array.ndim != 2:
        raise DataError(
            f"y has one number for each row, but survival needs two. {HOW}"
            if array.ndim == 1
            else f"y should have rows and two columns, but its shape is {array.shape}. {HOW}"
        )
    return {f"column {number} of y": array[:, number] for number in range(array.shape[1])}


def _find_event(columns: Mapping[str, Array]) -> str:
    """Return which of two columns is the event: the one of booleans, else the one of nothing but 0 and 1."""
    for could_be in (_is_boolean, _is_binary):
        found = [name for name, column in columns.items() if could_be(column)]
        if len(found) == 1:
            return found[0]
        if len(found) == 2:
            raise DataError(
                f"{found[0]} and {found[1]} both hold nothing but 0 and 1, so it is unclear which is the event. Give "
                "the event as booleans and the time as numbers."
            )
    values = {name: shown(np.unique(column)[:3].tolist()) for name, column in columns.items() if _can_be_sorted(column)}
    listed = ": " + "; ".join(f"{name} begins with {first}" for name, first in values.items()) if values else ""
    raise DataError(
        f"Neither column of y is an event, which is True or False, 1 or 0{listed}. If a status "
        "is coded otherwise, compare it with the code of the event, for example y['status'] == 2; rows without a value "
        "must be left out, of X too."
    )


def _is_boolean(column: Array) -> bool:
    if column.dtype.kind == "O":
        return len(column) > 0 and all(isinstance(value, bool | np.bool_) for value in column)
    return column.dtype.kind == "b"


def _is_binary(column: Array) -> bool:
    if column.dtype.kind == "O":
        numbers = all(isinstance(value, int | float | np.number) for value in column)
        return numbers and all(value in (0, 1) for value in column)
    return column.dtype.kind in "biuf" and bool(np.isin(column, (0, 1)).all())


def _can_be_sorted(column: Array) -> bool:
    return column.dtype.kind in "biuf"
