"""The precision of regression targets in engines, and a warning if it is too low.

find_rounding       target, weights -> the precision, if it is too low
warn_of_rounding    warns the user

Engines sum integers, `y = center + q / 2^exponent`, so a single extreme outlier reduces the precision of all other
numbers. `fix_target` of the reference engine is the definition; this module computes the same for tables of any size.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weald.data.table import Table
from weald.data.types import FloatArray
from weald.engines.params import Growth
from weald.engines.reference import definition
from weald.errors import warn

Lengths = npt.NDArray[np.uint64]

BUCKETS = 4096


@dataclass(frozen=True)
class Rounding:
    """A target that is rounded noticeably."""

    name: str
    resolution: float  # numbers become multiples of it
    width: float  # spread of most numbers
    reach: float  # maximum distance of a number from the center


@dataclass(frozen=True)
class Precision:
    """The parameters that determine the unit of targets."""

    n_draws: int | None  # None: weights are in fixed point
    from_zero: bool = False  # the center is 0


@dataclass(frozen=True)
class _Weighed:
    """The numbers of one target, and their integer weights."""

    y: FloatArray
    lengths: Lengths | None  # None: 1 each
    at: Precision


def warn_of_rounding(table: Table, growth: Growth) -> None:
    """Warn about each numeric target that is rounded noticeably."""
    fixed = _in_fixed_point(table, growth)
    n_draws = None if fixed else growth.n_draws
    on_rows = getattr(table, "compute_on_rows", None)  # for tables whose rows are on other machines
    asked = Precision(n_draws, from_zero=growth.criterion in definition.OF_COUNTS)
    roundings = find_roundings(table, asked) if on_rows is None else on_rows(find_roundings, asked)
    for found in roundings:
        advice = ["Remove or clip the outliers", "take logarithms"]
        advice += ["fit a model for this target alone"] if table.targets is not None else []
        advice += ["give whole sample weights"] if fixed else []
        warn(
            f"{found.name} is rounded to multiples of {found.resolution:.2g}, but most of its values lie within "
            f"{found.width:.2g}: others are up to {found.reach:.2g} away, and sums of all are exact. "
            f"{', '.join(advice[:-1])} or {advice[-1]}."
        )


def _in_fixed_point(table: Table, growth: Growth) -> bool:
    return not growth.bootstrap and not (table.weights_whole and table.size < definition.WHOLE_LIMIT)


def find_roundings(table: Table, at: Precision) -> list[Rounding]:
    """Find the targets that are rounded noticeably."""
    lengths = _lay_line(table)
    if table.targets is None:
        found = [_find_rounding("y", _Weighed(table.target, lengths, at), may_be_wide=True)]
    else:
        columns = (of_target[table.target] for of_target in table.targets.values.T)
        found = [
            _find_rounding(f"Column {o} of y", _Weighed(y, lengths, at), may_be_wide=False)
            for o, y in enumerate(columns)
        ]
    return [one for one in found if one is not None]


def _lay_line(table: Table) -> Lengths | None:
    """Return the integer weights of rows; None: all have weight 1."""
    if table.weight is None:
        return None
    if table.weights_whole:
        return table.weight.astype(np.uint64)
    shift = 53 - int(np.frexp(table.weight.max())[1]) - table.n_rows.bit_length()
    return np.maximum(1, np.rint(np.ldexp(table.weight, shift))).astype(np.uint64)


def _find_rounding(name: str, of: _Weighed, *, may_be_wide: bool) -> Rounding | None:
    """Compute the same as `fix_target`, up to the unit."""
    low, high = float(of.y.min()), float(of.y.max())
    center = 0.0 if of.at.from_zero else low / 2 + high / 2
    reach = max(abs(low - center), abs(high - center))
    if reach == 0:
        return None
    k = int(np.frexp(reach)[1])
    exponent = min(definition.narrow_exponent(k, of.at.n_draws), definition.DOUBLE_BITS - k)
    if _are_apart(of, definition.ldexp(1.0, definition.FINE_BITS - exponent)):
        return None
    spread = _spread_of(of)
    if not definition.is_coarse(spread.width, exponent):
        return None
    middle = 0.0 if of.at.from_zero else spread.median
    with np.errstate(over="ignore"):
        from_middle = float(max(np.float64(high) - middle, middle - np.float64(low)))
    if may_be_wide and np.isfinite(from_middle):
        exponent = definition.wide_exponent(int(np.frexp(from_middle)[1]), of.at.n_draws)
        if not definition.is_coarse(spread.width, exponent):
            return None
    return Rounding(name, definition.ldexp(1.0, -exponent), spread.width, reach)


def _are_apart(of: _Weighed, least: float) -> bool:
    """Check quickly whether the quartiles are at least this far apart; False means that they may be closer."""
    first = of.y.min() / 2
    n_buckets = min(BUCKETS, 1 << len(of.y).bit_length())
    step = float((of.y.max() / 2 - first) / n_buckets)  # half the width of a bucket: the whole might overflow
    with np.errstate(over="ignore", divide="ignore"):
        per_step = np.float64(1.0) / step
    if not np.isfinite(per_step):
        return False
    buckets = np.minimum(((of.y / 2 - first) * per_step).astype(np.int64), n_buckets - 1)
    filled = np.bincount(buckets, weights=of.lengths, minlength=n_buckets)
    lower, upper = np.searchsorted(np.cumsum(filled), filled.sum() * np.array([0.25, 0.75]))
    # Rounding may shift a number by one bucket, and the summation of weights as doubles by another.
    return bool((upper - lower - 4) * step >= least / 2) and upper > lower + 4


def _spread_of(of: _Weighed) -> definition.Spread:
    """Compute the same as `spread_of` of the definition."""
    low, median, high = _quantiles(of.y, of.lengths, (1, 2, 3))
    if low < high:
        with np.errstate(over="ignore"):
            return definition.Spread(median, float(np.float64(high) - low))
    others = of.y != median
    with np.errstate(over="ignore"):
        distances = np.abs(of.y[others] - median)
    lengths = None if of.lengths is None else of.lengths[others]
    return definition.Spread(median, _quantiles(distances, lengths, (2,))[0] if len(distances) else np.inf)


def _quantiles(values: FloatArray, lengths: Lengths | None, quarters: tuple[int, ...]) -> list[float]:
    if lengths is None:
        places = [-(-q * len(values) // 4) - 1 for q in quarters]
        return [float(value) for value in np.partition(values, places)[places]]
    order = np.argsort(values)
    ends = np.cumsum(lengths[order], dtype=np.uint64)
    found = (np.searchsorted(4 * ends, q * ends[-1]) for q in np.array(quarters, dtype=np.uint64))
    return [float(values[order[place]]) for place in found]
