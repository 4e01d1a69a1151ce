"""Error surfaces, one setting after the other.

add_to_surface    adds the votes of trees under each setting, and computes the errors after some of them
"""

import numpy as np

from weald.data.types import FloatArray, IntArray
from weald.engines.error_surface import KnownRows, SurfaceErrors, SurfaceSettings, SurfaceSums, SurfaceTrees
from weald.forest.error_sums import mean_loss, sum_in_blocks
from weald.forest.path_limits import TreePaths


def add_to_surface(
    trees: SurfaceTrees, leaves: IntArray, settings: SurfaceSettings, known: KnownRows, state: SurfaceSums
) -> SurfaceErrors:
    """Add the votes of trees in their order (leaves: rows x trees)."""
    most_leaves = max(limits.max_leaf_nodes for limits in settings.limits)
    found = []
    starts = trees.forest.tree_start
    for t, weight in enumerate(trees.weight):
        if weight:
            paths = TreePaths(trees.forest.take([t]), most_leaves)
            outside = trees.outside[t]
            for s, (limits, votes) in enumerate(zip(settings.limits, settings.votes, strict=True)):
                kept = paths.keep_splits(limits)
                ends = paths.ends(kept)[leaves[outside, t]]
                state.sums[outside, :, s] += trees.votes[votes][starts[t] : starts[t + 1]][ends]
                state.leaves[s] += kept.sum() + 1
            state.weight[outside] += weight
        else:
            state.leaves[:] += 1
        if trees.scored[t]:
            found.append((*_score(known, state), state.leaves.copy()))
    columns = zip(*found, strict=True) if found else ([], [], [], [], [], [])
    losses, squares, of_rows, their_squares, n_rows, n_leaves = map(np.array, columns)
    return SurfaceErrors(losses, squares, of_rows, their_squares, n_rows, n_leaves)


def _score(known: KnownRows, state: SurfaceSums) -> tuple[list[float], list[float], float, float, int]:
    """Compute sums over the rows that have votes."""
    have = state.weight > 0
    divisor = np.where(have, state.weight, 1.0)
    weight = np.where(have, known.weight, 0.0)
    losses = [_losses(known, state.sums[:, :, s] / divisor[:, None]) for s in range(state.sums.shape[2])]
    sums = [sum_in_blocks(weight * loss) for loss in losses]
    total = sum_in_blocks(weight)
    squares = []
    if known.classes is None:
        means = [mean_loss(loss, weight, have) for loss in losses]
        squares = [sum_in_blocks(weight * (loss - mean) ** 2) for loss, mean in zip(losses, means, strict=True)]
    return sums, squares, total, sum_in_blocks(weight**2), int(have.sum())


def _losses(known: KnownRows, means: FloatArray) -> FloatArray:
    """Return the loss of each row: 1 for a wrong class, or the squared error (means: rows x width)."""
    if known.classes is not None:
        wrong: FloatArray = (means.argmax(axis=1) != known.classes).astype(np.float64)
        return wrong
    assert known.numbers is not None  # noqa: S101  (for the type checker: without classes there are numbers)
    apart = known.numbers - means[:, 0]
    return apart * apart
