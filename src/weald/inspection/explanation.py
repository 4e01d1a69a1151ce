"""The result of `explain`: SHAP values, base values, the rows, and plots.

Explanation    values, base values, data, names; parts of it, plots, and the same as a shap.Explanation
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from weald.data.types import Array, BoolArray, FloatArray, IntArray, Label, Native
from weald.errors import DataError, ExportError, ParameterError, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """SHAP values of rows: how much each feature moved the prediction away from the base value.

    For every row (and class), the base value plus the sum of the values is the prediction.

    Attributes
    ----------
    values : array of shape (n_rows, n_features), or (n_rows, n_features, n_outputs)
        SHAP values. Outputs are the classes of a classifier, or the targets of a multi-output regressor.
    base_values : array of shape (n_rows,), or (n_rows, n_outputs)
        The mean of the leaves, weighted by the training rows in them: the prediction if no feature is known.
    data : array of shape (n_rows, n_features)
        The rows; an array of objects if there are categories.
    feature_names : list of str
        Names of the features.
    output_names : list or None
        Labels of the classes, or numbers of the targets; None for one target of a regressor, or one class.
    interactions : array of shape (n_rows, n_features, n_features), with n_outputs as a last dimension, or None
        SHAP interaction values; the sum over a dimension of features gives `values`.
    numbers : array of shape (n_rows, n_features)
        The rows as the trees read them: categories as codes.
    ordered : array of bool, shape (n_features,)
        Whether the numbers of a feature have an order: False for categories that are split by sets.

    Examples
    --------
    >>> import numpy as np
    >>> import weald
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> forest = weald.RandomForestRegressor(50, random_state=0).fit(X, X[:, 0] - X[:, 1])
    >>> explanation = weald.explain(forest, X[:20], feature_names=["a", "b", "c"])
    >>> explanation
    <explanation: 20 rows, 3 features>
    >>> bool(np.allclose(explanation.base_values + explanation.values.sum(axis=1), forest.predict(X[:20])))
    True
    """

    values: FloatArray
    base_values: FloatArray
    data: Array
    feature_names: list[str]
    output_names: list[Label] | None
    numbers: FloatArray
    ordered: BoolArray
    interactions: FloatArray | None = None

    def __repr__(self) -> str:
        outputs = "" if self.output_names is None else f", {len(self.output_names)} outputs"
        return f"<explanation: {len(self.values):,} rows, {len(self.feature_names):,} features{outputs}>"

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.values)

    @property
    def predictions(self) -> FloatArray:
        """Base values plus the sums of the SHAP values: the predictions, up to rounding."""
        predictions: FloatArray = self.base_values + self.values.sum(axis=1)
        return predictions

    # ------------------------------------------------------------------------------------------------------ parts

    def __getitem__(self, rows: slice | Sequence[int] | IntArray) -> "Explanation":
        """Return the explanation of some rows: a slice, a list of numbers, or a mask."""
        if isinstance(rows, int | np.integer):
            rows = slice(rows, rows + 1 or None)
        parts = {name: getattr(self, name)[rows] for name in ("values", "base_values", "data", "numbers")}
        pairs = None if self.interactions is None else self.interactions[rows]
        return replace(self, **parts, interactions=pairs)

    def of_output(self, name: object) -> "Explanation":
        """Return the explanation of one class, by its label, or of one target, by its number.

        Parameters
        ----------
        name : label of a class, or int
            One of `output_names`.

        Returns
        -------
        Explanation
            Its arrays have no dimension for outputs.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import weald
        >>> iris = load_iris(as_frame=True)
        >>> forest = weald.RandomForestClassifier(20, random_state=0).fit(iris.data, iris.target)
        >>> weald.explain(forest, iris.data).of_output(2).values.shape
        (150, 4)
        """
        if self.output_names is None:
            raise ParameterError("This explanation has one output already. Use it as it is.")
        if name not in self.output_names:
            raise ParameterError(f"{shown(name)} is not an output. Give one of {self.output_names}.")
        k = self.output_names.index(name)  # type: ignore[arg-type]  # it is in the list
        pairs = None if self.interactions is None else self.interactions[..., k]
        return replace(
            self,
            values=self.values[..., k],
            base_values=self.base_values[..., k],
            output_names=None,
            interactions=pairs,
        )

    def one_output(self) -> "Explanation":
        """Return the explanation of the second of two classes, or this one if it has one output; else raise an error."""
        if self.output_names is None:
            return self
        if len(self.output_names) == 2:
            return self.of_output(self.output_names[1])
        raise ParameterError(
            f"This needs the explanation of one output, but there are {len(self.output_names)}. Choose one, for "
            f"example explanation.of_output({self.output_names[0]!r})."
        )

    def mean_magnitudes(self) -> FloatArray:
        """Mean of the absolute values over rows (features, or features x outputs): a summary of importance."""
        means: FloatArray = np.nanmean(np.abs(self.values), axis=0)
        return means

    # ------------------------------------------------------------------------------------------------------ plots

    def bar(self, ax: "Axes | None" = None, *, most: int = 20) -> "Axes":
        """Plot the mean magnitude of the values of each feature. Needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default a new figure.
        most : int
            Maximum number of features to show.

        Returns
        -------
        matplotlib axes
        """
        from weald.plot import ShapBarDisplay

        return ShapBarDisplay.from_explanation(self, most=most, ax=ax).ax_

    def beeswarm(self, ax: "Axes | None" = None, *, most: int = 20) -> "Axes":
        """Plot the values of all rows: a point for each row and feature, colored by the value of the feature.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default a new figure.
        most : int
            Maximum number of features to show.

        Returns
        -------
        matplotlib axes
        """
        from weald.plot import BeeswarmDisplay

        return BeeswarmDisplay.from_explanation(self, most=most, ax=ax).ax_

    def waterfall(self, row: int = 0, ax: "Axes | None" = None, *, most: int = 12) -> "Axes":
        """Plot how the features lead from the base value to the prediction of one row.

        Parameters
        ----------
        row : int
            Number of the row.
        ax : matplotlib axes, optional
            Axes to draw on; by default a new figure.
        most : int
            Maximum number of features to show; the others are summed up.

        Returns
        -------
        matplotlib axes
        """
        from weald.plot import WaterfallDisplay

        return WaterfallDisplay.from_explanation(self, row, most=most, ax=ax).ax_

    # ------------------------------------------------------------------------------------------------------- shap

    def to_shap(self) -> Native:
        """Convert to a `shap.Explanation`, for the plots of the package shap, which must be installed.

        Returns
        -------
        shap.Explanation
            `data` has categories as codes, `display_data` as labels.
        """
        try:
            shap = import_module("shap")
        except ImportError as error:
            raise ExportError(
                "to_shap needs shap, which is not installed. Install it with `pip install shap`."
            ) from error
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.numbers,
            display_data=self.data,
            feature_names=self.feature_names,
            output_names=None if self.output_names is None else [str(name) for name in self.output_names],
        )

    def require_row(self, row: Any) -> int:
        """Check the number of a row."""
        if not isinstance(row, int | np.integer) or not -len(self) <= row < len(self):
            raise DataError(
                f"row={shown(row)} is not a row of this explanation. Give a number from 0 to {len(self) - 1}."
            )
        return int(row)
