"""The error on new data for every setting of the stopping rules of a fitted model."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from weald.data.table import TrainingArguments
from weald.data.types import ColumnLike, TableLike
from weald.errors import DataTypeError
from weald.estimators.base import TreeModel
from weald.estimators.error_surface import ErrorSurface, RowsToScore
from weald.estimators.metrics import Metric
from weald.estimators.survival.refusals import refuse_survival
from weald.estimators.training_data import read_new_rows


def surface(
    model: TreeModel,
    X: TableLike,
    y: ColumnLike,
    *parameters: str,
    sample_weight: ColumnLike = None,
    values: Mapping[str, Sequence[Any]] | None = None,
    scoring: Metric | str | None = None,
    verbose: int = 0,
) -> ErrorSurface:
    """Compute the error on new data for every setting of some stopping rules, without growing trees again.

    Each number is the error of the model that a fit with this setting would give: see `truncate`. For the out-of-bag
    error of a forest, see `forest.oob_.surface`.

    Parameters
    ----------
    model : fitted tree or forest
        A model at least as large as all settings.
    X : array or data frame of shape (n_rows, n_features)
        Rows that the model has not seen.
    y : array of shape (n_rows,)
        Their targets.
    *parameters : str
        One or more of "max_depth", "min_samples_split", "min_impurity_decrease", "max_leaf_nodes", "ccp_alpha",
        "shrinkage" and, for forests, "n_estimators". All combinations of their values are compared.
    sample_weight : array of shape (n_rows,), optional
    values : dict of parameter: list, optional
        The values to compare. By default up to 64 for each parameter, chosen from the model (up to 16 if there are
        several besides `n_estimators`).
    scoring : str, callable or None, default=None
        As in `weald.tune`: None is the error; otherwise `errors` are minus the score. It is called once for each
        setting, which can take most of the time.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    weald.estimators.error_surface.ErrorSurface
        `errors`, `standard_errors` and `leaves`, with an axis for each parameter; `choose()` returns the best setting.

    Examples
    --------
    >>> import weald
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = weald.DecisionTreeClassifier(random_state=0).fit(X[::2], y[::2])
    >>> found = weald.surface(tree, X[1::2], y[1::2], "max_depth")
    >>> found.values, found.errors.round(3).tolist()
    (([1, 2, 3, 4],), [0.333, 0.053, 0.04, 0.04])
    """
    refuse_survival(model, "weald.surface", "Compare `oob_score_` of forests with different parameters.")
    if not isinstance(model, TreeModel):
        raise DataTypeError(f"surface got a {type(model).__name__}. Give a fitted tree or forest of weald.")
    check_is_fitted(model, "forest_")
    data = read_new_rows(model, TrainingArguments(X, y, sample_weight))
    return RowsToScore(data.model, data.engine, None, data.reading).surface(parameters, values, scoring, verbose)
