"""Multi-output models: one set of trees whose leaves have a value for each target.

    forests_of                     the forests of a model: one for each target
    select_target                  a model of one target
    refuse                         raises an error for parameters that do not support multi-output
    sum_votes, average, winners    predictions
    estimate_targets               out-of-bag predictions

A multi-output model has `forests_` instead of `forest_`. Accessing `forest_`, or a method for one target, raises an
error instead of using the first target.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError

from weald.data.short_repr import short_repr
from weald.data.table import Reading, up_to_one
from weald.data.task import OF_COUNTS, OF_MEDIANS, Task
from weald.data.types import Array, BoolArray, FloatArray, IntArray
from weald.engines.interface import Codes, Engine
from weald.engines.params import Growth
from weald.engines.threads import count_threads
from weald.errors import ParameterError
from weald.estimators.metrics import score_numbers
from weald.estimators.out_of_bag import warn_of_unseen
from weald.forest import votes
from weald.forest.forest import Forest

Model = TypeVar("Model")

# Parameters that support only one target, and the value required for multi-output.
PLAIN: dict[str, Any] = {
    "calibrate": None,
    "keep_errors": False,
    "keep_targets": False,
    "monotonic_cst": None,
    "resampling": "bagging",
}

SINGLE = (*OF_COUNTS, *OF_MEDIANS)  # criteria that support a single target


def one_target_only(n_targets: int) -> ParameterError:
    """Make the error for methods and attributes that support only one target."""
    return ParameterError(
        f"This model has {n_targets} targets, but this method or attribute supports only one. Use model.of_target(0), "
        "or another target. For multi-output you can use fit, predict, predict_proba, score, apply, "
        "decision_path, feature_importances_, oob_score, out_of_bag, warm_start, slices, merge and save; forests_ "
        "has a forest for each target."
    )


def refuse(given: Mapping[str, Any]) -> None:
    """Raise an error for parameters that do not support multi-output."""
    plain = {name: value for name, value in PLAIN.items() if name in given}
    for name, needed in plain.items():
        if isinstance(given[name], np.ndarray) or (given[name] is not needed and given[name] != needed):
            why = (
                f"Monotonicity constraints are not supported with multiple output ({name}={given[name]!r})."
                if name == "monotonic_cst"
                else f"{name}={given[name]!r} does not support multi-output targets."
            )
            raise ParameterError(f"{why} Set {name}={needed!r}, or fit a model for each target.")
    if given.get("criterion") in SINGLE:
        raise ParameterError(
            f"criterion={given['criterion']!r} does not support multi-output targets. Set "
            "criterion='squared_error', or fit a model for each target."
        )
    if given.get("n_estimators") == "auto":
        raise ParameterError("n_estimators='auto' does not support multi-output targets. Give a number of trees.")
    if given.get("shrinkage") == "oob":
        raise ParameterError("shrinkage='oob' does not support multi-output targets. Give a number.")
    if isinstance(given.get("bootstrap"), str) or isinstance(given.get("max_samples"), Mapping):
        raise ParameterError(
            "bootstrap or max_samples draws from each class separately, but for multi-output a row has several "
            "classes. Give stratify to draw from strata."
        )


def is_multi_output(model: object) -> bool:
    """Return whether a fitted model is multi-output."""
    return "forests_" in vars(model)


def forests_of(model: object) -> tuple[Forest, ...]:
    """Return the forests of a fitted model, one for each target."""
    forests: tuple[Forest, ...] = vars(model).get("forests_", ())
    if not forests and "forest_" not in vars(model):
        raise NotFittedError(f"This {type(model).__name__} is not fitted yet. Call fit first.")
    return forests or (vars(model)["forest_"],)


# --------------------------------------------------------------------------------------------------------- predict


def average(forests: Sequence[Forest], sum_votes: Callable[[Forest], FloatArray]) -> FloatArray:
    """Average the means that trees predict (rows x targets)."""
    return np.column_stack(
        [votes.average(forest, lambda scaled, _: (sum_votes(scaled), scaled.n_trees)) for forest in forests]
    )


def winners(sums: Sequence[FloatArray], classes: Sequence[Array]) -> Array:
    """Choose a label for each row and target (rows x targets); ties go to the first class."""
    return label([of_target.argmax(axis=1) for of_target in sums], classes)


def label(numbers: Sequence[IntArray], classes: Sequence[Array]) -> Array:
    """Join the labels of all targets as columns: in an object array if they have no common type."""
    labels = [of_target[n] for n, of_target in zip(numbers, classes, strict=True)]
    kinds = {"number" if of_target.dtype.kind in "biuf" else of_target.dtype.kind for of_target in classes}
    if len(kinds) == 1:
        return np.column_stack(labels)
    together = np.empty((len(labels[0]), len(labels)), dtype=object)
    for o, column in enumerate(labels):
        together[:, o] = column
    return together


def listed(classes: Any) -> list[Any]:
    """List the classes, or those of each target."""
    return [of_target.tolist() for of_target in classes] if isinstance(classes, list) else list(classes.tolist())


def score_classes(truth: Array, predicted: Array, weight: Any) -> float:
    """Return the weighted fraction of rows whose targets are all predicted correctly."""
    return float(np.average((truth == predicted).all(axis=1), weights=weight))


# ------------------------------------------------------------------------------------------------------ out of bag


@dataclass(frozen=True, repr=False)
class OutOfBagOfTargets:
    """Out-of-bag predictions and errors of a multi-output model; rows in the order of the training data."""

    averages: list[FloatArray]  # by target: probabilities (rows x classes) or means (rows); NaN for rows in every bag
    score: float  # fraction of rows with every target right, or the mean of R squared over targets
    error: float  # fraction of rows with some target wrong, or the mean over targets of the squared error
    share: float  # fraction of the rows that are out of at least one bag

    def __repr__(self) -> str:
        return short_repr(self)


def estimate_targets(
    engine: Engine,
    codes: Codes,
    reading: Reading,
    growth: Growth,
    forests: Sequence[Forest],
    voting: str,
    n_jobs: int | None,
    metric: Callable[..., float] | None,
) -> OutOfBagOfTargets:
    """Predict each row by the trees for which it is out of bag, in tree order."""
    table, n_threads = reading.table, count_threads(n_jobs)
    assert table.targets is not None  # noqa: S101  (for the type checker: the caller has asked)
    outside = [np.flatnonzero(bag == 0) for bag in engine.bags(codes, growth, forests[0].origins, n_threads)]
    n_spoken = np.zeros(table.n_rows, dtype=np.int64)
    for new in outside:
        n_spoken[new] += 1

    def add_up(forest: Forest, _: int) -> tuple[FloatArray, IntArray]:
        sums = np.zeros((table.n_rows, forest.width))
        with np.errstate(over="ignore"):  # an overflow is handled below, by a second pass with scaled sums
            for t, new in enumerate(outside):
                if len(new):
                    predicted = engine.sum_votes(forest.take([t]), table.X[new], voting, n_threads, None)
                    sums[new] += predicted.reshape(len(new), -1)
        return sums, n_spoken

    known = n_spoken > 0
    if not known.all():
        warn_of_unseen(int((~known).sum()), table.n_rows)
    averages = [votes.average(forest, add_up) for forest in forests]
    score, error = _score_known(table.targets.values[table.target][known], averages, known, reading, metric)
    spread = [_for_all_rows(of_target, reading.kept) for of_target in averages]
    return OutOfBagOfTargets(
        [
            found if forest.task is Task.CLASSIFICATION else found[:, 0]
            for found, forest in zip(spread, forests, strict=True)
        ],
        score,
        error,
        float(known.mean()),
    )


def _score_known(
    truth: Array,
    averages: Sequence[FloatArray],
    known: BoolArray,
    reading: Reading,
    metric: Callable[..., float] | None,
) -> tuple[float, float]:
    """Return score and error over the rows that are out of at least one bag."""
    if not known.any():
        return np.nan, np.nan
    weight = None if reading.table.weight is None else up_to_one(reading.table.weight[known])
    if reading.classes is None:
        predicted = np.column_stack([of_target[known, 0] for of_target in averages])
        found = [score_numbers(y, of_target, weight) for y, of_target in zip(truth.T, predicted.T, strict=True)]
        error, score = (sum(of_targets) / len(found) for of_targets in zip(*found, strict=True))
        return score if metric is None else float(metric(truth, predicted)), error
    numbers = [of_target[known].argmax(axis=1) for of_target in averages]
    right = score_classes(truth, np.column_stack(numbers), weight)
    if metric is None:
        return right, 1.0 - right
    labels = label(list(truth.T), reading.classes)
    return float(metric(labels, label(numbers, reading.classes))), 1.0 - right


def _for_all_rows(found: FloatArray, kept: BoolArray | None) -> FloatArray:
    """Add rows of weight 0, which were left out of the fit: NaN."""
    if kept is None:
        return found
    spread = np.full((len(kept), *found.shape[1:]), np.nan)
    spread[kept] = found
    return spread


def side_by_side(shares: Sequence[FloatArray]) -> FloatArray:
    """Join probabilities in one array (rows x classes x targets); classes that a target does not have are 0."""
    most = max(of_target.shape[1] for of_target in shares)
    together = np.zeros((len(shares[0]), most, len(shares)))
    for o, of_target in enumerate(shares):
        together[:, : of_target.shape[1], o] = of_target
    return together


# ------------------------------------------------------------------------------------------------------- one target


def select_target(model: Model, number: int) -> Model:
    """Make a model of one target, without out-of-bag results."""
    one = copy.copy(model)
    known = vars(one)
    if "forests_" not in known:
        return one
    known["forest_"] = known.pop("forests_")[number]
    known.pop("data_hash_", None)  # of all targets
    for name in [name for name in known if name == "tree_" or (name.startswith("oob_") and name.endswith("_"))]:
        del known[name]
    known.update({name: known[name][number] for name in ("classes_", "n_classes_") if name in known}, n_outputs_=1)
    return one


def each_target(model: Model) -> list[Model]:
    """Make a model of each target."""
    return [select_target(model, number) for number in range(len(forests_of(model)))]
