"""The columns that trees are grown from: the columns of X, or kernel values (`kernel/features.py`).

A fit calls `fit_candidates`, `check`, `read`, `code`, `grower` and `keep`, in this order. A prediction calls `rows`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from weald.data.schema import Schema
from weald.data.table import Matrix, Reading, TrainingArguments, read_features
from weald.data.types import FloatArray, TableLike
from weald.engines import params
from weald.engines.interface import Codes, Engine
from weald.engines.threads import count_threads
from weald.estimators.multi_output import forests_of
from weald.forest.forest import Forest

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel
    from weald.estimators.growing import Grower

MANY_CELLS = 2**18  # a table of this size dominates the memory of a fit


class RowBlocks(ABC):
    """Rows to predict that are computed in blocks."""

    @abstractmethod
    def __len__(self) -> int:
        """Count the rows."""

    @abstractmethod
    def row_blocks(self) -> Iterator[FloatArray]:
        """Compute the rows block by block."""


Rows = Matrix | RowBlocks


class Features:
    """The columns of X as features, for an estimator that fits or predicts."""

    needs_seed = False  # parameters for reading the table
    is_table = True  # whether features are columns of X

    def __init__(self, model: "TreeModel") -> None:
        self.model = model

    # --------------------------------------------------------------------------------------------- what is refused

    def require_table(self, method: str) -> None:
        """Raise an error for a method that needs trees on columns of X."""

    def require_checkpoints(self) -> None:
        """Raise an error if checkpoints are not supported."""

    # ------------------------------------------------------------------------------------------------------- fit

    def fit_candidates(self, data: TrainingArguments) -> bool:
        """Choose a parameter by fitting candidates, if required; return whether a forest was fitted this way."""
        return False

    def check(self) -> None:
        """Refuse parameters that cannot be used with these features."""

    def read(self, engine: Engine, data: TrainingArguments, before: "TreeModel | None") -> Reading:
        """Read the table; the estimator learns the names and categories of the features.

        `before` is the estimator with the trees of the last fit, if a warm start continues from them.
        """
        return engine.read(self.model, data)

    def code(self, engine: Engine, reading: Reading, n_trees: int = 0) -> Codes:
        """Turn the table into codes. `n_trees`: trees grown from these codes in one call; 0 if unknown."""
        given, table = params.gather(self.model), reading.table
        # For large tables, the core may look values up again instead of storing them.
        may_forget = given["splitter"] == "best" and math.prod(table.X.shape) >= MANY_CELLS
        max_bins, n_threads = params.count_bins(given["max_bins"]), count_threads(self.model.n_jobs)
        return engine.code(table, max_bins, n_threads, None, n_trees if may_forget else 0)

    def grower(self, grower: "Grower") -> "Grower":
        """Return the grower of the trees."""
        return grower

    def old_forests(self, before: "TreeModel", codes: Codes) -> tuple[Forest, ...]:
        """Return the trees of the last fit, one forest for each target."""
        return forests_of(before)

    def keep(self, forest: Forest, reading: Reading) -> Forest:
        """Return the forest in the form that predictions need."""
        return forest

    # --------------------------------------------------------------------------------------------------- predict

    def rows(self, X: TableLike) -> "Rows":
        """Read rows to predict, with the schema of the fit."""
        return read_features(self.model, X, reset=False)

    # ----------------------------------------------------------------------------------------- what trees know of them

    @property
    def n_columns(self) -> int:
        """Number of columns that trees are grown from."""
        return self.model.n_features_in_

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns that trees use; None if they have none."""
        return getattr(self.model, "feature_names_in_", None)

    @property
    def tree_schema(self) -> Schema:
        """Names and categories of the columns that trees use."""
        return self.model.schema_


def features_of(model: "TreeModel") -> Features:
    """Return the features of an estimator."""
    return model._features(model)  # noqa: SLF001  (the class attribute says which kind)
