"""Partial dependence, individual conditional expectation (ICE) and accumulated local effects (ALE).

    dependence      a fitted model and rows   ->    curves
    integrate       the sums of an engine     ->    values at each point

A forest's prediction is a step function of each numeric feature, so partial dependence is exact at every value, not
only on a grid. One pass over the rows gives the curves of all features: see `engines/free_features.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from weald.data import arguments
from weald.data.task import Task
from weald.data.types import ColumnLike, FloatArray, IntArray, Native, TableLike
from weald.engines.free_features import NO_BIN, DependenceSums, FreeFeatures, LocalBins
from weald.errors import ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.chunked_prediction import RowProgress
from weald.estimators.features import features_of
from weald.estimators.prediction import voting_of
from weald.inspection.dependence_request import Group, Request, read_groups, read_points_of, read_table
from weald.inspection.dependence_result import DependenceCurve, DependenceCurves
from weald.inspection.free_axes import Axis, Column, free_features, read_points, thresholds_of
from weald.inspection.importance_result import names_of

KINDS = ("partial", "individual", "ale")
N_BINS = 50  # bins for local effects, and points of individual curves
N_POINTS_OF_PAIRS = 100  # points per feature of a pair, if there are more thresholds
PLACES_AT_ONCE = 2**25  # values computed in one pass
MOST_VALUES = 2**28  # size limit of a result: 2 GiB
LARGE = 2.0**900  # sums of larger values could overflow


def dependence(
    model: TreeModel,
    X: TableLike,
    features: Any = None,
    *,
    kind: str = "partial",
    points: Any = None,
    sample_weight: ColumnLike = None,
    names: Sequence[str] | None = None,
    verbose: int = 0,
) -> DependenceCurves:
    """Compute how the predictions of a model depend on features.

    Parameters
    ----------
    model : fitted tree or forest
    X : array or data frame of shape (n_rows, n_features)
        The rows over which predictions are averaged, for example the training data.
    features : list of features or of pairs, optional
        Names or numbers; a pair of features gives their joint dependence. By default all features, one by one;
        for "ale" all that have an order.
    kind : {"partial", "individual", "ale"}, default="partial"
        - "partial": partial dependence, the mean prediction if all rows had a value of the feature (Friedman 2001).
        - "individual": the same for each row, individual conditional expectation (Goldstein et al. 2015), on a grid.
        - "ale": accumulated local effects (Apley and Zhu 2020): the effect of small changes of a feature on rows whose
          values are near. It does not use combinations of values that are far from the data.
    points : int, "thresholds" or dict, optional
        Where to compute. By default at every threshold of the forest, so that the curve is exact everywhere; for pairs
        at no more than 100 quantiles of each feature ("thresholds": all); for "individual" at 50 quantiles. A number:
        that many quantiles of the data. A dict: values by feature. Categories are always complete. For "ale" it is the
        number of bins, by default 50: the curve is exact at every threshold, and bins say which rows are near.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows.
    names : sequence of str, optional
        Names of the features; by default those of the training table.
    verbose : int, default=0
        1 shows progress on stderr.

    Returns
    -------
    DependenceCurves
        A curve for each feature or pair: see `weald.inspection.dependence_result.DependenceCurve`.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> forest = weald.RandomForestClassifier(50, random_state=0).fit(iris.data, iris.target)
    >>> found = weald.dependence(forest, iris.data)
    >>> curve = found["petal width (cm)"]
    >>> curve.at([0.2, 1.3, 2.2]).round(2)
    array([[0.57, 0.29, 0.14],
           [0.18, 0.6 , 0.22],
           [0.16, 0.24, 0.6 ]])
    """
    request = _read(model, X, features, kind, points, sample_weight, names)
    compute = {"partial": partial_curves, "individual": individual_curves, "ale": local_curves}[kind]
    n_rows = request.rows.n_rows
    if not verbose:
        return DependenceCurves(kind, compute(request), n_rows)
    progress = RowProgress(n_rows)
    try:
        curves = compute(replace(request, watch=progress))
        progress(1.0)
    finally:
        progress.stop()
    return DependenceCurves(kind, curves, n_rows)


def _read(
    model: TreeModel, X: TableLike, features: Any, kind: str, points: Any, sample_weight: ColumnLike, names: Any
) -> Request:
    arguments.check_argument("kind", kind, (arguments.OneOf(KINDS),))
    rows = read_table(model, X, sample_weight, "dependence")
    named = names_of(model, names)
    groups = read_groups(features, named)
    if features is None and kind == "ale":
        unordered = features_of(model).tree_schema.categorical
        groups = tuple(group for group in groups if group[0] not in unordered) or groups
    request = Request(model, rows, named, groups, read_points(points) if not isinstance(points, Mapping) else None)
    if isinstance(points, Mapping):
        request = replace(request, points=read_points_of(request, points))
    if kind != "partial" and any(len(group) > 1 for group in groups):
        raise ParameterError(f'kind="{kind}" computes one feature at a time, but features has a pair. Use "partial".')
    return request


# --------------------------------------------------------------------------------------------------- partial dependence


def partial_curves(request: Request) -> list[DependenceCurve]:
    """Average over all rows."""
    singles = _axes(request, [group for group in request.groups if len(group) == 1])
    pairs = _axes(request, [group for group in request.groups if len(group) == 2], most=N_POINTS_OF_PAIRS)
    found: dict[int, FloatArray] = {}
    for axes, length in ((singles, 1), (pairs, 2)):
        wanted = [i for i, group in enumerate(request.groups) if len(group) == length]
        part = request.part(len(found) / len(request.groups), (len(found) + len(wanted)) / len(request.groups))
        found |= dict(zip(wanted, partial_values(part, [request.groups[i] for i in wanted], axes), strict=True))
    curves = []
    for i, group in enumerate(request.groups):
        axes = singles if len(group) == 1 else pairs
        curves.append(_curve(request, "partial", tuple(axes[feature] for feature in group), found[i]))
    return curves


def _axes(request: Request, groups: Sequence[Group], most: int | None = None) -> dict[int, Axis]:
    """Choose the points of each feature: all thresholds, or `most` quantiles if there are more."""
    features = sorted({feature for group in groups for feature in group})
    points = request.points
    thresholds = thresholds_of(request.forests[0]) if points in (None, "thresholds") or isinstance(points, dict) else []
    axes = {}
    for feature in features:
        column = request.column(feature)
        if isinstance(points, dict) and feature in points:
            axes[feature] = column.given(points[feature])
        elif isinstance(points, int):
            axes[feature] = column.quantiles(points)
        elif points != "thresholds" and most is not None and len(thresholds[feature]) >= most:
            axes[feature] = column.quantiles(most)
        else:
            axes[feature] = column.thresholds(thresholds[feature])
    return axes


def partial_values(request: Request, groups: Sequence[Group], axes: Mapping[int, Axis]) -> list[FloatArray]:
    """Compute the mean prediction at all points of each group (points of each feature x outputs)."""
    if not groups:
        return []
    values = request.values()
    scale = 2.0 ** -(np.frexp(np.abs(values).max())[1]) if np.abs(values).max() > LARGE else 1.0
    _require_room(groups, axes, values.shape[1])
    found: list[FloatArray] = []
    for some in _passes(groups, axes, values.shape[1]):
        used = sorted({feature for group in some for feature in group})
        free = free_features(request.forests[0], [axes[f] for f in used], some)
        part = request.part(len(found) / len(groups), (len(found) + len(some)) / len(groups))
        sums = _sum_up(part, values * scale, free)
        found += [one / scale for one in integrate(sums, free, request.rows.total)]
    if request.model.task is Task.CLASSIFICATION:
        found = [one.clip(0, 1) for one in found]  # sums of differences have rounding errors
    return found


def _require_room(groups: Sequence[Group], axes: Mapping[int, Axis], width: int) -> None:
    """Refuse results that are too large together."""
    shapes = [[len(axes[feature].points) for feature in group] for group in groups]
    sizes = [int(np.prod(shape)) for shape in shapes]
    if sum(sizes) * width > MOST_VALUES:
        largest = int(np.argmax(sizes))
        raise ParameterError(
            f"The dependence on {' and '.join(axes[f].name for f in groups[largest])} would have "
            f"{' x '.join(map(str, shapes[largest]))} points, and all results more than 2 GiB. Give fewer points, for "
            "example points=100, or fewer features."
        )


def _passes(groups: Sequence[Group], axes: Mapping[int, Axis], width: int) -> Iterator[list[Group]]:
    """Divide the groups into passes whose values fit into memory."""
    some: list[Group] = []
    size = 0
    for group in groups:
        n = int(np.prod([len(axes[feature].points) + 2 for feature in group])) * width
        if some and size + n > PLACES_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(group)
        size += n
    yield some


def _sum_up(request: Request, values: FloatArray, free: FreeFeatures, bins: LocalBins | None = None) -> DependenceSums:
    """Sum the values of leaves in the engine, block by block."""
    total: DependenceSums | None = None
    n_rows = request.rows.n_rows
    for block, weight, at in request.rows.cut():
        of_rows = None if bins is None else LocalBins(np.ascontiguousarray(bins.of_row[:, at]), bins.of_step)
        part = request.part(at.start / n_rows, at.stop / n_rows)
        sums = request.engine.sum_dependence(
            request.forests[0], values, block, weight, free, of_rows, request.n_threads, part.watch
        )
        total = sums if total is None else total.add(sums)
    assert total is not None  # noqa: S101  (for the type checker: a table has rows)
    return total


def integrate(sums: DependenceSums, free: FreeFeatures, total: float) -> list[FloatArray]:
    """Turn differences into mean predictions, and add the leaves that do not depend on the features."""
    ends = np.cumsum(free.n_places())
    found = []
    for group, steps, on_path in zip(free.groups, np.split(sums.steps, ends[:-1]), sums.on_path, strict=True):
        values = steps.reshape(*free.shape(group), -1).copy()
        for axis, feature in enumerate(group):
            values = np.moveaxis(values, axis, 0)
            n = int(free.n_points[feature])
            if free.has_categories[feature]:
                values[:n] += values[n]
            else:
                values[: n + 1] = np.cumsum(values[: n + 1], axis=0)
            values[n] = values[n - 1]  # the entry after the last point is unused
            values = np.moveaxis(values, 0, axis)
        found.append((values + (sums.total - on_path)) / total)
    return found


def _curve(
    request: Request, kind: str, axes: tuple[Axis, ...], values: FloatArray, individual: FloatArray | None = None
) -> DependenceCurve:
    return DependenceCurve(kind, axes, values, request.outputs(), individual, request.schema)


# ------------------------------------------------------------------------------------------------------ individual


def individual_curves(request: Request) -> list[DependenceCurve]:
    """Predict each row with each value."""
    axes = [_individual_axis(request, feature) for (feature,) in request.groups]
    width, n_rows = request.values().shape[1], request.rows.n_rows
    n_points = sum(len(axis.points) + 1 for axis in axes)  # plus one for missing values
    if n_points * n_rows * width > MOST_VALUES:
        raise ParameterError(
            f"The individual curves of {n_rows:,} rows at {n_points:,} points would need more than 2 GiB. Give fewer "
            "rows, points or features."
        )
    ends = np.cumsum([0, *(len(axis.points) + 1 for axis in axes)]) / n_points
    parts = [request.part(begin, end) for begin, end in pairwise(ends.tolist())]
    return [_individual_curve(part, axis) for part, axis in zip(parts, axes, strict=True)]


def _individual_axis(request: Request, feature: int) -> Axis:
    points, column = request.points, request.column(feature)
    if isinstance(points, dict) and feature in points:
        return column.given(points[feature])
    if points == "thresholds":
        return column.thresholds(thresholds_of(request.forests[0])[feature])
    return column.quantiles(points if isinstance(points, int) else N_BINS)


def _individual_curve(request: Request, axis: Axis) -> DependenceCurve:
    """Predict all rows with each value of a feature."""
    places = [*axis.points, np.nan]
    found = np.empty((request.rows.n_rows, len(places), request.values().shape[1]))
    for i, value in enumerate(places):
        found[:, i] = _predict_with(request, axis.feature, value)
        if request.watch is not None:
            request.watch((i + 1) / len(places))
    average = np.average(found, axis=0, weights=request.rows.weight)
    values = np.concatenate([average[:-1], average[-2:]])  # with the unused entry
    individual = found[:, :-1] if request.outputs() is not None else found[:, :-1, 0]
    return _curve(request, "individual", (axis,), values, individual)


def _predict_with(request: Request, feature: int, value: float) -> FloatArray:
    """Predict all rows with one value of a feature (rows x outputs)."""
    voting, engine = voting_of(request.model), request.engine
    parts = []
    for block, _, _ in request.rows.cut():
        changed = _dense(block)
        changed[:, feature] = value
        sums = [engine.sum_votes(f, changed, voting, request.n_threads, None) / f.vote_total for f in request.forests]
        parts.append(np.column_stack(sums))
    return np.concatenate(parts)


def _dense(block: Native) -> FloatArray:
    dense: FloatArray = (block.toarray() if sparse.issparse(block) else block).astype(np.float64)  # makes a copy
    return dense


# ---------------------------------------------------------------------------------------------------- local effects


def local_curves(request: Request) -> list[DependenceCurve]:
    """Accumulate the mean change at each threshold over the rows in the bin around it."""
    schema = request.schema
    for (feature,) in request.groups:
        if feature in schema.categorical:
            raise ParameterError(
                f'kind="ale" needs features with an order, but {request.names[feature]} has categories without one. '
                'Leave it out, use kind="partial", or fit with ordered categories.'
            )
    if isinstance(request.points, dict) or request.points == "thresholds":
        raise ParameterError('points is the number of bins for kind="ale". Give a whole number.')
    thresholds = thresholds_of(request.forests[0])
    axes = {f: request.column(f).thresholds(thresholds[f]) for f in request.features()}
    values = request.values()
    free = free_features(request.forests[0], list(axes.values()), request.groups)
    bins = {f: _Bins.of(request.column(f), axes[f], request.points or N_BINS) for f in axes}
    sums = _sum_up(request, values, free, _joined(bins, free, request.rows.n_rows))
    ends = np.cumsum(free.n_places())
    weight = np.ones(request.rows.n_rows, dtype=np.int64) if request.rows.weight is None else request.rows.weight
    curves = []
    for (feature,), steps in zip(request.groups, np.split(sums.steps, ends[:-1]), strict=True):
        curves.append(_curve(request, "ale", (axes[feature],), bins[feature].accumulate(steps, weight, axes[feature])))
    return curves


@dataclass(frozen=True)
class _Bins:
    """The bins of one feature."""

    of_row: IntArray  # NO_BIN: missing
    of_step: IntArray  # by point: bin of the threshold before it; NO_BIN: none
    column: FloatArray

    @classmethod
    def of(cls, column: Column, axis: Axis, n_bins: int) -> "_Bins":
        """Divide the values at quantiles. A threshold lies between an edge and the next, which may be the value."""
        known = column.known
        if not len(known):
            nowhere = np.full(len(column.values), NO_BIN)
            return cls(nowhere, np.full(len(axis.points), NO_BIN), column.values)
        edges = np.unique(np.quantile(known, np.linspace(0, 1, n_bins + 1), method="inverted_cdf"))
        last = max(len(edges) - 2, 0)
        of_row = (np.searchsorted(edges, column.values, side="left") - 1).clip(0, last)
        of_row[np.isnan(column.values)] = NO_BIN
        before = np.concatenate([[-np.inf], axis.points[:-1]])  # thresholds; codes of ordered categories
        of_step = np.searchsorted(edges, before, side="right") - 1
        of_step[(before < edges[0]) | (before >= edges[-1])] = NO_BIN
        return cls(of_row, of_step, column.values)

    def accumulate(self, steps: FloatArray, weight: IntArray, axis: Axis) -> FloatArray:
        """Divide the steps by the weight of their bins, add them up, and center the curve on the data."""
        n = len(axis.points)
        known = self.of_row != NO_BIN
        of_bins = np.bincount(self.of_row[known], weights=weight[known].astype(np.float64), minlength=1)
        inside = self.of_step != NO_BIN
        effects = np.zeros((n, steps.shape[1]))
        effects[inside] = steps[:n][inside] / of_bins[self.of_step[inside]][:, None]
        curve = np.cumsum(effects, axis=0)
        places = axis.find(self.column[known])
        if known.any():
            curve -= np.average(curve[places], axis=0, weights=weight[known].astype(np.float64))
        return np.concatenate([curve, curve[-1:], np.full((1, curve.shape[1]), np.nan)])


def _joined(bins: Mapping[int, _Bins], free: FreeFeatures, n_rows: int) -> LocalBins:
    """Join the bins of all features; features without bins get NO_BIN."""
    of_row = np.full((len(free.n_points), n_rows), NO_BIN, dtype=np.uint16)
    for feature, of_feature in bins.items():
        of_row[feature] = of_feature.of_row
    steps = [bins[f].of_step.astype(np.uint16) for f in range(len(free.n_points)) if f in bins]
    return LocalBins(of_row, np.concatenate(steps))
