"""Plots of trees and forests: classes like scikit-learn's displays. They need matplotlib.

    TreeDisplay         a tree: splits, classes, errors
    PartitionDisplay    the regions into which a tree divides the plane
    BoundaryDisplay     decision boundary: the prediction at each point of the plane
    ImpurityDisplay     impurity against the probability of a class
    PruningDisplay      error against the size of a tree
    SurfaceDisplay      error for each setting of the stopping rules
    OutOfBagDisplay     out-of-bag error of a growing forest
    ImportanceDisplay   feature importance
    DependenceDisplay   partial dependence, individual curves, accumulated local effects
    ShapBarDisplay      mean magnitude of SHAP values
    BeeswarmDisplay     SHAP values of many rows
    WaterfallDisplay    SHAP values of one row
    ConfusionDisplay    confusion matrix
    CalibrationDisplay  reliability diagram: observed frequencies against predicted probabilities
    IntervalDisplay     prediction intervals of rows
    FanDisplay          fan chart: bands of quantiles along an axis
    ProximityDisplay    rows in the plane, by proximity (multidimensional scaling)

`Display.from_estimator(...)` computes and draws, `from_explanation(...)` draws the result of `weald.explain`, and
`plot(ax=...)` draws again. The axes and the figure are `ax_` and `figure_`.
"""

try:
    import matplotlib  # noqa: F401, ICN001  (looked for, not used)
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "weald.plot draws with matplotlib, which is not installed. Install it with pip install matplotlib."
    ) from error

from weald.plot.boundary import BoundaryDisplay
from weald.plot.calibration import CalibrationDisplay
from weald.plot.confusion import ConfusionDisplay
from weald.plot.curves import ImpurityDisplay
from weald.plot.dependence import DependenceDisplay
from weald.plot.growth import OutOfBagDisplay
from weald.plot.importance import ImportanceDisplay
from weald.plot.intervals import FanDisplay, IntervalDisplay
from weald.plot.partition import PartitionDisplay
from weald.plot.proximity import ProximityDisplay
from weald.plot.pruning import PruningDisplay
from weald.plot.shap import BeeswarmDisplay, ShapBarDisplay
from weald.plot.surface import SurfaceDisplay
from weald.plot.tree import TreeDisplay
from weald.plot.waterfall import WaterfallDisplay

__all__ = [
    "BeeswarmDisplay",
    "BoundaryDisplay",
    "CalibrationDisplay",
    "ConfusionDisplay",
    "DependenceDisplay",
    "FanDisplay",
    "ImportanceDisplay",
    "ImpurityDisplay",
    "IntervalDisplay",
    "OutOfBagDisplay",
    "PartitionDisplay",
    "ProximityDisplay",
    "PruningDisplay",
    "ShapBarDisplay",
    "SurfaceDisplay",
    "TreeDisplay",
    "WaterfallDisplay",
]
