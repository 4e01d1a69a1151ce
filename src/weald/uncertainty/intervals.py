"""Prediction intervals from the errors of out-of-bag or held-out predictions.

predict_interval    a regressor, rows and a coverage  ->  lower and upper ends
read_coverage       check a coverage

Methods, with the errors R_i = |y_i - f_i| of the kept rows and Q, the rank ceil(coverage * (n + 1)) among n numbers:

    oob, split                f(x) -+ Q of R_i
    oob-scaled, split-scaled  f(x) -+ s(x) * Q of R_i / s_i
    cqr                       low(x) - Q, high(x) + Q, of max(low_i - y_i, y_i - high_i)
    jackknife+ab              -Q of R_i - f_(-i)(x), Q of R_i + f_(-i)(x)

Numbers with index i come from the trees that have not seen row i; s is the standard deviation of the target, plus a
tenth of the mean of the s_i.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import NOTHING, Fraction, OneOf, check_argument
from weald.data.types import FloatArray, TableLike
from weald.engines.choose import open_engine
from weald.engines.interface import Engine, LeafMembership
from weald.engines.threads import count_threads
from weald.errors import ParameterError
from weald.estimators.calibration.arithmetic import add_up
from weald.estimators.calibration.kept_errors import RegressionErrors, bound, exact
from weald.forest.leaf_targets import LeafTargets
from weald.uncertainty.attached_errors import errors_of
from weald.uncertainty.distribution import LARGE
from weald.uncertainty.jackknife import jackknife_intervals

if TYPE_CHECKING:
    from weald.estimators.tasks import TreeRegressor

OUT_OF_BAG = ("oob", "oob-scaled", "jackknife+ab", "cqr")
HELD_OUT = ("split", "split-scaled", "cqr")
METHODS = (*OUT_OF_BAG, *HELD_OUT[:2])
BLOCK_BYTES = 2**26  # memory limit for leaves
FLOOR = 0.1  # added to each standard deviation, as a fraction of their mean


def predict_interval(model: "TreeRegressor", X: TableLike, coverage: float, method: str | None) -> FloatArray:
    """Predict intervals; see `TreeRegressor.predict_interval`."""
    check_is_fitted(model)
    read_coverage(coverage)
    check_argument("method", method, (OneOf(METHODS), NOTHING))
    errors = errors_of(model)
    assert isinstance(errors, RegressionErrors)  # noqa: S101  (for the type checker: of a regressor)
    way = _choose_method(errors, method)
    if way == "jackknife+ab":
        return jackknife_intervals(model, X, errors, coverage)
    if way == "cqr":
        return _shifted_quantiles(model, X, errors, coverage)
    if way.endswith("scaled"):
        return _scaled(model, X, errors, coverage)
    (half,) = _remember(errors, f"plain {coverage!r}", lambda: (_bound(errors, _away(errors), coverage),))
    return _around(model.predict(X), half)


def read_coverage(coverage: object) -> None:
    """Check a coverage."""
    check_argument("coverage", coverage, (Fraction(one=False),))


def _choose_method(errors: RegressionErrors, method: str | None) -> str:
    """Return the method, which must suit the kept errors."""
    known = HELD_OUT if errors.is_held_out else OUT_OF_BAG
    if method is None:
        return known[0]
    if method in known:
        return method
    names = ", ".join(f'"{name}"' for name in known)
    if errors.is_held_out:
        raise ParameterError(
            f"method={method!r} needs out-of-bag errors, but this model keeps those of held-out rows. Give one of "
            f"{names}, or call attach_errors(X, y) with the training data."
        )
    raise ParameterError(
        f"method={method!r} needs errors of held-out rows, but this model keeps out-of-bag errors. Give one of "
        f"{names}, or call attach_errors(X, y, held_out=True) with rows that the trees have not seen."
    )


def _away(errors: RegressionErrors) -> FloatArray:
    found: FloatArray = np.abs(errors.target - errors.prediction)
    return found


def _bound(errors: RegressionErrors, scores: FloatArray, coverage: float) -> float:
    """Return the rank bound of the scores of the rows that have a prediction."""
    seen = errors.is_seen
    return bound(scores[seen], errors.weighing.take(seen), coverage)


def _remember(errors: RegressionErrors, name: str, compute: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
    """Return numbers that depend only on the stored errors; they are computed once."""
    if name not in errors.derived:
        errors.derived[name] = compute()
    return errors.derived[name]


def _around(middle: FloatArray, half: float | FloatArray) -> FloatArray:
    return np.column_stack([middle - half, middle + half])


# ---------------------------------------------------------------------------------------------------------- methods


def _scaled(model: "TreeRegressor", X: TableLike, errors: RegressionErrors, coverage: float) -> FloatArray:
    """Scale a bound of errors by standard deviations."""
    targets = _targets_of(model, errors)

    def compute() -> tuple[float, float]:
        spread = _deviations(model, errors, targets)
        seen = spread[errors.is_seen]
        unit = _unit(seen)
        floor = FLOOR * add_up(seen * unit) / len(seen) / unit
        floor = floor if floor > 0 else 1.0  # all standard deviations are 0
        return floor, _bound(errors, _away(errors) / (spread + floor), coverage)

    floor, factor = _remember(errors, f"scaled {coverage!r}", compute)
    return _around(model.predict(X), factor * (model.predict_std(X) + floor))


def _shifted_quantiles(model: "TreeRegressor", X: TableLike, errors: RegressionErrors, coverage: float) -> FloatArray:
    """Shift quantiles outward by a bound on the distance of targets outside them."""
    targets = _targets_of(model, errors)
    low_level = (1 - exact(coverage)) / 2
    levels = np.array([float(low_level), float(1 - low_level)])

    def compute() -> tuple[float]:
        low, high = _quantiles(model, errors, targets, levels).T
        return (_bound(errors, np.maximum(low - errors.target, errors.target - high), coverage),)

    (shift,) = _remember(errors, f"cqr {coverage!r}", compute)
    low, high = model.predict_quantiles(X, levels.tolist()).T
    middle = low / 2 + high / 2
    is_crossed = low - shift > high + shift  # if the ends cross, both become their mean
    return np.column_stack([np.where(is_crossed, middle, low - shift), np.where(is_crossed, middle, high + shift)])


def _targets_of(model: "TreeRegressor", errors: RegressionErrors) -> LeafTargets:
    """Return the targets of the leaves, which must have been stored with the errors."""
    targets: LeafTargets | None = vars(model).get("leaf_targets_")
    if targets is None or targets.forest is not model.forest_ or errors.leaf is None:
        again = "attach_errors(X, y, held_out=True)" if errors.is_held_out else "attach_errors(X, y)"
        raise ParameterError(
            "This method needs the training targets and the leaves of the rows whose errors are kept. Fit with "
            f"keep_targets=True as well, or call model.attach_targets(X, y) with the training data, then model.{again}."
        )
    return targets


def _deviations(model: "TreeRegressor", errors: RegressionErrors, targets: LeafTargets) -> FloatArray:
    """Standard deviation of the target at each kept row."""
    scale = _unit(targets.value[[0, -1]])
    found = _of_rows(
        model,
        errors,
        targets,
        lambda engine, sharing, n_threads: engine.standard_deviations(sharing, targets.value * scale, n_threads, None),
    )
    return found / scale


def _unit(values: FloatArray) -> float:
    """Return a power of two that keeps sums and squares of large numbers finite."""
    largest = float(np.abs(values).max())
    return 2.0 ** -int(np.frexp(largest)[1]) if largest > LARGE else 1.0


def _quantiles(
    model: "TreeRegressor", errors: RegressionErrors, targets: LeafTargets, levels: FloatArray
) -> FloatArray:
    """Quantiles of the target at each kept row (rows x levels)."""
    return _of_rows(
        model,
        errors,
        targets,
        lambda engine, sharing, n_threads: engine.quantiles(sharing, targets.value, levels, n_threads, None),
    )


def _of_rows(
    model: "TreeRegressor",
    errors: RegressionErrors,
    targets: LeafTargets,
    answer: Callable[[Engine, LeafMembership, int], FloatArray],
) -> FloatArray:
    """Compute results for the kept rows from their leaves, block by block."""
    engine, n_threads = open_engine(model.engine).local, count_threads(model.n_jobs)
    forest = model.forest_
    step = max(1, BLOCK_BYTES // (4 * forest.n_trees))
    parts = []
    for leaves in errors.leaves(step):
        sharing = LeafMembership(
            leaves, forest.tree_start, len(targets.value), targets.start, targets.place, targets.share
        )
        parts.append(answer(engine, sharing, n_threads))
    return np.concatenate(parts)
