"""What a model predicts."""

from enum import StrEnum
from typing import Self


class Task(StrEnum):
    """The kind of target. All code that depends on it uses this enum; add new kinds here."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    SURVIVAL = "survival"

    @classmethod
    def of(cls, n_classes: int) -> Self:
        """Return the task of a target with `n_classes` classes; numeric targets have 0."""
        return cls.CLASSIFICATION if n_classes else cls.REGRESSION

    @property
    def of_forest(self) -> "Task":
        """The task of the forest of a model: the leaves of a survival forest have a number, the risk."""
        return Task.REGRESSION if self is Task.SURVIVAL else self


# Regression criteria with special properties.
OF_COUNTS = ("poisson",)  # targets are at least 0; nodes have variances, and decreases are of half the deviance
OF_SURVIVAL = ("log_rank",)  # targets are times and events; nodes have risks, and variances of their residuals
OF_MEDIANS = ("absolute_error",)  # nodes predict the median; impurities are mean absolute deviations from it
