"""Early stopping, `n_estimators="auto"`: when more trees no longer reduce the error.

The out-of-bag error of T trees approaches its limit about as 1/T. The remaining gain is then about twice the
difference between the mean error over the third quarter of the trees and over the last one. (Means, since single
rows whose prediction changes make the error noisy.) Growth stops when this gain is within a small band: 1 % of the
error, or in classification half the standard error due to the number of rows, if that is larger.

The errors are those of `OutOfBag.curve`, which engines compute while they add up votes, in integers, so that data on a
cluster can be counted in parts. A surface over `n_estimators` has the same errors up to rounding, but walks all trees
once more, and needs the table in this process.
"""

import math
from collections.abc import Callable

import numpy as np

from weald.data.task import Task
from weald.data.types import FloatArray
from weald.engines.interface import AddVotes, OutOfBagVotes
from weald.forest.forest import Forest

STEP = 32  # trees between two checks
FIRST_LOOK = 64
BAND = 0.01  # as a fraction of the error
HUGE = 2.0**900  # larger errors are scaled down so that their sums are finite
STANDARD_ERRORS = 0.5  # in standard errors of the error rate, for classification

Grow = Callable[[int, int], Forest]  # (number of the first tree, number of trees)


def has_converged(errors: FloatArray, n_rows: int, *, classify: bool) -> bool:
    """Return whether more trees would gain little, given the errors after each tree.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.estimators.early_stopping import has_converged
    >>> n_trees = np.arange(1, 65)
    >>> has_converged(0.1 + 1 / n_trees, 1000, classify=False)
    False
    >>> has_converged(0.1 + 0.01 / n_trees, 1000, classify=False)
    True
    """
    if errors.max() > HUGE:
        errors = np.ldexp(errors, -64)
    quarter = len(errors) // 4
    third, last = errors[-2 * quarter : -quarter], errors[-quarter:]
    to_gain = 2.0 * abs(math.fsum(third) - math.fsum(last)) / quarter
    error = float(errors[-1])
    band = BAND * error
    if classify:
        band = max(band, STANDARD_ERRORS * math.sqrt(error * (1.0 - error) / n_rows))
    return to_gain <= band  # False for NaN, if no error is known yet


def grow_until_converged(
    grow: Grow, add_votes: AddVotes, old: Forest | None, n_rows: int, max_trees: int
) -> tuple[Forest, OutOfBagVotes, bool]:
    """Grow trees in steps until the error converges or there are `max_trees`; also return whether it has converged."""
    parts = [old] if old else [grow(0, min(STEP, max_trees))]
    votes_so_far = add_votes(parts[0], None)
    errors, shares = [votes_so_far.errors], [votes_so_far.shares]
    n_trees = parts[0].n_trees
    while True:
        so_far = np.concatenate(errors)
        converged = n_trees >= FIRST_LOOK and has_converged(
            so_far, n_rows, classify=parts[0].task is Task.CLASSIFICATION
        )
        if converged or n_trees >= max_trees:
            votes = OutOfBagVotes(votes_so_far.sums, votes_so_far.n_trees, so_far, np.concatenate(shares))
            return parts[0].join(*parts[1:]), votes, converged
        more = min(STEP - n_trees % STEP, max_trees - n_trees)
        parts.append(grow(n_trees, more))
        votes_so_far = add_votes(parts[-1], votes_so_far)
        errors.append(votes_so_far.errors)
        shares.append(votes_so_far.shares)
        n_trees += more
