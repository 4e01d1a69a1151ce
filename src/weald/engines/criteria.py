"""Names and tasks of the split criteria.

The list is that of the core. A criterion that is added there (one struct) and in the reference engine (one function) is
allowed, named in messages and tested without a change here.
"""

from functools import cache

import numpy as np

from weald.data.table import Table
from weald.data.task import Task
from weald.data.types import FloatArray
from weald.engines.reference import definition
from weald.errors import DataError

ALIASES = {"log_loss": "entropy"}  # scikit-learn's other name for the same impurity


@cache
def tasks() -> dict[str, Task]:
    """Map each criterion of classes and numbers to its task, in the core's order."""
    from weald import _core  # imported here so that the compiled core is loaded only if it is used

    return {name: Task.CLASSIFICATION if of_classes else Task.REGRESSION for name, of_classes in _core.criteria()}


def names(task: str) -> tuple[str, ...]:
    """List the names that a user may give for a task, aliases last.

    Examples
    --------
    >>> from weald.engines import criteria
    >>> "gini" in criteria.names("classification")
    True
    >>> criteria.canonical("log_loss")
    'entropy'
    """
    if task == Task.SURVIVAL:
        return definition.OF_SURVIVAL
    own = tuple(name for name, of_task in tasks().items() if of_task == task)
    return own + tuple(alias for alias, name in ALIASES.items() if name in own)


def canonical(name: str) -> str:
    """Replace an alias by the criterion's own name."""
    return ALIASES.get(name, name)


def check_target(criterion: str, table: Table) -> None:
    """Raise an error if a criterion is not defined for these targets."""
    if criterion not in definition.OF_COUNTS or table.task is not Task.REGRESSION:
        return
    on_rows = getattr(table, "compute_on_rows", None)  # for tables whose rows are on other machines
    lowest = _lowest_target(table, None) if on_rows is None else on_rows(_lowest_target, None)
    if lowest < 0:
        raise DataError(
            f"Some value(s) of y are negative which is not allowed for Poisson regression: the smallest is {lowest}. "
            f"criterion={criterion!r} is for counts and amounts. Give numbers from 0, or another criterion."
        )


def _lowest_target(table: Table, _: None) -> float:
    return float(table.target.min())


def class_impurities(criterion: str, class_weights: FloatArray) -> FloatArray:
    """Compute the impurity of nodes (rows) from the weights of their classes (columns).

    A criterion's term is weight x (constant - impurity), so the impurity is the difference from the term of a pure node
    of the same weight: 1 - sum p^2 for Gini, the entropy in bits, the misclassification rate.
    """
    term = definition.CRITERIA[criterion]
    impurities = np.zeros(len(class_weights))

    def impurity(weights: list[float]) -> float:
        classes = [int(w) for w in weights]
        weight = sum(classes)
        node = term(definition.Tally(0, weight, classes), 0)
        pure = term(definition.Tally(0, weight, [weight]), 0)
        return max(0.0, (pure - node) / weight)

    mixed = np.flatnonzero((class_weights > 0).sum(axis=1) > 1)  # at least half of the nodes of a full tree are pure
    impurities[mixed] = [impurity(weights) for weights in class_weights[mixed].tolist()]
    return impurities
