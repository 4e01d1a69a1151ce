"""Predicted distributions: from the leaves of rows to the training targets in these leaves and their weights.

predict_quantiles       quantiles of the target at rows
predict_cdf             probability that the target is at most some values
predict_std             standard deviation of the target at rows
predict_distribution    targets and weights at one row
attach_targets          stores the targets of the training data, passed again

The weight of a training row is its fraction of the weight of the leaf, averaged over trees. With these weights, the
mean of the training targets is the prediction (Meinshausen 2006).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.table import TrainingArguments
from weald.data.types import Array, FloatArray, TableLike
from weald.engines import leaf_targets
from weald.engines.choose import open_engine
from weald.engines.interface import Engine, LeafMembership
from weald.engines.threads import count_threads
from weald.errors import DataError, ParameterError, shown
from weald.estimators.features import RowBlocks
from weald.estimators.multi_output import is_multi_output, one_target_only
from weald.estimators.prediction import read_rows
from weald.estimators.training_data import read_again
from weald.forest.leaf_targets import LeafTargets

if TYPE_CHECKING:
    from weald.estimators.tasks import TreeRegressor

Regressor = TypeVar("Regressor", bound="TreeRegressor")
BLOCK_BYTES = 2**26  # memory limit for leaves and results
LARGE = 2.0**500  # squares of larger numbers overflow


class Distribution(NamedTuple):
    """Distinct targets of training rows, ascending, and their weights, which sum to 1."""

    values: FloatArray
    weights: FloatArray


def predict_quantiles(model: "TreeRegressor", X: TableLike, q: Any) -> FloatArray:
    """Compute quantiles; see `TreeRegressor.predict_quantiles`."""
    levels = _numbers("q", q)
    if not ((levels >= 0) & (levels <= 1)).all():
        raise ParameterError(f"q={shown(q)} is not between 0 and 1. Give levels, for example 0.5 for the median.")
    targets = _targets_of(model)
    found = _for_blocks(
        model,
        X,
        len(levels),
        lambda engine, sharing, n_threads: engine.quantiles(sharing, targets.value, levels, n_threads, None),
    )
    return found[:, 0] if np.ndim(q) == 0 else found


def predict_cdf(model: "TreeRegressor", X: TableLike, y: Any) -> FloatArray:
    """Compute the cumulative distribution function; see `TreeRegressor.predict_cdf`."""
    values, targets = _numbers("y", y), _targets_of(model)
    limits = np.searchsorted(targets.value, values, side="right")
    found = _for_blocks(
        model,
        X,
        len(limits),
        lambda engine, sharing, n_threads: engine.cumulated_shares(sharing, targets.value, limits, n_threads, None),
    )
    return found[:, 0] if np.ndim(y) == 0 else found


def predict_std(model: "TreeRegressor", X: TableLike) -> FloatArray:
    """Compute standard deviations; see `TreeRegressor.predict_std`."""
    target = _targets_of(model).value
    largest = float(np.abs(target[[0, -1]]).max())
    scale = 2.0 ** -(np.frexp(largest)[1]) if largest > LARGE else 1.0  # scaling by a power of two is exact
    found = _for_blocks(
        model,
        X,
        1,
        lambda engine, sharing, n_threads: engine.standard_deviations(sharing, target * scale, n_threads, None)[
            :, None
        ],
    )
    deviations: FloatArray = found[:, 0] / scale
    return deviations


def predict_distribution(model: "TreeRegressor", X: TableLike) -> Distribution:
    """Return targets and weights; see `TreeRegressor.predict_distribution`."""
    targets = _targets_of(model)
    engine, n_threads = open_engine(model.engine).local, count_threads(model.n_jobs)
    parts = list(_sharings(model, X, targets, engine, n_threads))
    n_rows = sum(len(sharing.leaves) for sharing in parts)
    if n_rows != 1:
        raise DataError(
            f"X has {n_rows:,} rows, but predict_distribution describes one row. Give a single row, for example X[:1]."
        )
    _, members, sums = engine.add_proximities(parts[0], 0, n_threads, None)
    return Distribution(targets.value[members], sums / np.cumsum(sums)[-1])


def attach_targets(model: Regressor, data: TrainingArguments) -> Regressor:
    """Store the targets of the training data; see `TreeRegressor.attach_targets`."""
    check_is_fitted(model)
    if is_multi_output(model):
        raise one_target_only(model.n_outputs_)
    training = read_again(model, data, bags=False)
    model.leaf_targets_ = leaf_targets.collect(
        training.engine, training.codes, training.reading.table, model.growth_, model.forest_, training.n_threads
    )
    return model


def _targets_of(model: "TreeRegressor") -> LeafTargets:
    """Return the targets that a model stores, or raise an error that explains how to store them."""
    check_is_fitted(model)
    targets: LeafTargets | None = vars(model).get("leaf_targets_")
    if targets is None or targets.forest is not model.forest_:
        raise ParameterError(
            "This model does not have the training targets, from which distributions are computed. Fit with "
            "keep_targets=True, or call model.attach_targets(X, y) with the training data."
        )
    return targets


def _numbers(name: str, given: Any) -> FloatArray:
    """Read a number or a list of numbers."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.ndim > 1 or np.isnan(numbers).any():
        raise ParameterError(f"{name}={shown(given)} is not a number or a list of numbers. Give, for example, 0.5.")
    return np.atleast_1d(numbers)


def _for_blocks(
    model: "TreeRegressor",
    X: TableLike,
    width: int,
    answer: Callable[[Engine, LeafMembership, int], FloatArray],
) -> FloatArray:
    """Compute results for blocks of rows, one after the other (rows x width)."""
    engine, n_threads = open_engine(model.engine).local, count_threads(model.n_jobs)
    sharings = _sharings(model, X, _targets_of(model), engine, n_threads, width)
    found = [answer(engine, sharing, n_threads) for sharing in sharings]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _sharings(
    model: "TreeRegressor", X: TableLike, targets: LeafTargets, engine: Engine, n_threads: int, width: int = 1
) -> Iterator[LeafMembership]:
    """Find the leaves of the rows, block by block."""
    forest, votes = model.forest_, model.forest_.has_vote()
    for block in _cut(read_rows(model, X), max(1, BLOCK_BYTES // (4 * forest.n_trees + 8 * width))):
        leaves = engine.leaves(forest, block, n_threads, None)
        counted = leaves if votes.all() else np.where(votes, leaves, -1).astype(np.int32)
        yield LeafMembership(
            counted, forest.tree_start, len(targets.value), targets.start, targets.place, targets.share
        )


def _cut(rows: Any, n_rows: int) -> Iterable[Array]:
    """Divide rows into blocks."""
    for block in rows.row_blocks() if isinstance(rows, RowBlocks) else (rows,):
        for begin in range(0, block.shape[0], n_rows):
            yield block[begin : begin + n_rows]
