"""Dates and durations: conversion to numbers of days, and to text.

kind_of_times    whether the objects that are not missing are dates or durations
days_of_times    NumPy's datetime64 and timedelta64, or Python's objects, as days
days_of_time     one of them
format_time      a number of days as text

A date becomes the days since 1970-01-01 00:00 UTC: whole days, plus the rest of the day divided by the length of a day,
in doubles. A date with a time zone is that instant; one without is read as UTC. So whole days are exact; times near the
present are exact to a third of a microsecond, and nanoseconds are lost. A duration becomes its length in days, computed
in the same way.
"""

import datetime as dt
import math

import numpy as np

from weald.data.schema import DATES, DURATIONS
from weald.data.types import Array, FloatArray, Label
from weald.errors import DataTypeError

UNITS = {DATES: "days since 1970-01-01 UTC", DURATIONS: "days"}
KIND_OF = {"M": DATES, "m": DURATIONS}  # names of units by NumPy's code
DATE_TYPES = (dt.date, np.datetime64)  # datetime and pandas.Timestamp are subclasses
DURATION_TYPES = (dt.timedelta, np.timedelta64)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
CALENDAR_UNITS = ("Y", "M")  # units of varying length; dates in them are the first of the year or month
PER_DAY = {"D": 1, "h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
FINER = ("ps", "fs", "as")  # converted to nanoseconds; all other units become days


def kind_of_time(value: Label) -> str | None:
    """Return whether an object is a date or a duration; None if neither."""
    if isinstance(value, DATE_TYPES):
        return DATES
    return DURATIONS if isinstance(value, DURATION_TYPES) else None


def days_of_times(column: Array, where: str) -> FloatArray:
    """Convert dates to days since 1970-01-01 UTC and durations to days; missing is NaN."""
    if column.dtype.kind in KIND_OF:
        return _days_of_ticks(column, where)
    return np.array([days_of_time(value, where) for value in column], dtype=np.float64)


def _days_of_ticks(column: Array, where: str) -> FloatArray:
    unit, _ = np.datetime_data(column.dtype)
    letter = column.dtype.kind
    if unit in CALENDAR_UNITS and letter == "m":
        raise DataTypeError(
            f"{where[0].upper()}{where[1:]} contains {column.dtype}, whose length in days varies. Give a duration in "
            "days or smaller units, or a number."
        )
    unit = "ns" if unit in FINER else unit if unit in PER_DAY else "D"
    ticks = column.astype(f"{letter}8[{unit}]")
    missing, whole = np.isnat(ticks), ticks.view(np.int64)
    per_day = PER_DAY[unit]
    days = (whole // per_day).astype(np.float64) + (whole % per_day).astype(np.float64) / float(per_day)
    days[missing] = np.nan
    return days


def days_of_time(value: Label, where: str) -> float:
    """Convert one date or duration to days."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return float(_days_of_ticks(np.array([value]), where)[0])
    if isinstance(value, dt.datetime) and value == value:  # NaT differs from itself
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return _days_of_length(aware - EPOCH)
    if isinstance(value, dt.timedelta) and value == value:
        return _days_of_length(value)
    if isinstance(value, dt.date) and value == value:
        return float((value - EPOCH.date()).days)
    return math.nan  # missing, since the caller has checked the kinds


def _days_of_length(length: dt.timedelta) -> float:
    """Python's durations have microseconds, pandas's nanoseconds, too."""
    nanoseconds = 1000 * (length.seconds * 10**6 + length.microseconds) + getattr(length, "nanoseconds", 0)
    return float(length.days) + float(nanoseconds) / 86_400e9


def format_time(days: float, kind: str) -> str:
    """Write a number of days as text: a date (in UTC), or days.

    Examples
    --------
    >>> from weald.data.times import format_time
    >>> [format_time(x, "dates") for x in (16508.0, 16508.25, 1e9)]
    ['2015-03-14', '2015-03-14 06:00:00', 'day 1e+09 since 1970-01-01']
    >>> format_time(2.5, "durations")
    '2.5 days'
    """
    if kind == DURATIONS:
        return f"{days:.6g} days"
    try:
        when = EPOCH + dt.timedelta(seconds=round(days * 86_400))
    except (OverflowError, ValueError):
        return f"day {days:g} since 1970-01-01"
    return when.strftime("%Y-%m-%d") if days == math.floor(days) else when.strftime("%Y-%m-%d %H:%M:%S")
