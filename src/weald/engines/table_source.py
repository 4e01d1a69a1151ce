"""Tables whose codes exist before a fit, such as those of a code store.

TableSource     reads and codes the table for an estimator
SourcedTable    the table of such a fit
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from weald.data.table import Reading, Table
from weald.engines.interface import Engine


class TableSource(ABC):
    """What an estimator can fit to instead of X, y and weights."""

    @abstractmethod
    def read_for(self, model: Any, y: Any, sample_weight: Any) -> Reading:
        """Return the table for an estimator; y and sample_weight must be None."""

    @abstractmethod
    def code(self, table: Table, n_threads: int) -> tuple[Engine, Any]:
        """Return the engine and the codes that it grows trees from."""


@dataclass(frozen=True, kw_only=True)
class SourcedTable(Table):
    """A table whose codes are in a `TableSource`."""

    source: TableSource
