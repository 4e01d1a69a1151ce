"""The result of `importance`: values, standard errors, p-values, warnings.

Found         the numbers that a method computes
Importance    names, values, standard errors, p-values; also as table, data frame and plot
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Required, TypeAlias, TypedDict

import numpy as np

from weald.data.result_frame import as_frame
from weald.data.types import FloatArray, IntArray
from weald.errors import ParameterError
from weald.estimators.base import TreeModel
from weald.estimators.features import features_of
from weald.estimators.multi_output import forests_of
from weald.inspection.displays import load_plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Frame: TypeAlias = Any  # a data frame of any library

WIDTH = 100  # line width of printed text
SHOWN = 30  # maximum number of features in a printed table or a plot


class Found(TypedDict, total=False):
    """The numbers that a method computes; `values` and `methods` are always present."""

    values: Required[FloatArray]
    methods: Required[dict[str, str]]
    std_error: FloatArray
    p_value: FloatArray
    by_tree: FloatArray


@dataclass(frozen=True, eq=False)
class Importance:
    """Feature importances.

    Attributes
    ----------
    names : tuple of str
        Names of the features or groups, in the order of X.
    values : array of shape (n_features,)
        The importances. For `kind="local"` an array of shape (n_rows, n_features).
    std_error : array or None
        Standard error of each value.
    p_value : array or None
        Probability of a value at least this large for an unimportant feature.
    kind : str
        The method.
    unit : str
        The meaning of a value.
    methods : dict
        How standard errors and p-values were computed, as text.
    warnings : tuple of str
        Where the values mislead, as text.
    by_tree : array of shape (n_trees, n_features) or None
        The values of each tree.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> forest = weald.RandomForestClassifier(50, random_state=0).fit(iris.data, iris.target)
    >>> result = weald.importance(forest, iris.data, iris.target, names=iris.feature_names)
    >>> result.names[result.order()[0]]
    'petal length (cm)'
    """

    names: tuple[str, ...]
    values: FloatArray
    kind: str
    unit: str
    std_error: FloatArray | None = None
    p_value: FloatArray | None = None
    methods: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    by_tree: FloatArray | None = None

    @property
    def is_local(self) -> bool:
        """Whether there is a value for each row."""
        return self.values.ndim == 2

    def means(self) -> FloatArray:
        """One value for each feature; for local importance, the mean over rows."""
        means: FloatArray = np.nanmean(self.values, axis=0) if self.is_local else self.values
        return means

    def order(self) -> IntArray:
        """Features from the most to the least important; ties in the order of X."""
        values = self.means()
        return np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")

    def row(self, number: int) -> "Importance":
        """Return one row of a local importance as an importance."""
        if not self.is_local:
            raise ParameterError(f'kind={self.kind!r} has no rows. Use kind="local".')
        error = None if self.std_error is None else self.std_error[number]
        return Importance(
            self.names, self.values[number], self.kind, self.unit, error, None, self.methods, self.warnings
        )

    def to_dict(self) -> dict[str, list[str] | FloatArray]:
        """Columns by name, features in the order of X. For a local importance: a column for each feature."""
        if self.is_local:
            return {name: self.values[:, f] for f, name in enumerate(self.names)}
        columns: dict[str, list[str] | FloatArray] = {"feature": list(self.names), "importance": self.values}
        if self.std_error is not None:
            columns["std_error"] = self.std_error
        if self.p_value is not None:
            columns["p_value"] = self.p_value
        return columns

    def to_frame(self, frame: str = "pandas") -> Frame:
        """Make a data frame, the most important feature first.

        Parameters
        ----------
        frame : {"pandas", "polars", "dict"}, default="pandas"
            The data frame library; it must be installed. "dict" returns a dict of arrays.

        Returns
        -------
        data frame
            One row for each feature; for a local importance, one for each row of X.
        """
        columns = self.to_dict()
        if not self.is_local:
            order = self.order()
            columns = {name: np.asarray(column)[order].tolist() for name, column in columns.items()}
        return as_frame(columns, frame)

    def __repr__(self) -> str:
        values = self.means()
        width = max(len("feature"), *(len(name) for name in self.names))
        lines = [f"Importance of {len(self.names)} features, kind {self.kind!r}: {self.unit}"]
        if self.is_local:
            lines.append(f"{len(self.values)} rows; their means:")
        p_values = None if self.is_local else self.p_value
        errors = None if self.is_local else self.std_error
        head = f"{'feature':<{width}}  {'importance':>10}"
        head += "" if errors is None else f"  {'std error':>9}"
        lines.append(head + ("" if p_values is None else f"  {'p-value':>8}"))
        for f in self.order()[:SHOWN]:
            line = f"{self.names[f]:<{width}}  {values[f]:>10.4g}"
            line += "" if errors is None else f"  {errors[f]:>9.2g}"
            lines.append(line + ("" if p_values is None else f"  {_show_p(p_values[f]):>8}"))
        if len(self.names) > SHOWN:
            lines.append(f"... and {len(self.names) - SHOWN} more")
        lines += [line for words in self.warnings for line in textwrap.wrap(f"Note: {words}", WIDTH)]
        return "\n".join(lines)

    def plot(self, ax: "Axes | None" = None, *, most: int = SHOWN) -> "Axes":
        """Plot the importances as bars, with two standard errors to each side. Needs matplotlib.

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
        error = None if self.is_local else self.std_error
        display = load_plots().ImportanceDisplay(self.names, self.means(), error, self.unit)
        drawn: Axes = display.plot(ax=ax, most=most).ax_
        return drawn


def _show_p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def names_of(model: TreeModel, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the features: as given, of the training table, or numbers."""
    n_features = forests_of(model)[0].n_features
    if names is not None:
        if len(names) != n_features:
            raise ParameterError(f"names has {len(names)} entries, but there are {n_features} features.")
        return tuple(str(name) for name in names)
    given = features_of(model).column_names
    return tuple(f"x{f}" for f in range(n_features)) if given is None else tuple(str(name) for name in given)
