"""Error against the number of leaves as a tree is pruned.

PruningDisplay
"""

from typing import Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from weald.data.table import TrainingArguments
from weald.data.types import ColumnLike, IntArray, TableLike
from weald.errors import DataError, DataTypeError
from weald.estimators.base import TreeModel
from weald.estimators.metrics import place_of_best
from weald.estimators.survival.refusals import refuse_survival
from weald.estimators.training_data import is_training_data
from weald.plot.axes import Display
from weald.plot.palette import FIRST, INK, SECOND, SOFT, calm, tint

Floats = npt.NDArray[np.float64]
Ints = IntArray


class PruningDisplay(Display):
    """Error against the number of leaves, for each tree of the pruning path.

    Create it with `from_estimator`. The training error falls with each leaf; the error on new rows falls, then rises
    again. The band around it is one standard error to each side. Two trees are marked: that of the lowest error, and
    the smallest tree whose error is within one standard error of it. Their errors do not differ significantly, so you
    can choose the smaller tree.

    Parameters
    ----------
    leaves : array of shape (n_trees,)
        Numbers of leaves of the pruned trees, from the largest.
    alpha : array of shape (n_trees,)
        The smallest `ccp_alpha` that gives each tree.
    training_error : array of shape (n_trees,)
        Misclassification rate, or mean squared error, on the training rows.
    new_error, standard_error : arrays of shape (n_trees,) or None
        The error on new rows, and its standard error.
    classify : bool
        Whether errors are misclassification rates.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.
    best_, smallest_ : int or None
        Indices in `leaves`: the tree with the lowest error on new rows, and the smallest within one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import DecisionTreeClassifier
    >>> from weald.plot import PruningDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier().fit(X[::2], y[::2])
    >>> display = PruningDisplay.from_estimator(tree, X[1::2], y[1::2])
    >>> int(display.leaves[0]) == tree.get_n_leaves(), int(display.leaves[-1])
    (True, 1)
    """

    def __init__(
        self,
        leaves: Ints,
        alpha: Floats,
        training_error: Floats,
        new_error: Floats | None,
        standard_error: Floats | None,
        classify: bool,
    ) -> None:
        self.leaves, self.alpha, self.training_error = leaves, alpha, training_error
        self.new_error, self.standard_error, self.classify = new_error, standard_error, classify

    @classmethod
    def from_estimator(
        cls, estimator: TreeModel, X: TableLike = None, y: ColumnLike = None, *, ax: Axes | None = None
    ) -> Self:
        """Prune a tree step by step, compute the error of each step, and draw.

        Parameters
        ----------
        estimator : fitted tree
            A large tree, grown without pruning.
        X : array or data frame of shape (n_rows, n_features), optional
            New rows, such as a test set. The training data is refused, since its error is always drawn.
        y : array of shape (n_rows,), optional
            Targets of the new rows.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        PruningDisplay
        """
        refuse_survival(estimator, "PruningDisplay", "Use `score` and `brier_score`.")
        check_is_fitted(estimator, "forest_")
        if not hasattr(estimator, "pruning_path"):
            raise DataTypeError(
                f"{type(estimator).__name__} cannot be pruned: only single trees can. Give one, for example "
                "forest.estimators_[0]."
            )
        if (X is None) != (y is None):
            raise DataError("New rows need both X and y. Give both, or neither to draw the training error alone.")
        if X is not None and is_training_data(estimator, TrainingArguments(X, y)):
            raise DataError(
                "X and y are the training rows of the tree, so their error is not an estimate for new rows. Give "
                "rows that the tree has not seen, or leave X and y out to draw the training error alone."
            )
        path = estimator.pruning_path(frame="dict")
        new_error, standard_error = None, None
        if X is not None:
            choice = estimator.choose_alpha(X, y, method="holdout")
            new_error, standard_error = choice.errors, choice.standard_errors
        classify = hasattr(estimator, "classes_")
        return cls(path["leaves"], path["alpha"], path["error"], new_error, standard_error, classify).plot(ax=ax)

    def _draw(self) -> None:
        calm(self.ax_, grid="y")
        self.ax_.plot(self.leaves, self.training_error, color=FIRST, linewidth=1.8, label="training rows")
        self.best_: int | None = None
        self.smallest_: int | None = None
        if self.new_error is not None:
            self._draw_new()
        self.ax_.set_xscale("log")
        self.ax_.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        self.ax_.set(xlabel="leaves", ylabel="error" if self.classify else "mean squared error")
        self.ax_.set_xlim(left=0.93)
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend(frameon=False, fontsize=9)

    def _draw_new(self) -> None:
        """Draw the error on new rows with its standard error, and mark the two recommended trees."""
        assert self.new_error is not None and self.standard_error is not None  # noqa: S101, PT018
        low, high = self.new_error - self.standard_error, self.new_error + self.standard_error
        self.ax_.fill_between(self.leaves, low, high, color=tint(SECOND, 0.22), linewidth=0)
        self.ax_.plot(self.leaves, self.new_error, color=SECOND, linewidth=1.8, linestyle="--", label="new rows")
        best = place_of_best(self.new_error, self.leaves)
        smallest = place_of_best(self.new_error, self.leaves, self.standard_error)
        marks = [(best, "o", SECOND, "lowest error")]
        if smallest != best:
            marks.append((smallest, "s", INK, "within one standard error"))
        self.best_, self.smallest_ = best, smallest
        for place, marker, color, words in marks:
            leaves, word = int(self.leaves[place]), "leaf" if self.leaves[place] == 1 else "leaves"
            self.ax_.plot(
                leaves, self.new_error[place], marker, linestyle="none", label=f"{words}: {leaves} {word}",
                color=color, markersize=6.5, markeredgecolor="white", zorder=4,
            )  # fmt: skip
        self.ax_.axhline(self.new_error[best], color=SOFT, linewidth=0.6, linestyle=":", zorder=1)
