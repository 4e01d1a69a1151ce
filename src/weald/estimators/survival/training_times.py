"""Times and events of training rows -> the target that engines read, and the model's times.

learn_times     in a fit: also keeps the distinct times
number_again    when the training data is read again
times_and_events    numbers -> times and events
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from weald.data.dask_collections import is_dask_collection
from weald.data.survival import number_times, read_survival
from weald.data.table import TrainingArguments, read_weight
from weald.data.types import Array
from weald.engines.choose import open_engine
from weald.errors import DataError, ParameterError

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel


def learn_times(model: "TreeModel", data: TrainingArguments, *, has_checkpoint: bool = False) -> TrainingArguments:
    """Number the times and events of a fit, and keep the distinct times of the rows that count."""
    _refuse_parameters(model, has_checkpoint=has_checkpoint)
    _require_local(model, data)
    survival = read_survival(data.y)
    counts = np.ones(len(survival), dtype=np.bool_)
    if data.sample_weight is not None:
        weight = read_weight(data.sample_weight, n_rows=len(survival))
        counts = counts if weight is None else weight > 0
    events = survival.event & counts
    if not events.any():
        raise DataError(
            "No row of y has the event: all are censored, so there is nothing to learn. Give rows with the event; "
            "check that True (1) marks the event, not censoring."
        )
    model.__dict__["unique_times_"] = np.unique(survival.time[counts])
    model.__dict__["event_times_"] = np.unique(survival.time[events])
    return replace(data, y=number_times(survival, vars(model)["unique_times_"]))


def number_again(model: "TreeModel", data: TrainingArguments, *, new: bool = False) -> TrainingArguments:
    """Number the times and events of the training data as in the fit; refuse other times.

    Rows that are `new` have times of their own: only their order is needed.
    """
    survival = read_survival(data.y)
    times = np.unique(survival.time) if new else vars(model)["unique_times_"]
    numbers = number_times(survival, times)
    strange = times[(numbers // 2).astype(np.intp)] != survival.time
    if data.sample_weight is not None:
        weight = read_weight(data.sample_weight, n_rows=len(survival))
        strange &= np.ones(len(survival), dtype=np.bool_) if weight is None else weight > 0
    if strange.any():
        row = int(np.argmax(strange))
        raise DataError(
            f"Row {row} of y has the time {survival.time[row]:g}, which no row of the fit has. Give the y of the fit."
        )
    return replace(data, y=numbers)


def times_and_events(model: "TreeModel", target: Array) -> Array:
    """Return the times and events behind the numbers of rows, as a structured array."""
    place, event = np.divmod(target.astype(np.int64), 2)
    found = np.empty(len(target), dtype=[("event", np.bool_), ("time", np.float64)])
    found["event"], found["time"] = event == 1, vars(model)["unique_times_"][place]
    return found


def _refuse_parameters(model: "TreeModel", *, has_checkpoint: bool) -> None:
    """Refuse parameters that need the errors of single rows, and checkpoints."""
    if has_checkpoint:
        raise ParameterError(
            "checkpoint keeps forests without the times of their leaves, so survival forests do not support it. Leave "
            "it out; warm_start=True adds trees to a forest."
        )
    if vars(model).get("n_estimators") == "auto":
        raise ParameterError(
            "n_estimators='auto' watches the mean of the errors of rows, which survival does not have. Give a number; "
            "a few hundred trees are enough for most tables."
        )
    if callable(vars(model).get("oob_score")):
        raise ParameterError(
            "oob_score is a function, but the out-of-bag score of a survival forest is the concordance index. Give "
            "oob_score=True; `oob_prediction_` has the risks for other scores."
        )


def _require_local(model: "TreeModel", data: TrainingArguments) -> None:
    """Refuse tables that are not in memory: survival needs all distinct times before any row is numbered."""
    engine = open_engine(model.engine, data.X)
    if is_dask_collection(data.X) or is_dask_collection(data.y) or engine.local is not engine:
        engine.release()
        raise ParameterError(
            f"{type(model).__name__} needs a table in memory: times are numbered before rows are divided. Give "
            "X.compute() and y.compute(), and engine='auto'. A store of codes has one number or label for each row, "
            "so it cannot have times and events either."
        )
