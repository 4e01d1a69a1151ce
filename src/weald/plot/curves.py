"""Curves of impurity.

ImpurityDisplay    impurity of two classes against the probability of one
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from weald.data.task import Task
from weald.engines import criteria
from weald.plot.axes import Display
from weald.plot.palette import FIRST, INK, SECOND, THIRD, calm

Floats = npt.NDArray[np.float64]

PARTS = 200  # intervals on the axis of probabilities
LOOKS = ((FIRST, "-"), (THIRD, "--"), (SECOND, "-."), (INK, ":"))


class ImpurityDisplay(Display):
    """Impurity of two classes against the probability of one, each curve scaled to a maximum of one half.

    Parameters
    ----------
    probabilities : array of shape (n_points,)
        Probability of one class.
    impurities : dict of str to array of shape (n_points,)
        Impurity by criterion, not scaled.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from weald.plot import ImpurityDisplay
    >>> display = ImpurityDisplay.from_criteria()
    >>> {name: round(float(curve.max()), 3) for name, curve in display.impurities.items()}
    {'gini': 0.5, 'entropy': 1.0, 'misclassification': 0.5}
    """

    @property
    def _size(self) -> tuple[float, float]:
        return (4.8, 3.6)

    def __init__(self, probabilities: Floats, impurities: dict[str, Floats]) -> None:
        self.probabilities, self.impurities = probabilities, impurities

    @classmethod
    def from_criteria(cls, names: Sequence[str] | None = None, *, ax: Axes | None = None) -> Self:
        """Draw the curves of some criteria.

        Parameters
        ----------
        names : sequence of str or None, default=None
            Criteria. None: all criteria for classification.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ImpurityDisplay
        """
        if names is None:
            names = [name for name, task in criteria.tasks().items() if task == Task.CLASSIFICATION]
        first = np.arange(PARTS + 1)
        weights = np.column_stack([first, PARTS - first]).astype(np.float64)
        curves = {name: criteria.class_impurities(criteria.canonical(name), weights) for name in names}
        return cls(first / PARTS, curves).plot(ax=ax)

    def _draw(self) -> None:
        calm(self.ax_, grid="y")
        for (name, curve), (color, dashes) in zip(self.impurities.items(), LOOKS, strict=False):
            scale = 0.5 / curve.max()
            label = name if np.isclose(scale, 1) else f"{name} × {scale:.3g}"
            self.ax_.plot(self.probabilities, scale * curve, color=color, linestyle=dashes, linewidth=1.8, label=label)
        self.ax_.set(xlabel="fraction of one class", ylabel="impurity", xlim=(0, 1), ylim=(0, 0.53))
        self.ax_.legend(frameon=False, fontsize=9, loc="lower center")
