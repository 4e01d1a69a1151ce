"""Bad inputs × all estimators: a named error that says what to do, or a documented result.

The inputs are those of tests/data/test_bad_inputs.py, and every odd object in every place: a cell of X, of a frame, of
y, of weights, groups and strata, or instead of them, in a fit and in a prediction, and as the value of each parameter.
An error of NumPy, pandas or Python that says nothing about the argument is a fault, and so are a crash and a hang.
"""

import datetime as dt
import fractions
import inspect
import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

import weald
from tests.campaigns.campaign import Budget, FaultError, Figures, main, run_cases, told
from tests.data.test_bad_inputs import REFUSED_PARAMETERS, REFUSED_WEIGHTS, REFUSED_X, REFUSED_Y, N, X, Y
from weald.errors import WealdError

KINDS = {
    name: kind
    for name in weald.__all__
    if inspect.isclass(kind := getattr(weald, name)) and hasattr(kind, "fit") and hasattr(kind, "get_params")
}

ODD = {
    "None": None,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "minus infinity": float("-inf"),
    "a huge int": 10**400,
    "a huge negative int": -(10**400),
    "2**63": 2**63,
    "2**64": 2**64,
    "a complex number": 1j,
    "bytes": b"a",
    "text": "a",
    "empty text": "",
    "text that is a number": "1.5",
    "text with a zero": "a\0b",
    "text of half a character": "\ud800",
    "a list": [1.0],
    "an empty list": [],
    "a tuple": (1.0, 2.0),
    "a set": {1.0},
    "a dict": {"a": 1.0},
    "a function": len,
    "a class": int,
    "an object": object(),
    "an exception": ValueError("x"),
    "a range": range(3),
    "a slice": slice(3),
    "Ellipsis": ...,
    "NotImplemented": NotImplemented,
    "a Decimal": Decimal("1.5"),
    "a Decimal NaN": Decimal("NaN"),
    "a signaling Decimal NaN": Decimal("sNaN"),
    "a Fraction": fractions.Fraction(1, 3),
    "a date": dt.date(2020, 1, 1),
    "a time": dt.time(6),
    "a timestamp": pd.Timestamp("2020-01-01"),
    "a duration": dt.timedelta(1),
    "NaT": pd.NaT,
    "NA": pd.NA,
    "a NumPy date": np.datetime64("2020-01-01"),
    "a NumPy NaT": np.datetime64("NaT"),
    "a NumPy duration": np.timedelta64(1, "D"),
    "a NumPy complex": np.complex64(1j),
    "a NumPy void": np.void(b"abc"),
    "an array": np.ones(3),
    "an array of no dimension": np.array(1.0),
    "an array of objects": np.array([None, "a"], dtype=object),
    "a masked value": np.ma.masked,
    "a Series": pd.Series([1.0, 2.0]),
    "a frame": pd.DataFrame({"a": [1.0]}),
    "a polars frame": pl.DataFrame({"a": [1.0]}),
    "an Arrow array": pa.array([1.0, None]),
    "a sparse matrix": sparse.csr_matrix(np.eye(3)),
    "an interval": pd.Interval(0, 1),
    "a period": pd.Period("2020-01"),
    "memory": memoryview(b"abc"),
    "a generator": (i for i in range(3)),
    "True": True,
    "a NumPy bool": np.bool_(1),
    "a float16": np.float16(1.5),
    "a longdouble": np.longdouble(1.5),
    "minus zero": -0.0,
    "a subnormal": 5e-324,
}
ARGUMENTS = ("sample_weight", "groups", "stratify")


def with_cell(array, value):
    """Put an object into a copy of an array, in row 7."""
    changed = np.array(array, dtype=object)
    # As an array of one object: a list or an array is not spread over several cells.
    changed[(slice(7, 8), slice(0, 1))[: changed.ndim]] = np.frompyfunc(lambda _: value, 1, 1)(np.zeros(1))
    return changed


def column_of(value):
    column = np.empty(N, dtype=object)
    for row in range(N):
        column[row] = value
    return column


