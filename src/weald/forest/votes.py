"""What trees say of rows, averaged over trees."""

import dataclasses
from collections.abc import Callable

import numpy as np

from weald.data.types import FloatArray, IntArray
from weald.forest.forest import Forest

# Adds up what the trees of a forest, made smaller by 2^room, say of each row; also how many of them said something.
AddUp = Callable[[Forest, int], tuple[FloatArray, int | IntArray]]


def average(forest: Forest, add_up: AddUp) -> FloatArray:
    """Average what trees say of each row; NaN where none says anything.

    Sums of huge numbers may overflow where their mean does not: those are added up on a scale that leaves room. Others
    are not, so what is said of a row does not depend on the rows beside it.
    """
    sums, n_trees = add_up(forest, 0)
    fits = np.isfinite(sums)
    averages = _divide(sums, n_trees)
    if fits.all():
        return averages
    room = forest.n_trees.bit_length()
    small = dataclasses.replace(forest, value=np.ldexp(forest.value, -room))
    sums, n_trees = add_up(small, room)
    with np.errstate(over="ignore"):  # the mean of the largest numbers may be rounded up; it must stay among them
        of_huge = np.ldexp(_divide(sums, n_trees), room).clip(forest.value.min(), forest.value.max())
    return np.where(fits, averages, of_huge)


def _divide(sums: FloatArray, n_trees: int | IntArray) -> FloatArray:
    counts = np.where(np.asarray(n_trees) > 0, n_trees, np.nan)
    averages: FloatArray = sums / counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    return averages
