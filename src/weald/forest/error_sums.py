"""Mean losses of rows, summed in an order that every engine follows, so that each error has the same bits.

sum_in_blocks    a sum of doubles, in blocks of rows
mean_loss        mean of the losses of some rows, by weight
scale_of         the power of two by which targets are scaled down, so that squares neither overflow nor underflow

`core/inspect/error_surface.h` has the same sums.
"""

import math

import numpy as np

from weald.data.types import BoolArray, FloatArray

ROWS_OF_SUM = 1024


def sum_in_blocks(values: FloatArray) -> float:
    """Sum over the rows of each block in their order, then over the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from weald.forest.error_sums import sum_in_blocks
    >>> sum_in_blocks(np.ones(3000))
    3000.0
    """
    padded = np.zeros((-(-len(values) // ROWS_OF_SUM), ROWS_OF_SUM))
    padded.ravel()[: len(values)] = values
    of_blocks = np.add.accumulate(padded, axis=1)[:, -1]
    return float(np.add.accumulate(of_blocks)[-1]) if len(of_blocks) else 0.0


def mean_loss(losses: FloatArray, weight: FloatArray, known: BoolArray) -> float:
    """Average the losses of known rows by weight; NaN if there are none. The losses of other rows may be anything."""
    total = sum_in_blocks(np.where(known, weight, 0.0))
    return sum_in_blocks(np.where(known, weight * losses, 0.0)) / total if total else math.nan


def scale_of(targets: FloatArray) -> int:
    """Return the exponent by which targets are divided."""
    return int(np.frexp(np.abs(targets).max())[1])
