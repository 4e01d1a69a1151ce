"""Tables that are coded before a fit, such as code stores."""

from abc import ABC, abstractmethod

from weald.engines.interface import Engine


class TableSource(ABC):
    """A table that replaces X, y and weights in `fit`."""

    @abstractmethod
    def open_engine(self, name: str) -> Engine:
        """Return the engine that reads this table, for estimators with `engine=name`."""
