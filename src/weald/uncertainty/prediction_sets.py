"""Prediction sets from the scores of out-of-bag or held-out predictions.

predict_set    a classifier, rows and a coverage  ->  which classes are in the set of each row

A class is in the set if its score is at most Q, the rank ceil(coverage * (n + 1)) among the scores of the true classes
of the kept rows. The scores are 1 - p (LAC), or the sum of the larger probabilities plus u * p (APS), with a random
number u for each row.
"""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import OneOf, WholeNumber, check_argument
from weald.data.types import BoolArray, TableLike
from weald.estimators.calibration.calibrator import uncalibrated
from weald.estimators.calibration.kept_errors import ClassificationErrors, bound, cumulated_scores, uniform
from weald.uncertainty.attached_errors import errors_of
from weald.uncertainty.intervals import read_coverage

if TYPE_CHECKING:
    from weald.estimators.tasks import TreeClassifier

METHODS = ("lac", "aps")
PURPOSE_SETS = 34  # purpose of the draws for new rows
CLOSE = 1e-12  # scores that differ by less are treated as equal
BLOCK_BYTES = 2**26  # memory limit for scores


def predict_set(
    model: "TreeClassifier", X: TableLike, coverage: float, method: str, repeat: int = 0, first: int = 0
) -> BoolArray:
    """Predict sets of classes; see `TreeClassifier.predict_set`. `first`: position of the first row, for draws."""
    check_is_fitted(model)
    read_coverage(coverage)
    check_argument("method", method, (OneOf(METHODS),))
    check_argument("repeat", repeat, (WholeNumber(0, 2**24),))
    errors = errors_of(model)
    assert isinstance(errors, ClassificationErrors)  # noqa: S101  (for the type checker: of a classifier)
    shares = uncalibrated(model).predict_proba(X)
    if method == "lac":
        found: BoolArray = 1.0 - shares <= bound(errors.lac, errors.weighing, coverage) + CLOSE
        return found
    limit = bound(errors.aps, errors.weighing, coverage) + CLOSE
    u = uniform(model.seed_, np.arange(first, first + len(shares)), PURPOSE_SETS, repeat)
    found = np.empty(shares.shape, dtype=np.bool_)
    step = max(1, BLOCK_BYTES // (8 * shares.shape[1]))
    for begin in range(0, len(shares), step):
        part = slice(begin, begin + step)
        found[part] = cumulated_scores(shares[part], u[part]) <= limit
    return found
