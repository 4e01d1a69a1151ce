"""Names for the objects of pyarrow, which has no static types."""

from typing import Any, TypeAlias

Module: TypeAlias = Any  # pyarrow.csv, pyarrow.json
Table: TypeAlias = Any
Batch: TypeAlias = Any  # rows of a table
Column: TypeAlias = Any
DataType: TypeAlias = Any
Schema: TypeAlias = Any
Stream: TypeAlias = Any
Options: TypeAlias = Any  # options for reading a file
