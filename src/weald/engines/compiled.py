"""A forest as one object of the compiled core, for services that predict one row at a time.

compile_forest    forest -> a predictor: one buffer without Python objects
open_compiled     a predictor from a file or shared memory, without a copy
"""

import math
from os import PathLike
from typing import Any

import numpy as np

from weald.data.arguments import OneOf, check_argument
from weald.data.task import Task
from weald.engines.native import NativeEngine
from weald.errors import DataError
from weald.forest.forest import Forest

DTYPES = ("float64", "float32")


def compile_forest(forest: Forest, voting: str, dtype: str) -> Any:
    """Pack a forest into a buffer that contains everything predictions need."""
    check_argument("dtype", dtype, (OneOf(DTYPES),))
    if forest.task is Task.REGRESSION and math.isinf(float(np.abs(forest.value).max()) * forest.n_trees):
        raise DataError(
            "compile() sums the predictions of trees, and the sums of this model are too large. Use predict()."
        )
    packed = NativeEngine().compile(forest, voting, large=dtype == "float64")
    if packed is None:
        msg = 'This forest has too many features or nodes for nodes of float32. Use compile(dtype="float64").'
        raise DataError(msg)
    return packed


def open_compiled(source: Any) -> Any:
    """Open a compiled forest in a file or in memory. Nothing is copied: processes that open the same file share it.

    Parameters
    ----------
    source : path, or object with a buffer
        A file with the bytes of `compiled.buffer()`, which is mapped into memory; or the bytes themselves, for example
        in shared memory. All of it is checked before use.

    Returns
    -------
    predictor
        The same as `estimator.compile()` returned.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import weald
    >>> model = weald.RandomForestClassifier(3, random_state=0).fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    >>> compiled = model.compile()
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     compiled.buffer().tofile(file.name)
    ...     weald.open_compiled(file.name)(np.array([2.5])) == compiled(np.array([2.5]))
    array([ True,  True])
    """
    is_path = isinstance(source, str | PathLike)
    try:
        buffer = np.memmap(source, dtype=np.uint8, mode="r") if is_path else np.frombuffer(source, dtype=np.uint8)
        return NativeEngine().core.Packed(np.asarray(buffer))
    except ValueError as error:
        where = f"{source}" if is_path else "This buffer"
        raise DataError(f"{where} is not a compiled forest: {error}. Write compiled.buffer() again.") from error
