"""The confusion matrix of a classifier.

ConfusionDisplay
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix
from sklearn.utils.validation import check_is_fitted

from weald.data.types import ColumnLike, IntArray, TableLike
from weald.errors import ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.out_of_bag import OutOfBag
from weald.plot.axes import Display
from weald.plot.growth import out_of_bag
from weald.plot.naming import name_classes
from weald.plot.palette import INK, SCALE

Counts = IntArray


class ConfusionDisplay(Display):
    """Confusion matrix (rows: true class, columns: predicted class).

    Create it with `from_estimator` for new rows, or with `from_out_of_bag` for the training rows of a forest. It is
    drawn by scikit-learn's `ConfusionMatrixDisplay`; a cell is shaded by its fraction of the true class.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes)
        Numbers of rows (rows: true class, columns: predicted class).
    labels : list of str
        Names of the classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from weald import RandomForestClassifier
    >>> from weald.plot import ConfusionDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(X[::2], y[::2])
    >>> display = ConfusionDisplay.from_estimator(forest, X[1::2], y[1::2])
    >>> display.counts.sum(axis=1)
    array([25, 25, 25])
    """

    def __init__(self, counts: Counts, labels: list[str]) -> None:
        self.counts, self.labels = counts, labels

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        X: TableLike,
        y: ColumnLike,
        *,
        class_names: Sequence[str] | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compare predicted with true classes, and draw.

        Parameters
        ----------
        estimator : fitted classifier
        X : array or data frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            The true classes.
        class_names : sequence of str or None, default=None
            None: the labels.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        labels = _labels(estimator, class_names)
        counts = confusion_matrix(y, estimator.predict(X), labels=estimator.classes_)
        return cls(counts, labels).plot(ax=ax)

    @classmethod
    def from_out_of_bag(
        cls, estimator: TreeModel | OutOfBag, *, class_names: Sequence[str] | None = None, ax: Axes | None = None
    ) -> Self:
        """Compare out-of-bag predictions with true classes, and draw.

        Parameters
        ----------
        estimator : forest fitted with `oob_score=True`, or out-of-bag results
            The results are `forest.oob_`, or what `forest.out_of_bag(X, y)` returns.
        class_names : sequence of str or None, default=None
            None: the labels.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        ConfusionDisplay
        """
        if not isinstance(estimator, OutOfBag):
            labels = _labels(estimator, class_names)
            return cls(out_of_bag(estimator).confusion(), labels).plot(ax=ax)
        counts = estimator.confusion()  # raises an error for regression
        if class_names is not None and len(class_names) != len(counts):
            raise ParameterError(f"class_names has {len(class_names)} names, but there are {len(counts)} classes.")
        names = estimator.classes if class_names is None else class_names
        return cls(counts, [str(name) for name in names]).plot(ax=ax)

    @property
    def _size(self) -> tuple[float, float]:
        return (1.7 + 0.42 * len(self.labels),) * 2

    def _draw(self) -> None:
        of_class = self.counts.sum(axis=1, keepdims=True)
        shares = self.counts / np.where(of_class > 0, of_class, 1)
        drawn = ConfusionMatrixDisplay(shares, display_labels=self.labels)
        drawn.plot(ax=self.ax_, cmap=SCALE, colorbar=False, im_kw={"vmin": 0, "vmax": 1})
        for text, count in zip(drawn.text_.ravel(), self.counts.ravel(), strict=True):
            text.set_text(f"{count:g}" if count else "·")
        self.ax_.set(xlabel="predicted class", ylabel="true class")
        self.ax_.tick_params(length=0, labelcolor=INK)
        for spine in self.ax_.spines.values():
            spine.set_visible(False)
        if max(map(len, self.labels)) > 6:
            self.ax_.tick_params(axis="x", labelrotation=30)


def _labels(estimator: TreeModel, class_names: Sequence[str] | None) -> list[str]:
    check_is_fitted(estimator)
    labels = name_classes(estimator, class_names)
    if labels is None:
        raise ParameterError(f"{type(estimator).__name__} predicts numbers, not classes. Give a classifier.")
    return labels
