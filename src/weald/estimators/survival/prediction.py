"""Predictions of survival models: functions of time.

StepFunction           a function that is constant between times
survival_functions     leaves -> probabilities of surviving each time (rows x times)
cumulative_hazards     leaves -> cumulative hazards at each time
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from weald.data.short_repr import short_repr
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.forest.leaf_times import LeafTimes

MOST_CELLS = 2**22  # rows x times of a block


@dataclass(frozen=True, repr=False)
class StepFunction:
    """A function of time that is constant from each of its times to the next.

    Attributes
    ----------
    x : array of shape (n_times,)
        The times, ascending.
    y : array of shape (n_times,)
        The value from each time on.
    start : float
        The value before the first time.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.survival.prediction import StepFunction
    >>> survival = StepFunction(np.array([1.0, 3.0]), np.array([0.8, 0.5]), start=1.0)
    >>> survival([0.5, 1.0, 2.9, 10.0])
    array([1. , 0.8, 0.8, 0.5])
    """

    x: FloatArray
    y: FloatArray
    start: float

    def __call__(self, time: object) -> FloatArray:
        """Return the value at a time, or at each of several."""
        values = np.concatenate([[self.start], self.y])
        found: FloatArray = values[np.searchsorted(self.x, np.asarray(time, dtype=np.float64), side="right")]
        return found

    def __repr__(self) -> str:
        return short_repr(self)


def as_functions(times: FloatArray, values: FloatArray, start: float) -> Array:
    """Make a step function of each row."""
    functions = np.empty(len(values), dtype=object)
    functions[:] = [StepFunction(times, row, start) for row in values]
    return functions


def survival_functions(curves: LeafTimes, leaves: IntArray, counts: BoolArray | None = None) -> FloatArray:
    """Average the Kaplan-Meier estimates of the leaves of each row.

    `counts` marks the trees that count (rows x trees); None: all do.
    """
    found = _average(curves.survival_steps, curves, leaves, counts)
    found += 1.0
    return np.clip(found, 0.0, 1.0, out=found)  # sums are rounded


def cumulative_hazards(curves: LeafTimes, leaves: IntArray, counts: BoolArray | None = None) -> FloatArray:
    """Average the Nelson-Aalen estimates of the leaves of each row."""
    return _average(curves.hazard_steps, curves, leaves, counts)


def _average(steps: sparse.csr_array, curves: LeafTimes, leaves: IntArray, counts: BoolArray | None) -> FloatArray:
    """Average the steps of the leaves of each row, tree by tree, and add them up over time. NaN: no tree counts."""
    found = np.empty((len(leaves), len(curves.time)))
    nodes = leaves + curves.forest.tree_start[:-1]
    for rows in _blocks(*found.shape):
        marks = np.ones(nodes[rows].shape, dtype=np.bool_) if counts is None else counts[rows]
        n_trees = marks.sum(axis=1)
        start = np.concatenate([[0], np.cumsum(n_trees)])
        chosen = sparse.csr_array((np.ones(start[-1]), nodes[rows][marks], start), shape=(len(marks), steps.shape[0]))
        summed = (chosen @ steps).toarray()
        with np.errstate(invalid="ignore"):
            found[rows] = np.cumsum(summed, axis=1) / n_trees[:, None]
    return found


def _blocks(n_rows: int, n_times: int) -> Iterator[slice]:
    step = max(1, MOST_CELLS // max(n_times, 1))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(n_rows, begin + step))
