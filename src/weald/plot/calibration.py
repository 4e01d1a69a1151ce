"""The reliability diagram of a classifier.

CalibrationDisplay    observed frequency against predicted probability
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from weald.data.types import ColumnLike, TableLike
from weald.errors import DataError, ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.calibration.calibrator import calibrator_of
from weald.estimators.metrics import Calibration, calibrate, event, wilson
from weald.estimators.out_of_bag import OutOfBag
from weald.plot.axes import Display
from weald.plot.growth import out_of_bag
from weald.plot.palette import CLASSES, FIRST, LINE, SECOND, SOFT, THIRD, calm

BEFORE = "trees"  # label of the curve without calibration
LOOKS = ((FIRST, "o", "-"), (SECOND, "s", "--"), (THIRD, "^", "-."), (CLASSES[3], "D", ":"), (CLASSES[4], "v", "-"))


class CalibrationDisplay(Display):
    """Reliability diagram: how often a class is observed where a probability is predicted.

    On the diagonal both are equal. Above it the class is more frequent than predicted, below it rarer. Bars are 95 %
    intervals (Wilson). Create it with `from_out_of_bag` for the training rows of a forest, or with `from_estimator`
    for new rows.

    Parameters
    ----------
    curves : dict of str to weald.estimators.metrics.Calibration
        The curves, by name.
    class_name : str
        The predicted class.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the plot.
    figure_ : matplotlib Figure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from weald import RandomForestClassifier
    >>> from weald.plot import CalibrationDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y)
    >>> display = CalibrationDisplay.from_out_of_bag(forest, methods=["sigmoid"])
    >>> {name: round(curve.brier, 4) for name, curve in display.curves.items()}
    {'trees': 0.032, 'sigmoid': 0.0302}
    """

    @property
    def _size(self) -> tuple[float, float]:
        return (4.6, 4.4)

    def __init__(self, curves: dict[str, Calibration], class_name: str) -> None:
        self.curves, self.class_name = curves, class_name

    @classmethod
    def from_estimator(
        cls,
        estimator: TreeModel,
        X: TableLike,
        y: ColumnLike,
        *,
        label: object = None,
        n_bins: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Compare predicted probabilities with the classes of new rows, and draw. A calibrated model has two curves.

        Parameters
        ----------
        estimator : fitted classifier
        X : array or data frame of shape (n_rows, n_features)
            Rows that the model has not seen.
        y : array of shape (n_rows,)
            The true classes.
        label : label of a class, default=None
            The class to check. None: with two classes the second; with more, the predicted class of each row.
        n_bins : int, default=10
            Number of equal bins of the probabilities from 0 to 1.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        CalibrationDisplay
        """
        check_is_fitted(estimator)
        classes = list(getattr(estimator, "classes_", ()))
        if not hasattr(estimator, "predict_proba"):
            raise ParameterError(f"{type(estimator).__name__} predicts numbers, not classes. Give a classifier.")
        k = _number_of(label, classes)
        truth = np.array([classes.index(one) if one in classes else -1 for one in np.asarray(y).tolist()])
        if (truth < 0).any():
            raise DataError(f"y has classes that the model does not know. Its classes are {classes}.")
        models = {BEFORE: estimator}
        calibrator = calibrator_of(estimator)
        if calibrator is not None:
            models = {BEFORE: estimator.calibrated(None), calibrator.method: estimator}
        predicted = {name: np.asarray(model.predict_proba(X)) for name, model in models.items()}
        if len(truth) != len(predicted[BEFORE]):
            raise DataError(
                f"y has {len(truth)} values, but X has {len(predicted[BEFORE])} rows. Give one for each row."
            )
        curves = {
            name: calibrate(*event(shares, truth, k), np.ones(len(truth)), n_bins) for name, shares in predicted.items()
        }
        return cls(curves, _words(k, classes)).plot(ax=ax)

    @classmethod
    def from_out_of_bag(
        cls,
        estimator: TreeModel | OutOfBag,
        *,
        methods: Sequence[str] | None = None,
        label: object = None,
        n_bins: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Compare out-of-bag probabilities with the classes of the training rows, and draw.

        Parameters
        ----------
        estimator : forest fitted with `oob_score=True`, or out-of-bag results
            The results are `forest.oob_`, or what `forest.out_of_bag(X, y)` returns.
        methods : sequence of {"isotonic", "sigmoid", "beta", "venn-abers"}, default=None
            Calibrations to compare, each with a curve of its own: a row is calibrated by other rows. None: that of the
            forest, if it is calibrated.
        label : label of a class, default=None
            The class to check. None: with two classes the second; with more, the predicted class of each row.
        n_bins : int, default=10
            Number of equal bins of the probabilities from 0 to 1.
        ax : matplotlib Axes or None, default=None
            Axes to draw on. None: a new figure.

        Returns
        -------
        CalibrationDisplay
        """
        found = estimator if isinstance(estimator, OutOfBag) else out_of_bag(estimator)
        calibrator = calibrator_of(estimator)
        chosen = ([] if calibrator is None else [calibrator.method]) if methods is None else list(methods)
        curves = {BEFORE: found.calibration(label, n_bins=n_bins)}
        curves |= {method: found.calibration(label, n_bins=n_bins, method=method) for method in chosen}
        classes = [] if found.classes is None else found.classes.tolist()
        return cls(curves, _words(_number_of(label, classes), classes)).plot(ax=ax)

    def _draw(self) -> None:
        calm(self.ax_, grid="y")
        self.ax_.plot([0, 1], [0, 1], color=SOFT, linestyle=(0, (4, 3)), linewidth=1, zorder=1)
        for i, (name, curve) in enumerate(self.curves.items()):
            color, marker, dashes = LOOKS[i % len(LOOKS)]
            bars = np.array(
                [wilson(float(f), float(w), 1.96) for f, w in zip(curve.observed, curve.weight, strict=True)]
            )
            self.ax_.vlines(curve.predicted, *bars.T, color=color, linewidth=1, alpha=0.55, zorder=2)
            self.ax_.plot(
                curve.predicted, curve.observed, color=color, marker=marker, markersize=4.5, linestyle=dashes,
                linewidth=1.5, label=f"{name}: Brier score {curve.brier:.4f}", zorder=3,
            )  # fmt: skip
        self.ax_.set(
            xlabel=f"predicted probability of {self.class_name}",
            ylabel="observed frequency",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
        )
        self.ax_.set_aspect("equal")
        self.ax_.legend(loc="upper left", fontsize=9, frameon=True, edgecolor=LINE, framealpha=0.9)


def _number_of(label: object, classes: list[object]) -> int | None:
    """Return the number of a class; None: the predicted class of each row."""
    if label is None:
        return 1 if len(classes) == 2 else None
    if label not in classes:
        raise ParameterError(f"label={label!r} is not a class of this model. Its classes are {classes}.")
    return classes.index(label)


def _words(k: int | None, classes: list[object]) -> str:
    return "the predicted class" if k is None else f"class {classes[k]}"
