"""Friedman's H statistic: the fraction of the joint effect of two features that is interaction.

h_statistic    any fitted model, rows    ->    HStatistic
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from weald.data import arguments
from weald.data.result_frame import as_frame
from weald.data.types import ColumnLike, FloatArray, IntArray, Native, TableLike
from weald.errors import ParameterError
from weald.estimators.base import TreeModel
from weald.inspection.dependence_request import Group, Request, WeightedRows, read_groups, read_table
from weald.inspection.free_axes import Axis
from weald.inspection.importance_result import names_of
from weald.inspection.partial_dependence import partial_values

N_FEATURES = 10  # default number of features: the most important ones
N_ROWS = 1000
SHOWN = 30  # maximum number of pairs in the printed text
MOST_FEATURES = 100


@dataclass(frozen=True, eq=False, repr=False)
class HStatistic:
    """Strength of the interaction of pairs of features.

    Attributes
    ----------
    pairs : tuple of pairs of str
        Names of the features.
    values : array of shape (n_pairs,)
        H squared: the fraction of the variance of the joint partial dependence that is not the sum of the two single
        ones. 0: no interaction. With classes or multi-output, variances are added over the outputs.
    strengths : array of shape (n_pairs,)
        The square root of the variance due to the interaction, in the units of the prediction. It is small where H
        squared is large only because neither feature has an effect.
    n_rows : int
        Number of rows that were used.
    """

    pairs: tuple[tuple[str, str], ...]
    values: FloatArray
    strengths: FloatArray
    n_rows: int

    def order(self) -> IntArray:
        """Pairs from the strongest interaction to the weakest, by `strengths`."""
        return np.argsort(-self.strengths, kind="stable")

    def to_frame(self, frame: str = "pandas") -> Native:
        """Make a data frame, the strongest interaction first.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The data frame library; it must be installed. "dict" returns a dict of arrays.

        Returns
        -------
        data frame
            One row for each pair.
        """
        order = self.order()
        columns: dict[str, object] = {
            "feature": [self.pairs[i][0] for i in order],
            "with": [self.pairs[i][1] for i in order],
            "h_squared": self.values[order],
            "strength": self.strengths[order],
        }
        return as_frame(columns, frame)

    def __repr__(self) -> str:
        words = [f"{one} and {other}" for one, other in self.pairs]
        width = max([len("features"), *map(len, words)])
        lines = [f"Friedman's H, {self.n_rows:,} rows", f"{'features':<{width}}  {'H squared':>9}  {'strength':>9}"]
        lines += [
            f"{words[i]:<{width}}  {self.values[i]:>9.4f}  {self.strengths[i]:>9.3g}" for i in self.order()[:SHOWN]
        ]
        if len(words) > SHOWN:
            lines.append(f"... and {len(words) - SHOWN} more")
        return "\n".join(lines)


def h_statistic(
    model: TreeModel,
    X: TableLike,
    features: Any = None,
    *,
    rows: int = N_ROWS,
    sample_weight: ColumnLike = None,
    names: Sequence[str] | None = None,
) -> HStatistic:
    """Compute Friedman's H for all pairs of some features.

    The joint partial dependence of two features is compared with the sum of the single ones, at the rows of the data
    (Friedman and Popescu 2008).

    Parameters
    ----------
    model : fitted tree or forest
    X : array or data frame of shape (n_rows, n_features)
    features : list of features, optional
        Names or numbers. By default the ten with the largest `feature_importances_`.
    rows : int, default=1,000
        Maximum number of rows: with more, evenly spaced ones are used. Time grows with its square.
    sample_weight : array of shape (n_rows,), optional
    names : sequence of str, optional
        Names of the features; by default those of the training table.

    Returns
    -------
    HStatistic
        `pairs`, `values` and `strengths`; printed, the strongest interactions.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 0] * X[:, 1] + X[:, 2]
    >>> forest = weald.RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> found = weald.h_statistic(forest, X)
    >>> found.pairs[found.order()[0]]
    ('x0', 'x1')
    """
    arguments.check_argument("rows", rows, (arguments.WholeNumber(2),))
    table = read_table(model, X, sample_weight, "h_statistic")
    named = names_of(model, names)
    chosen = _choose(model, features, named)
    pairs = tuple(combinations(chosen, 2))
    request = Request(model, _some(table, rows), named, pairs, None)
    axes = {feature: _axis(request, feature) for feature in chosen}
    places = {feature: axes[feature].find(request.rows.column(feature)) for feature in chosen}
    singles = {f: _centered(request, one[places[f]]) for f, one in _values(request, [(f,) for f in chosen], axes)}
    values, strengths = [], []
    for pair in pairs:
        a, b = pair
        [(_, joint)] = _values(request, [pair], axes)
        both = _centered(request, joint[places[a], places[b]])
        rest = _variance(request, both - singles[a] - singles[b])
        whole = _variance(request, both)
        values.append(rest / whole if whole > 0 else 0.0)
        strengths.append(np.sqrt(rest))
    shown_pairs = tuple((named[a], named[b]) for a, b in pairs)
    return HStatistic(shown_pairs, np.array(values), np.array(strengths), request.rows.n_rows)


def _choose(model: TreeModel, features: Any, names: tuple[str, ...]) -> list[int]:
    """Return the features, ascending."""
    if features is None:
        order = np.argsort(-model.feature_importances_, kind="stable")
        chosen = sorted(order[:N_FEATURES].tolist())
    else:
        groups = read_groups(features, names)
        if any(len(group) > 1 for group in groups):
            raise ParameterError("features has a pair. Give single features: H is computed for all pairs of them.")
        chosen = sorted({feature for (feature,) in groups})
    if not 2 <= len(chosen) <= MOST_FEATURES:
        raise ParameterError(
            f"features has {len(chosen)} different feature(s). Give 2 to {MOST_FEATURES}: H is computed for pairs."
        )
    return chosen


def _some(table: WeightedRows, most: int) -> WeightedRows:
    """Take evenly spaced rows, as one block."""
    n_rows = table.n_rows
    at = np.linspace(0, n_rows - 1, min(most, n_rows)).astype(np.int64)
    parts, first = [], 0
    for block in table.blocks:
        inside = at[(at >= first) & (at < first + block.shape[0])] - first
        parts.append(block[inside])
        first += block.shape[0]
    weight = None if table.weight is None else table.weight[at]
    if weight is not None and not weight.any():
        raise ParameterError("All rows that were chosen have weight 0. Give more rows.")
    return replace(table, blocks=tuple(part for part in parts if part.shape[0]), weight=weight)


def _axis(request: Request, feature: int) -> Axis:
    """Make an axis of the values of the rows; it is empty if all are missing."""
    column = request.column(feature)
    return column.given(column.known if len(column.known) else np.zeros(1))


def _values(request: Request, groups: list[Group], axes: dict[int, Axis]) -> list[tuple[int, FloatArray]]:
    found = partial_values(request, groups, axes)
    return [(group[0], one) for group, one in zip(groups, found, strict=True)]


def _centered(request: Request, values: FloatArray) -> FloatArray:
    """Subtract the mean over the rows (rows x outputs)."""
    centered: FloatArray = values - np.average(values, axis=0, weights=request.rows.weight)
    return centered


def _variance(request: Request, values: FloatArray) -> float:
    """Mean square over the rows, summed over outputs."""
    return float(np.average(values * values, axis=0, weights=request.rows.weight).sum())
