"""The out-of-bag error by number of trees, which shows whether more trees would help.

It is `OutOfBag.curve`: a surface over `n_estimators` has the same errors, but needs the training table.
"""

import numpy as np

from weald.estimators.out_of_bag import OutOfBag
from weald.reports import charts
from weald.reports.charts import Series
from weald.reports.section import Section, figure, figures, number, percent, thin

MOST_POINTS = 300


def section(found: OutOfBag) -> Section:
    """Draw the curve."""
    curve = found.curve
    at = thin(len(curve.n_trees), MOST_POINTS)
    is_class = found.classes is not None
    what = "misclassification rate" if is_class else "root mean squared error"
    say = percent if is_class else number
    error = curve.error if is_class else np.sqrt(curve.error)
    half = error[max(0, len(error) // 2 - 1)]
    words = f"After half of the trees the out-of-bag error is {say(float(half))}, "
    words += f"after all {found.n_trees:,} it is {say(float(error[-1]))}."
    picture = charts.lines(
        [Series("", curve.n_trees[at].astype(float), error[at])],
        x_words="trees",
        y_words=what,
        alt=words,
        zero=bool(np.nanmin(error) < np.nanmax(error) / 3),
    )
    lead = "More trees do not overfit; they make predictions more stable. Once the curve is level, they change little."
    return Section("trees", "Number of trees", lead, figures(figure(picture, words)))
