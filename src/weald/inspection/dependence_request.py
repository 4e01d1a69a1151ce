"""The arguments of `dependence`, checked: a model, rows with integer weights, groups of features, points.

read_table      any X                ->    WeightedRows
read_groups     names and numbers    ->    groups of features
Request         all arguments, with properties of the model
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from weald.data import arguments
from weald.data.schema import Schema
from weald.data.table import read_weight
from weald.data.types import ColumnLike, FloatArray, IntArray, Label, Native, TableLike
from weald.engines.choose import open_engine
from weald.engines.interface import Engine, Watch
from weald.engines.table_source import TableSource
from weald.engines.threads import count_threads
from weald.errors import DataTypeError, ParameterError, shown
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import require_uncalibrated
from weald.estimators.features import RowBlocks, features_of
from weald.estimators.multi_output import forests_of, is_multi_output, listed
from weald.estimators.prediction import read_rows, voting_of
from weald.forest.forest import Forest
from weald.forest.votes import node_values
from weald.inspection.dependence_result import read_values
from weald.inspection.free_axes import Column

ROWS_AT_ONCE = 16384  # fixed, since the order of summation affects the last bits

Group = tuple[int, ...]  # one feature or two


@dataclass(frozen=True)
class WeightedRows:
    """Rows of a table, in blocks, and their weights as integers."""

    blocks: tuple[Native, ...]  # arrays, or sparse tables by row
    weight: IntArray | None  # None: 1 each

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(block.shape[0] for block in self.blocks)

    @property
    def total(self) -> float:
        """Total weight."""
        return float(self.n_rows if self.weight is None else sum(self.weight.tolist()))

    def column(self, feature: int) -> FloatArray:
        """Values of a feature."""
        parts = [block[:, [feature]] for block in self.blocks]
        dense = [part.toarray() if sparse.issparse(part) else part for part in parts]
        return np.concatenate(dense)[:, 0].astype(np.float64)

    def cut(self) -> Iterator[tuple[Native, IntArray | None, slice]]:
        """Divide the rows into blocks small enough for engines, with their weights and positions."""
        first = 0
        for block in self.blocks:
            for begin in range(0, block.shape[0], ROWS_AT_ONCE):
                part = block[begin : begin + ROWS_AT_ONCE]
                at = slice(first + begin, first + begin + part.shape[0])
                yield part, None if self.weight is None else self.weight[at], at
            first += block.shape[0]


@dataclass(frozen=True)
class Request:
    """The curves to compute, with the model and the rows."""

    model: TreeModel
    rows: WeightedRows
    names: tuple[str, ...]
    groups: tuple[Group, ...]
    points: Any
    watch: Watch | None = None  # callback for progress

    def part(self, begin: float, end: float) -> "Request":
        """Return the same request with progress scaled to a part of the work, between two fractions."""
        watch = self.watch
        return self if watch is None else replace(self, watch=lambda share: watch(begin + (end - begin) * share))

    @property
    def forests(self) -> tuple[Forest, ...]:
        """The forest of each target; they have the same splits."""
        return forests_of(self.model)

    @property
    def schema(self) -> Schema:
        """Names and categories of the columns that trees use."""
        return features_of(self.model).tree_schema

    @property
    def engine(self) -> Engine:
        """The engine of the model, in this process."""
        return open_engine(self.model.engine).local

    @property
    def n_threads(self) -> int:
        """Number of threads."""
        return count_threads(self.model.n_jobs)

    def column(self, feature: int) -> Column:
        """Read a column of the data."""
        return Column(feature, self.names[feature], self.rows.column(feature), self.schema)

    def features(self) -> list[int]:
        """List the features of all groups."""
        return sorted({feature for group in self.groups for feature in group})

    def values(self) -> FloatArray:
        """Return the values of nodes, for all targets side by side (nodes x outputs)."""
        return np.hstack([node_values(forest, voting_of(self.model)) for forest in self.forests])

    def outputs(self) -> tuple[Label, ...] | None:
        """Name the columns of the values."""
        classes = getattr(self.model, "classes_", None)
        if not is_multi_output(self.model):
            return None if classes is None else tuple(classes.tolist())
        if classes is None:
            return tuple(range(len(self.forests)))
        return tuple((o, label) for o, labels in enumerate(listed(classes)) for label in labels)


def read_table(model: TreeModel, X: TableLike, sample_weight: ColumnLike, caller: str) -> WeightedRows:
    """Read the rows, with the schema of the fit, and the weights as integers."""
    if not isinstance(model, TreeModel):
        raise DataTypeError(f"{caller} got {shown(model)} as its model. Give a fitted tree or forest of weald.")
    check_is_fitted(model)
    require_uncalibrated(model, caller)
    if isinstance(X, TableSource):
        raise DataTypeError(
            f"X is a {type(X).__name__}, which has codes instead of values. {caller} needs rows in memory: give an "
            "array or a data frame, for example a sample of the rows."
        )
    rows = read_rows(model, X)
    blocks = tuple(rows.row_blocks()) if isinstance(rows, RowBlocks) else (rows,)
    return rows_of(blocks, sample_weight)


def rows_of(blocks: Sequence[Native], sample_weight: ColumnLike) -> WeightedRows:
    """Combine rows with their weights."""
    n_rows = sum(block.shape[0] for block in blocks)
    by_row = tuple(block.tocsr() if sparse.issparse(block) else block for block in blocks)
    return WeightedRows(by_row, whole_weights(read_weight(sample_weight, n_rows=n_rows)))


def whole_weights(weight: FloatArray | None) -> IntArray | None:
    """Convert weights to integers: whole ones as they are, others in fixed point. Their sum fits 63 bits."""
    if weight is None:
        return None
    if (weight == np.floor(weight)).all() and weight.sum() < 2**53:
        return weight.astype(np.int64)
    shift = 62 - int(np.frexp(weight.max())[1]) - len(weight).bit_length()
    return np.rint(np.ldexp(weight, shift)).astype(np.int64)


def read_groups(features: Any, names: tuple[str, ...]) -> tuple[Group, ...]:
    """Read features and pairs of features, by name or number."""
    if features is None:
        return tuple((feature,) for feature in range(len(names)))
    if not arguments.is_list(features):
        features = [features]
    asked = list(features)
    if not asked:
        raise ParameterError("features is empty. Give names or numbers of features, or None for all.")
    return tuple(_read_group(one, names) for one in asked)


def _read_group(given: Any, names: tuple[str, ...]) -> Group:
    members = list(given) if arguments.is_list(given) else [given]
    if not 1 <= len(members) <= 2:
        raise ParameterError(f"features has {shown(given)}, which is not one feature or two. Give a feature or a pair.")
    group = tuple(_feature_number(member, names) for member in members)
    if len(set(group)) < len(group):
        raise ParameterError(f"features has the pair {shown(given)}, which is one feature twice. Give two features.")
    return group


def _feature_number(given: Any, names: tuple[str, ...]) -> int:
    if isinstance(given, str) and given in names:
        return names.index(given)
    if arguments.is_whole(given) and 0 <= given < len(names):
        return int(given)
    listed_names = ", ".join(map(repr, names[:30])) + (" ..." if len(names) > 30 else "")
    raise ParameterError(
        f"features has {shown(given)}, which is not a feature. Give a number from 0 to {len(names) - 1}, or one of the "
        f"names {listed_names}."
    )


def read_points_of(request: Request, points: Mapping[Any, Any]) -> dict[int, FloatArray]:
    """Read points given by feature."""
    found = {}
    for given, values in points.items():
        feature = _feature_number(given, request.names)
        numbers = read_values(request.schema, feature, values)
        if not len(numbers[~np.isnan(numbers)]):
            raise ParameterError(f"points has no values for {request.names[feature]}. Give at least one.")
        found[feature] = numbers
    return found
