"""Layout of the nodes of a drawn tree.

    place_nodes    positions across: children side by side, parents centered above them, subtrees as close as possible
    place_levels   positions along the depth: one band for each level

The method is that of Reingold and Tilford. The contour of a subtree is its extent to each side at each depth. Two
subtrees are moved together until their contours touch. The contour of both is that of the deeper one, with the levels
of the other written over it. So the time to join two subtrees is proportional to the depth of the shallower one, and
the total time is linear in the number of nodes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer]


@dataclass
class Contour:
    """Extent of a subtree to each side at each depth, the root's level last; `shift` is added to all values."""

    low: list[float]
    high: list[float]
    shift: float = 0.0


def place_nodes(left: Ints, right: Ints, breadth: Floats, gap: float) -> Floats:
    """Place nodes across, the leftmost edge at 0.

    Parameters
    ----------
    left, right : arrays of shape (n_nodes,)
        Children of each node, -1 in leaves; parents come before their children.
    breadth : array of shape (n_nodes,)
        Size of each node across.
    gap : float
        Gap between neighbors of one depth.

    Returns
    -------
    array of shape (n_nodes,)
        The center of each node.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.plot.layout import place_nodes
    >>> place_nodes(np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([4.0, 2.0, 2.0]), gap=1.0)
    array([2.5, 1. , 4. ])
    """
    lefts, rights, halves = left.tolist(), right.tolist(), (breadth / 2).tolist()
    offset = [0.0] * len(lefts)  # distance from the parent
    contours: list[Contour | None] = [None] * len(lefts)
    for node in reversed(range(len(lefts))):
        contour = Contour([], [])
        if lefts[node] >= 0:
            one, other = contours[lefts[node]], contours[rights[node]]
            assert one is not None and other is not None  # noqa: S101, PT018  (for the type checker)
            apart = _distance(one, other) + gap
            offset[lefts[node]], offset[rights[node]] = -apart / 2, apart / 2
            contour = _join(one, other, apart)
            contours[lefts[node]] = contours[rights[node]] = None
        contour.low.append(-halves[node] - contour.shift)
        contour.high.append(halves[node] - contour.shift)
        contours[node] = contour
    places = np.array(offset)
    for node in range(len(lefts)):
        if lefts[node] >= 0:
            places[lefts[node]] += places[node]
            places[rights[node]] += places[node]
    placed: Floats = places - (places - breadth / 2).min()
    return placed


def _distance(one: Contour, other: Contour) -> float:
    """Return the distance between the roots of two subtrees that just touch."""
    shared = min(len(one.high), len(other.low))
    pairs = zip(one.high[-shared:], other.low[-shared:], strict=True)
    return max(high - low for high, low in pairs) + one.shift - other.shift


def _join(one: Contour, other: Contour, apart: float) -> Contour:
    """Return the contour of two subtrees side by side, relative to the middle between them."""
    one.shift -= apart / 2
    other.shift += apart / 2
    if len(one.low) >= len(other.low):
        shared, move = len(other.high), other.shift - one.shift
        one.high[-shared:] = [high + move for high in other.high]
        return one
    shared, move = len(one.low), one.shift - other.shift
    other.low[-shared:] = [low + move for low in one.low]
    return other


def place_levels(depth: Ints, thickness: Floats, gap: float) -> Floats:
    """Place levels along, the first at 0: each is as thick as its thickest node.

    Returns
    -------
    array of shape (max_depth + 2,)
        The start of each level, and the end of the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.plot.layout import place_levels
    >>> place_levels(np.array([0, 1, 1]), np.array([4.0, 2.0, 3.0]), gap=1.0)
    array([0., 5., 9.])
    """
    levels = np.zeros(int(depth.max()) + 1)
    np.maximum.at(levels, depth, thickness)
    return np.concatenate([[0.0], np.cumsum(levels + gap)])
