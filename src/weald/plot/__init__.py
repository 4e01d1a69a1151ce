"""Pictures of trees and forests: classes in the manner of scikit-learn's displays. They need matplotlib.

    TreeDisplay         a tree: questions, classes, errors
    PartitionDisplay    the plane, cut by a tree in the order of its cuts
    BoundaryDisplay     which class a model predicts where
    ImpurityDisplay     impurity against the share of a class
    PruningDisplay      error against the size of a tree
    SurfaceDisplay      error for every setting of the stopping rules
    OutOfBagDisplay     out-of-bag error of a growing forest
    ImportanceDisplay   feature importance
    ConfusionDisplay    confusion matrix
    ProximityDisplay    a map of rows by the leaves that they share

`Display.from_estimator(...)` computes and draws; `plot(ax=...)` draws again. What was drawn is kept as `ax_` and
`figure_`.
"""

try:
    import matplotlib  # noqa: F401, ICN001  (looked for, not used)
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "weald.plot draws with matplotlib, which is not installed. Install it with pip install matplotlib."
    ) from error

from weald.plot.boundary import BoundaryDisplay
from weald.plot.confusion import ConfusionDisplay
from weald.plot.curves import ImpurityDisplay
from weald.plot.growth import OutOfBagDisplay
from weald.plot.importance import ImportanceDisplay
from weald.plot.partition import PartitionDisplay
from weald.plot.proximity import ProximityDisplay
from weald.plot.pruning import PruningDisplay
from weald.plot.surface import SurfaceDisplay
from weald.plot.tree import TreeDisplay

__all__ = [
    "BoundaryDisplay",
    "ConfusionDisplay",
    "ImportanceDisplay",
    "ImpurityDisplay",
    "OutOfBagDisplay",
    "PartitionDisplay",
    "ProximityDisplay",
    "PruningDisplay",
    "SurfaceDisplay",
    "TreeDisplay",
]
