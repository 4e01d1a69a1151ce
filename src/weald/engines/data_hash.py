"""The words of the rows that a data hash covers, and the group in which rows are multiplied.

    row_words      a table                   -> words hashed beside the values of X, and the count of each row
    dense_blocks   a table                   -> its X in blocks of rows, sparse tables included
    join           products of parts         -> the product of all rows
    digest         product, description      -> the data hash

`docs/background/contract.md` defines the hash; `reference/data_hash.py` has it in plain Python.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import numpy as np
import numpy.typing as npt
from scipy import sparse

from weald.data.table import Matrix, Table
from weald.data.task import Task
from weald.data.types import Array, FloatArray

PRIME = 2**3072 - 1103717  # the largest safe prime of 3072 bits
PRODUCT_BYTES = 384
CELLS_AT_ONCE = 2**22  # of a sparse table

Words = npt.NDArray[np.uint64]


def row_words(table: Table) -> tuple[Words, Words | None]:
    """Return targets, and weights that are not whole, as words (rows x words); and how often each row counts."""
    words = [_target_words(table)]
    copies = None
    if table.weight is not None and table.weights_whole:
        copies = table.weight.astype(np.uint64)
    elif table.weight is not None:
        words.append(_bits(table.weight)[:, None])
    return np.ascontiguousarray(np.hstack(words)), copies


def _target_words(table: Table) -> Words:
    if table.targets is not None:
        return _bits(np.asarray(table.targets.values, dtype=np.float64))[table.target]
    if table.task is Task.CLASSIFICATION:
        return table.target.astype(np.uint64)[:, None]
    return _bits(table.target)[:, None]


def _bits(values: FloatArray) -> Words:
    """View doubles as words; -0.0 is 0.0."""
    return np.ascontiguousarray(values + 0.0).view(np.uint64)


def dense_blocks(X: Matrix) -> Iterator[tuple[slice, Array]]:
    """Yield X in blocks of rows: a dense one in one piece, a sparse one in pieces that fit into memory."""
    if not sparse.issparse(X):
        yield slice(0, len(X)), X
        return
    step = max(1, CELLS_AT_ONCE // max(1, X.shape[1]))
    for begin in range(0, X.shape[0], step):
        rows = slice(begin, min(X.shape[0], begin + step))
        block: sparse.csr_matrix = X[rows]
        yield rows, block.toarray()


def join(products: Iterable[int]) -> int:
    """Multiply the products of parts of a table."""
    return reduce(lambda a, b: a * b % PRIME, products, 1)


def digest(product: int, description: Mapping[str, object]) -> str:
    """Return the SHA-256 of the description (what numbers in rows mean) and the product of the rows."""
    text = json.dumps(description, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode() + product.to_bytes(PRODUCT_BYTES, "little")).hexdigest()
