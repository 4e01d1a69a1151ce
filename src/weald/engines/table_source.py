"""Tables whose codes exist before a fit, such as those of a code store."""

from abc import ABC, abstractmethod

from weald.engines.interface import Engine


class TableSource(ABC):
    """What an estimator can fit to instead of X, y and weights."""

    @abstractmethod
    def open_engine(self, name: str) -> Engine:
        """Return the engine that reads this table, for estimators with `engine=name`."""