def calls():
    """Every bad input: a name, and what to do with an estimator."""
    for name, (bad, _) in REFUSED_X.items():
        yield f"X: {name}", lambda model, bad=bad: model.fit(bad, Y)
        yield f"X to predict: {name}", lambda model, bad=bad: model.fit(X, Y).predict(bad)
    for name, (bad, _) in REFUSED_Y.items():
        yield f"y: {name}", lambda model, bad=bad: model.fit(X, bad)
    for name, (bad, _) in REFUSED_WEIGHTS.items():
        yield f"weights: {name}", lambda model, bad=bad: model.fit(X, Y, sample_weight=bad)
    for given in REFUSED_PARAMETERS:
        yield f"parameter: {next(iter(given))}", lambda model, given=given: model.set_params(**given).fit(X, Y)
    for name, odd in ODD.items():
        yield f"a cell of X: {name}", lambda model, odd=odd: model.fit(with_cell(X, odd), Y)
        yield f"a cell of X to predict: {name}", lambda model, odd=odd: model.fit(X, Y).predict(with_cell(X, odd))
        if name != "text of half a character":  # pandas refuses it
            table = pd.DataFrame({"a": X[:, 0], "b": column_of(odd)})
            yield f"a column of a frame: {name}", lambda model, table=table: model.fit(table, Y)
        yield f"X: {name}", lambda model, odd=odd: model.fit(odd, Y)
        yield f"X to predict: {name}", lambda model, odd=odd: model.fit(X, Y).predict(odd)
        yield f"y: {name}", lambda model, odd=odd: model.fit(X, odd)
        yield f"a cell of y: {name}", lambda model, odd=odd: model.fit(X, with_cell(Y, odd))
        for argument in ARGUMENTS:
            yield (
                f"{argument}: {name}",
                lambda model, odd=odd, a=argument: model.fit(X, Y, **{a: odd}) if odd is not None else model,
            )
            yield (
                f"a cell of {argument}: {name}",
                lambda model, odd=odd, a=argument: model.fit(X, Y, **{a: with_cell(Y, odd)}),
            )


def parameter_calls(kind):
    """Every odd object as the value of every parameter."""
    names = list(inspect.signature(kind).parameters)
    for name, (word, odd) in itertools.product(names, ODD.items()):
        yield f"{name}: {word}", lambda model, n=name, odd=odd: model.set_params(**{n: odd}).fit(X, Y)


def make(kind):
    small = {"n_estimators": 2} if "n_estimators" in inspect.signature(kind).parameters else {}
    return kind(random_state=0, **small)


def lacks(kind, name: str) -> bool:
    """Whether an estimator has no such parameter, argument or method."""
    parameter = name.removeprefix("parameter: ")
    if name.startswith("parameter: ") and parameter not in inspect.signature(kind).parameters:
        return True
    if "to predict" in name and not hasattr(kind, "predict"):
        return True
    arguments = inspect.signature(kind.fit).parameters
    return any(a in name and a not in arguments for a in ARGUMENTS)


def check(case) -> str:
    """A named error, or a result."""
    kind, name, call = case
    try:
        call(make(KINDS[kind]))
    except Exception as error:
        if not isinstance(error, WealdError):
            if name.endswith((": a function", ": a class")):
                return "errors of the given function"
            raise
        if len(str(error)) < 10:
            raise FaultError(f"the message says nothing: {error!r}") from error
        return "named errors"
    return "results"


class Case(tuple):
    """A case that is shown by its names."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self[0]}, {self[1]}"


def work(budget: Budget) -> Figures:
    given = [Case((kind, name, call)) for kind in KINDS for name, call in calls() if not lacks(KINDS[kind], name)]
    odd = [Case((kind, name, call)) for kind in KINDS for name, call in parameter_calls(KINDS[kind])]
    figures: Figures = []
    for what, cases, share in (("bad inputs", given, 0.7), ("odd values of parameters", odd, 0.3)):
        budget.dice(what).shuffle(cases)
        counts = run_cases(cases, check, budget.part(share))
        n = f"{len({name for _, name, _ in cases}):,} {what} × {len(KINDS)} estimators"
        figures.append((n, f"{counts.total():,} of {len(cases):,}", told(counts)))
    return figures


if __name__ == "__main__":
    main("inputs", __doc__ or "", work)
