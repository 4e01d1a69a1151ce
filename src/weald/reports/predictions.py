"""What the forest says of rows that it has not seen, and what is true of them.

Answers        both, for rows outside the bags or for rows held out
out_of_bag     from what a forest knows of rows outside its bags
held_out       from rows that took no part in the fit
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from weald.data.types import FloatArray, IntArray
from weald.errors import DataError
from weald.estimators.out_of_bag import OutOfBag


@dataclass(frozen=True)
class Answers:
    """What is said and what is true, row by row."""

    source: str  # where the rows come from, in words
    truth: Any  # class numbers, or numbers
    said: FloatArray  # class shares (rows x classes), or means
    weight: FloatArray
    row: IntArray  # number in the user's table
    is_whole: bool  # weights are copies of rows
    n_unknown: int = 0  # rows of which nothing is said

    @property
    def n_effective(self) -> float:
        """How many rows of equal weight know as much (Kish), or whole weights as copies."""
        total = float(self.weight.sum())
        return total if self.is_whole else total**2 / float((self.weight**2).sum())

    @property
    def winners(self) -> IntArray:
        """The class that has the largest share; of equal ones the first."""
        winners: IntArray = self.said.argmax(axis=1)
        return winners


def out_of_bag(found: OutOfBag | None) -> Answers | None:
    """Take what the trees say of rows outside their bags; nothing if the training data is not at hand."""
    if found is None or found._truth is None or found._weight is None or not found.mask.any():  # noqa: SLF001  (what a pickle leaves out)
        return None
    seen = found.mask & (found._weight > 0)  # noqa: SLF001
    weight = found._weight[seen]  # noqa: SLF001
    said = found._averages[seen]  # noqa: SLF001
    row = np.flatnonzero(seen)
    n_unknown = int((~found.mask & (found._weight > 0)).sum())  # noqa: SLF001
    return Answers("out of bag", found._truth[seen], said, weight, row, bool((weight % 1 == 0).all()), n_unknown)  # noqa: SLF001


def held_out(model: Any, X: Any, y: Any) -> Answers:
    """Ask for predictions of rows that took no part in the fit."""
    truth = np.asarray(y)
    if truth.ndim != 1:
        raise DataError(f"y_test has {truth.ndim} dimensions. Give one value for each row of X_test.")
    classes = getattr(model, "classes_", None)
    said = model.predict(X) if classes is None else model.predict_proba(X)
    if len(truth) != len(said):
        raise DataError(f"y_test has {len(truth)} values, but X_test has {len(said)} rows. Give one for each row.")
    if classes is None:
        truth = truth.astype(np.float64)
        if not np.isfinite(truth).all():
            raise DataError("y_test has values that are missing or infinite. Leave those rows out.")
    else:
        number_of = {label: k for k, label in enumerate(classes.tolist())}
        strange = [label for label in truth.tolist() if label not in number_of]
        if strange:
            raise DataError(
                f"y_test has the class {strange[0]!r}, which the forest does not know. Leave such rows out."
            )
        truth = np.array([number_of[label] for label in truth.tolist()])
    rows = np.arange(len(truth))
    return Answers("held out", truth, np.asarray(said, dtype=np.float64), np.ones(len(truth)), rows, is_whole=True)
