"""Type names that all packages share."""

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]  # an array of any element type
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

PathLike: TypeAlias = str | os.PathLike[str]

# Types of user input, checked at run time: there is no static type for "array, list or any data frame".
TableLike: TypeAlias = object  # array, list of rows, data frame, sparse matrix, Dask collection or CodeStore
ColumnLike: TypeAlias = object  # array, list, series or one-column frame

Label: TypeAlias = Any  # the user's label: text, a number, a date; can be hashed, and sorted within its column
Native: TypeAlias = Any  # a table or column of a library that has no type hints or is optional
