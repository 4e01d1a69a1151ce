"""Positions and colors of the points in a beeswarm plot, for figures and reports.

ranks_of    values of a feature    ->    colors, from 0 to 1
spread      positions              ->    heights at which points do not overlap
"""

import numpy as np

from weald.data.types import FloatArray

N_BINS = 60  # bins of values; points are spread within a bin


def ranks_of(numbers: FloatArray) -> FloatArray:
    """Return the rank of each value in its column, from 0 to 1 (ties: the middle rank); NaN for missing values.

    Examples
    --------
    >>> from weald.inspection.beeswarm import ranks_of
    >>> ranks_of([1.0, 5.0, 5.0, 90.0]).tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    values = np.asarray(numbers, dtype=np.float64)
    known = ~np.isnan(values)
    ordered = np.sort(values[known])
    if len(ordered) < 2:
        return np.where(known, 0.5, np.nan)
    below, up_to = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    ranks: FloatArray = np.where(known, (below + up_to - 1) / 2 / (len(ordered) - 1), np.nan)
    return ranks


def spread(values: FloatArray, reach: float) -> FloatArray:
    """Return heights from -1 to 1, so that points of similar value do not overlap."""
    if not reach > 0:
        return np.zeros(len(values))
    bins = np.floor((values - values.min()) / reach * N_BINS).astype(np.int64)
    counts = np.bincount(bins)
    order = np.argsort(bins, kind="stable")
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    height = (place + 1) // 2 * np.where(place % 2, 1, -1)  # 0, 1, -1, 2, -2 ...
    heights: FloatArray = height / max(4.0, counts.max() / 2)
    return heights
